/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_attach.c - `edl attach`: the output of a process as it writes it, and its standard input */
#include <unistd.h>

#include "client/json_read.h"
#include "client/server.h"
#include "client/session.h"
#include "client/session_name.h"
#include "client/session_run.h"
#include "client/session_verb.h"
#include "client/verb.h"

struct attach_options {
    struct common_options common;
    bool no_input;
};

static const struct option_row attach_options[] = {
    { "no-stdin", NULL, "only show what it writes", option_flag,
      OPTION_FIELD(struct attach_options, no_input), .letter = 'n' },
};

static int run(const struct invocation *invocation)
{
    const struct attach_options *options = invocation->options;
    struct session_name name;
    struct server server;
    json_t *body;
    int status = session_verb_begin(invocation, invocation->arguments.args[0], &server, &name);

    if (status != STATUS_OK)
        return status == STATUS_BAD_INPUT ? status : SESSION_BROKEN;
    body = session_body("attach", NULL, 0);
    status = session_run(&(struct session_run){
        .server = &server,
        .name = &name,
        .body = body,
        .reads = !options->no_input,
        .detaches = true,
        .masks = true,
        .no_eof = options->no_input || isatty(STDIN_FILENO) == 0,
        .left = "left; the job goes on (edl attach or edl logs -f shows more)",
    });
    json_decref(body);
    session_name_clear(&name);
    server_clear(&server);
    return status;
}

const struct verb verb_attach = {
    .name = "attach",
    .usage = "JOB[.ROLE-N] [--no-stdin]",
    .summary = "Show what a process writes, and type into it",
    .details =
        "It begins with the last 4 KiB of the process's output. What is typed goes to the process\n"
        "if its job asked for that (\"stdin\": true in its role, edl submit --stdin), as for a\n"
        "debugger; the lines are sent as they are ended. Ctrl-D there ends the process's standard\n"
        "input; the end of a file or pipe does not. Ctrl-C leaves: the job goes on.\n"
        "On a terminal its control characters are shown as escapes, but for colours.\n"
        "The exit status is the process's, once it has ended; 130 after Ctrl-C; 255: there was no\n"
        "session, or it broke off.",
    VERB_OPTIONS(attach_options, struct attach_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
