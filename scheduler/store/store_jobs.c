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
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/core/record/records.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/hex.h"
#include "shared/job_document.h"
#include "shared/json_text.h"
#include "shared/macro.h"

static char *dump_and_free(json_t *take_value)
{
    char *text = json_to_text(take_value, NULL);

    json_decref(take_value);
    if (text == NULL)
        abort(); /* why: only out of memory gets here; see macro.h */
    return text;
}

static char *targets_to_text(const struct job_record *job)
{
    json_t *array = json_array();

    for (size_t r = 0; r < job->spec->n_roles; r++)
        (void)json_array_append_new(array, json_integer(job->target[r]));
    return dump_and_free(array);
}

static char *slots_to_text(const struct job_record *job)
{
    json_t *array = json_array();

    for (size_t i = 0; i < job->n_slots; i++) {
        const struct slot_record *slot = &job->slots[i];

        (void)json_array_append_new(array, json_pack("[iiIbb]", (int)slot->role, (int)slot->index,
                                                     (json_int_t)slot->failures,
                                                     (int)slot->finished, (int)slot->due));
    }
    return dump_and_free(array);
}

/* [[cpu, gpu, memory] of each kind]; [] before it used anything */
static char *usage_to_text(const struct usage *usage)
{
    static const struct usage nothing;
    json_t *array = json_array();

    if (memcmp(usage, &nothing, sizeof nothing) == 0)
        return dump_and_free(array);

    for (int kind = 0; kind < USAGE_KINDS; kind++) {
        const struct resource_time *time = &usage->kinds[kind];

        (void)json_array_append_new(array, json_pack("[III]", (json_int_t)time->cpu_millicore_ms,
                                                     (json_int_t)time->gpu_ms,
                                                     (json_int_t)time->memory_mib_ms));
    }
    return dump_and_free(array);
}

/* write_job - spec: its document; NULL: as it was (which is ST_JOB_CHANGE). Both statements number
 * their columns alike. */
static int write_job(struct store *store, enum statement which, const struct job *live,
                     const char *spec, struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[which];
    _cleanup_free_ struct slot_record *history = xcalloc(record_max_slots(live), sizeof *history);
    _cleanup_free_ char *targets = NULL, *slots = NULL, *usage = NULL;
    char secret[JOB_SECRET_HEX + 1] = "";
    struct job_record job;

    record_of_job(live, history, &job);
    if (job_secret_is_set(job.secret))
        hex_encode(job.secret, sizeof job.secret, secret);
    targets = targets_to_text(&job);
    slots = slots_to_text(&job);
    usage = usage_to_text(&job.usage);
    store_bind_u64(statement, 1, job.id);
    store_bind_text(statement, 3, job_state_to_string(job.state));
    store_bind_text(statement, 4, job.reason_code);
    store_bind_text(statement, 5, job.reason);
    store_bind_u64(statement, 8, job.next_incarnation);
    store_bind_text(statement, 9, targets);
    store_bind_text(statement, 10, slots);
    store_bind_u64(statement, 11, job.resizes);
    store_bind_u64(statement, 12, job.finishing);
    store_bind_u64(statement, 14, job.started_wall_us);
    store_bind_u64(statement, 15, job.ended_wall_us);
    store_bind_text(statement, 16, job.dataset_digest);
    store_bind_text(statement, 17, job.metrics);
    store_bind_text(statement, 18, usage);
    store_bind_u64(statement, 20, job.turn_wall_us);
    store_bind_u64(statement, 21, job.servers_min);
    store_bind_u64(statement, 22, job.servers_max);
    store_bind_text(statement, 23, secret);
    store_bind_text(statement, 24, cause_to_string(job.cause));
    store_bind_text(statement, 25, intent_to_string(job.intent));
    if (spec != NULL) {
        store_bind_text(statement, 2, job.spec->name);
        store_bind_text(statement, 6, job.user);
        store_bind_text(statement, 7, spec);
        store_bind_u64(statement, 13, job.submitted_wall_us);
        store_bind_text(statement, 19, job_spec_array(job.spec));
    }
    return store_step_done(store, which, error);
}

/* put_spec - a document is long, and costs more than all the rest: it is written when it is new */
static int put_spec(struct store *store, const struct job *job, struct edl_error *error)
{
    _cleanup_free_ char *spec = dump_and_free(job_spec_to_document(job->spec));

    return write_job(store, ST_JOB_PUT, job, spec, error);
}

static int put_job(struct store *store, const struct job *job, struct edl_error *error)
{
    int r = write_job(store, ST_JOB_CHANGE, job, NULL, error);

    if (r == 0 && sqlite3_changes(store->db) != 1)
        r = edl_error_set(error, -ENOENT, "job %" PRIu64 " has no row", job->id);
    return r;
}

static char *ports_to_text(const struct process_record *process)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < process->n_ports; i++)
        (void)json_array_append_new(array, json_integer(process->ports[i]));
    return dump_and_free(array);
}

static char *gpus_to_text(const struct process_record *process)
{
    json_t *array = json_array();

    for (int i = 0; i < NODE_GPUS_MAX; i++)
        if (process->gpu_mask & UINT64_C(1) << i)
            (void)json_array_append_new(array, json_integer(i));
    return dump_and_free(array);
}

static int put_process(struct store *store, const struct process *live, struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_PROCESS_PUT];
    _cleanup_free_ char *ports = NULL, *gpus = NULL;
    struct process_record process;

    record_of_process(live, &process);
    ports = ports_to_text(&process);
    gpus = gpus_to_text(&process);
    store_bind_u64(statement, 1, process.job_id);
    store_bind_u64(statement, 2, process.role);
    store_bind_u64(statement, 3, process.index);
    store_bind_u64(statement, 4, process.incarnation);
    store_bind_text(statement, 5, process_state_to_string(process.state));
    store_bind_text(statement, 6, process.node_name);
    store_bind_text(statement, 7, ports);
    (void)sqlite3_bind_int64(statement, 8, process.pid);
    (void)sqlite3_bind_int(statement, 9, process.exit_code);
    (void)sqlite3_bind_int(statement, 10, process.exit_signal);
    store_bind_u64(statement, 11, process.stop_wanted);
    store_bind_text(statement, 12, process.reason);
    store_bind_u64(statement, 13, process.assigned_wall_us);
    store_bind_u64(statement, 14, process.started_wall_us);
    store_bind_u64(statement, 15, process.ended_wall_us);
    store_bind_u64(statement, 16, process.cpu_used_us);
    store_bind_u64(statement, 17, process.memory_used_bytes);
    store_bind_text(statement, 18, gpus);
    store_bind_u64(statement, 19, process.start_failed);
    store_bind_u64(statement, 20, process.frozen_us);
    store_bind_text(statement, 21, cause_to_string(process.cause));
    return store_step_done(store, ST_PROCESS_PUT, error);
}

static char *labels_to_text(const struct labels *labels)
{
    json_t *object = json_object();

    for (uint32_t i = 0; i < labels->n; i++)
        (void)json_object_set_new(object, labels->items[i].name,
                                  json_string(labels->items[i].value));
    return dump_and_free(object);
}

static char *gpu_numa_to_text(const struct node_offer *offer)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < MIN_OF(offer->gpus, NODE_GPUS_MAX); i++)
        (void)json_array_append_new(array, json_integer(offer->gpu_numa[i]));
    return dump_and_free(array);
}

static int put_node(struct store *store, const struct node *live, struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_NODE_PUT];
    _cleanup_free_ char *labels = NULL, *gpu_numa = NULL;
    struct node_record node;

    record_of_node(live, &node);
    labels = labels_to_text(&node.offer.labels);
    gpu_numa = gpu_numa_to_text(&node.offer);
    store_bind_text(statement, 1, node.name);
    store_bind_text(statement, 2, node_state_to_string(node.state));
    store_bind_u64(statement, 3, node.ever_reported);
    store_bind_text(statement, 4, node.offer.address);
    store_bind_u64(statement, 5, node.offer.cpu_millicores);
    store_bind_u64(statement, 6, node.offer.memory_bytes);
    store_bind_u64(statement, 7, node.offer.gpus);
    store_bind_u64(statement, 8, node.offer.port_first);
    store_bind_u64(statement, 9, node.offer.port_last);
    store_bind_u64(statement, 10, node.port_next);
    store_bind_u64(statement, 11, node.foreign_cpu_millicores);
    store_bind_u64(statement, 12, node.foreign_memory_bytes);
    store_bind_u64(statement, 13, node.last_report_wall_us);
    store_bind_text(statement, 14, node.boot_id);
    store_bind_text(statement, 15, node.credential_hash);
    store_bind_text(statement, 16, node_state_to_string(node.admin_state));
    store_bind_text(statement, 17, labels);
    store_bind_u64(statement, 18, node.offer.numa_nodes);
    store_bind_text(statement, 19, gpu_numa);
    return store_step_done(store, ST_NODE_PUT, error);
}

static int put_queue(struct store *store, const struct job *job, struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_QUEUE_PUT];
    struct queue_record queue;
    int r;

    record_of_queue(job, &queue);
    store_bind_u64(statement, 1, queue.job_id);
    store_bind_u64(statement, 2, queue.pass);
    store_bind_u64(statement, 3, queue.counts.records_total);
    store_bind_u64(statement, 4, queue.counts.records_discarded_total);
    store_bind_u64(statement, 5, queue.counts.retries_total);
    store_bind_u64(statement, 6, queue.model_saved);
    store_bind_u64(statement, 7, queue.saver);
    store_bind_u64(statement, 8, queue.counts.tasks_discarded_total);
    store_bind_text(statement, 9, queue.model_path);
    store_bind_u64(statement, 10, queue.passes);
    store_bind_u64(statement, 11, queue.counts.records_lost_total);
    store_bind_u64(statement, 12, queue.counts.chunks_lost_total);
    r = store_step_done(store, ST_QUEUE_PUT, error);
    if (r < 0 || !queue.closed)
        return r;
    statement = store->statements[ST_QUEUE_END_PUT];
    store_bind_u64(statement, 1, queue.job_id);
    store_bind_u64(statement, 2, queue.counts.todo);
    store_bind_u64(statement, 3, queue.counts.done);
    store_bind_u64(statement, 4, queue.counts.discarded);
    store_bind_u64(statement, 5, queue.counts.records_done);
    store_bind_u64(statement, 6, queue.counts.records_pass);
    store_bind_u64(statement, 7, queue.counts.records_lost);
    store_bind_u64(statement, 8, queue.counts.chunks_lost);
    r = store_step_done(store, ST_QUEUE_END_PUT, error);
    return r < 0 ? r : store_forget_tasks(store, queue.job_id, error);
}

static void bind_task(sqlite3_stmt *statement, uint64_t job_id, const struct task_queue *queue,
                      const struct task *live)
{
    struct task_record task;

    record_of_task(queue, live, &task);
    store_bind_u64(statement, 1, job_id);
    store_bind_u64(statement, 2, task.id);
    store_bind_u64(statement, 3, task.state);
    store_bind_u64(statement, 4, task.lease);
    store_bind_u64(statement, 5, task.failures);
    store_bind_u64(statement, 6, task.holder);
    store_bind_u64(statement, 7, task.pass);
    store_bind_u64(statement, 8, task.lost_records);
    store_bind_u64(statement, 9, task.lost_chunks);
}

struct task_writer {
    struct store *store;
    const struct job *job;
    struct edl_error *error;
    int r;
};

static void set_task(const struct task *task, void *userdata)
{
    struct task_writer *writer = userdata;

    if (writer->r < 0)
        return;
    bind_task(writer->store->statements[ST_TASK_SET], writer->job->id, writer->job->queue, task);
    writer->r = store_step_done(writer->store, ST_TASK_SET, writer->error);
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
    return dump_and_free(array);
}

static int put_task(struct store *store, uint64_t job_id, const struct task_queue *queue,
                    const struct task *task, const char *chunks, struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_TASK_PUT];

    bind_task(statement, job_id, queue, task);
    store_bind_text(statement, 10, chunks);
    return store_step_done(store, ST_TASK_PUT, error);
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

static char *members_to_text(const struct rendezvous_record *record)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < record->n_members; i++) {
        const struct rendezvous_member *member = &record->members[i];
        json_t *json = json_pack("[iI]", (int)member->index, (json_int_t)member->incarnation);

        if (member->note != NULL)
            (void)json_array_append_new(json, json_string(member->note));
        (void)json_array_append_new(array, json);
    }
    return dump_and_free(array);
}

static int put_rendezvous(struct store *store, const struct job *job, struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_RENDEZVOUS_PUT];
    struct rendezvous_record record;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < job->spec->n_roles; i++) {
        _cleanup_free_ char *members = NULL;

        if (!record_of_rendezvous(job, i, &record))
            continue;
        members = members_to_text(&record);
        store_bind_u64(statement, 1, record.job_id);
        store_bind_u64(statement, 2, record.role);
        store_bind_u64(statement, 3, record.generation);
        store_bind_text(statement, 4, members);
        r = store_step_done(store, ST_RENDEZVOUS_PUT, error);
    }
    return r;
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
    sqlite3_stmt *statement = store->statements[ST_EVENT_ADD];

    store_bind_u64(statement, 1, effect->wall_us);
    store_bind_text(statement, 2, effect->event);
    if (effect->job != NULL)
        store_bind_u64(statement, 3, effect->job->id);
    else
        (void)sqlite3_bind_null(statement, 3);
    store_bind_text(statement, 4, effect->name);
    store_bind_text(statement, 5, effect->text);
    return store_step_done(store, ST_EVENT_ADD, error);
}

int store_put_effect(struct store *store, const struct effect *effect, struct edl_error *error)
{
    switch (effect->kind) {
    case EFFECT_SAVE_JOB:
        return put_job(store, effect->job, error);
    case EFFECT_SAVE_SPEC:
        return put_spec(store, effect->job, error);
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
    case EFFECT_FORGET_NODE:
        return delete_node(store, effect->name, error);
    case EFFECT_ARCHIVE_JOB:
        return store_archive_job(store, effect->id, error);
    case EFFECT_FORGET_PROCESS:
        return store_forget_process(store, effect, error);
    case EFFECT_EVENT:
        return add_event(store, effect, error);
    case EFFECT_ORDERS:
    case EFFECT_MEMBERSHIP:
        return 0;
    }
    return edl_error_set(error, -EINVAL, "unknown effect %d", (int)effect->kind);
}
