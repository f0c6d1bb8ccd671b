/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_kill.c - `edl kill`: stop jobs; each is asked for although another was refused */
#include <inttypes.h>
#include <stdio.h>

#include "client/job_view.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

struct kill_options {
    struct common_options common;
    const char *reason;
    bool array;
};

static const struct option_row kill_options[] = {
    { "reason", "TEXT", "kept with the job", option_text,
      OPTION_FIELD(struct kill_options, reason) },
    { "array", NULL, "JOB names an array, also where a job has that name", option_flag,
      OPTION_FIELD(struct kill_options, array) },
};

static char *array_path(const char *array)
{
    _cleanup_free_ char *segment = text_url_segment(array);

    return text_format("/arrays/%s", segment);
}

static int ask(struct server *server, const char *path, const json_t *body,
               struct http_answer *ret_answer)
{
    struct http_call call = { .method = "DELETE", .path = path, .json = body };

    return server_call(server, &call, ret_answer);
}

static bool is_not_there(int status, const struct http_answer *answer)
{
    return status == STATUS_FAILED && answer->failure == 0 && answer->status == 404;
}

/* The job of that name; where there is none, the array. */
static int stop(struct server *server, const struct kill_options *options, const char *job,
                bool *ret_array, struct http_answer *ret_answer)
{
    _cleanup_free_ char *path = job_path(job, "");
    _cleanup_free_ char *of_array = array_path(job);
    _cleanup_json_ json_t *body = NULL;
    struct http_answer second = { 0 };
    int status;

    if (options->reason != NULL)
        body = json_pack("{s:s}", "reason", options->reason);
    *ret_array = options->array;
    status = ask(server, options->array ? of_array : path, body, ret_answer);
    if (options->array || !is_not_there(status, ret_answer))
        return status;
    int again = ask(server, of_array, body, &second);

    if (is_not_there(again, &second)) {
        http_answer_clear(&second);
        return status;
    }
    http_answer_clear(ret_answer);
    *ret_answer = second;
    *ret_array = true;
    return again;
}

static int kill_one(struct server *server, const struct kill_options *options, const char *job)
{
    struct http_answer answer = { 0 };
    bool array = false;
    int status = stop(server, options, job, &array, &answer);

    if (status != STATUS_OK)
        status = report_answer(&answer);
    else if (options->common.json)
        json_print(answer.json);
    else if (array)
        (void)printf("array %s: %" PRIu64 " job%s being stopped\n", json_text(answer.json, "array"),
                     json_u64(answer.json, "jobs"),
                     json_u64(answer.json, "jobs") == 1 ? " is" : "s are");
    else
        job_print_line(answer.json);
    http_answer_clear(&answer);
    return status;
}

static int run(const struct invocation *invocation)
{
    const struct kill_options *options = invocation->options;
    const struct option_words *arguments = &invocation->arguments;
    struct server server;
    int worst = server_open(&options->common, &server);

    if (worst != STATUS_OK)
        return worst;
    for (size_t i = 0; i < arguments->n_args && worst != STATUS_NO_SERVER; i++) {
        int status = kill_one(&server, options, arguments->args[i]);

        worst = MAX_OF(worst, status);
    }
    server_clear(&server);
    return worst;
}

const struct verb verb_kill = {
    .name = "kill",
    .usage = "[--array] JOB... [--reason TEXT]",
    .summary = "Stop jobs",
    .details = "The processes get SIGTERM and, after the job's grace time, SIGKILL. `edl wait JOB` "
               "returns\n"
               "when the last of them is gone. JOB may name an array: all its jobs are stopped.",
    VERB_OPTIONS(kill_options, struct kill_options),
    .min_args = 1,
    .max_args = SIZE_MAX,
    .run = run,
};
