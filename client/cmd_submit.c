/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_submit.c - `edl submit`: a document as it is, or a command made into one
 *
 * A document is sent byte for byte: the scheduler is the only judge of it, so that every client
 * gets the same answer. Keys that it ignored are told on stderr. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "client/job_build.h"
#include "client/job_view.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/macro.h"

struct submit_options {
    struct common_options common;
    const char *name, *workspace, *dataset;
    uint64_t min, max, cpu_millicores, memory_bytes, gpus, passes;
    struct option_list env;
    bool follow;
};

#define AT(member) offsetof(struct submit_options, member)

static const struct option_spec submit_options[] = {
    { "follow", 'f', OPTION_FLAG, NULL, "print the job's output; exit as the job ends",
      AT(follow) },
    { "name", 'n', OPTION_TEXT, "NAME", "of the job (default: from the command)", AT(name) },
    { "min", 0, OPTION_U64, "N", "instances to start with (1)", AT(min) },
    { "max", 0, OPTION_U64, "N", "instances at most (as --min)", AT(max) },
    { "cpu", 0, OPTION_CPU, "CORES", "per instance: 2, 0.5, 200m", AT(cpu_millicores) },
    { "memory", 0, OPTION_BYTES, "BYTES", "per instance: 64Mi, 1Gi", AT(memory_bytes) },
    { "gpus", 0, OPTION_U64, "N", "per instance", AT(gpus) },
    { "env", 'e', OPTION_LIST, "N=V", "environment of the processes; may be repeated", AT(env) },
    { "workspace", 'w', OPTION_TEXT, "DIR",
      "folder to run in, on every node (this one); private: one each", AT(workspace) },
    { "dataset", 0, OPTION_TEXT, "GLOB", "RecordIO files given out as tasks", AT(dataset) },
    { "passes", 0, OPTION_U64, "N", "passes over the dataset (1)", AT(passes) },
    { .name = NULL },
};

/* The whole of a file or, for "-", of standard input; one byte more than allowed is read to tell.
 */
static int read_document(const char *path, char **ret, size_t *ret_size, struct edl_error *error)
{
    bool from_stdin = streq(path, "-");
    _cleanup_close_ int opened = from_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int fd = from_stdin ? STDIN_FILENO : opened;
    _cleanup_free_ char *text = xcalloc(1, JOB_DOCUMENT_MAX_BYTES + 2);
    size_t size = 0;

    if (fd == -1) {
        /* the same exit status as for any other wrong argument */
        return edl_error_set(error, -EINVAL, "the document %s cannot be opened: %s", path,
                             strerror(errno));
    }
    while (size <= JOB_DOCUMENT_MAX_BYTES) {
        ssize_t n = read(fd, text + size, JOB_DOCUMENT_MAX_BYTES + 1 - size);

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return edl_error_set(error, -EINVAL, "the document %s cannot be read: %s", path,
                                 strerror(errno));
        if (n == 0)
            break;
        size += (size_t)n;
    }
    if (size > JOB_DOCUMENT_MAX_BYTES)
        return edl_error_set(error, -E2BIG, "the document %s is larger than %d bytes", path,
                             JOB_DOCUMENT_MAX_BYTES);
    *ret = TAKE_PTR(text);
    *ret_size = size;
    return 0;
}

static const char *content_type(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return *text == '{' ? "application/json" : "application/yaml";
}

static int send_document(struct server *server, const char *text, size_t size, json_t **ret)
{
    struct http_call call = { .method = "POST",
                              .path = "/jobs",
                              .body = text,
                              .body_size = size,
                              .content_type = content_type(text) };
    struct http_answer answer = { 0 };
    int status = server_call(server, &call, &answer);

    if (status != STATUS_OK)
        status = report_answer(&answer);
    else
        *ret = answer.json != NULL ? json_incref(answer.json) : json_object();
    http_answer_clear(&answer);
    return status;
}

static void print_accepted(const json_t *answer, bool json)
{
    size_t i;
    json_t *pointer;

    if (json) {
        json_print(answer);
        return;
    }
    job_print_line(answer);
    json_array_foreach(json_object_get(answer, "ignored"), i, pointer)
        report_note("%s is ignored",
                    json_string_value(pointer) != NULL ? json_string_value(pointer) : "?");
}

static int follow(struct server *server, const json_t *accepted, bool json)
{
    /* by number: a name may be used again as soon as the job has ended */
    _cleanup_free_ char *id = text_format("%" PRIu64, json_u64(accepted, "id"));
    struct log_request request = { .job = id, .follow = true, .json = json };
    _cleanup_json_ json_t *job = NULL;
    int status = job_logs(server, &request);

    if (status == STATUS_OK)
        status = job_wait(server, id, NEVER_US, &job);
    if (status != STATUS_OK)
        return status;
    if (json)
        json_print_line(job);
    else
        job_print_line(job);
    return job_outcome(job);
}

static int submit_text(struct server *server, const struct submit_options *options,
                       const char *text, size_t size)
{
    _cleanup_json_ json_t *accepted = NULL;
    int status = send_document(server, text, size, &accepted);

    if (status != STATUS_OK)
        return status;
    print_accepted(accepted, options->common.json);
    return options->follow ? follow(server, accepted, options->common.json) : STATUS_OK;
}

static int submit_file(struct server *server, const struct submit_options *options,
                       const char *path)
{
    _cleanup_free_ char *text = NULL;
    struct edl_error error = { 0 };
    size_t size = 0;

    if (read_document(path, &text, &size, &error) < 0)
        return report_error(&error);
    return submit_text(server, options, text, size);
}

static int submit_command(struct server *server, const struct submit_options *options,
                          const struct arguments *arguments)
{
    /* Here is where the command makes sense: like a shell, run it where it was typed. */
    _cleanup_free_ char *here = options->workspace == NULL ? getcwd(NULL, 0) : NULL;
    const char *workspace = options->workspace != NULL ? options->workspace : here;
    struct job_build build = {
        .name = options->name,
        .workspace = workspace == NULL || streq(workspace, "private") ? "" : workspace,
        .dataset = options->dataset,
        .min = options->min,
        .max = options->max,
        .cpu_millicores = options->cpu_millicores,
        .memory_bytes = options->memory_bytes,
        .gpus = options->gpus,
        .passes = options->passes,
        .env = &options->env,
        .argv = arguments->rest,
        .argc = arguments->n_rest,
    };
    _cleanup_json_ json_t *document = NULL;
    struct edl_error error = { 0 };

    if (job_build_document(&build, &document, &error) < 0)
        return report_error(&error);

    _cleanup_free_ char *text = json_dumps(document, JSON_COMPACT);

    return submit_text(server, options, text, strlen(text));
}

/* Either documents or a command, not both, not none. */
static int check(const struct submit_options *options, const struct arguments *arguments)
{
    bool for_command = options->name != NULL || options->min != 0 || options->max != 0 ||
                       options->cpu_millicores != 0 || options->memory_bytes != 0 ||
                       options->gpus != 0 || options->passes != 0 || options->env.n != 0 ||
                       options->workspace != NULL || options->dataset != NULL;
    struct edl_error error = { 0 };

    if ((arguments->n_args > 0) == (arguments->n_rest > 0))
        (void)edl_error_set(&error, -EINVAL, "edl submit: %s",
                            arguments->n_args > 0 ? "either documents or -- COMMAND, not both"
                                                  : "a document or a command is missing");
    else if (arguments->n_args > 0 && for_command)
        (void)edl_error_set(&error, -EINVAL,
                            "edl submit: only --follow goes with a document; the rest is in it");
    else if (arguments->n_args > 1 && options->follow)
        (void)edl_error_set(&error, -EINVAL, "edl submit: --follow takes one document");
    else
        return STATUS_OK;
    (void)edl_error_remedy(&error, "edl submit FILE..., or edl submit [OPTION]... -- COMMAND...");
    return report_error(&error);
}

static int run(const struct invocation *invocation)
{
    const struct submit_options *options = invocation->options;
    const struct arguments *arguments = &invocation->arguments;
    struct server server;
    int worst = check(options, arguments);

    if (worst == STATUS_OK)
        worst = server_open(&options->common, &server);
    if (worst != STATUS_OK)
        return worst;
    if (arguments->n_rest > 0)
        worst = submit_command(&server, options, arguments);
    for (size_t i = 0; i < arguments->n_args && worst != STATUS_NO_SERVER; i++) {
        int status = submit_file(&server, options, arguments->args[i]);

        worst = MAX_OF(worst, status);
    }
    server_clear(&server);
    return worst;
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
    .options = submit_options,
    .options_size = sizeof(struct submit_options),
    .max_args = SIZE_MAX,
    .run = run,
};
