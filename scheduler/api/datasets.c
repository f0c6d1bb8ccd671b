/* SPDX-License-Identifier: Apache-2.0 */
/* datasets.c - the dataset of a job: its processes give it, once, and ask whether it is there
 */
#include "scheduler/api/api.h"

#include <errno.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/workspaces/datasets.h"
#include "scheduler/scheduler.h"
#include "shared/error.h"
#include "shared/http_server.h"

static int on_begin(struct http_request *request, void *userdata, struct edl_error *error)
{
    struct scheduler *scheduler = userdata;
    struct process *process = NULL;
    int r;

    if (scheduler->degraded.on)
        return degraded_error(scheduler, error);
    r = auth_process(scheduler, request, &process, error);
    if (r == 0)
        r = datasets_check_bytes(scheduler, http_request_announced_bytes(request), error);
    if (r == 0)
        http_request_set_data(request, dataset_upload_new(scheduler, request, process->job));
    return r;
}

static int on_take(struct http_request *request, const void *data, size_t size, void *userdata,
                   struct edl_error *error)
{
    (void)userdata;
    return dataset_upload_add(http_request_data(request), data, size, error);
}

static void on_end(struct http_request *request, void *userdata)
{
    (void)userdata;
    dataset_upload_leave(http_request_data(request));
}

const struct http_sink api_dataset_sink = { .begin = on_begin, .take = on_take, .end = on_end };

void api_dataset_put(struct http_request *request, void *userdata)
{
    struct edl_error error = { 0 };
    struct process *process = NULL;

    if (auth_process(userdata, request, &process, &error) < 0)
        refuse_after_commit(userdata, request, &error);
    else
        dataset_upload_finish(http_request_data(request), process);
}

void api_dataset_get(struct http_request *request, void *userdata)
{
    const struct job *job = api_job_to_read(userdata, request);
    struct edl_error error = { 0 };

    if (job == NULL)
        return;
    if (job->queue != NULL) {
        const struct task_queue_counts counts = task_queue_counts(job->queue);
        json_int_t n = (json_int_t)counts.todo + counts.leased + counts.done + counts.discarded;

        http_reply_json(request, 200,
                        json_pack("{s:s,s:I,s:I}", "digest", job->dataset_digest, "tasks", n,
                                  "passes", (json_int_t)task_queue_passes(job->queue)));
        return;
    }
    (void)edl_error_set(&error, -ENOENT, "job %s has no dataset yet", job->spec->name);
    (void)edl_error_remedy(&error, "its first trainer gives it: PUT /jobs/self/dataset");
    http_reply_error(request, &error);
}
