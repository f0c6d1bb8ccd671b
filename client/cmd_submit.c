/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_submit.c - `edl submit`: a document as it is, or a command made into one
 *
 * Keys that the scheduler ignored are told on stderr. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "client/interrupt.h"
#include "client/job_command.h"
#include "client/job_exit.h"
#include "client/job_input.h"
#include "client/job_place.h"
#include "client/job_view.h"
#include "client/job_words.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/script_call.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

struct submit_options {
    struct common_options common;
    struct job_options job;
    const char *upload;
    bool no_upload;
    bool follow, kill_on_interrupt;
};

#define AT(member) OPTION_FIELD(struct submit_options, member)

static const struct option_row submit_options[] = {
    { "follow", NULL, "print the job's output; exit as the job ends", option_flag, AT(follow),
      .letter = 'f' },
    { "kill-on-interrupt", NULL, "with --follow: Ctrl-C kills the job", option_flag,
      AT(kill_on_interrupt) },
    { "upload", "DIR", "send this folder; each process runs in a copy of it", option_text,
      AT(upload) },
    { "no-upload", NULL, "run in the current folder by its path, also where nodes lack it",
      option_flag, AT(no_upload) },
#define XX(name, argument, help, kind, member, key)                                                \
    { name, argument, help, kind, AT(job.member), .letter = (key) },
    JOB_OPTION_MAP(XX)
#undef XX
};

/* An older server does not tell. */
static void print_outlook(const json_t *outlook)
{
    bool has_deadline = json_is_string(json_object_get(outlook, "deadline"));
    const json_t *others = json_object_get(outlook, "others_late");

    /* that some were not looked at is nothing that who submits could act on: edl plan tells */
    if (has_deadline || json_u64(others, "count") > 0)
        (void)printf("%s: %s\n", has_deadline ? "deadline" : "length", json_text(outlook, "text"));
}

/* A limit that nobody wrote is better known before it is reached. */
static void note_defaults(const json_t *answer)
{
    const json_t *defaults = json_object_get(answer, "defaults");
    char amount[32];
    size_t i;
    json_t *role;

    json_array_foreach(defaults, i, role)
    {
        uint64_t millicores = json_u64(role, "cpu_millicores");
        uint64_t bytes = json_u64(role, "memory_bytes");
        _cleanup_free_ char *cpu =
            millicores == 0 ? xstrdup("")
                            : text_format(" cpu %s", text_cpu(millicores, amount, sizeof amount));
        _cleanup_free_ char *memory =
            bytes == 0 ? xstrdup("")
                       : text_format(" memory %s", text_bytes(bytes, amount, sizeof amount));

        report_note("each %s asks for%s%s, as the job does not say how much (%s)",
                    json_text(role, "role"), cpu, memory,
                    millicores == 0 ? "--memory"
                    : bytes == 0    ? "--cpu"
                                    : "--cpu, --memory");
    }
}

static void tell_notes(const json_t *answer)
{
    size_t i;
    json_t *note;

    json_array_foreach(json_object_get(answer, "notes"), i, note)
        report_note("%s", json_string_value(note) != NULL ? json_string_value(note) : "?");
}

static void print_accepted(const json_t *answer, bool json)
{
    const json_t *array = json_object_get(answer, "array");
    const char *reason = json_text(answer, "reason"); /* an older server does not tell */

    if (json) {
        json_print(answer);
        return;
    }
    if (array != NULL)
        (void)printf("array %s: %" PRIu64 " job%s (%" PRIu64 " to %" PRIu64 ")%s%s\n",
                     json_text(answer, "job"), json_u64(array, "jobs"),
                     PLURAL(json_u64(array, "jobs")), json_u64(answer, "id"),
                     json_u64(array, "last_id"), *reason != '\0' ? ": " : "", reason);
    else
        job_print_line(answer);
    if (*reason != '\0')
        report_note("it waits until such a node joins (edl node add), or less is asked for "
                    "(edl kill %s, then submit it anew)",
                    json_text(answer, "job"));
    print_outlook(json_object_get(answer, "outlook"));
    job_note_ignored(answer);
    note_defaults(answer);
    tell_notes(answer);
}

/* What Ctrl-C does is said before anybody types it. */
static int watch_interrupt(const struct submit_options *options, const json_t *accepted,
                           struct interrupt *ret)
{
    const char *name = json_text(accepted, "job");
    struct edl_error error = { 0 };

    if (!options->kill_on_interrupt) {
        if (isatty(STDERR_FILENO))
            report_note(
                "Ctrl-C leaves the job running: edl logs -f %s, edl kill %s (or submit with "
                "--kill-on-interrupt)",
                name, name);
        return STATUS_OK;
    }
    if (interrupt_start(ret, &options->common, json_u64(accepted, "id"), name, &error) < 0)
        return report_error(&error);
    report_note("Ctrl-C kills the job");
    return STATUS_OK;
}

static int follow(struct server *server, const json_t *accepted,
                  const struct submit_options *options)
{
    /* by number: a name may be used again as soon as the job has ended */
    _cleanup_free_ char *id = text_format("%" PRIu64, json_u64(accepted, "id"));
    bool json = options->common.json;
    struct log_request request = { .job = id, .follow = true, .json = json, .folds = true };
    struct interrupt interrupt = { 0 };
    _cleanup_json_ json_t *job = NULL;
    int status = watch_interrupt(options, accepted, &interrupt);

    if (status == STATUS_OK)
        status = job_logs(server, &request, accepted);
    if (status == STATUS_OK)
        status = job_wait(server, id, NEVER_US, &job);
    (void)interrupt_end(&interrupt);
    if (status != STATUS_OK)
        return status;
    if (json)
        json_print_line(job);
    else
        job_print_line(job);
    return job_exit_status(server, job);
}

static int submit_text(struct server *server, const struct invocation *invocation, const char *file,
                       const char *text, size_t size, const char *workspace,
                       const struct job_placed *placed)
{
    const struct submit_options *options = invocation->options;
    _cleanup_json_ json_t *accepted = NULL;
    int status;

    if (options->kill_on_interrupt)
        interrupt_hold();
    status = job_send(server, "/jobs", file, text, size, &accepted);
    if (status != STATUS_OK) {
        if (options->kill_on_interrupt)
            interrupt_release();
        return status;
    }
    print_accepted(accepted, options->common.json);
    if (!placed->everywhere)
        job_note_workspace(server, &options->job, workspace);
    job_note_virtual_env(server, &options->job, &invocation->arguments, placed->upload);
    return options->follow ? follow(server, accepted, options) : STATUS_OK;
}

static int submit_file(struct server *server, const struct invocation *invocation, const char *path)
{
    static const struct job_placed placed; /* the document says where it runs */
    _cleanup_free_ char *text = NULL;
    struct edl_error error = { 0 };
    size_t size = 0;

    if (job_read_document(invocation, path, &text, &size, &error) < 0)
        return report_error(&error);
    return submit_text(server, invocation, path, text, size, NULL, &placed);
}

static int submit_command(struct server *server, const struct invocation *invocation)
{
    const struct submit_options *options = invocation->options;
    struct job_options job = options->job;
    struct job_placed placed = { 0 };
    _cleanup_free_ char *text = NULL, *workspace = NULL;
    struct edl_error error = { 0 };
    const struct place_wish wish = { .upload = options->upload, .no_upload = options->no_upload };
    int status = job_place(server, &wish, &invocation->arguments, &job, &placed);

    if (status != STATUS_OK)
        return status;
    if (job_from_command(server, &job, &invocation->arguments, &text, &workspace, &error) < 0)
        return report_error(&error);
    return submit_text(server, invocation, NULL, text, strlen(text), workspace, &placed);
}

/* Either documents or a command, not both, not none. */
static int check(const struct submit_options *options, const struct option_words *arguments)
{
    struct edl_error error = { 0 };

    if ((arguments->n_args > 0) == (arguments->n_rest > 0))
        (void)edl_error_set(&error, -EINVAL, "submit: %s",
                            arguments->n_args > 0 ? "either documents or -- COMMAND, not both"
                                                  : "a document or a command is missing");
    else if (options->upload != NULL && options->job.workspace != NULL)
        (void)edl_error_set(&error, -EINVAL,
                            "submit: --upload and --workspace both say where it runs");
    else if (options->no_upload && (options->upload != NULL || options->job.workspace != NULL))
        (void)edl_error_set(&error, -EINVAL,
                            "submit: --no-upload goes with neither --upload nor --workspace");
    else if (arguments->n_args > 0 &&
             (job_options_given(&options->job) || options->upload != NULL || options->no_upload))
        (void)edl_error_set(&error, -EINVAL,
                            "submit: only --follow goes with a document; the rest is in it");
    else if (options->job.array != NULL && options->follow)
        (void)edl_error_set(&error, -EINVAL, "submit: --follow takes one job, no --array");
    else if (arguments->n_args > 1 && options->follow)
        (void)edl_error_set(&error, -EINVAL, "submit: --follow takes one document");
    else if (options->kill_on_interrupt && !options->follow)
        (void)edl_error_set(&error, -EINVAL, "submit: --kill-on-interrupt goes with --follow");
    else
        return STATUS_OK;
    if (arguments->n_args > 0 &&
        (job_command_is(arguments->args[0], NULL, 0) || job_command_is(arguments->args[0], "", 0)))
        (void)edl_error_remedy(&error,
                               "edl submit -- %.80s ...: a command and its options go behind --",
                               arguments->args[0]);
    else
        (void)edl_error_remedy(&error,
                               "edl submit FILE..., or edl submit [OPTION]... -- COMMAND...");
    return report_error(&error);
}

static int run_call(const struct invocation *invocation, const struct script_call *call)
{
    const struct submit_options *options = invocation->options;
    const struct option_words *arguments = &invocation->arguments;
    struct server server;
    int worst = check(options, arguments);

    if (worst == STATUS_OK)
        worst = server_open(&options->common, &server);
    if (worst != STATUS_OK)
        return worst;
    script_call_note(call, &options->job);
    if (arguments->n_rest > 0)
        worst = submit_command(&server, invocation);
    for (size_t i = 0; i < arguments->n_args && worst != STATUS_NO_SERVER; i++) {
        int status = submit_file(&server, invocation, arguments->args[i]);

        worst = MAX_OF(worst, status);
    }
    server_clear(&server);
    return worst;
}

static int run(const struct invocation *invocation)
{
    const struct invocation *call;
    struct script_call script;
    int status = script_call_read(invocation, offsetof(struct submit_options, job), &script, &call);

    if (status == STATUS_OK)
        status = run_call(call, &script);
    script_call_clear(&script);
    return status;
}

const struct verb verb_submit = {
    .name = "submit",
    .usage = "FILE... | - | [--name N] [--min A --max B] [--cpu C] [--memory M] [--follow] -- "
             "COMMAND...",
    .summary = "Submit a job: a document (JSON or YAML), or a command",
    .details =
        "FILE is a TrainingJob document, \"-\" is standard input. A command becomes a job of one "
        "role,\n"
        "trainer, with --min to --max instances. With --follow the output is printed and the exit\n"
        "status is 0 when the job succeeded, 1 otherwise.",
    VERB_OPTIONS_BESIDE(submit_options, struct submit_options, job_words_ours),
    .max_args = SIZE_MAX,
    .takes_command = true,
    .run = run,
};
