/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_wait.c - `edl wait`: until a job has ended */
#include <inttypes.h>

#include "client/job_array.h"
#include "client/job_view.h"
#include "client/json_read.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

struct wait_options {
    struct common_options common;
    uint64_t timeout_us;
};

static const struct option_row wait_options[] = {
    { "timeout", "S", "give up after so long (exit status 1; 0: no limit)", option_limit,
      OPTION_FIELD(struct wait_options, timeout_us) },
};

/* A wait for several has one time for all. */
struct waiting {
    struct server *server;
    const struct wait_options *options;
    uint64_t start_us;
};

static uint64_t left_us(const struct waiting *waiting)
{
    uint64_t timeout_us = waiting->options->timeout_us;
    uint64_t passed_us = clock_read_us(CLOCK_BOOTTIME) - waiting->start_us;

    return timeout_us != 0 ? timeout_us - MIN_OF(passed_us, timeout_us) : NEVER_US;
}

/* One after the other, within one time: whoever is waited for last has ended last, or before. */
static int wait_array(const struct waiting *waiting, const char *name, json_t *jobs)
{
    int status = STATUS_OK;

    for (size_t i = 0; i < json_array_size(jobs) && status == STATUS_OK; i++) {
        json_t *job = json_array_get(jobs, i);
        _cleanup_free_ char *id = text_format("%" PRIu64, json_u64(job, "id"));

        if (job_is_final(job))
            continue;
        status = job_wait(waiting->server, id, left_us(waiting), &job);
        if (status == STATUS_OK)
            (void)json_array_set_new(jobs, i, job);
    }
    if (status != STATUS_OK)
        return status;
    if (waiting->options->common.json) {
        _cleanup_json_ json_t *answer = json_pack("{s:s,s:O}", "array", name, "jobs", jobs);

        json_print(answer);
        return array_outcome(jobs);
    }
    _cleanup_json_ json_t *groups = array_groups(jobs);

    array_print_summary(name, jobs);
    for (size_t g = 0; g < json_array_size(groups); g++)
        if (job_outcome(json_array_get(groups, g)) != STATUS_OK)
            array_print_group(json_array_get(groups, g));
    return array_outcome(jobs);
}

static int wait_one(const struct waiting *waiting, const char *name)
{
    _cleanup_json_ json_t *job = NULL;
    int status = job_wait(waiting->server, name, left_us(waiting), &job);

    if (status != STATUS_OK)
        return status;
    if (waiting->options->common.json)
        json_print(job);
    else
        job_print_line(job);
    return job_outcome(job);
}

static int wait_named(const struct waiting *waiting, const char *name)
{
    _cleanup_json_ json_t *jobs = NULL;
    int status = array_find(waiting->server, name, &jobs);

    if (status != STATUS_OK)
        return status;
    return jobs != NULL ? wait_array(waiting, name, jobs) : wait_one(waiting, name);
}

static int run(const struct invocation *invocation)
{
    const struct option_words *arguments = &invocation->arguments;
    struct server server;
    const struct waiting waiting = { .server = &server,
                                     .options = invocation->options,
                                     .start_us = clock_read_us(CLOCK_BOOTTIME) };
    int worst = server_open(invocation->common, &server);

    if (worst != STATUS_OK)
        return worst;
    for (size_t i = 0; i < arguments->n_args && worst != STATUS_NO_SERVER; i++) {
        int status = wait_named(&waiting, arguments->args[i]);

        worst = MAX_OF(worst, status);
    }
    server_clear(&server);
    return worst;
}

const struct verb verb_wait = {
    .name = "wait",
    .usage = "JOB... [--timeout S]",
    .summary = "Wait until jobs have ended",
    .details =
        "Exit status 0 when each succeeded, 1 when one failed, was killed or is not done in time.\n"
        "JOB may name an array: until all its jobs have ended. The time is one for all.",
    VERB_OPTIONS(wait_options, struct wait_options),
    .min_args = 1,
    .max_args = SIZE_MAX,
    .run = run,
};
