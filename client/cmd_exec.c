/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_exec.c - `edl exec`: a command beside a process of a job, on its node and within its limits
 */
#include <unistd.h>

#include "client/exec_all.h"
#include "client/json_read.h"
#include "client/server.h"
#include "client/session.h"
#include "client/session_name.h"
#include "client/session_run.h"
#include "client/session_verb.h"
#include "client/verb.h"

struct exec_options {
    struct common_options common;
    bool input, tty, no_input, all;
};

static const struct option_row exec_options[] = {
    { "stdin", NULL, "send standard input, also from a terminal", option_flag,
      OPTION_FIELD(struct exec_options, input), .letter = 'i' },
    { "tty", NULL, "a terminal of its own, for programs that draw", option_flag,
      OPTION_FIELD(struct exec_options, tty), .letter = 't' },
    { "no-stdin", NULL, "leave standard input alone, as in a loop that reads it", option_flag,
      OPTION_FIELD(struct exec_options, no_input), .letter = 'n' },
    { "all", NULL, "beside every running process; lines stand behind its name", option_flag,
      OPTION_FIELD(struct exec_options, all), .letter = 'a' },
};

static int check(const struct exec_options *options, const struct session_name *name,
                 const char *word, size_t n_words)
{
    static const char usage[] = "edl exec JOB[.ROLE-N] -- COMMAND...";

    if (n_words == 0)
        return session_verb_refuse("edl exec JOB -- COMMAND..., or edl shell JOB",
                                   "edl exec: the command is missing");
    if (options->tty && !isatty(STDIN_FILENO))
        return session_verb_refuse("leave -t out", "-t asks for a terminal, and standard input "
                                                   "is none");
    if (options->no_input && (options->input || options->tty))
        return session_verb_refuse(usage, "--no-stdin goes with neither -i nor -t");
    if (options->all && (options->input || options->tty))
        return session_verb_refuse(usage, "--all runs commands that have no input: it goes with "
                                          "neither -i nor -t");
    if (options->all && name->process != NULL)
        return session_verb_refuse("edl exec JOB --all -- COMMAND...",
                                   "--all is every process, and %.80s is one", word);
    return STATUS_OK;
}

static int run(const struct invocation *invocation)
{
    const struct exec_options *options = invocation->options;
    const struct option_words *words = &invocation->arguments;
    bool apart = words->n_rest > 0;
    char *const *command = apart ? words->rest : words->args + 1;
    size_t n = apart ? words->n_rest : words->n_args - 1;
    struct session_name name;
    struct server server;
    json_t *body;
    int status;

    if (apart && words->n_args > 1)
        return session_verb_refuse("edl exec JOB[.ROLE-N] -- COMMAND...",
                                   "\"%.80s\" stands between the job and --", words->args[1]);
    status = session_verb_begin(invocation, words->args[0], &server, &name);
    if (status != STATUS_OK)
        return status == STATUS_BAD_INPUT ? status : SESSION_BROKEN;
    status = check(options, &name, words->args[0], n);
    body = status == STATUS_OK ? session_body("exec", command, n) : NULL;
    if (status == STATUS_OK && body == NULL)
        status = STATUS_BAD_INPUT;
    if (status == STATUS_OK && options->all)
        status = exec_all(&server, name.job, body);
    else if (status == STATUS_OK)
        status = session_run(&(struct session_run){
            .server = &server,
            .name = &name,
            .body = body,
            .pty = options->tty,
            .reads =
                !options->no_input && (options->tty || options->input || !isatty(STDIN_FILENO)),
        });
    json_decref(body);
    session_name_clear(&name);
    server_clear(&server);
    return status;
}

const struct verb verb_exec = {
    .name = "exec",
    .usage = "JOB[.ROLE-N] [-i] [-t] [--all] -- COMMAND...",
    .summary = "Run a command beside a process of a job",
    .details =
        "The command runs on the process's node as its account, in its folder, with its\n"
        "environment, and within its limits: it sees the same GPUs. It ends with the process,\n"
        "and never ends it. Without ROLE-N it is the job's first process that runs.\n"
        "Standard input, output and error are the command's, byte for byte. Standard input is\n"
        "sent when it is no terminal, or with -i. Ctrl-C goes to the command as a signal; the\n"
        "third one ends the session. With -t the command has a terminal: Ctrl-C is a key there,\n"
        "and ~. at the start of a line ends the session.\n"
        "The exit status is the command's; 127: there is no such program, 128 and N: signal N\n"
        "ended it, 255: there was no session, or it broke off. With --all it is the worst one.",
    VERB_OPTIONS(exec_options, struct exec_options),
    .min_args = 1,
    .max_args = SIZE_MAX,
    .takes_command = true,
    .run = run,
};
