/* SPDX-License-Identifier: Apache-2.0 */
/* store_load.c - rows back to records: when the scheduler starts, and archived jobs when asked for
 *
 * Nodes first, then jobs, their processes, their task queues: each refers to those before it. Here
 * every value is checked by itself, in scheduler/core/record/records.c whether records belong
 * together. A value that cannot be read is an error that names the row; nothing is skipped, because
 * a process left out would be granted twice. */
#include <inttypes.h>
#include <stdio.h>

#include "scheduler/core/base/queue_rules.h"
#include "scheduler/core/events/scheduler_away.h"
#include "scheduler/core/model/old_cause_text.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/core/record/records.h"
#include "scheduler/core/record/restore.h"
#include "scheduler/store/row.h"
#include "scheduler/store/store.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/hex.h"
#include "shared/job_document.h"
#include "shared/macro.h"

struct loader {
    struct store *store;
    struct cluster *cluster;
    struct instant now;
    struct edl_error *error;
};

typedef int (*row_fn)(struct loader *loader, sqlite3_stmt *statement);

static int each_row(struct loader *loader, enum statement which, row_fn fn)
{
    sqlite3_stmt *statement = loader->store->statements[which];
    int r = 0;

    while (r == 0) {
        int step = sqlite3_step(statement);

        if (step == SQLITE_DONE)
            break;
        r = step == SQLITE_ROW ? fn(loader, statement)
                               : store_error(loader->store, "reading", loader->error);
    }
    (void)sqlite3_reset(statement);
    return r;
}

/* The words of a record's own check, with its place. */
static int prefixed(struct loader *loader, int r)
{
    if (r < 0)
        edl_error_prefix(loader->error, "the database: ");
    return r;
}

/* --- nodes --- */

static void read_labels(struct row *row, int column, struct labels *ret)
{
    json_t *object = row_object(row, column);
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        const char *text = json_string_value(value);

        if (text == NULL || labels_set(ret, name, text, NULL) < 0)
            (void)row_damaged(row, column, "has a label that cannot be");
    }
    json_decref(object);
}

static void read_offer(struct row *row, struct node_offer *ret)
{
    json_t *array = row_array(row, 18, NODE_GPUS_MAX);
    json_t *value;
    size_t i;

    row_text(row, 3, ret->address, sizeof ret->address);
    ret->cpu_millicores = row_u64(row, 4, INT64_MAX);
    ret->memory_bytes = row_u64(row, 5, INT64_MAX);
    ret->gpus = (uint32_t)row_u64(row, 6, NODE_GPUS_MAX);
    ret->port_first = (uint16_t)row_u64(row, 7, UINT16_MAX);
    ret->port_last = (uint16_t)row_u64(row, 8, UINT16_MAX);
    ret->numa_nodes = (uint8_t)row_u64(row, 17, UINT8_MAX);
    if (array != NULL && json_array_size(array) != ret->gpus)
        (void)row_damaged(row, 18, "is not one number for each device");
    json_array_foreach(array, i, value) ret->gpu_numa[i] =
        (uint8_t)row_element(row, 18, value, UINT8_MAX);
    json_decref(array);
    read_labels(row, 16, &ret->labels);
}

static int load_away(struct loader *loader, sqlite3_stmt *statement)
{
    struct row row;

    row_begin(&row, statement, loader->error, "away");
    cluster_restore_away(loader->cluster, row_u64(&row, 0, CLUSTER_AWAY_MOST_US));
    return row.r;
}

static int load_node(struct loader *loader, sqlite3_stmt *statement)
{
    struct node_record node = { 0 };
    struct row row;

    row_begin(&row, statement, loader->error, "node %s", store_column_text(statement, 0));
    row_text(&row, 0, node.name, sizeof node.name);
    node.state = (enum node_state)row_state(&row, 1, node_state_from_string);
    node.ever_reported = row_bool(&row, 2);
    node.port_next = (uint16_t)row_u64(&row, 9, UINT16_MAX);
    node.foreign_cpu_millicores = row_u64(&row, 10, INT64_MAX);
    node.foreign_memory_bytes = row_u64(&row, 11, INT64_MAX);
    node.last_report_wall_us = row_u64(&row, 12, INT64_MAX);
    row_text(&row, 13, node.boot_id, sizeof node.boot_id);
    row_text(&row, 14, node.credential_hash, sizeof node.credential_hash);
    node.admin_state = (enum node_state)row_state(&row, 15, node_state_from_string);
    read_offer(&row, &node.offer);
    return row.r < 0 ? row.r
                     : prefixed(loader,
                                cluster_restore_node_record(loader->cluster, &node, loader->error));
}

/* --- jobs --- */

static void read_targets(struct row *row, int column, struct job_record *job)
{
    json_t *array = row_array(row, column, JOB_ROLES_MAX);
    json_t *value;
    size_t r;

    json_array_foreach(array, r, value) job->target[r] =
        (uint32_t)row_element(row, column, value, UINT32_MAX);
    json_decref(array);
}

static bool bool_element(struct row *row, int column, const json_t *value)
{
    if (!json_is_boolean(value))
        (void)row_damaged(row, column, "has an element that cannot be");
    return json_is_true(value);
}

static struct slot_record *read_slots(struct row *row, int column, struct job_record *job)
{
    json_t *array = row_array(row, column, (size_t)JOB_ROLES_MAX * ROLE_INSTANCES_MAX);
    struct slot_record *slots = xcalloc(json_array_size(array), sizeof *slots);
    json_t *value;
    size_t i;

    json_array_foreach(array, i, value) slots[i] = (struct slot_record){
        .role = (uint32_t)row_element(row, column, json_array_get(value, 0), JOB_ROLES_MAX - 1),
        .index =
            (uint32_t)row_element(row, column, json_array_get(value, 1), ROLE_INSTANCES_MAX - 1),
        .failures = (uint32_t)row_element(row, column, json_array_get(value, 2), UINT32_MAX),
        .finished = bool_element(row, column, json_array_get(value, 3)),
        .due = bool_element(row, column, json_array_get(value, 4)),
    };
    job->slots = slots;
    job->n_slots = json_array_size(array);
    json_decref(array);
    return slots;
}

static struct job_spec *read_spec(struct row *row, int column)
{
    struct edl_error why = { 0 };
    struct job_spec *spec = NULL;
    json_t *document = row_object(row, column);

    if (document != NULL && job_spec_from_stored(document, &spec, &why) < 0)
        (void)row_damaged(row, column, why.text);
    json_decref(document);
    return spec;
}

/* An earlier schema knew of none. */
static void read_usage(struct row *row, int column, struct usage *ret)
{
    json_t *array = row_array(row, column, USAGE_KINDS);
    json_t *value;
    size_t kind;

    json_array_foreach(array, kind, value)
    {
        struct resource_time *time = &ret->kinds[kind];

        time->cpu_millicore_ms = row_element(row, column, json_array_get(value, 0), INT64_MAX);
        time->gpu_ms = row_element(row, column, json_array_get(value, 1), INT64_MAX);
        time->memory_mib_ms = row_element(row, column, json_array_get(value, 2), INT64_MAX);
    }
    json_decref(array);
}

static void read_secret(struct row *row, int column, uint8_t ret[JOB_SECRET_BYTES])
{
    char text[JOB_SECRET_HEX + 1];

    row_text(row, column, text, sizeof text);
    if (text[0] != '\0' && hex_decode(text, JOB_SECRET_BYTES, ret) < 0)
        (void)row_damaged(row, column, "is not a secret");
}

static bool is_told(const struct row *row, int column)
{
    return sqlite3_column_type(row->statement, column) != SQLITE_NULL;
}

/* read_cause - of a version before: its text says it */
static enum cause read_cause(struct row *row, int column, const char *text)
{
    return is_told(row, column) ? (enum cause)row_state(row, column, cause_from_string)
                                : cause_from_text(text);
}

static enum intent read_intent(struct row *row, int column, const struct job_record *job)
{
    return is_told(row, column) ? (enum intent)row_state(row, column, intent_from_string)
                                : intent_from_text(job->state, job->reason_code);
}

static int load_job(struct loader *loader, sqlite3_stmt *statement)
{
    struct job_record job = { 0 };
    _cleanup_free_ struct slot_record *slots = NULL;
    struct job_spec *spec;
    struct row row;
    int r;

    row_begin(&row, statement, loader->error, "job %" PRIu64, store_column_u64(statement, 0));
    job.id = row_u64(&row, 0, INT64_MAX);
    job.state = (enum job_state)row_state(&row, 1, job_state_from_string);
    row_text(&row, 2, job.reason_code, sizeof job.reason_code);
    row_text(&row, 3, job.reason, sizeof job.reason);
    row_text(&row, 4, job.user, sizeof job.user);
    job.next_incarnation = row_u64(&row, 6, INT64_MAX);
    read_targets(&row, 7, &job);
    slots = read_slots(&row, 8, &job);
    job.resizes = (uint32_t)row_u64(&row, 9, UINT32_MAX);
    job.finishing = row_bool(&row, 10);
    job.submitted_wall_us = row_u64(&row, 11, INT64_MAX);
    job.started_wall_us = row_u64(&row, 12, INT64_MAX);
    job.ended_wall_us = row_u64(&row, 13, INT64_MAX);
    row_text(&row, 14, job.dataset_digest, sizeof job.dataset_digest);
    if (sqlite3_column_type(statement, 15) != SQLITE_NULL)
        job.metrics = store_column_text(statement, 15);
    read_usage(&row, 16, &job.usage);
    job.turn_wall_us = row_u64(&row, 17, INT64_MAX);
    job.servers_min = (uint32_t)row_u64(&row, 18, ROLE_INSTANCES_MAX);
    job.servers_max = (uint32_t)row_u64(&row, 19, ROLE_INSTANCES_MAX);
    read_secret(&row, 20, job.secret);
    job.cause = read_cause(&row, 21, job.reason_code);
    job.intent = read_intent(&row, 22, &job);
    spec = read_spec(&row, 5);
    r = row.r < 0 ? row.r
                  : prefixed(loader, cluster_restore_job_record(loader->cluster, &job, spec,
                                                                loader->now, loader->error));
    if (r < 0)
        (void)job_spec_free(spec);
    return r;
}

/* --- processes --- */

static void read_ports(struct row *row, int column, struct process_record *process)
{
    json_t *array = row_array(row, column, PROCESS_PORTS_MAX);
    json_t *value;
    size_t i;

    json_array_foreach(array, i, value) process->ports[i] =
        (uint16_t)row_element(row, column, value, UINT16_MAX);
    process->n_ports = (uint32_t)json_array_size(array);
    json_decref(array);
}

static void read_gpus(struct row *row, int column, struct process_record *process)
{
    json_t *array = row_array(row, column, NODE_GPUS_MAX);
    json_t *value;
    size_t i;

    json_array_foreach(array, i, value) process->gpu_mask |=
        UINT64_C(1) << row_element(row, column, value, NODE_GPUS_MAX - 1);
    json_decref(array);
}

static int load_process(struct loader *loader, sqlite3_stmt *statement)
{
    struct process_record process = { 0 };
    struct row row;

    row_begin(&row, statement, loader->error,
              "process %" PRIu64 ".%" PRIu64 ".%" PRIu64 ".%" PRIu64,
              store_column_u64(statement, 0), store_column_u64(statement, 1),
              store_column_u64(statement, 2), store_column_u64(statement, 3));
    process.job_id = row_u64(&row, 0, INT64_MAX);
    process.role = (uint32_t)row_u64(&row, 1, JOB_ROLES_MAX - 1);
    process.index = (uint32_t)row_u64(&row, 2, ROLE_INSTANCES_MAX - 1);
    process.incarnation = row_u64(&row, 3, INT64_MAX);
    process.state = (enum process_state)row_state(&row, 4, process_state_from_string);
    row_text(&row, 5, process.node_name, sizeof process.node_name);
    read_ports(&row, 6, &process);
    process.pid = row_i64(&row, 7, INT64_MIN, INT64_MAX);
    process.exit_code = (int)row_i64(&row, 8, INT32_MIN, INT32_MAX);
    process.exit_signal = (int)row_i64(&row, 9, INT32_MIN, INT32_MAX);
    process.stop_wanted = row_bool(&row, 10);
    row_text(&row, 11, process.reason, sizeof process.reason);
    process.assigned_wall_us = row_u64(&row, 12, INT64_MAX);
    process.started_wall_us = row_u64(&row, 13, INT64_MAX);
    process.ended_wall_us = row_u64(&row, 14, INT64_MAX);
    process.cpu_used_us = row_u64(&row, 15, INT64_MAX);
    process.memory_used_bytes = row_u64(&row, 16, INT64_MAX);
    read_gpus(&row, 17, &process);
    process.start_failed = row_bool(&row, 18);
    process.frozen_us = row_u64(&row, 19, INT64_MAX);
    process.cause = read_cause(&row, 20, process.reason);
    return row.r < 0 ? row.r
                     : prefixed(loader, cluster_restore_process_record(loader->cluster, &process,
                                                                       loader->error));
}

/* --- generations --- */

/* Borrowed from the value; NULL: the member brought none. */
static char *note_element(struct row *row, int column, const json_t *value)
{
    if (value != NULL && !json_is_string(value))
        (void)row_damaged(row, column, "has a note that is no text");
    return (char *)(uintptr_t)json_string_value(value); /* why: it is copied before it is freed */
}

static int load_rendezvous(struct loader *loader, sqlite3_stmt *statement)
{
    struct rendezvous_record record = { 0 };
    _cleanup_free_ struct rendezvous_member *members = NULL;
    struct row row;
    json_t *array;
    json_t *value;
    size_t i;
    int r;

    row_begin(&row, statement, loader->error, "the generation of role %" PRIu64 " of job %" PRIu64,
              store_column_u64(statement, 1), store_column_u64(statement, 0));
    record.job_id = row_u64(&row, 0, INT64_MAX);
    record.role = (uint32_t)row_u64(&row, 1, JOB_ROLES_MAX - 1);
    record.generation = row_u64(&row, 2, INT64_MAX);
    array = row_array(&row, 3, ROLE_INSTANCES_MAX);
    members = xcalloc(json_array_size(array), sizeof *members);
    json_array_foreach(array, i, value) members[i] = (struct rendezvous_member){
        .index = (uint32_t)row_element(&row, 3, json_array_get(value, 0), ROLE_INSTANCES_MAX - 1),
        .incarnation = row_element(&row, 3, json_array_get(value, 1), INT64_MAX),
        .note = note_element(&row, 3, json_array_get(value, 2)),
    };
    record.members = members;
    record.n_members = (uint32_t)json_array_size(array);
    r = row.r < 0 ? row.r
                  : prefixed(loader, cluster_restore_rendezvous_record(loader->cluster, &record,
                                                                       loader->error));
    json_decref(array); /* the notes are its */
    return r;
}

static int load_family(struct loader *loader, sqlite3_stmt *statement)
{
    store_load_family(loader->cluster, statement);
    return 0;
}

/* --- task queues --- */

/* The caller's, as long as the array, whose paths they have. */
static struct task_chunk *read_chunks(struct row *row, int column, const json_t *array)
{
    size_t n = json_array_size(array);
    struct task_chunk *chunks = xcalloc(n, sizeof *chunks);
    json_t *chunk;
    size_t i;

    json_array_foreach(array, i, chunk)
    {
        const char *path = json_string_value(json_array_get(chunk, 0));

        if (path == NULL)
            (void)row_damaged(row, column, "has a chunk without a path");
        chunks[i] = (struct task_chunk){
            .path = path != NULL ? path : "",
            .offset_bytes = row_element(row, column, json_array_get(chunk, 1), INT64_MAX),
            .n_records = (uint32_t)row_element(row, column, json_array_get(chunk, 2), UINT32_MAX),
        };
        if (json_array_size(chunk) <= 3) /* of its file nothing was told */
            continue;
        chunks[i].file_bytes = row_element(row, column, json_array_get(chunk, 3), INT64_MAX);
        chunks[i].mtime_us = row_element(row, column, json_array_get(chunk, 4), INT64_MAX);
    }
    return chunks;
}

static struct task_record read_task(struct row *row)
{
    return (struct task_record){
        .id = (uint32_t)row_u64(row, 0, UINT32_MAX),
        .state = (enum task_state)row_u64(row, 1, TASK_DISCARDED),
        .lease = (uint32_t)row_u64(row, 2, UINT32_MAX),
        .failures = (uint32_t)row_u64(row, 3, UINT32_MAX),
        .holder = row_u64(row, 4, INT64_MAX),
        .pass = (uint32_t)row_u64(row, 6, UINT32_MAX),
        .lost_records = row_u64(row, 7, INT64_MAX),
        .lost_chunks = (uint32_t)row_u64(row, 8, UINT32_MAX),
    };
}

struct tasks {
    struct task_record *items; /* owned */
    size_t n, cap;
};

/* Adds the tasks to the job's queue; their states are kept for later, because the queue wants its
 * pass first. */
static int load_tasks(struct loader *loader, struct job *job, struct tasks *ret)
{
    sqlite3_stmt *statement = loader->store->statements[ST_TASK_ALL];
    int step;
    int r = 0;

    store_bind_u64(statement, 1, job->id);
    while (r == 0 && (step = sqlite3_step(statement)) != SQLITE_DONE) {
        _cleanup_free_ struct task_chunk *chunks = NULL;
        json_t *array;
        struct row row;

        if (step != SQLITE_ROW) {
            r = store_error(loader->store, "reading tasks", loader->error);
            break;
        }
        row_begin(&row, statement, loader->error, "task %" PRIu64 " of job %" PRIu64,
                  store_column_u64(statement, 0), job->id);
        if (ret->n == ret->cap) {
            ret->cap = ret->cap != 0 ? ret->cap * 2 : 64;
            ret->items = xreallocarray(ret->items, ret->cap, sizeof *ret->items);
        }
        ret->items[ret->n++] = read_task(&row);
        array = row_array(&row, 5, UINT32_MAX);
        chunks = read_chunks(&row, 5, array);
        (void)task_queue_add(job->queue, chunks, (uint32_t)json_array_size(array));
        json_decref(array);
        r = row.r;
    }
    (void)sqlite3_reset(statement);
    return r;
}

static void read_queue_end(struct row *row, struct queue_record *queue)
{
    queue->counts.todo = (uint32_t)row_u64(row, 7, UINT32_MAX);
    queue->counts.done = (uint32_t)row_u64(row, 8, UINT32_MAX);
    queue->counts.discarded = (uint32_t)row_u64(row, 9, UINT32_MAX);
    queue->counts.records_done = row_u64(row, 10, INT64_MAX);
    queue->counts.records_pass = row_u64(row, 11, INT64_MAX);
    queue->counts.records_lost = row_u64(row, 17, INT64_MAX);
    queue->counts.chunks_lost = row_u64(row, 18, INT64_MAX);
}

static int load_queue(struct loader *loader, sqlite3_stmt *statement)
{
    struct queue_record queue = { 0 };
    struct tasks tasks = { 0 };
    struct task_queue_config config;
    struct job *job;
    struct row row;
    int r;

    row_begin(&row, statement, loader->error, "the task queue of job %" PRIu64,
              store_column_u64(statement, 0));
    queue.job_id = row_u64(&row, 0, INT64_MAX);
    queue.pass = (uint32_t)row_u64(&row, 1, UINT32_MAX);
    queue.counts.records_total = row_u64(&row, 2, INT64_MAX);
    queue.counts.records_discarded_total = row_u64(&row, 3, INT64_MAX);
    queue.counts.retries_total = row_u64(&row, 4, INT64_MAX);
    queue.model_saved = row_bool(&row, 5);
    queue.saver = row_u64(&row, 6, INT64_MAX);
    queue.counts.tasks_discarded_total = row_u64(&row, 12, INT64_MAX);
    queue.model_path = store_column_text(statement, 13);
    queue.passes = (uint32_t)row_u64(&row, 14, UINT32_MAX);
    queue.counts.records_lost_total = row_u64(&row, 15, INT64_MAX);
    queue.counts.chunks_lost_total = row_u64(&row, 16, INT64_MAX);
    queue.closed = sqlite3_column_type(statement, 7) != SQLITE_NULL;
    if (queue.closed)
        read_queue_end(&row, &queue);
    job = cluster_job(loader->cluster, queue.job_id);
    if (job == NULL || job->queue != NULL)
        (void)row_damaged(&row, 0, "refers to no job");
    if (row.r < 0)
        return row.r;
    config = queue_rules(job->spec);
    job->queue = task_queue_new(&config);
    r = queue.closed ? 0 : load_tasks(loader, job, &tasks);
    if (r == 0)
        r = prefixed(loader, cluster_restore_queue_record(loader->cluster, &queue, tasks.items,
                                                          tasks.n, loader->now, loader->error));
    free(tasks.items);
    return r;
}

/* All but its processes and its queue was loaded. */
static int load_parts(struct loader *loader, uint64_t id, bool with_processes)
{
    int r = 0;

    store_bind_u64(loader->store->statements[ST_PROCESS_OF], 1, id);
    store_bind_u64(loader->store->statements[ST_QUEUE_OF], 1, id);
    if (with_processes)
        r = each_row(loader, ST_PROCESS_OF, load_process);
    return r < 0 ? r : each_row(loader, ST_QUEUE_OF, load_queue);
}

int store_load_archived(struct store *store, const struct archive_query *query,
                        struct cluster *cluster, struct instant now, struct edl_error *error)
{
    struct loader loader = { .store = store, .cluster = cluster, .now = now, .error = error };
    enum statement which = query->array != NULL ? ST_ARCHIVED_ARRAY_PAGE : ST_ARCHIVED_PAGE;
    int r;

    if (query->id != 0)
        which = ST_ARCHIVED_JOB;
    store_bind_u64(store->statements[which], 1,
                   MIN_OF(query->id != 0 ? query->id : query->after, (uint64_t)INT64_MAX));
    if (query->id == 0)
        store_bind_u64(store->statements[which], 2, query->limit);
    if (which == ST_ARCHIVED_ARRAY_PAGE) {
        store_bind_text(store->statements[which], 3, query->array);
        store_bind_text(store->statements[which], 4, query->user);
    }
    r = each_row(&loader, which, load_job);
    for (const struct job *job = cluster_jobs(cluster); r == 0 && job != NULL; job = job->hh.next)
        r = load_parts(&loader, job->id, query->id != 0);
    return r;
}

int store_load(struct store *store, struct cluster *cluster, struct instant now,
               struct edl_error *error)
{
    static const struct {
        enum statement which;
        row_fn fn;
    } steps[] = {
        { ST_AWAY_ALL, load_away },       { ST_FAMILY_ALL, load_family },
        { ST_NODE_ALL, load_node },       { ST_JOB_ALL, load_job },
        { ST_PROCESS_ALL, load_process }, { ST_RENDEZVOUS_ALL, load_rendezvous },
        { ST_QUEUE_ALL, load_queue },
    };
    struct loader loader = { .store = store, .cluster = cluster, .now = now, .error = error };

    for (size_t i = 0; i < ELEMENTS(steps); i++) {
        int r = each_row(&loader, steps[i].which, steps[i].fn);

        if (r < 0)
            return r;
    }
    cluster_number_jobs_from(cluster, store_first_number(store));
    return 0;
}
