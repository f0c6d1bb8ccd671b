/* SPDX-License-Identifier: Apache-2.0 */
/* action.c - see action.h */
#include "client/action.h"

#include <errno.h>

#include "client/report.h"
#include "client/server.h"
#include "client/verb.h"
#include "shared/error.h"
#include "shared/macro.h"

static int refuse(const struct invocation *invocation)
{
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -EINVAL,
                        "edl %s does not know \"%.80s\", or not with so many arguments",
                        invocation->verb->name, invocation->arguments.args[0]);
    (void)edl_error_remedy(&error, "edl %s %s", invocation->verb->name, invocation->verb->usage);
    return report_error(&error);
}

static bool fits(const struct action *action, const struct option_words *given)
{
    size_t n = given->n_args - 1;

    return streq(action->name, given->args[0]) && n >= action->n_args &&
           n - action->n_args <= action->more_args && (given->n_rest == 0 || action->takes_command);
}

int action_run(const struct invocation *invocation, const struct action *actions, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct server server;
        int status;

        if (!fits(&actions[i], &invocation->arguments))
            continue;
        status = server_open(invocation->common, &server);
        if (status != STATUS_OK)
            return status;
        status = actions[i].run(invocation, &server);
        server_clear(&server);
        return status;
    }
    return refuse(invocation);
}
