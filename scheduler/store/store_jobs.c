/* SPDX-License-Identifier: Apache-2.0 */
/* store_jobs.c - effects to rows: jobs, processes, generations, nodes, task queues, events
 *
 * Every effect writes the whole row of its object, as it is now (of a job that has one: all but its
 * document). So the order of two effects on one thing does not matter, and writing one twice
 * changes nothing. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/notices.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/core/record/records.h"
#include "scheduler/store/store_columns.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/json_text.h"
#include "shared/macro.h"

char *store_json_text(json_t *take_value)
{
    char *text = json_to_text(take_value, NULL);

    json_decref(take_value);
    if (text == NULL)
        abort(); /* why: only out of memory gets here; see macro.h */
    return text;
}

/* A document is long, and costs more than all the rest: it is written when it is new. */
static int put_job(struct store *store, const struct job *live, bool with_spec,
                   struct edl_error *error)
{
    _cleanup_free_ struct slot_record *slots = xcalloc(record_max_slots(live), sizeof *slots);
    struct job_record job;
    int r;

    record_of_job(live, slots, &job);
    if (with_spec) {
        r = store_put_record(store, ST_JOB_PUT, &job_table, &job, 0, error);
        store_bind_text(store->statements[ST_JOB_PUT], store_place(&job_table, "spec") + 1, NULL);
        return r;
    }
    r = store_put_record(store, ST_JOB_CHANGE, &job_table, &job, STORE_KEPT, error);
    return r == -ENOENT ? edl_error_set(error, r, "job %" PRIu64 " has no row", job.id) : r;
}

static int put_process(struct store *store, const struct process *live, struct edl_error *error)
{
    struct process_record process;

    record_of_process(live, &process);
    return store_put_record(store, ST_PROCESS_PUT, &process_table, &process, 0, error);
}

static int put_node(struct store *store, const struct node *live, struct edl_error *error)
{
    struct node_record node;

    record_of_node(live, &node);
    return store_put_record(store, ST_NODE_PUT, &node_table, &node, 0, error);
}

static int put_queue(struct store *store, const struct job *job, struct edl_error *error)
{
    struct queue_record queue;
    int r;

    record_of_queue(job, &queue);
    r = store_put_record(store, ST_QUEUE_PUT, &queue_table, &queue, 0, error);
    if (r < 0 || !queue.closed)
        return r;
    r = store_put_record(store, ST_QUEUE_END_PUT, &queue_end_table, &queue, 0, error);
    return r < 0 ? r : store_forget_tasks(store, queue.job_id, error);
}

#define TASK_JOB 1 /* the parameter that is given */

struct task_writer {
    struct store *store;
    const struct job *job;
    struct edl_error *error;
    int r;
};

static void set_task(const struct task *task, void *userdata)
{
    struct task_writer *writer = userdata;
    struct store *store = writer->store;
    struct task_record record;

    if (writer->r < 0)
        return;
    record_of_task(writer->job->queue, task, &record);
    store_bind_u64(store->statements[ST_TASK_SET], TASK_JOB, writer->job->id);
    writer->r =
        store_put_record(store, ST_TASK_SET, &task_table, &record, STORE_KEPT, writer->error);
}

static int put_tasks(struct store *store, const struct job *job, struct edl_error *error)
{
    struct task_writer writer = { .store = store, .job = job, .error = error };
    int r = put_queue(store, job, error);

    if (r < 0)
        return r;
    task_queue_take_changed(job->queue, set_task, &writer);
    return writer.r;
}

/* Of its file what was told, at the end. */
static json_t *chunk_to_array(const struct task_chunk *chunk)
{
    json_t *array = json_pack("[sII]", chunk->path, (json_int_t)chunk->offset_bytes,
                              (json_int_t)chunk->n_records);

    if (chunk->mtime_us == 0)
        return array;
    (void)json_array_append_new(array, json_integer((json_int_t)chunk->file_bytes));
    (void)json_array_append_new(array, json_integer((json_int_t)chunk->mtime_us));
    return array;
}

char *store_chunks_text(const struct task *task)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < task->n_chunks; i++)
        (void)json_array_append_new(array, chunk_to_array(&task->chunks[i]));
    return store_json_text(array);
}

static int put_task(struct store *store, uint64_t job_id, const struct task_queue *queue,
                    const struct task *task, const char *chunks, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_TASK_PUT];
    struct task_record record;

    record_of_task(queue, task, &record);
    store_bind_u64(statement, TASK_JOB, job_id);
    store_bind_text(statement, store_place(&task_table, "chunks") + 1, chunks);
    return store_put_record(store, ST_TASK_PUT, &task_table, &record, 0, error);
}

int store_put_tasks(struct store *store, const struct stored_tasks *tasks, struct edl_error *error)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < tasks->n; i++)
        r = put_task(store, tasks->job_id, tasks->queue,
                     task_queue_task(tasks->queue, tasks->first + i), tasks->chunks[i], error);
    return r == 0 && tasks->dropped ? store_forget_tasks(store, tasks->job_id, error) : r;
}

static int put_dataset(struct store *store, const struct job *job, struct edl_error *error)
{
    size_t n = task_queue_n_tasks(job->queue);
    int r = put_queue(store, job, error);

    for (uint32_t i = task_queue_n_stored(job->queue); r == 0 && i < n; i++) {
        const struct task *task = task_queue_task(job->queue, i);
        _cleanup_free_ char *chunks = store_chunks_text(task);

        r = put_task(store, job->id, job->queue, task, chunks, error);
    }
    if (r < 0)
        return r;
    task_queue_take_changed(job->queue, NULL, NULL); /* they are all written */
    store_bind_u64(store->statements[ST_TASK_TRIM], 1, job->id);
    store_bind_u64(store->statements[ST_TASK_TRIM], 2, n);
    return store_step_done(store, ST_TASK_TRIM, error);
}

static int put_rendezvous(struct store *store, const struct job *job, struct edl_error *error)
{
    struct rendezvous_record record;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < job->spec->n_roles; i++)
        if (record_of_rendezvous(job, i, &record))
            r = store_put_record(store, ST_RENDEZVOUS_PUT, &rendezvous_table, &record, 0, error);
    return r;
}

static int put_array_notice(struct store *store, const struct array_notice *live,
                            struct edl_error *error)
{
    struct array_notice_record array;

    if (array_notice_is_over(live)) {
        store_bind_u64(store->statements[ST_ARRAY_NOTICE_DELETE], 1, live->first_id);
        return store_step_done(store, ST_ARRAY_NOTICE_DELETE, error);
    }
    record_of_array_notice(live, &array);
    return store_put_record(store, ST_ARRAY_NOTICE_PUT, &array_notice_table, &array, 0, error);
}

static int delete_node(struct store *store, const char *name, struct edl_error *error)
{
    store_bind_text(store->statements[ST_NODE_DELETE], 1, name);
    return store_step_done(store, ST_NODE_DELETE, error);
}

static int put_away(struct store *store, uint64_t us, struct edl_error *error)
{
    store_bind_u64(store->statements[ST_AWAY_PUT], 1, us);
    return store_step_done(store, ST_AWAY_PUT, error);
}

static int add_event(struct store *store, const struct effect *effect, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_EVENT_ADD];

    store_bind_u64(statement, 1, ++store->numbers.event);
    store_bind_u64(statement, 2, effect->wall_us);
    store_bind_text(statement, 3, effect->event);
    if (effect->job != NULL)
        store_bind_u64(statement, 4, effect->job->id);
    else
        store_bind_text(statement, 4, NULL);
    store_bind_text(statement, 5, effect->name);
    store_bind_text(statement, 6, effect->text);
    return store_step_done(store, ST_EVENT_ADD, error);
}

int store_put_effect(struct store *store, const struct effect *effect, struct edl_error *error)
{
    switch (effect->kind) {
    case EFFECT_SAVE_JOB:
    case EFFECT_SAVE_SPEC:
        return put_job(store, effect->job, effect->kind == EFFECT_SAVE_SPEC, error);
    case EFFECT_SAVE_PROCESS:
        return put_process(store, effect->process, error);
    case EFFECT_SAVE_NODE:
        return put_node(store, effect->node, error);
    case EFFECT_SAVE_TASKS:
        return put_tasks(store, effect->job, error);
    case EFFECT_SAVE_DATASET:
        return put_dataset(store, effect->job, error);
    case EFFECT_SAVE_RENDEZVOUS:
        return put_rendezvous(store, effect->job, error);
    case EFFECT_SAVE_FAMILY:
        return store_put_family(store, effect->job, error);
    case EFFECT_SAVE_AWAY:
        return put_away(store, effect->id, error);
    case EFFECT_SAVE_ARRAY_NOTICE:
        return put_array_notice(store, effect->array, error);
    case EFFECT_FORGET_NODE:
        return delete_node(store, effect->name, error);
    case EFFECT_FORGET_PROCESS:
        return store_forget_process(store, effect, error);
    case EFFECT_EVENT:
        return add_event(store, effect, error);
    case EFFECT_ARCHIVE_JOB: /* behind all rows: store_archive.c */
    case EFFECT_NOTICE:      /* it is a record of the turn: store_notices.c */
    case EFFECT_ORDERS:
    case EFFECT_MEMBERSHIP:
        return 0;
    }
    return edl_error_set(error, -EINVAL, "unknown effect %d", (int)effect->kind);
}
