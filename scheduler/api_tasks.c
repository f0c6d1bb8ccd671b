/* SPDX-License-Identifier: Apache-2.0 */
/* api_tasks.c - what processes call: where the others are, tasks, the model, figures
 *
 * Every call but the readers' names its process; the core refuses one that is not the live
 * incarnation. */
#include "scheduler/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/auth.h"
#include "scheduler/body.h"
#include "scheduler/job_json.h"
#include "scheduler/process_ref.h"
#include "scheduler/scheduler.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/json_text.h"
#include "shared/macro.h"

#define LEASE_WAIT_MAX_S 20
#define KNOWN_MAX 4096
#define PATH_BYTES_MAX 4095
#define SAID_BYTES_MAX (1 << 20) /* whatever its call may hold */

void api_job_tasks(struct http_request *request, void *userdata)
{
    const struct job *job = api_job_to_read(userdata, request);

    if (job != NULL)
        http_reply_json(request, 200, job_tasks_to_json(job));
}

void api_job_metrics(struct http_request *request, void *userdata)
{
    const struct job *job = api_job(userdata, request);

    if (job != NULL)
        http_reply_json(request, 200, json_pack("{s:o}", "metrics", job_metrics_to_json(job)));
}

static int compare_index(const struct process *a, const struct process *b)
{
    return (a->index > b->index) - (a->index < b->index);
}

static int compare_hosts(const void *a, const void *b)
{
    return compare_index(*(const struct process *const *)a, *(const struct process *const *)b);
}

/* Live ones by index. */
static json_t *hosts_of(const struct job *job, uint32_t role)
{
    _cleanup_free_ const struct process **live =
        xcalloc(job_count(job, role, true) + 1, sizeof(*live));
    const struct process *process;
    json_t *hosts = json_array();
    size_t n = 0;

    DL_FOREACH2(job->processes, process, job_next)
    if (process->role == role && !process_state_is_final(process->state))
        live[n++] = process;
    qsort(live, n, sizeof(*live), compare_hosts);
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(hosts, json_pack("{s:I,s:I,s:s,s:o,s:s}", "index",
                                                     (json_int_t)live[i]->index, "incarnation",
                                                     (json_int_t)live[i]->incarnation, "address",
                                                     process_address(live[i]), "ports",
                                                     ports_to_json(live[i]), "state",
                                                     process_state_to_string(live[i]->state)));
    return hosts;
}

void api_job_hosts(struct http_request *request, void *userdata)
{
    const struct job *job = api_job_to_read(userdata, request);
    const char *name = http_request_query(request, "role");
    struct edl_error error = { 0 };
    int role;

    if (job == NULL)
        return;
    role = job_spec_role(job->spec, name != NULL ? name : "trainer");
    if (role < 0) {
        (void)edl_error_set(&error, -ENOENT, "job %s has no role \"%s\"", job->spec->name,
                            name != NULL ? name : "trainer");
        http_reply_error(request, &error);
        return;
    }
    http_reply_json(request, 200,
                    json_pack("{s:s,s:I,s:o}", "role", job->spec->roles[role].name, "want",
                              (json_int_t)job->target[role], "hosts",
                              hosts_of(job, (uint32_t)role)));
}

/* --- tasks --- */

struct poll_lease {
    struct process_ref holder;
    size_t n_known;
    uint32_t known[];
};

static json_t *task_to_json(const struct job *job, const struct task *task)
{
    json_t *chunks = json_array();

    for (uint32_t i = 0; i < task->n_chunks; i++)
        (void)json_array_append_new(chunks,
                                    json_pack("{s:s,s:I,s:I}", "path", task->chunks[i].path,
                                              "offset", (json_int_t)task->chunks[i].offset_bytes,
                                              "records", (json_int_t)task->chunks[i].n_records));
    return json_pack("{s:{s:I,s:I,s:I,s:o}}", "task", "id", (json_int_t)task->id, "pass",
                     (json_int_t)task_queue_pass(job->queue), "lease", (json_int_t)task->lease,
                     "chunks", chunks);
}

static bool poll_lease(struct scheduler *scheduler, struct held *held, void *data, bool last)
{
    const struct poll_lease *poll = data;
    struct edl_error error = { 0 };
    struct process *holder = process_ref_find(scheduler, &poll->holder, &error);
    enum task_lease_result result = TASK_LEASE_WAIT;
    struct task *task = NULL;
    bool save_model = false;

    if (holder == NULL ||
        cluster_lease_task(scheduler->cluster, holder, poll->known, poll->n_known, clock_instant(),
                           &result, &task, &save_model, &error) < 0)
        held_reply_error(held, &error);
    else if (result == TASK_LEASE_GIVEN)
        held_after_commit(scheduler, held, 200, task_to_json(holder->job, task));
    else if (result == TASK_LEASE_FINISHED)
        held_after_commit(scheduler, held, 200,
                          json_pack("{s:b,s:b}", "finished", 1, "save_model", (int)save_model));
    else if (last)
        held_reply_json(held, 200, json_pack("{s:b}", "wait", 1));
    else
        return false;
    return true;
}

static int read_lease(const json_t *body, const struct process *process, struct poll_lease **ret,
                      uint64_t *ret_wait_s, struct edl_error *error)
{
    struct body_field may = { .object = body, .at = "" };
    const json_t *known = NULL;
    struct poll_lease *poll;
    size_t n;
    int r = body_u64(&may, "wait", 3600, ret_wait_s, error);

    if (r == 0)
        r = body_array(&may, "known", &known, error);
    if (r < 0)
        return r;
    n = json_array_size(known);
    if (n > KNOWN_MAX)
        return edl_error_at(error, -EINVAL, "/known", "more than %d tasks", KNOWN_MAX);
    poll = xcalloc(1, sizeof *poll + n * sizeof poll->known[0]);
    poll->holder = process_ref_of(process);
    poll->n_known = n;
    for (size_t i = 0; i < n; i++)
        poll->known[i] = (uint32_t)json_integer_value(json_array_get(known, i));
    *ret = poll;
    return 0;
}

void api_task_lease(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };
    struct process *process;
    struct poll_lease *poll = NULL;
    json_t *body = NULL;
    char topic[TOPIC_MAX];
    uint64_t wait_s = 0;
    int r = auth_process(scheduler, request, &process, &error);

    if (r == 0)
        r = body_object(request, &body, &error);
    if (r == 0)
        r = read_lease(body, process, &poll, &wait_s, &error);
    json_decref(body);
    if (r < 0) {
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    (void)snprintf(topic, sizeof topic, "tasks/%" PRIu64, process->job->id);
    waiters_add(scheduler, held_new(request), topic,
                clock_read_us(CLOCK_BOOTTIME) +
                    MIN_OF(wait_s, (uint64_t)LEASE_WAIT_MAX_S) * USEC_PER_SEC,
                poll_lease, poll);
}

struct task_ref {
    uint64_t task, pass, lease;
};

static int read_task_ref(const json_t *body, struct task_ref *ret, struct edl_error *error)
{
    struct body_field must = { .object = body, .at = "", .required = true };
    int r = body_u64(&must, "task", UINT32_MAX, &ret->task, error);

    if (r == 0)
        r = body_u64(&must, "pass", UINT32_MAX, &ret->pass, error);
    return r < 0 ? r : body_u64(&must, "lease", UINT32_MAX, &ret->lease, error);
}

/* One call of a process: who, what it says, what the core makes of it, the answer. */
typedef json_t *(*process_call_fn)(struct scheduler *scheduler, struct process *process,
                                   const json_t *body, struct edl_error *error);

static void process_call(struct http_request *request, struct scheduler *scheduler,
                         process_call_fn fn)
{
    struct edl_error error = { 0 };
    struct process *process;
    json_t *body = NULL;
    json_t *json = NULL;

    if (auth_process(scheduler, request, &process, &error) == 0 &&
        body_object(request, &body, &error) == 0)
        json = fn(scheduler, process, body, &error);
    json_decref(body);
    if (json == NULL)
        refuse_after_commit(scheduler, request, &error);
    else
        held_after_commit(scheduler, held_new(request), 200, json);
}

static json_t *call_finish(struct scheduler *scheduler, struct process *process, const json_t *body,
                           struct edl_error *error)
{
    struct task_ref ref;

    if (read_task_ref(body, &ref, error) < 0 ||
        cluster_finish_task(scheduler->cluster, process, (uint32_t)ref.task, (uint32_t)ref.pass,
                            (uint32_t)ref.lease, clock_instant(), error) < 0)
        return NULL;
    return json_pack("{s:b}", "pass_ended", task_queue_pass(process->job->queue) > ref.pass);
}

static json_t *call_fail(struct scheduler *scheduler, struct process *process, const json_t *body,
                         struct edl_error *error)
{
    struct body_field may = { .object = body, .at = "" };
    const char *reason = NULL;
    struct task_ref ref;
    bool returned = false;

    if (read_task_ref(body, &ref, error) < 0 || body_bool(&may, "returned", &returned, error) < 0 ||
        body_reported(&may, "reason", SAID_BYTES_MAX, &reason, error) < 0 ||
        cluster_fail_task(scheduler->cluster, process, (uint32_t)ref.task, (uint32_t)ref.pass,
                          (uint32_t)ref.lease, returned, reason, clock_instant(), error) < 0)
        return NULL;
    return json_object();
}

static json_t *call_save_model(struct scheduler *scheduler, struct process *process,
                               const json_t *body, struct edl_error *error)
{
    struct body_field must = { .object = body, .at = "", .required = true };
    struct body_field may = { .object = body, .at = "" };
    const char *path = NULL;
    bool saved = false;

    if (body_bool(&must, "saved", &saved, error) < 0 ||
        body_reported(&may, "path", PATH_BYTES_MAX, &path, error) < 0)
        return NULL;
    if (!saved) {
        (void)edl_error_at(error, -EINVAL, "/saved", "a model that is not saved needs no call");
        return NULL;
    }
    if (cluster_model_saved(scheduler->cluster, process, path, clock_instant(), error) < 0)
        return NULL;
    return json_object();
}

/* A program's own metrics are a part of what everybody reads. */
#define METRICS_DEPTH_MAX 16

static bool is_flat(const json_t *value, int depth)
{
    json_t *all = (json_t *)(uintptr_t)value; /* why: jansson's type; nothing is changed */
    const char *key;
    json_t *part;
    size_t i;

    if (depth < 0)
        return false;
    json_array_foreach(value, i, part)
    {
        if (!is_flat(part, depth - 1))
            return false;
    }
    json_object_foreach(all, key, part)
    {
        if (!is_flat(part, depth - 1))
            return false;
    }
    return true;
}

static json_t *call_metrics(struct scheduler *scheduler, struct process *process,
                            const json_t *body, struct edl_error *error)
{
    _cleanup_free_ char *text = NULL;

    if (!is_flat(body, METRICS_DEPTH_MAX)) {
        (void)edl_error_set(error, -EINVAL, "metrics are nested deeper than %d", METRICS_DEPTH_MAX);
        (void)edl_error_remedy(error, "report numbers by name: {\"loss\": 0.3}");
        return NULL;
    }
    text = json_to_text(body, NULL);
    if (text == NULL)
        abort(); /* why: only out of memory gets here; see macro.h */
    if (cluster_set_metrics(scheduler->cluster, process, text, clock_instant(), error) < 0)
        return NULL;
    return json_object();
}

void api_task_finish(struct http_request *request, void *userdata)
{
    process_call(request, userdata, call_finish);
}

void api_task_fail(struct http_request *request, void *userdata)
{
    process_call(request, userdata, call_fail);
}

void api_save_model(struct http_request *request, void *userdata)
{
    process_call(request, userdata, call_save_model);
}

void api_metrics(struct http_request *request, void *userdata)
{
    process_call(request, userdata, call_metrics);
}
