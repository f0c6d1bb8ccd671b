/* SPDX-License-Identifier: Apache-2.0 */
/* history.c - who held what over time, and how a job went: for pictures */
#include "scheduler/api/api.h"

#include <errno.h>

#include "scheduler/core/core.h"
#include "scheduler/history/bins.h"
#include "scheduler/history/reads.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

#define BINS_WANTED 250
#define WINDOW_US (3600 * USEC_PER_SEC)

struct word {
    const char *text;
    bool value;
};

/* read_word - absent: the first of the two */
static int read_word(const struct http_request *request, const char *key,
                     const struct word words[2], bool *ret, struct edl_error *error)
{
    const char *given = http_request_query(request, key);

    for (int i = 0; i < 2; i++)
        if (given == NULL || streq(given, words[i].text)) {
            *ret = words[i].value;
            return 0;
        }
    (void)edl_error_set(error, -EINVAL, "%s=%.40s is not known", key, given);
    return edl_error_remedy(error, "%s=%s or %s=%s", key, words[0].text, key, words[1].text);
}

static int read_bins(const struct http_request *request, uint32_t *ret, struct edl_error *error)
{
    uint64_t bins;
    int r = http_request_query_u64(request, "bins", BINS_WANTED, &bins, error);

    if (r < 0)
        return r;
    if (bins == 0 || bins > BINS_MAX) {
        (void)edl_error_set(error, -EINVAL, "bins=%llu is not 1 to %d", (unsigned long long)bins,
                            BINS_MAX);
        return edl_error_remedy(error, "bins=%d", BINS_MAX);
    }
    *ret = (uint32_t)bins;
    return 0;
}

/* read_window - as the wall clock shows it. Nothing is known behind now */
static int read_window(const struct http_request *request, struct held_query *ret,
                       struct edl_error *error)
{
    uint64_t now_us = clock_instant().wall_us, since_us, until_us;
    int r = http_request_query_u64(request, "until_us", 0, &until_us, error);

    ret->until_us = until_us == 0 ? now_us : MIN_OF(clock_elapsed_us(until_us), now_us);
    if (r == 0)
        r = http_request_query_u64(request, "since_us", 0, &since_us, error);
    if (r < 0)
        return r;
    if (since_us > INT64_MAX || until_us > INT64_MAX)
        return edl_error_set(error, -EINVAL, "since_us= or until_us= is too large");
    ret->since_us = since_us == 0 ? ret->until_us - MIN_OF(WINDOW_US, ret->until_us)
                                  : clock_elapsed_us(since_us);
    if (ret->since_us < ret->until_us)
        return 0;
    (void)edl_error_set(error, -EINVAL, "the time of since_us= is not before that of until_us=");
    return edl_error_remedy(error, "microseconds since 1970, since_us= before now");
}

void api_history_allocation(struct http_request *request, void *userdata)
{
    static const struct word owners[] = { { "user", false }, { "job", true } };
    static const struct word resources[] = { { "cpu", false }, { "gpus", true } };
    struct held_query query = { .job_id = 0 };
    struct edl_error error = { 0 };
    uint32_t bins = 0;
    int r = read_window(request, &query, &error);

    if (r == 0)
        r = read_word(request, "by", owners, &query.by_job, &error);
    if (r == 0)
        r = read_word(request, "resource", resources, &query.gpus, &error);
    if (r == 0)
        r = read_bins(request, &bins, &error);
    if (r < 0)
        http_reply_error(request, &error);
    else
        history_read_allocation(userdata, request, &query, bins);
}

/* From its first start to its end; one that never started has nothing to show. */
static void window_of(const struct job *job, struct held_query *query)
{
    uint64_t begin_us = job->started_wall_us != 0 ? job->started_wall_us : job->submitted_wall_us;

    query->job_id = job->id;
    query->since_us = begin_us;
    query->until_us = job->ended_wall_us != 0 ? job->ended_wall_us : clock_instant().wall_us;
    query->until_us = MAX_OF(query->until_us, begin_us + 1);
}

void api_job_history(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct job *job = api_job(scheduler, request);
    struct held_query query = { 0 };
    struct edl_error error = { 0 };
    uint32_t bins = 0;

    if (job == NULL)
        return;
    window_of(job, &query);
    if (read_bins(request, &bins, &error) < 0)
        http_reply_error(request, &error);
    else
        history_read_job(scheduler, request, job, &query, bins);
}
