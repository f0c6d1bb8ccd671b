/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_kill.c - `edl kill`: stop jobs; each is asked for although another was refused */
#include <inttypes.h>
#include <stdio.h>

#include "client/job_view.h"
#include "client/json_read.h"
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

static const struct option_spec kill_options[] = {
    { "reason", 0, OPTION_TEXT, "TEXT", "kept with the job",
      offsetof(struct kill_options, reason) },
    { "array", 0, OPTION_FLAG, NULL, "JOB names an array: all its jobs",
      offsetof(struct kill_options, array) },
    { .name = NULL },
};

static char *array_path(const char *array)
{
    _cleanup_free_ char *segment = text_url_segment(array);

    return text_format("/arrays/%s", segment);
}

static int kill_one(struct server *server, const struct kill_options *options, const char *job)
{
    _cleanup_free_ char *path = options->array ? array_path(job) : job_path(job, "");
    _cleanup_json_ json_t *body = NULL;
    _cleanup_json_ json_t *answer = NULL;

    if (options->reason != NULL)
        body = json_pack("{s:s}", "reason", options->reason);

    int status = server_request(server, "DELETE", path, body, &answer);

    if (status != STATUS_OK)
        return status;
    if (options->common.json)
        json_print(answer);
    else if (options->array)
        (void)printf("array %s: %" PRIu64 " jobs are being stopped\n", json_text(answer, "array"),
                     json_u64(answer, "jobs"));
    else
        job_print_line(answer);
    return STATUS_OK;
}

static int run(const struct invocation *invocation)
{
    const struct kill_options *options = invocation->options;
    const struct arguments *arguments = &invocation->arguments;
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
               "when the last of them is gone.",
    .options = kill_options,
    .options_size = sizeof(struct kill_options),
    .min_args = 1,
    .max_args = SIZE_MAX,
    .run = run,
};
