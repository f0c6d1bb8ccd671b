/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_wait.c - `edl wait`: until a job has ended */
#include "client/job_view.h"
#include "client/json_read.h"
#include "client/server.h"
#include "client/verb.h"
#include "shared/macro.h"

struct wait_options {
    struct common_options common;
    uint64_t timeout_us;
};

static const struct option_spec wait_options[] = {
    { "timeout", 0, OPTION_SECONDS, "S", "give up after so long (exit status 1)",
      offsetof(struct wait_options, timeout_us) },
    { .name = NULL },
};

static int run(const struct invocation *invocation)
{
    const struct wait_options *options = invocation->options;
    _cleanup_json_ json_t *job = NULL;
    struct server server;
    int status = server_open(&options->common, &server);

    if (status != STATUS_OK)
        return status;
    status = job_wait(&server, invocation->arguments.args[0],
                      options->timeout_us != 0 ? options->timeout_us : NEVER_US, &job);
    server_clear(&server);
    if (status != STATUS_OK)
        return status;
    if (options->common.json)
        json_print(job);
    else
        job_print_line(job);
    return job_outcome(job);
}

const struct verb verb_wait = {
    .name = "wait",
    .usage = "JOB [--timeout S]",
    .summary = "Wait until a job has ended",
    .details =
        "Exit status 0 when it succeeded, 1 when it failed, was killed or is not done in time.",
    .options = wait_options,
    .options_size = sizeof(struct wait_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
