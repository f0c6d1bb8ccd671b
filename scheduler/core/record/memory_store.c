/* SPDX-License-Identifier: Apache-2.0 */
/* memory_store.c - a store that keeps its records in memory */
#include "scheduler/core/record/memory_store.h"

#include <string.h>
#include <uthash.h>

#include "scheduler/core/base/queue_rules.h"
#include "scheduler/core/base/task_parts.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/learn/families.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/notices.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/core/record/records.h"
#include "scheduler/core/speed/family.h"
#include "shared/error.h"
#include "shared/macro.h"

struct node_row {
    struct node_record record;
    UT_hash_handle hh; /* k: record.name */
};

struct process_row {
    struct process_record record;
    UT_hash_handle hh; /* k: record.incarnation, unique in its job */
};

/* One task with its chunks, which never change. */
struct task_row {
    struct task_record record;
    const struct task_chunk *chunks; /* of the job's parts */
    uint32_t n_chunks;
};

struct job_row {
    struct job_record record; /* spec, metrics and slots are owned */
    struct process_row *processes;
    struct rendezvous_record generations[JOB_ROLES_MAX]; /* generation 0: none; members are owned */
    bool has_queue;
    struct queue_record queue;
    struct task_row *tasks;   /* owned, n_tasks */
    struct task_parts *parts; /* owned; NULL without tasks */
    size_t n_tasks;
    bool archived;     /* the core has let go of it */
    UT_hash_handle hh; /* k: record.id */
};

struct family_row {
    struct goodput_family_facts record; /* name and ended are owned */
    UT_hash_handle hh;                  /* k: record.name */
};

struct array_notice_row {
    struct array_notice_record record;
    UT_hash_handle hh; /* k: record.first_id */
};

struct memory_store {
    struct family_row *families; /* in the order in which they were written */
    struct node_row *nodes;
    struct job_row *jobs;
    struct array_notice_row *array_notices;
    uint64_t away_us;
    uint64_t commits;
};

struct memory_store *memory_store_new(void)
{
    return xcalloc(1, sizeof(struct memory_store));
}

static void free_tasks(struct job_row *row)
{
    free(row->tasks);
    if (row->parts != NULL)
        task_parts_unref(row->parts);
    row->tasks = NULL;
    row->parts = NULL;
    row->n_tasks = 0;
}

static void free_members(struct rendezvous_record *record)
{
    /* why: owned here, const to readers */
    rendezvous_members_free((struct rendezvous_member *)record->members, record->n_members);
    record->members = NULL;
    record->n_members = 0;
}

static void free_job(struct job_row *row)
{
    struct process_row *process, *next;

    HASH_ITER(hh, row->processes, process, next)
    {
        HASH_DEL(row->processes, process);
        free(process);
    }
    free_tasks(row);
    for (size_t r = 0; r < JOB_ROLES_MAX; r++)
        free_members(&row->generations[r]);
    (void)job_spec_free(
        (struct job_spec *)row->record.spec); /* why: owned here, const to readers */
    free((char *)row->record.metrics);
    free((char *)row->queue.model_path);
    free((struct slot_record *)row->record.slots);
    free(row);
}

static void drop_family(struct memory_store *store, struct family_row *row)
{
    HASH_DEL(store->families, row);
    free((char *)row->record.name); /* why: owned here, const to readers */
    free((double *)row->record.ended);
    free(row);
}

static void drop_array_notice(struct memory_store *store, struct array_notice_row *row)
{
    HASH_DEL(store->array_notices, row);
    free(row);
}

struct memory_store *memory_store_free(struct memory_store *store)
{
    struct node_row *node, *next_node;
    struct job_row *job, *next_job;

    if (store == NULL)
        return NULL;
    while (store->families != NULL)
        drop_family(store, store->families);
    while (store->array_notices != NULL)
        drop_array_notice(store, store->array_notices);
    HASH_ITER(hh, store->nodes, node, next_node)
    {
        HASH_DEL(store->nodes, node);
        free(node);
    }
    HASH_ITER(hh, store->jobs, job, next_job)
    {
        HASH_DEL(store->jobs, job);
        free_job(job);
    }
    free(store);
    return NULL;
}

static struct job_row *find_job(const struct memory_store *store, uint64_t id)
{
    struct job_row *row;

    HASH_FIND(hh, store->jobs, &id, sizeof id, row);
    return row;
}

/* Effects of one turn come in any order: a process may be saved before its job. */
static struct job_row *job_row(struct memory_store *store, uint64_t id)
{
    struct job_row *row = find_job(store, id);

    if (row != NULL)
        return row;
    row = xcalloc(1, sizeof *row);
    row->record.id = id;
    HASH_ADD(hh, store->jobs, record.id, sizeof row->record.id, row);
    return row;
}

/* Only the members of struct job_change change in a spec after the submit. */
static const struct job_spec *keep_spec(const struct job_spec *old, const struct job_spec *spec)
{
    struct job_spec *kept;

    if (old == NULL)
        return job_spec_copy(spec);
    kept = (struct job_spec *)old; /* why: owned here, const to readers */
    kept->priority = spec->priority;
    kept->time_limit_us = spec->time_limit_us;
    kept->array.most = spec->array.most;
    for (size_t r = 0; r < kept->n_roles; r++) {
        kept->roles[r].min = spec->roles[r].min;
        kept->roles[r].max = spec->roles[r].max;
    }
    return kept;
}

static const char *keep_metrics(const char *old, const char *metrics)
{
    if (old != NULL && metrics != NULL && streq(old, metrics))
        return old;
    free((char *)old); /* why: owned here, const to readers */
    return metrics != NULL ? xstrdup(metrics) : NULL;
}

static void put_job(struct memory_store *store, const struct job *job, bool with_spec)
{
    struct job_row *row = job_row(store, job->id);
    struct job_record old = row->record;
    struct slot_record *slots = xcalloc(record_max_slots(job), sizeof *slots);

    record_of_job(job, slots, &row->record);
    row->record.spec = with_spec ? keep_spec(old.spec, job->spec) : old.spec;
    row->record.metrics = keep_metrics(old.metrics, job->metrics);
    row->record.slots = xreallocarray(slots, row->record.n_slots, sizeof *slots);
    free((struct slot_record *)old.slots); /* why: owned here, const to readers */
}

static void put_process(struct memory_store *store, const struct process *process)
{
    struct job_row *job = job_row(store, process->job->id);
    struct process_row *row;

    HASH_FIND(hh, job->processes, &process->incarnation, sizeof process->incarnation, row);
    if (row == NULL) {
        row = xcalloc(1, sizeof *row);
        row->record.incarnation = process->incarnation;
        HASH_ADD(hh, job->processes, record.incarnation, sizeof row->record.incarnation, row);
    }
    record_of_process(process, &row->record);
}

static void put_node(struct memory_store *store, const struct node *node)
{
    struct node_row *row;

    HASH_FIND_STR(store->nodes, node->name, row);
    if (row == NULL) {
        row = xcalloc(1, sizeof *row);
        memcpy(row->record.name, node->name, sizeof row->record.name);
        HASH_ADD_STR(store->nodes, record.name, row);
    }
    record_of_node(node, &row->record);
}

static void forget_node(struct memory_store *store, const char *name)
{
    struct node_row *row;

    HASH_FIND_STR(store->nodes, name, row);
    if (row == NULL)
        return;
    HASH_DEL(store->nodes, row);
    free(row);
}

static void forget_process(struct job_row *job, uint64_t incarnation)
{
    struct process_row *row;

    HASH_FIND(hh, job->processes, &incarnation, sizeof incarnation, row);
    if (row == NULL)
        return;
    HASH_DEL(job->processes, row);
    free(row);
}

/* --- task queues: as the SQLite store does it --- */

struct task_writer {
    struct job_row *row;
    const struct task_queue *queue;
};

static void set_task(const struct task *task, void *userdata)
{
    struct task_writer *writer = userdata;

    if (task->id < writer->row->n_tasks)
        record_of_task(writer->queue, task, &writer->row->tasks[task->id].record);
}

static void put_queue(struct job_row *row, const struct job *job)
{
    free((char *)row->queue.model_path); /* why: owned here, const to readers */
    record_of_queue(job, &row->queue);
    row->queue.model_path = xstrdup(row->queue.model_path);
    row->has_queue = true;
}

static void put_tasks(struct memory_store *store, const struct job *job)
{
    struct job_row *row = job_row(store, job->id);
    struct task_writer writer = { row, job->queue };

    put_queue(row, job);
    if (row->queue.closed)
        free_tasks(row);
    task_queue_take_changed(job->queue, set_task, &writer);
}

static void put_dataset(struct memory_store *store, const struct job *job)
{
    struct job_row *row = job_row(store, job->id);

    free_tasks(row);
    put_queue(row, job);
    row->n_tasks = task_queue_n_tasks(job->queue);
    row->tasks = xcalloc(row->n_tasks, sizeof *row->tasks);
    row->parts = task_parts_new();
    for (uint32_t i = 0; i < row->n_tasks; i++) {
        const struct task *task = task_queue_task(job->queue, i);

        record_of_task(job->queue, task, &row->tasks[i].record);
        row->tasks[i].chunks = task_parts_add(row->parts, task->chunks, task->n_chunks);
        row->tasks[i].n_chunks = task->n_chunks;
    }
    /* they are all written just now */
    task_queue_take_changed(job->queue, NULL, NULL);
}

static void put_rendezvous(struct memory_store *store, const struct job *job)
{
    struct job_row *row = job_row(store, job->id);

    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        struct rendezvous_record record;

        if (!record_of_rendezvous(job, r, &record))
            continue;
        record.members = rendezvous_members_copy(record.members, record.n_members);
        free_members(&row->generations[r]);
        row->generations[r] = record;
    }
}

static size_t count_like(const struct memory_store *store, const struct family_row *row)
{
    size_t length = goodput_family_owner(row->record.name);
    const struct family_row *other;
    size_t n = 0;

    for (other = store->families; other != NULL; other = other->hh.next)
        n += goodput_family_owner(other->record.name) == length &&
             strncmp(other->record.name, row->record.name, length) == 0;
    return n;
}

/* As goodput_families_bound. Quadratic, and only jobs beyond the bound pay for it. */
static struct family_row *first_family_to_go(const struct memory_store *store)
{
    struct family_row *row, *first = NULL;
    size_t most = 0;

    for (row = store->families; row != NULL; row = row->hh.next) {
        size_t n = count_like(store, row);

        if (n > most) {
            most = n;
            first = row;
        }
    }
    return first;
}

static void put_family(struct memory_store *store, const struct job *job, unsigned which)
{
    struct goodput_family_facts facts;
    struct family_row *row;
    double *ended;

    if (!record_of_family(job, which, &facts))
        return;
    HASH_FIND_STR(store->families, facts.name, row);
    if (row != NULL)
        drop_family(store, row);
    ended = xcalloc(facts.n_ended, sizeof *ended);
    for (size_t i = 0; i < facts.n_ended; i++)
        ended[i] = facts.ended[i];
    row = xcalloc(1, sizeof *row);
    row->record = facts;
    row->record.name = xstrdup(facts.name);
    row->record.ended = ended;
    HASH_ADD_KEYPTR(hh, store->families, row->record.name, strlen(row->record.name), row);
    if (HASH_COUNT(store->families) > CLUSTER_FAMILIES_MAX)
        drop_family(store, first_family_to_go(store));
}

static void put_array_notice(struct memory_store *store, const struct array_notice *array)
{
    struct array_notice_row *row;

    HASH_FIND(hh, store->array_notices, &array->first_id, sizeof array->first_id, row);
    if (row != NULL)
        drop_array_notice(store, row);
    if (array_notice_is_over(array))
        return;
    row = xcalloc(1, sizeof *row);
    record_of_array_notice(array, &row->record);
    HASH_ADD(hh, store->array_notices, record.first_id, sizeof row->record.first_id, row);
}

static void put_effect(struct memory_store *store, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_SAVE_JOB:
    case EFFECT_SAVE_SPEC:
        put_job(store, effect->job, effect->kind == EFFECT_SAVE_SPEC);
        break;
    case EFFECT_SAVE_PROCESS:
        put_process(store, effect->process);
        break;
    case EFFECT_SAVE_NODE:
        put_node(store, effect->node);
        break;
    case EFFECT_SAVE_TASKS:
        put_tasks(store, effect->job);
        break;
    case EFFECT_SAVE_DATASET:
        put_dataset(store, effect->job);
        break;
    case EFFECT_SAVE_RENDEZVOUS:
        put_rendezvous(store, effect->job);
        break;
    case EFFECT_SAVE_FAMILY:
        for (unsigned i = 0; i < FAMILY_RECORDS; i++)
            put_family(store, effect->job, i);
        break;
    case EFFECT_SAVE_AWAY:
        store->away_us = effect->id;
        break;
    case EFFECT_SAVE_ARRAY_NOTICE:
        put_array_notice(store, effect->array);
        break;
    case EFFECT_FORGET_NODE:
        forget_node(store, effect->name);
        break;
    case EFFECT_ARCHIVE_JOB:
        job_row(store, effect->id)->archived = true;
        break;
    case EFFECT_FORGET_PROCESS:
        forget_process(job_row(store, effect->job->id), effect->id);
        break;
    case EFFECT_NOTICE: /* nobody is told of what happens here */
    case EFFECT_EVENT:
    case EFFECT_ORDERS:
    case EFFECT_MEMBERSHIP:
        break;
    }
}

void memory_store_commit(struct memory_store *store, const struct effect *effects, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_effect(store, &effects[i]);
    store->commits++;
}

uint64_t memory_store_commits(const struct memory_store *store)
{
    return store->commits;
}

static int load_queue(const struct job_row *row, struct cluster *cluster, struct instant now,
                      struct edl_error *error)
{
    struct job *job = cluster_job(cluster, row->record.id);
    struct task_queue_config config = queue_rules(job->spec);
    struct task_record *tasks = xcalloc(row->n_tasks, sizeof *tasks);
    int r;

    job->queue = task_queue_new(&config);
    for (size_t i = 0; i < row->n_tasks; i++) {
        (void)task_queue_add(job->queue, row->tasks[i].chunks, row->tasks[i].n_chunks);
        tasks[i] = row->tasks[i].record;
    }
    r = cluster_restore_queue_record(cluster, &row->queue, tasks, row->n_tasks, now, error);
    free(tasks);
    return r;
}

static int load_job(const struct job_row *row, struct cluster *cluster, struct instant now,
                    struct edl_error *error)
{
    const struct process_row *process;
    struct job_spec *spec;
    int r;

    if (row->record.spec == NULL)
        return edl_error_set(error, EDL_ECORRUPT, "job %llu has processes or tasks and no row",
                             (unsigned long long)row->record.id);
    spec = job_spec_copy(row->record.spec);
    r = cluster_restore_job_record(cluster, &row->record, spec, now, error);
    if (r < 0) {
        (void)job_spec_free(spec);
        return r;
    }
    for (process = row->processes; r == 0 && process != NULL; process = process->hh.next)
        r = cluster_restore_process_record(cluster, &process->record, error);
    for (size_t i = 0; r == 0 && i < JOB_ROLES_MAX; i++)
        if (row->generations[i].generation != 0)
            r = cluster_restore_rendezvous_record(cluster, &row->generations[i], error);
    return r == 0 && row->has_queue ? load_queue(row, cluster, now, error) : r;
}

int memory_store_load(const struct memory_store *store, struct cluster *cluster, struct instant now,
                      struct edl_error *error)
{
    const struct family_row *family;
    const struct node_row *node;
    const struct job_row *job;
    const struct array_notice_row *array;
    int r = 0;

    cluster->away_us = store->away_us;
    for (family = store->families; r == 0 && family != NULL; family = family->hh.next)
        r = cluster_restore_family_record(cluster, &family->record, error);
    for (node = store->nodes; r == 0 && node != NULL; node = node->hh.next)
        r = cluster_restore_node_record(cluster, &node->record, error);
    for (job = store->jobs; r == 0 && job != NULL; job = job->hh.next)
        if (!job->archived)
            r = load_job(job, cluster, now, error);
    for (array = store->array_notices; r == 0 && array != NULL; array = array->hh.next)
        r = cluster_restore_array_notice_record(cluster, &array->record, error);
    return r;
}

int memory_store_load_archived(const struct memory_store *store, struct cluster *cluster,
                               struct instant now, struct edl_error *error)
{
    int r = 0;

    for (const struct job_row *job = store->jobs; r == 0 && job != NULL; job = job->hh.next)
        if (job->archived)
            r = load_job(job, cluster, now, error);
    return r;
}
