/* SPDX-License-Identifier: Apache-2.0 */
/* copy_wait.c - see copy_wait.h */
#include "scheduler/leadership/copy_wait.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/leadership/shared_database.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define PATIENCE_US USEC_PER_SEC /* a commit that waits for less is one of a slow copy */

bool copy_wait_is_on(const struct shared_facts *facts)
{
    return facts->wanted_copies[0] != '\0' && facts->commit_waits_us >= PATIENCE_US;
}

/* Also of one whose state may not be seen: it is connected. */
static bool has_follower(const struct shared_facts *facts)
{
    for (size_t i = 0; i < facts->n_copies; i++)
        if (!streq(facts->copies[i].state, "async") && !streq(facts->copies[i].state, "potential"))
            return true;
    return false;
}

static const char *how(bool follows)
{
    return follows ? "which follows it, but confirms nothing" : "which does not follow it";
}

static const char *what_to_do(bool follows)
{
    return follows ? "look at the disk and the network of that copy" : "start that copy";
}

int copy_wait_error(const struct shared_facts *facts, struct edl_error *error)
{
    bool follows = has_follower(facts);

    if (!copy_wait_is_on(facts))
        return 0;
    (void)edl_error_set(error, -EAGAIN,
                        "the database at %.100s waits for its synchronous copy \"%.120s\", %s",
                        facts->server, facts->wanted_copies, how(follows));
    return edl_error_remedy(error,
                            "%s, or take its name out of synchronous_standby_names of %.100s and"
                            " reload that (docs/replicated.md)",
                            what_to_do(follows), facts->server);
}

int copy_wait_nameless(const struct shared_facts *facts, struct edl_error *error)
{
    bool follows = has_follower(facts);

    if (!copy_wait_is_on(facts))
        return 0;
    (void)edl_error_set(error, -EAGAIN, "the database waits for its synchronous copy, %s",
                        how(follows));
    return edl_error_remedy(error,
                            "%s, or take its name out of synchronous_standby_names and reload"
                            " that (docs/replicated.md); the scheduler's log has the names",
                            what_to_do(follows));
}
