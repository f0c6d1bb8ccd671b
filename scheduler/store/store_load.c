/* SPDX-License-Identifier: Apache-2.0 */
/* store_load.c - rows back to the deciding core, once, when the scheduler starts
 *
 * Nodes first, then jobs, their processes, their task queues: each refers to those before it. What
 * cannot be read is an error that names the row; nothing is skipped, because a process left out
 * would be granted twice. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "scheduler/core/cluster.h"
#include "scheduler/queue_rules.h"
#include "scheduler/store/store.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/macro.h"

struct loader {
    struct store *store;
    struct cluster *cluster;
    struct instant now;
    struct edl_error *error;
};

typedef int (*row_fn)(struct loader *loader, sqlite3_stmt *row);

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

static void copy_text(char *to, size_t size, sqlite3_stmt *row, int at)
{
    (void)snprintf(to, size, "%s", store_column_text(row, at));
}

/* A JSON column that must be an array; NULL with error set when it is not. */
static json_t *array_column(struct loader *loader, sqlite3_stmt *row, int at, const char *what)
{
    json_t *value = json_loads(store_column_text(row, at), 0, NULL);

    if (json_is_array(value))
        return value;
    json_decref(value);
    (void)edl_error_set(loader->error, EDL_ECORRUPT, "the database: %s is not a JSON array", what);
    return NULL;
}

static int load_node(struct loader *loader, sqlite3_stmt *row)
{
    const char *name = store_column_text(row, 0);
    int state = node_state_from_string(store_column_text(row, 1));
    struct node_offer offer = {
        .cpu_millicores = store_column_u64(row, 4),
        .memory_bytes = store_column_u64(row, 5),
        .gpus = (uint32_t)store_column_u64(row, 6),
        .port_first = (uint16_t)store_column_u64(row, 7),
        .port_last = (uint16_t)store_column_u64(row, 8),
    };
    struct node *node;

    if (state < 0)
        return edl_error_set(loader->error, EDL_ECORRUPT, "the database: node %s has state \"%s\"",
                             name, store_column_text(row, 1));
    copy_text(offer.address, sizeof offer.address, row, 3);
    node = cluster_restore_node(loader->cluster, name, (enum node_state)state, &offer);
    if (node == NULL)
        return edl_error_set(loader->error, EDL_ECORRUPT,
                             "the database: node %s cannot be restored", name);
    node->ever_reported = store_column_u64(row, 2) != 0;
    node->port_next = (uint16_t)store_column_u64(row, 9);
    node->foreign_cpu_millicores = store_column_u64(row, 10);
    node->foreign_memory_bytes = store_column_u64(row, 11);
    node->last_report_wall_us = store_column_u64(row, 12);
    copy_text(node->boot_id, sizeof node->boot_id, row, 13);
    copy_text(node->credential_hash, sizeof node->credential_hash, row, 14);
    return 0;
}

static int restore_targets(struct loader *loader, struct job *job, sqlite3_stmt *row)
{
    json_t *array = array_column(loader, row, 7, "a job's targets");
    size_t r;
    json_t *value;

    if (array == NULL)
        return EDL_ECORRUPT;
    json_array_foreach(array, r, value) if (r < job->spec->n_roles) job->target[r] =
        (uint32_t)json_integer_value(value);
    json_decref(array);
    return 0;
}

static int restore_slots(struct loader *loader, struct job *job, sqlite3_stmt *row)
{
    json_t *array = array_column(loader, row, 8, "a job's slots");
    size_t i;
    json_t *value;

    if (array == NULL)
        return EDL_ECORRUPT;
    json_array_foreach(array, i, value)
    {
        json_int_t role = json_integer_value(json_array_get(value, 0));
        json_int_t index = json_integer_value(json_array_get(value, 1));

        if (role < 0 || (size_t)role >= job->spec->n_roles || index < 0 ||
            index >= (json_int_t)job->n_slots[role])
            continue; /* why: bounds were scaled down since; that slot is not used any more */
        job->slots[role][index].failures = (uint32_t)json_integer_value(json_array_get(value, 2));
        job->slots[role][index].finished = json_is_true(json_array_get(value, 3));
    }
    json_decref(array);
    return 0;
}

/* Boot time of the submit, worked out again: the machine may have been started anew since. */
static uint64_t boot_time_of(struct instant now, uint64_t wall_us)
{
    uint64_t age_us = now.wall_us > wall_us ? now.wall_us - wall_us : 0;

    return now.now_us > age_us ? now.now_us - age_us : 0;
}

static int load_spec(struct loader *loader, uint64_t id, const char *text, struct job_spec **ret)
{
    json_t *document = json_loads(text, 0, NULL);
    int r;

    if (document == NULL)
        return edl_error_set(loader->error, EDL_ECORRUPT,
                             "the database: the document of job %" PRIu64 " is not JSON", id);
    r = job_spec_from_document(document, ret, NULL, loader->error);
    json_decref(document);
    if (r < 0)
        edl_error_prefix(loader->error, "the database: job %" PRIu64 ": ", id);
    return r;
}

static int load_job(struct loader *loader, sqlite3_stmt *row)
{
    uint64_t id = store_column_u64(row, 0);
    int state = job_state_from_string(store_column_text(row, 1));
    struct job_spec *spec = NULL;
    struct job *job;
    int r;

    if (state < 0)
        return edl_error_set(loader->error, EDL_ECORRUPT,
                             "the database: job %" PRIu64 " has state \"%s\"", id,
                             store_column_text(row, 1));
    r = load_spec(loader, id, store_column_text(row, 5), &spec);
    if (r < 0)
        return r;
    job = cluster_restore_job(loader->cluster, id, spec, (enum job_state)state);
    if (job == NULL) {
        (void)job_spec_free(spec);
        return edl_error_set(loader->error, EDL_ECORRUPT,
                             "the database: job %" PRIu64 " cannot be restored", id);
    }
    copy_text(job->reason_code, sizeof job->reason_code, row, 2);
    copy_text(job->reason, sizeof job->reason, row, 3);
    copy_text(job->user, sizeof job->user, row, 4);
    job->next_incarnation = store_column_u64(row, 6);
    job->resizes = (uint32_t)store_column_u64(row, 9);
    job->finishing = store_column_u64(row, 10) != 0;
    job->submitted_wall_us = store_column_u64(row, 11);
    job->started_wall_us = store_column_u64(row, 12);
    job->ended_wall_us = store_column_u64(row, 13);
    job->submitted_us = boot_time_of(loader->now, job->submitted_wall_us);
    copy_text(job->dataset_digest, sizeof job->dataset_digest, row, 14);
    if (sqlite3_column_type(row, 15) != SQLITE_NULL) {
        free(job->metrics);
        job->metrics = xstrdup(store_column_text(row, 15));
    }
    r = restore_targets(loader, job, row);
    return r < 0 ? r : restore_slots(loader, job, row);
}

static int load_process(struct loader *loader, sqlite3_stmt *row)
{
    uint64_t job_id = store_column_u64(row, 0);
    uint64_t role = store_column_u64(row, 1);
    struct job *job = cluster_job(loader->cluster, job_id);
    int state = process_state_from_string(store_column_text(row, 4));
    struct process *process = NULL;
    json_t *ports;
    size_t i;
    json_t *port;

    if (job != NULL && state >= 0 && role < job->spec->n_roles)
        process =
            cluster_restore_process(loader->cluster, job, (uint32_t)role,
                                    (uint32_t)store_column_u64(row, 2), store_column_u64(row, 3),
                                    (enum process_state)state, store_column_text(row, 5));
    if (process == NULL)
        return edl_error_set(loader->error, EDL_ECORRUPT,
                             "the database: a process of job %" PRIu64 " cannot be restored",
                             job_id);
    ports = array_column(loader, row, 6, "a process' ports");
    if (ports == NULL)
        return EDL_ECORRUPT;
    process->n_ports = 0;
    json_array_foreach(ports, i, port) if (i < PROCESS_PORTS_MAX)
        process->ports[process->n_ports++] = (uint16_t)json_integer_value(port);
    json_decref(ports);
    process->pid = sqlite3_column_int64(row, 7);
    process->exit_code = sqlite3_column_int(row, 8);
    process->exit_signal = sqlite3_column_int(row, 9);
    process->stop_wanted = store_column_u64(row, 10) != 0;
    copy_text(process->reason, sizeof process->reason, row, 11);
    process->assigned_wall_us = store_column_u64(row, 12);
    process->started_wall_us = store_column_u64(row, 13);
    process->ended_wall_us = store_column_u64(row, 14);
    process->cpu_used_us = store_column_u64(row, 15);
    process->memory_used_bytes = store_column_u64(row, 16);
    return 0;
}

static struct task_chunk *chunks_from_json(const json_t *array, uint32_t *ret_n)
{
    size_t n = json_array_size(array);
    struct task_chunk *chunks = xcalloc(n, sizeof *chunks);

    for (size_t i = 0; i < n; i++) {
        const json_t *chunk = json_array_get(array, i);
        const char *path = json_string_value(json_array_get(chunk, 0));

        chunks[i].path = xstrdup(path != NULL ? path : "");
        chunks[i].offset_bytes = (uint64_t)json_integer_value(json_array_get(chunk, 1));
        chunks[i].n_records = (uint32_t)json_integer_value(json_array_get(chunk, 2));
    }
    *ret_n = (uint32_t)n;
    return chunks;
}

struct task_row {
    enum task_state state;
    uint32_t lease, failures;
    uint64_t holder;
};

/* Adds the job's tasks to its queue; their states come back for later, because the queue wants its
 * pass first. */
static int load_tasks(struct loader *loader, struct job *job, struct task_row **ret, size_t *ret_n)
{
    sqlite3_stmt *statement = loader->store->statements[ST_TASK_ALL];
    _cleanup_free_ struct task_row *rows = NULL;
    size_t n = 0, cap = 0;
    int step;
    int r = 0;

    store_bind_u64(statement, 1, job->id);
    while (r == 0 && (step = sqlite3_step(statement)) != SQLITE_DONE) {
        struct task_chunk *chunks;
        uint32_t n_chunks;
        json_t *array;

        if (step != SQLITE_ROW) {
            r = store_error(loader->store, "reading tasks", loader->error);
            break;
        }
        array = array_column(loader, statement, 5, "a task's chunks");
        if (array == NULL || store_column_u64(statement, 0) != n) {
            json_decref(array);
            r = edl_error_set(loader->error, EDL_ECORRUPT,
                              "the database: task %zu of job %" PRIu64 " is damaged", n, job->id);
            break;
        }
        chunks = chunks_from_json(array, &n_chunks);
        json_decref(array);
        (void)task_queue_add(job->queue, chunks, n_chunks);
        if (n == cap) {
            cap = cap != 0 ? cap * 2 : 64;
            rows = xreallocarray(rows, cap, sizeof *rows);
        }
        rows[n++] = (struct task_row){ (enum task_state)store_column_u64(statement, 1),
                                       (uint32_t)store_column_u64(statement, 2),
                                       (uint32_t)store_column_u64(statement, 3),
                                       store_column_u64(statement, 4) };
    }
    (void)sqlite3_reset(statement);
    if (r == 0) {
        *ret = TAKE_PTR(rows);
        *ret_n = n;
    }
    return r;
}

static void forget_task(const struct task *task, void *userdata)
{
    (void)task;
    (void)userdata;
}

static int load_queue(struct loader *loader, sqlite3_stmt *row)
{
    uint64_t job_id = store_column_u64(row, 0);
    struct job *job = cluster_job(loader->cluster, job_id);
    _cleanup_free_ struct task_row *rows = NULL;
    struct task_queue_config config;
    size_t n = 0;
    bool all;
    int r;

    if (job == NULL || job->queue != NULL)
        return edl_error_set(loader->error, EDL_ECORRUPT,
                             "the database: the task queue of job %" PRIu64 " has no job", job_id);
    config = queue_rules(job->spec);
    job->queue = task_queue_new(&config);
    r = load_tasks(loader, job, &rows, &n);
    if (r < 0)
        return r;
    task_queue_restore(job->queue, (uint32_t)store_column_u64(row, 1), store_column_u64(row, 2),
                       store_column_u64(row, 3), store_column_u64(row, 4),
                       store_column_u64(row, 5) != 0);
    for (uint32_t i = 0; i < n; i++) {
        r = task_queue_restore_task(job->queue, i, rows[i].state, rows[i].lease, rows[i].failures,
                                    rows[i].holder, loader->now.now_us);
        if (r < 0)
            return edl_error_set(loader->error, EDL_ECORRUPT,
                                 "the database: task %u of job %" PRIu64 " cannot be restored", i,
                                 job_id);
    }
    task_queue_restore_saver(job->queue, store_column_u64(row, 6));
    /* What was just read needs no writing. */
    task_queue_take_changed(job->queue, forget_task, NULL, &all);
    return 0;
}

int store_load(struct store *store, struct cluster *cluster, struct instant now,
               struct edl_error *error)
{
    static const struct {
        enum statement which;
        row_fn fn;
    } steps[] = {
        { ST_NODE_ALL, load_node },
        { ST_JOB_ALL, load_job },
        { ST_PROCESS_ALL, load_process },
        { ST_QUEUE_ALL, load_queue },
    };
    struct loader loader = { .store = store, .cluster = cluster, .now = now, .error = error };

    for (size_t i = 0; i < ELEMENTS(steps); i++) {
        int r = each_row(&loader, steps[i].which, steps[i].fn);

        if (r < 0)
            return r;
    }
    return 0;
}
