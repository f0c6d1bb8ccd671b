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
#include "scheduler/core/core.h"
#include "scheduler/core/events/scheduler_away.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/core/record/records.h"
#include "scheduler/core/record/restore.h"
#include "scheduler/store/store.h"
#include "scheduler/store/store_asked.h"
#include "scheduler/store/store_columns.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

struct loader {
    struct store *store;
    struct cluster *cluster;
    struct instant now;
    struct edl_error *error;
};

typedef int (*row_fn)(struct loader *loader, struct prepared *statement);

static int each_row(struct loader *loader, enum statement which, row_fn fn)
{
    struct prepared *statement = loader->store->statements[which];
    int r;

    while ((r = store_next(statement, "reading", loader->error)) == 1) {
        r = fn(loader, statement);
        if (r < 0)
            break;
    }
    store_reset(statement);
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

static int load_away(struct loader *loader, struct prepared *statement)
{
    struct row row;

    row_begin(&row, statement, loader->error, "away");
    cluster_restore_away(loader->cluster, row_u64(&row, 0, CLUSTER_AWAY_MOST_US));
    return row.r;
}

static int load_node(struct loader *loader, struct prepared *statement)
{
    struct node_record node = { 0 };
    struct row row;

    row_begin(&row, statement, loader->error, "node %s", store_column_text(statement, 0));
    store_read_record(&row, 0, &node_table, &node);
    return row.r < 0 ? row.r
                     : prefixed(loader,
                                cluster_restore_node_record(loader->cluster, &node, loader->error));
}

/* --- jobs --- */

static int load_job(struct loader *loader, struct prepared *statement)
{
    struct job_record job = { 0 };
    struct job_spec *spec;
    struct row row;
    int r;

    row_begin(&row, statement, loader->error, "job %" PRIu64, store_column_u64(statement, 0));
    store_read_record(&row, 0, &job_table, &job);
    spec = (struct job_spec *)job.spec; /* why: owned here, const to readers */
    r = row.r < 0 ? row.r
                  : prefixed(loader, cluster_restore_job_record(loader->cluster, &job, spec,
                                                                loader->now, loader->error));
    if (r < 0)
        (void)job_spec_free(spec);
    free((struct slot_record *)job.slots); /* why: the same */
    return r;
}

/* --- processes --- */

static int load_process(struct loader *loader, struct prepared *statement)
{
    struct process_record process = { 0 };
    struct row row;

    row_begin(&row, statement, loader->error,
              "process %" PRIu64 ".%" PRIu64 ".%" PRIu64 ".%" PRIu64,
              store_column_u64(statement, 0), store_column_u64(statement, 1),
              store_column_u64(statement, 2), store_column_u64(statement, 3));
    store_read_record(&row, 0, &process_table, &process);
    return row.r < 0 ? row.r
                     : prefixed(loader, cluster_restore_process_record(loader->cluster, &process,
                                                                       loader->error));
}

/* --- generations --- */

static int load_rendezvous(struct loader *loader, struct prepared *statement)
{
    struct rendezvous_record record = { 0 };
    struct row row;
    int r;

    row_begin(&row, statement, loader->error, "the generation of role %" PRIu64 " of job %" PRIu64,
              store_column_u64(statement, 1), store_column_u64(statement, 0));
    store_read_record(&row, 0, &rendezvous_table, &record);
    r = row.r < 0 ? row.r
                  : prefixed(loader, cluster_restore_rendezvous_record(loader->cluster, &record,
                                                                       loader->error));
    /* why: owned here, const to readers */
    rendezvous_members_free((struct rendezvous_member *)record.members, record.n_members);
    return r;
}

static int load_family(struct loader *loader, struct prepared *statement)
{
    store_load_family(loader->cluster, statement);
    return 0;
}

static int load_array_notice(struct loader *loader, struct prepared *statement)
{
    struct array_notice_record record = { 0 };
    struct row row;

    row_begin(&row, statement, loader->error, "array notice %s", store_column_text(statement, 0));
    store_read_record(&row, 0, &array_notice_table, &record);
    return row.r < 0
               ? row.r
               : prefixed(loader, cluster_restore_array_notice_record(loader->cluster, &record,
                                                                      loader->error));
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

struct tasks {
    struct task_record *items; /* owned */
    size_t n, cap;
};

/* Adds the tasks to the job's queue; their states are kept for later, because the queue wants its
 * pass first. */
static int load_tasks(struct loader *loader, struct job *job, struct tasks *ret)
{
    struct prepared *statement = loader->store->statements[ST_TASK_ALL];
    int column = store_place(&task_table, "chunks");
    int r;

    store_bind_u64(statement, 1, job->id);
    while ((r = store_next(statement, "reading tasks", loader->error)) == 1) {
        _cleanup_free_ struct task_chunk *chunks = NULL;
        json_t *array;
        struct row row;

        row_begin(&row, statement, loader->error, "task %" PRIu64 " of job %" PRIu64,
                  store_column_u64(statement, 1), job->id);
        if (ret->n == ret->cap) {
            ret->cap = ret->cap != 0 ? ret->cap * 2 : 64;
            ret->items = xreallocarray(ret->items, ret->cap, sizeof *ret->items);
        }
        ret->items[ret->n] = (struct task_record){ 0 };
        store_read_record(&row, 0, &task_table, &ret->items[ret->n++]);
        array = row_array(&row, column, UINT32_MAX);
        chunks = read_chunks(&row, column, array);
        (void)task_queue_add(job->queue, chunks, (uint32_t)json_array_size(array));
        json_decref(array);
        r = row.r;
        if (r < 0)
            break;
    }
    store_reset(statement);
    return r;
}

static int load_queue(struct loader *loader, struct prepared *statement)
{
    int end = store_columns_n(&queue_table); /* where the columns of queue_end begin */
    struct queue_record queue = { 0 };
    struct tasks tasks = { 0 };
    struct task_queue_config config;
    struct job *job;
    struct row row;
    int r;

    row_begin(&row, statement, loader->error, "the task queue of job %" PRIu64,
              store_column_u64(statement, 0));
    store_read_record(&row, 0, &queue_table, &queue);
    queue.closed = !store_column_is_null(statement, end + 1);
    if (queue.closed)
        store_read_record(&row, end, &queue_end_table, &queue);
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

static int load_archived_job(struct loader *loader, uint64_t id)
{
    store_bind_u64(loader->store->statements[ST_ARCHIVED_JOB], 1, MIN_OF(id, (uint64_t)INT64_MAX));
    return each_row(loader, ST_ARCHIVED_JOB, load_job);
}

static int ask_for_one(struct store *store, enum statement which, uint64_t id)
{
    store_bind_u64(store->statements[which], 1, MIN_OF(id, (uint64_t)INT64_MAX));
    return store_ask_ahead(store, which);
}

/* ask_for_all - of a far store: the rows of all of them at once */
static int ask_for_all(struct store *store, const struct archive_query *query)
{
    const uint64_t *ids = query->id != 0 ? &query->id : query->ids;
    size_t n = query->id != 0 ? 1 : query->n_ids;
    int r = 0;

    for (size_t i = 0; i < n; i++) {
        r |= ask_for_one(store, ST_ARCHIVED_JOB, ids[i]);
        r |= ask_for_one(store, ST_QUEUE_OF, ids[i]);
        if (query->id != 0)
            r |= ask_for_one(store, ST_PROCESS_OF, ids[i]);
    }
    return r;
}

int store_load_archived(struct store *store, const struct archive_query *query,
                        struct cluster *cluster, struct instant now, struct edl_error *error)
{
    struct loader loader = { .store = store, .cluster = cluster, .now = now, .error = error };
    int r = store_is_far(store) && ask_for_all(store, query) != 0
                ? edl_error_set(error, -EINPROGRESS, "the database is asked for archived jobs")
                : 0;

    if (r == 0 && query->id != 0)
        r = load_archived_job(&loader, query->id);

    for (size_t i = 0; r == 0 && query->id == 0 && i < query->n_ids; i++)
        r = load_archived_job(&loader, query->ids[i]);
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
        { ST_QUEUE_ALL, load_queue },     { ST_ARRAY_NOTICE_ALL, load_array_notice },
    };
    struct epoch_numbers numbers;
    struct loader loader = { .store = store, .cluster = cluster, .now = now, .error = error };

    int r = store_need_sums(store, error);

    for (size_t i = 0; r == 0 && i < ELEMENTS(steps); i++)
        r = each_row(&loader, steps[i].which, steps[i].fn);
    if (r < 0)
        return r;
    if (store_epoch_numbers(store, &numbers))
        cluster_number_from(cluster, numbers.first_job, numbers.first_incarnation);
    return 0;
}
