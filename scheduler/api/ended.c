/* SPDX-License-Identifier: Apache-2.0 */
/* ended.c - which jobs are over: their files on a node may go after a while
 *
 * An agent knows its processes, and not their jobs: a waiting job goes on with the files that its
 * process left in a private workspace. A job that is not in the core any more is over, or was never
 * known. */
#include <errno.h>

#include "scheduler/api/api.h"
#include "scheduler/calls/body.h"
#include "scheduler/core/core.h"
#include "scheduler/scheduler.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_server.h"

static bool is_over(const struct scheduler *scheduler, uint64_t job_id)
{
    const struct job *job = cluster_job(scheduler->cluster, job_id);

    return job == NULL || job_state_is_final(job->state);
}

static int find_ended(const struct scheduler *scheduler, const json_t *body, json_t *ended,
                      struct edl_error *error)
{
    struct body_field must = { .object = body, .at = "", .required = true };
    const json_t *jobs;
    size_t i;
    json_t *job;
    int r = body_array(&must, "jobs", &jobs, error);

    if (r < 0)
        return r;
    if (json_array_size(jobs) > ENDED_JOBS_MAX)
        return edl_error_at(error, -EINVAL, "/jobs", "/jobs has more than %d numbers",
                            ENDED_JOBS_MAX);
    json_array_foreach(jobs, i, job)
    {
        if (!json_is_integer(job) || json_integer_value(job) < 0)
            return edl_error_at(error, -EINVAL, "/jobs", "/jobs/%zu is no number of a job", i);
        if (is_over(scheduler, (uint64_t)json_integer_value(job)))
            (void)json_array_append(ended, job);
    }
    return 0;
}

void api_node_ended_jobs(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct node *node = api_node(scheduler, request);
    _cleanup_(json_decrefp) json_t *body = NULL;
    _cleanup_(json_decrefp) json_t *ended = json_array();
    struct edl_error error = { 0 };
    int r;

    if (node == NULL)
        return;
    r = body_object(request, &body, &error);
    if (r == 0)
        r = find_ended(scheduler, body, ended, &error);
    if (r < 0)
        http_reply_error(request, &error);
    else
        tell_after_commit(scheduler, request, 200, json_pack("{s:O}", "ended", ended));
}
