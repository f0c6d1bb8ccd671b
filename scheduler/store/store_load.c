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

#include "scheduler/core/queue_rules.h"
#include "scheduler/core/records.h"
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

/* A column that holds a state's word; the state, or EDL_ECORRUPT with error set. */
static int state_column(struct loader *loader, sqlite3_stmt *row, int at,
                        int (*from_string)(const char *text), const char *what)
{
    int state = from_string(store_column_text(row, at));

    return state >= 0
               ? state
               : edl_error_set(loader->error, EDL_ECORRUPT, "the database: %s has state \"%s\"",
                               what, store_column_text(row, at));
}

static int load_labels(struct loader *loader, sqlite3_stmt *row, int at, struct labels *ret)
{
    json_t *object = json_loads(store_column_text(row, at), 0, NULL);
    const char *name;
    json_t *value;
    int r = json_is_object(object) ? 0 : -EINVAL;

    json_object_foreach(object, name, value)
    {
        const char *text = json_string_value(value);

        if (r == 0)
            r = text == NULL ? -EINVAL : labels_set(ret, name, text, NULL);
    }
    json_decref(object);
    return r == 0 ? 0
                  : edl_error_set(loader->error, EDL_ECORRUPT,
                                  "the database: the labels of node %s are damaged",
                                  store_column_text(row, 0));
}

static int load_offer(struct loader *loader, sqlite3_stmt *row, struct node_offer *ret)
{
    json_t *array = array_column(loader, row, 18, "a node's gpu_numa");
    size_t i;
    json_t *value;

    if (array == NULL)
        return EDL_ECORRUPT;
    copy_text(ret->address, sizeof ret->address, row, 3);
    ret->cpu_millicores = store_column_u64(row, 4);
    ret->memory_bytes = store_column_u64(row, 5);
    ret->gpus = (uint32_t)store_column_u64(row, 6);
    ret->port_first = (uint16_t)store_column_u64(row, 7);
    ret->port_last = (uint16_t)store_column_u64(row, 8);
    ret->numa_nodes = (uint8_t)store_column_u64(row, 17);
    json_array_foreach(array, i, value) if (i < NODE_GPUS_MAX) ret->gpu_numa[i] =
        (uint8_t)json_integer_value(value);
    json_decref(array);
    return load_labels(loader, row, 16, &ret->labels);
}

static int load_node(struct loader *loader, sqlite3_stmt *row)
{
    struct node_record node = {
        .ever_reported = store_column_u64(row, 2) != 0,
        .port_next = (uint16_t)store_column_u64(row, 9),
        .foreign_cpu_millicores = store_column_u64(row, 10),
        .foreign_memory_bytes = store_column_u64(row, 11),
        .last_report_wall_us = store_column_u64(row, 12),
    };
    int state = state_column(loader, row, 1, node_state_from_string, "a node");
    int admin_state = state_column(loader, row, 15, node_state_from_string, "a node");
    int r = load_offer(loader, row, &node.offer);

    if (state < 0 || admin_state < 0 || r < 0)
        return EDL_ECORRUPT;
    node.state = (enum node_state)state;
    node.admin_state = (enum node_state)admin_state;
    copy_text(node.name, sizeof node.name, row, 0);
    copy_text(node.boot_id, sizeof node.boot_id, row, 13);
    copy_text(node.credential_hash, sizeof node.credential_hash, row, 14);
    return cluster_restore_node_record(loader->cluster, &node, loader->error);
}

static int load_targets(struct loader *loader, sqlite3_stmt *row, struct job_record *job)
{
    json_t *array = array_column(loader, row, 7, "a job's targets");
    size_t r;
    json_t *value;

    if (array == NULL)
        return EDL_ECORRUPT;
    json_array_foreach(array, r, value) if (r < JOB_ROLES_MAX) job->target[r] =
        (uint32_t)json_integer_value(value);
    json_decref(array);
    return 0;
}

static int load_slots(struct loader *loader, sqlite3_stmt *row, struct slot_record **ret,
                      struct job_record *job)
{
    json_t *array = array_column(loader, row, 8, "a job's slots");
    size_t i;
    json_t *value;

    if (array == NULL)
        return EDL_ECORRUPT;
    *ret = xcalloc(json_array_size(array), sizeof **ret);
    json_array_foreach(array, i, value)
    {
        (*ret)[i] = (struct slot_record){
            .role = (uint32_t)json_integer_value(json_array_get(value, 0)),
            .index = (uint32_t)json_integer_value(json_array_get(value, 1)),
            .failures = (uint32_t)json_integer_value(json_array_get(value, 2)),
            .finished = json_is_true(json_array_get(value, 3)),
            .due = json_is_true(json_array_get(value, 4)),
        };
    }
    job->slots = *ret;
    job->n_slots = json_array_size(array);
    json_decref(array);
    return 0;
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
    struct job_record job = {
        .id = store_column_u64(row, 0),
        .next_incarnation = store_column_u64(row, 6),
        .resizes = (uint32_t)store_column_u64(row, 9),
        .finishing = store_column_u64(row, 10) != 0,
        .submitted_wall_us = store_column_u64(row, 11),
        .started_wall_us = store_column_u64(row, 12),
        .ended_wall_us = store_column_u64(row, 13),
        .metrics = sqlite3_column_type(row, 15) != SQLITE_NULL ? store_column_text(row, 15) : NULL,
    };
    _cleanup_free_ struct slot_record *slots = NULL;
    struct job_spec *spec = NULL;
    int state = state_column(loader, row, 1, job_state_from_string, "a job");
    int r = state < 0 ? state : load_targets(loader, row, &job);

    if (r == 0)
        r = load_slots(loader, row, &slots, &job);
    if (r == 0)
        r = load_spec(loader, job.id, store_column_text(row, 5), &spec);
    if (r < 0)
        return r;
    job.state = (enum job_state)state;
    copy_text(job.reason_code, sizeof job.reason_code, row, 2);
    copy_text(job.reason, sizeof job.reason, row, 3);
    copy_text(job.user, sizeof job.user, row, 4);
    copy_text(job.dataset_digest, sizeof job.dataset_digest, row, 14);
    r = cluster_restore_job_record(loader->cluster, &job, spec, loader->now, loader->error);
    if (r < 0)
        (void)job_spec_free(spec);
    return r;
}

static int load_ports(struct loader *loader, sqlite3_stmt *row, struct process_record *process)
{
    json_t *ports = array_column(loader, row, 6, "a process' ports");
    size_t i;
    json_t *port;

    json_array_foreach(ports, i, port) if (i < PROCESS_PORTS_MAX)
        process->ports[process->n_ports++] = (uint16_t)json_integer_value(port);
    json_decref(ports);
    return ports != NULL ? 0 : EDL_ECORRUPT;
}

static int load_gpus(struct loader *loader, sqlite3_stmt *row, struct process_record *process)
{
    json_t *gpus = array_column(loader, row, 17, "a process' GPUs");
    size_t i;
    json_t *gpu;

    json_array_foreach(gpus, i, gpu)
    {
        json_int_t device = json_integer_value(gpu);

        if (device >= 0 && device < NODE_GPUS_MAX)
            process->gpu_mask |= UINT64_C(1) << device;
    }
    json_decref(gpus);
    return gpus != NULL ? 0 : EDL_ECORRUPT;
}

static int load_process(struct loader *loader, sqlite3_stmt *row)
{
    struct process_record process = {
        .job_id = store_column_u64(row, 0),
        .role = (uint32_t)store_column_u64(row, 1),
        .index = (uint32_t)store_column_u64(row, 2),
        .incarnation = store_column_u64(row, 3),
        .pid = sqlite3_column_int64(row, 7),
        .exit_code = sqlite3_column_int(row, 8),
        .exit_signal = sqlite3_column_int(row, 9),
        .stop_wanted = store_column_u64(row, 10) != 0,
        .assigned_wall_us = store_column_u64(row, 12),
        .started_wall_us = store_column_u64(row, 13),
        .ended_wall_us = store_column_u64(row, 14),
        .cpu_used_us = store_column_u64(row, 15),
        .memory_used_bytes = store_column_u64(row, 16),
    };
    int state = state_column(loader, row, 4, process_state_from_string, "a process");
    int r = state < 0 ? state : load_ports(loader, row, &process);

    if (r == 0)
        r = load_gpus(loader, row, &process);
    if (r < 0)
        return r;
    process.state = (enum process_state)state;
    copy_text(process.node_name, sizeof process.node_name, row, 5);
    copy_text(process.reason, sizeof process.reason, row, 11);
    r = cluster_restore_process_record(loader->cluster, &process, loader->error);
    if (r < 0)
        edl_error_prefix(loader->error, "the database: ");
    return r;
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

/* Adds the job's tasks to its queue; their states come back for later, because the queue wants its
 * pass first. */
static int load_tasks(struct loader *loader, struct job *job, struct task_record **ret,
                      size_t *ret_n)
{
    sqlite3_stmt *statement = loader->store->statements[ST_TASK_ALL];
    _cleanup_free_ struct task_record *rows = NULL;
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
        rows[n] =
            (struct task_record){ (uint32_t)n, (enum task_state)store_column_u64(statement, 1),
                                  (uint32_t)store_column_u64(statement, 2),
                                  (uint32_t)store_column_u64(statement, 3),
                                  store_column_u64(statement, 4) };
        n++;
    }
    (void)sqlite3_reset(statement);
    if (r == 0) {
        *ret = TAKE_PTR(rows);
        *ret_n = n;
    }
    return r;
}

static int load_queue(struct loader *loader, sqlite3_stmt *row)
{
    struct queue_record queue = {
        .job_id = store_column_u64(row, 0),
        .pass = (uint32_t)store_column_u64(row, 1),
        .records_total = store_column_u64(row, 2),
        .records_discarded_total = store_column_u64(row, 3),
        .retries_total = store_column_u64(row, 4),
        .model_saved = store_column_u64(row, 5) != 0,
        .saver = store_column_u64(row, 6),
    };
    struct job *job = cluster_job(loader->cluster, queue.job_id);
    _cleanup_free_ struct task_record *tasks = NULL;
    struct task_queue_config config;
    size_t n = 0;
    int r;

    if (job == NULL || job->queue != NULL)
        return edl_error_set(loader->error, EDL_ECORRUPT,
                             "the database: the task queue of job %" PRIu64 " has no job",
                             queue.job_id);
    config = queue_rules(job->spec);
    job->queue = task_queue_new(&config);
    r = load_tasks(loader, job, &tasks, &n);
    if (r == 0)
        r = cluster_restore_queue_record(loader->cluster, &queue, tasks, n, loader->now,
                                         loader->error);
    return r;
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
