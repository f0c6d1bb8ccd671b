/* SPDX-License-Identifier: Apache-2.0 */
/* migrate.h - the state goes from one engine to the other (edl-scheduler --migrate)
 *
 * Every table as a whole, so numbers, epochs, tokens and rights stay the same, and the archives of
 * workspaces. The rows of the source are never changed, but it is marked: nobody goes on with them.
 * The target has all of it or nothing.
 *
 * Tests: tests/integration/272-migrate.sh. */
#pragma once

#include <stdint.h>

#include "scheduler/store/copy/copy.h"
#include "scheduler/workspaces/workspace_move.h"

struct edl_error;
struct scheduler_options;

struct migrated {
    char from[4096], to[4096]; /* for people: no password is in them */
    char conf[4200];           /* the line of scheduler.conf from now on */
    char aside[4096];          /* a database that the target had of an earlier time; "": none */
    int64_t jobs, nodes;
    struct copy_sum sum;
    struct workspace_moved archives;
    bool replaced;        /* the target had rows of the past */
    bool lacks_authority; /* nobody would believe a scheduler of the new folder */
    uint64_t took_us;
};

/* migrate - from the place where the state is to options.migrate_to: a URL of PostgreSQL (from the
 * database of options.state_dir) or sqlite:DIR (from options.store). No scheduler may use either.
 * wishes: of them progress alone. Errors: -EEXIST a scheduler runs, or the target is not
 * empty; -EINVAL, EDL_ECORRUPT, -ENOSPC, -EACCES, -ENOTCONN. The caller clears ret in any case. */
int migrate(const struct scheduler_options *options, const struct copy_wishes *wishes,
            struct migrated *ret, struct edl_error *error);
void migrated_clear(struct migrated *migrated);

/* migrate_become_owner - root becomes the account of the directory, where that is another one */
int migrate_become_owner(const char *state_dir, struct edl_error *error);

/* In the state directory: the URL, without its password, of the database that has the state. */
#define MIGRATE_MARK "moved"

/* migrate_check - before a scheduler starts: -EINVAL with remedy when it is to use the database of
 * the state directory, and another one has the state; or another one, and this state is nowhere
 * else
 * migrate_check_empty - the second half: the directory has no state that would be left behind
 * migrate_remember - the database of the options is open, and the cluster's: from now on the mark
 * says so. A scheduler whose configuration forgets it does not begin with an empty state of its
 * own, as its nodes would end all that they run. A database that was never there leaves none */
int migrate_check(const struct scheduler_options *options, struct edl_error *error);
int migrate_check_empty(const struct scheduler_options *options, struct edl_error *error);
int migrate_remember(const struct scheduler_options *options, struct edl_error *error);
