/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_shell.c - `edl shell`: a shell beside a process of a job, or in a job of its own */
#include <stdio.h>
#include <unistd.h>

#include "client/json_read.h"
#include "client/own_job.h"
#include "client/report.h"
#include "client/server.h"
#include "client/session.h"
#include "client/session_name.h"
#include "client/session_run.h"
#include "client/session_verb.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"

struct shell_options {
    struct common_options common;
    uint64_t cpu_millicores, memory_bytes, gpus;
    const char *time, *node, *workspace;
};

#define AT(member) OPTION_FIELD(struct shell_options, member)

static const struct option_row shell_options[] = {
    { "cpu", "CORES", "a job of its own with so many cores: 4, 0.5", option_cores,
      AT(cpu_millicores) },
    { "memory", "BYTES", "with so much memory: 8Gi", option_memory, AT(memory_bytes) },
    { "gpu", "N", "with so many GPUs", option_number, AT(gpus) },
    { "gpus", "N", "the same", option_number, AT(gpus) },
    { "time", "TIME", "killed when it has run for so long: 2h", option_text, AT(time) },
    { "node", "NODE", "on that node", option_text, AT(node) },
    { "workspace", "DIR", "folder to begin in (this one, where nodes have it)", option_text,
      AT(workspace), .letter = 'w' },
};

static bool wants_job(const struct shell_options *options)
{
    return options->cpu_millicores != 0 || options->memory_bytes != 0 || options->gpus != 0 ||
           options->time != NULL || options->node != NULL || options->workspace != NULL;
}

static int open_shell(struct server *server, const struct session_name *name, bool ends_job)
{
    json_t *body = session_body("shell", NULL, 0);
    int status;

    if (ends_job)
        (void)json_object_set_new(body, "ends_job", json_true());
    status = session_run(&(struct session_run){ .server = server,
                                                .name = name,
                                                .body = body,
                                                .pty = isatty(STDIN_FILENO) == 1,
                                                .reads = true });
    json_decref(body);
    return status;
}

static int shell_beside(const struct invocation *invocation, const char *word)
{
    struct session_name name;
    struct server server;
    int status = session_verb_begin(invocation, word, &server, &name);

    if (status != STATUS_OK)
        return status == STATUS_BAD_INPUT ? status : SESSION_BROKEN;
    status = open_shell(&server, &name, false);
    session_name_clear(&name);
    server_clear(&server);
    return status;
}

/* The job is there for the shell alone: it ends with it, and a minute after a session that never
 * was. */
static int shell_alone(struct server *server, const struct shell_options *options)
{
    static const char *const command[] = { "edl-idle", "--sessions", "60s", NULL };
    const struct own_job job = { .name = "shell",
                                 .node = options->node,
                                 .time_limit = options->time,
                                 .workspace = options->workspace,
                                 .cpu_millicores = options->cpu_millicores,
                                 .memory_bytes = options->memory_bytes,
                                 .gpus = options->gpus,
                                 .command = command };
    _cleanup_free_ char *id = NULL, *shown = NULL;
    int status = own_job_start(server, &options->common, &job, &id, &shown);

    if (status != STATUS_OK)
        return SESSION_BROKEN;
    status = open_shell(server, &(struct session_name){ .job = id }, true);
    if (status == SESSION_BROKEN)
        own_job_kill(server, id);
    report_note("job %s ends with its shell", shown);
    return status;
}

static int run(const struct invocation *invocation)
{
    const struct shell_options *options = invocation->options;
    const struct option_words *words = &invocation->arguments;
    struct server server;
    int status = session_verb_check(invocation);

    if (status != STATUS_OK)
        return status;
    if (words->n_args > 0 && wants_job(options))
        return session_verb_refuse("edl shell JOB, or edl shell --cpu 4 --gpu 1",
                                   "edl shell: %.80s is a job, and --cpu and its like ask for "
                                   "another one",
                                   words->args[0]);
    if (words->n_args > 0)
        return shell_beside(invocation, words->args[0]);
    if (!wants_job(options))
        return session_verb_refuse("edl shell JOB, or edl shell --cpu 4 for a job of its own",
                                   "edl shell: beside which job?");
    status = server_open(&options->common, &server);
    if (status != STATUS_OK)
        return SESSION_BROKEN;
    status = shell_alone(&server, options);
    server_clear(&server);
    return status;
}

const struct verb verb_shell = {
    .name = "shell",
    .usage = "JOB[.ROLE-N] | [--cpu N] [--gpu N] [--memory M] [--time T] [--node NODE]",
    .summary = "Open a shell beside a process of a job, or in a job of its own",
    .details =
        "With JOB: the login shell of the process's account, on its node, in its folder, with its\n"
        "environment and within its limits; it ends with the process. Without: a job is submitted\n"
        "and waited for, which ends with the shell.\n"
        "~. at the start of a line ends the session, ~? tells more. The exit status is the\n"
        "shell's; 255: there was no session, or it broke off.",
    VERB_OPTIONS(shell_options, struct shell_options),
    .max_args = 1,
    .run = run,
};
