/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_workspace.c - `edl workspace`: archives of workspaces that the scheduler keeps */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "client/action.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/verb.h"
#include "client/workspace_send.h"
#include "shared/error.h"
#include "shared/macro.h"

struct workspace_options {
    struct common_options common;
    bool list;
};

static const struct option_row workspace_options[] = {
    { "list", NULL, "of add: send nothing, show what would be sent", option_flag,
      OPTION_FIELD(struct workspace_options, list) },
};

static bool wants_json(const struct invocation *invocation)
{
    const struct workspace_options *options = invocation->options;

    return options->common.json;
}

static json_t *sent_json(const struct workspace_sent *sent)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "workspace", sent->name, "archive_bytes",
                     (json_int_t)sent->archive_bytes, "files", (json_int_t)sent->files, "bytes",
                     (json_int_t)sent->bytes, "left_out_files", (json_int_t)sent->left_out_files,
                     "left_out_bytes", (json_int_t)sent->left_out_bytes);
}

static int add(const struct invocation *invocation, struct server *server)
{
    const char *const none[WORKSPACE_WANTED_MAX] = { NULL };
    struct workspace_sent sent = { 0 };
    int status = workspace_send_all(server, invocation->arguments.args[1], none, &sent);

    if (status != STATUS_OK)
        return status;
    if (wants_json(invocation)) {
        _cleanup_json_ json_t *json = sent_json(&sent);

        json_print(json);
    } else {
        (void)printf("%s\n", sent.name);
    }
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

static int refuse_list(const struct invocation *invocation)
{
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -EINVAL, "workspace %s: --list goes with add FOLDER",
                        invocation->arguments.args[0]);
    (void)edl_error_remedy(&error, "edl workspace add --list FOLDER, or edl workspace list");
    return report_error(&error);
}

static const struct action actions[] = {
    { .name = "add", .n_args = 1, .run = add },
    { .name = "list", .run = list },
};

static int run(const struct invocation *invocation)
{
    const struct workspace_options *options = invocation->options;
    const struct option_words *arguments = &invocation->arguments;

    if (options->list && arguments->n_args == 2 && streq(arguments->args[0], "add"))
        return workspace_list(arguments->args[1], options->common.json);
    if (options->list)
        return refuse_list(invocation);
    return action_run(invocation, actions, ELEMENTS(actions));
}

const struct verb verb_workspace = {
    .name = "workspace",
    .usage = "add [--list] FOLDER | list",
    .summary = "Send a folder as a workspace that every node can fetch; list those that are kept",
    .details =
        "The output of add goes into a document as a role's workspace. The same folder has\n"
        "the same name, and is sent once. .edlignore and .gitignore in it, or below, say what is\n"
        "left out, by the rules of gitignore(5); !NAME in .edlignore brings back.",
    VERB_OPTIONS(workspace_options, struct workspace_options),
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
