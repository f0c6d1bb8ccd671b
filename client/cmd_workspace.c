/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_workspace.c - `edl workspace`: archives of workspaces that the scheduler keeps */
#include <inttypes.h>
#include <stdio.h>

#include "client/action.h"
#include "client/json_read.h"
#include "client/server.h"
#include "client/verb.h"
#include "client/workspace_send.h"
#include "shared/macro.h"

struct workspace_options {
    struct common_options common;
};

static const struct option_spec workspace_options[] = { { .name = NULL } };

static bool wants_json(const struct invocation *invocation)
{
    const struct workspace_options *options = invocation->options;

    return options->common.json;
}

static int add(const struct invocation *invocation, struct server *server)
{
    char name[WORKSPACE_NAME_MAX + 1];
    int status = workspace_send(server, invocation->arguments.args[1], name);

    if (status != STATUS_OK)
        return status;
    if (wants_json(invocation))
        json_print(json_pack("{s:s}", "workspace", name));
    else
        (void)printf("%s\n", name);
    return STATUS_OK;
}

static int list(const struct invocation *invocation, struct server *server)
{
    _cleanup_json_ json_t *all = NULL;
    const json_t *workspace;
    int status = server_get(server, &all, "/workspaces");
    size_t i;

    if (status != STATUS_OK)
        return status;
    if (wants_json(invocation)) {
        json_print(all);
        return STATUS_OK;
    }
    json_array_foreach(json_object_get(all, "workspaces"), i, workspace)(void)
        printf("%s %12" PRIu64 " bytes%s\n", json_text(workspace, "workspace"),
               json_u64(workspace, "bytes"),
               json_is_true(json_object_get(workspace, "needed")) ? ", needed" : "");
    return STATUS_OK;
}

static const struct action actions[] = { { "add", 1, add }, { "list", 0, list } };

static int run(const struct invocation *invocation)
{
    return action_run(invocation, actions, ELEMENTS(actions));
}

const struct verb verb_workspace = {
    .name = "workspace",
    .usage = "add FOLDER | list",
    .summary = "Send a folder as a workspace that every node can fetch; list those that are kept",
    .details = "What add prints goes into a document as a role's workspace. The same folder has\n"
               "the same name, and is sent once.",
    .options = workspace_options,
    .options_size = sizeof(struct workspace_options),
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
