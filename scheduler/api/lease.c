/* SPDX-License-Identifier: Apache-2.0 */
/* lease.c - tasks of a job's data: taken, finished, given back
 *
 * A process asks for one task and is answered with it, or for several ("n") and is answered with a
 * list. It may name the pass that it is in. Then the words of upstream's master about passes come
 * as an error with a "code" (shared/error.h). The core refuses one that is not the live
 * incarnation. */
#include "scheduler/api/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/calls/body.h"
#include "scheduler/api/process_ref.h"
#include "scheduler/scheduler.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

#define LEASE_WAIT_MAX_S 20
#define KNOWN_MAX 4096
#define TASKS_PER_CALL_MAX 256
#define SAID_BYTES_MAX (1 << 20) /* whatever its call may hold */

/* --- leases --- */

struct poll_lease {
    struct process_ref holder;
    struct task_wish wish; /* its tasks are these: */
    bool many;             /* a list is asked for */
    uint32_t known[];
};

static json_t *chunk_to_json(const struct task_chunk *chunk)
{
    json_t *json =
        json_pack("{s:s,s:I,s:I}", "path", chunk->path, "offset", (json_int_t)chunk->offset_bytes,
                  "records", (json_int_t)chunk->n_records);

    if (chunk->mtime_us == 0)
        return json;
    (void)json_object_set_new(json, "size", json_integer((json_int_t)chunk->file_bytes));
    (void)json_object_set_new(json, "mtime_us", json_integer((json_int_t)chunk->mtime_us));
    return json;
}

static json_t *task_to_json(const struct job *job, const struct task *task)
{
    json_t *chunks = json_array();

    for (uint32_t i = 0; i < task->n_chunks; i++)
        (void)json_array_append_new(chunks, chunk_to_json(&task->chunks[i]));
    return json_pack("{s:I,s:I,s:I,s:o}", "id", (json_int_t)task->id, "pass",
                     (json_int_t)task_queue_pass(job->queue), "lease", (json_int_t)task->lease,
                     "chunks", chunks);
}

static json_t *given_to_json(const struct job *job, const struct tasks_given *given, bool many)
{
    json_t *tasks;

    if (!many)
        return json_pack("{s:o}", "task", task_to_json(job, given->tasks[0]));
    tasks = json_array();
    for (size_t i = 0; i < given->n; i++)
        (void)json_array_append_new(tasks, task_to_json(job, given->tasks[i]));
    return json_pack("{s:o}", "tasks", tasks);
}

/* Nothing came in time. Whoever named a pass is told what upstream's master says then. */
static void answer_nothing(struct scheduler *scheduler, struct held *held,
                           const struct poll_lease *poll, enum task_lease_result result)
{
    int code = result == TASK_LEASE_EARLY ? EDL_EPASSAFTER : EDL_ENOMORETASK;
    struct edl_error error = { 0 };

    if (!poll->wish.of_pass) {
        held_reply_json(held, 200, json_pack("{s:b}", "wait", 1));
        return;
    }
    (void)edl_error_set(&error, code, "%s", error_code_text(code));
    held_refuse(scheduler, held, &error);
}

static bool poll_lease(struct scheduler *scheduler, struct held *held, void *data, bool last)
{
    const struct poll_lease *poll = data;
    struct edl_error error = { 0 };
    struct process *holder = process_ref_find(scheduler, &poll->holder, &error);
    struct task *tasks[TASKS_PER_CALL_MAX];
    struct tasks_given given = { .tasks = tasks };

    if (holder == NULL || cluster_lease_tasks(scheduler->cluster, holder, &poll->wish,
                                              clock_instant(), &given, &error) < 0)
        held_refuse(scheduler, held, &error);
    else if (given.result == TASK_LEASE_GIVEN)
        held_after_commit(scheduler, held, 200, given_to_json(holder->job, &given, poll->many));
    else if (given.result == TASK_LEASE_FINISHED)
        held_after_commit(scheduler, held, 200,
                          json_pack("{s:b,s:b}", "finished", 1, "save_model",
                                    (int)given.save_model));
    else if (last)
        answer_nothing(scheduler, held, poll, given.result);
    else
        return false;
    return true;
}

static int read_wish(const json_t *body, struct task_wish *ret, uint64_t *ret_wait_s,
                     struct edl_error *error)
{
    struct body_field may = { .object = body, .at = "" };
    uint64_t n = 1, pass = 0;
    int r = body_u64(&may, "wait", 3600, ret_wait_s, error);

    if (r == 0)
        r = body_u64(&may, "n", TASKS_PER_CALL_MAX, &n, error);
    if (r == 0)
        r = body_u64(&may, "pass", UINT32_MAX, &pass, error);
    if (r < 0)
        return r;
    if (n == 0)
        return edl_error_at(error, -EINVAL, "/n", "0 tasks are asked for; 1 to %d can be",
                            TASKS_PER_CALL_MAX);
    *ret = (struct task_wish){ .n = (uint32_t)n,
                               .of_pass = body_has(&may, "pass"),
                               .pass = (uint32_t)pass };
    return 0;
}

static int read_lease(const json_t *body, const struct process *process, struct poll_lease **ret,
                      uint64_t *ret_wait_s, struct edl_error *error)
{
    struct body_field may = { .object = body, .at = "" };
    const json_t *known = NULL;
    struct task_wish wish;
    struct poll_lease *poll;
    size_t n;
    int r = read_wish(body, &wish, ret_wait_s, error);

    if (r == 0)
        r = body_array(&may, "known", &known, error);
    if (r < 0)
        return r;
    n = json_array_size(known);
    if (n > KNOWN_MAX)
        return edl_error_at(error, -EINVAL, "/known", "more than %d tasks", KNOWN_MAX);
    poll = xcalloc(1, sizeof *poll + n * sizeof poll->known[0]);
    poll->holder = process_ref_of(process);
    poll->many = body_has(&may, "n");
    poll->wish = wish;
    poll->wish.known = poll->known;
    poll->wish.n_known = n;
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

/* --- ends --- */

/* at: where the object is, for the pointer */
static int read_end(const json_t *object, const char *at, struct task_finish *ret,
                    struct edl_error *error)
{
    struct body_field must = { .object = object, .at = at, .required = true };
    struct body_field may = { .object = object, .at = at };
    uint64_t task = 0, pass = 0, lease = 0, lost = 0, lost_chunks;
    int r = body_u64(&must, "task", UINT32_MAX, &task, error);

    if (r == 0)
        r = body_u64(&must, "pass", UINT32_MAX, &pass, error);
    if (r == 0)
        r = body_u64(&must, "lease", UINT32_MAX, &lease, error);
    if (r == 0)
        r = body_u64(&may, "lost", INT64_MAX, &lost, error);
    lost_chunks = lost > 0 ? 1 : 0;
    if (r == 0)
        r = body_u64(&may, "lost_chunks", UINT32_MAX, &lost_chunks, error);
    *ret = (struct task_finish){ .task = (uint32_t)task,
                                 .pass = (uint32_t)pass,
                                 .lease = (uint32_t)lease,
                                 .lost_records = lost,
                                 .lost_chunks = (uint32_t)lost_chunks };
    return r;
}

static json_t *finish_one(struct scheduler *scheduler, struct process *process, const json_t *body,
                          struct edl_error *error)
{
    struct task_finish end;

    if (read_end(body, "", &end, error) < 0 ||
        cluster_end_task(scheduler->cluster, process, &end, clock_instant(), error) < 0)
        return NULL;
    return json_pack("{s:b}", "pass_ended", task_queue_pass(process->job->queue) > end.pass);
}

static int read_ends(const json_t *list, struct task_finish *ends, size_t n,
                     struct edl_error *error)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        const json_t *item = json_array_get(list, i);
        char at[24];

        (void)snprintf(at, sizeof at, "/tasks/%zu", i);
        if (!json_is_object(item))
            return edl_error_at(error, -EINVAL, at,
                                "an object with task, pass and lease is "
                                "expected");
        r = read_end(item, at, &ends[i], error);
    }
    return r;
}

/* What became of each, in the order of the question. */
static json_t *ends_to_json(const struct job *job, const struct task_finish *ends, size_t n)
{
    json_t *results = json_array();
    uint32_t pass = 0;

    for (size_t i = 0; i < n; i++) {
        pass = MAX_OF(pass, ends[i].pass);
        (void)json_array_append_new(results,
                                    json_pack("{s:I,s:b}", "task", (json_int_t)ends[i].task,
                                              "counted", ends[i].result == 0));
    }
    return json_pack("{s:b,s:o}", "pass_ended", task_queue_pass(job->queue) > pass, "results",
                     results);
}

static json_t *finish_many(struct scheduler *scheduler, struct process *process, const json_t *list,
                           struct edl_error *error)
{
    struct task_finish ends[TASKS_PER_CALL_MAX];
    size_t n = json_array_size(list);

    if (n == 0 || n > TASKS_PER_CALL_MAX) {
        (void)edl_error_at(error, -EINVAL, "/tasks", "%zu task%s; 1 to %d can be said at once", n,
                           PLURAL(n), TASKS_PER_CALL_MAX);
        return NULL;
    }
    if (read_ends(list, ends, n, error) < 0 ||
        cluster_finish_tasks(scheduler->cluster, process, ends, n, clock_instant(), error) < 0)
        return NULL;
    return ends_to_json(process->job, ends, n);
}

static json_t *call_finish(struct scheduler *scheduler, struct process *process, const json_t *body,
                           struct edl_error *error)
{
    struct body_field may = { .object = body, .at = "" };
    const json_t *list = NULL;

    if (!body_has(&may, "tasks"))
        return finish_one(scheduler, process, body, error);
    if (body_array(&may, "tasks", &list, error) < 0)
        return NULL;
    return finish_many(scheduler, process, list, error);
}

static json_t *call_fail(struct scheduler *scheduler, struct process *process, const json_t *body,
                         struct edl_error *error)
{
    struct body_field may = { .object = body, .at = "" };
    const char *reason = NULL;
    struct task_finish end;
    bool returned = false;

    if (read_end(body, "", &end, error) < 0 || body_bool(&may, "returned", &returned, error) < 0 ||
        body_reported(&may, "reason", SAID_BYTES_MAX, &reason, error) < 0 ||
        cluster_fail_task(scheduler->cluster, process, end.task, end.pass, end.lease, returned,
                          reason, clock_instant(), error) < 0)
        return NULL;
    return json_object();
}

void api_task_finish(struct http_request *request, void *userdata)
{
    api_process_call(request, userdata, call_finish);
}

void api_task_fail(struct http_request *request, void *userdata)
{
    api_process_call(request, userdata, call_fail);
}
