/* SPDX-License-Identifier: Apache-2.0 */
/* records.c - live objects to records and back */
#include "scheduler/core/record/records.h"

#include <math.h>
#include <stdio.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/notices.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/usage.h"
#include "scheduler/core/record/columns.h"
#include "scheduler/core/record/restore.h"
#include "scheduler/core/speed/family.h"
#include "scheduler/core/speed/prior.h"
#include "shared/error.h"
#include "shared/macro.h"

#define CORRUPT(...) edl_error_set(error, EDL_ECORRUPT, __VA_ARGS__)
#define ULL(value) ((unsigned long long)(value))

void record_of_node(const struct node *node, struct node_record *ret)
{
    *ret = (struct node_record){ .offer = node->offer };
    columns_take(&node_table, node, ret);
}

size_t record_max_slots(const struct job *job)
{
    size_t n = 0;

    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        n += job->n_slots[r];
    return n;
}

/* Back-off instants are boot time and are not kept: after a restart a slot may start again at once.
 */
static size_t record_slots(const struct job *job, struct slot_record *ret)
{
    size_t n = 0;

    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; i < job->n_slots[r]; i++) {
            const struct slot *slot = &job->slots[r][i];

            if (slot->failures != 0 || slot->finished || slot->due)
                ret[n++] = (struct slot_record){ r, i, slot->failures, slot->finished, slot->due };
        }
    return n;
}

void record_of_job(const struct job *job, struct slot_record *slots, struct job_record *ret)
{
    *ret = (struct job_record){ .spec = job->spec,
                                .metrics = job->metrics,
                                .n_targets = job->spec->n_roles,
                                .slots = slots,
                                .n_slots = record_slots(job, slots) };
    columns_take(&job_table, job, ret);
    if (job->usage != NULL)
        ret->usage = *job->usage;
    memcpy(ret->target, job->target, job->spec->n_roles * sizeof *job->target);
    (void)snprintf(ret->reason, sizeof ret->reason, "%s", job->reason);
    (void)snprintf(ret->dataset_digest, sizeof ret->dataset_digest, "%s",
                   job->dataset_digest != NULL ? job->dataset_digest : "");
}

void record_of_process(const struct process *process, struct process_record *ret)
{
    *ret = (struct process_record){ .job_id = process->job->id };
    columns_take(&process_table, process, ret);
}

void record_of_queue(const struct job *job, struct queue_record *ret)
{
    *ret = (struct queue_record){
        .job_id = job->id,
        .pass = task_queue_pass(job->queue),
        .passes = task_queue_passes(job->queue),
        .counts = task_queue_counts(job->queue),
        .save_asked = task_queue_save_asked(job->queue),
        .model_saved = task_queue_is_model_saved(job->queue),
        .model_path = task_queue_model_path(job->queue),
        .saver = task_queue_saver(job->queue),
        .closed = task_queue_is_closed(job->queue),
    };
}

void record_of_task(const struct task_queue *queue, const struct task *task,
                    struct task_record *ret)
{
    *ret = (struct task_record){ .pass = task_queue_pass(queue) };
    columns_take(&task_table, task, ret);
}

bool record_of_rendezvous(const struct job *job, uint32_t role, struct rendezvous_record *ret)
{
    const struct rendezvous *rendezvous = rendezvous_of(job, role);

    if (rendezvous == NULL || rendezvous->generation == 0)
        return false;
    *ret = (struct rendezvous_record){ .job_id = job->id,
                                       .role = role,
                                       .generation = rendezvous->generation,
                                       .members = rendezvous->members,
                                       .n_members = rendezvous->n_members };
    return true;
}

int cluster_restore_node_record(struct cluster *cluster, const struct node_record *record,
                                struct edl_error *error)
{
    struct node *node;

    if (cluster_node(cluster, record->name) != NULL)
        return CORRUPT("node %s is recorded twice", record->name);
    if (record->admin_state == NODE_LOST ||
        (record->state != record->admin_state && record->state != NODE_LOST))
        return CORRUPT("node %s is recorded as %s and set %s", record->name,
                       node_state_to_string(record->state),
                       node_state_to_string(record->admin_state));
    if (record->offer.gpus > NODE_GPUS_MAX)
        return CORRUPT("node %s is recorded with %u GPUs", record->name, record->offer.gpus);
    node = cluster_restore_node(cluster, record->name, record->state, &record->offer);
    columns_give(&node_table, record, node);
    return 0;
}

/* Boot time of the submit, worked out again: the machine may have been started anew since. */
static uint64_t boot_time_of(struct instant now, uint64_t wall_us)
{
    uint64_t age_us = now.wall_us > wall_us ? now.wall_us - wall_us : 0;

    return now.now_us > age_us ? now.now_us - age_us : 0;
}

/* The number that was chosen is both bounds of the document, and within those of before. */
static bool servers_can_be(const struct job_record *record, const struct job_spec *spec)
{
    int role = spec_servers(spec);

    if (record->servers_min == 0 && record->servers_max == 0)
        return true;
    return role >= 0 && record->servers_min > 0 && record->servers_min < record->servers_max &&
           record->servers_max <= ROLE_INSTANCES_MAX &&
           spec->roles[role].min == spec->roles[role].max &&
           spec->roles[role].min >= record->servers_min &&
           spec->roles[role].min <= record->servers_max;
}

static int check_job(const struct cluster *cluster, const struct job_record *record,
                     const struct job_spec *spec, struct edl_error *error)
{
    if (record->id == 0 || cluster_job(cluster, record->id) != NULL)
        return CORRUPT("job %llu is recorded twice, or its id is 0", ULL(record->id));
    for (uint32_t r = 0; r < spec->n_roles; r++)
        if (record->target[r] > ROLE_INSTANCES_MAX || spec->roles[r].max > ROLE_INSTANCES_MAX ||
            spec->roles[r].min > spec->roles[r].max)
            return CORRUPT("job %llu: %s has the target %u and the bounds %u..%u", ULL(record->id),
                           spec->roles[r].name, record->target[r], spec->roles[r].min,
                           spec->roles[r].max);
    if (!servers_can_be(record, spec))
        return CORRUPT("job %llu is recorded with parameter servers chosen of %u to %u, which its "
                       "document cannot have been",
                       ULL(record->id), record->servers_min, record->servers_max);
    for (size_t i = 0; i < record->n_slots; i++)
        if (record->slots[i].role >= spec->n_roles || record->slots[i].index >= ROLE_INSTANCES_MAX)
            return CORRUPT("job %llu: slot %u of role %u cannot be", ULL(record->id),
                           record->slots[i].index, record->slots[i].role);
    return 0;
}

static void restore_slots(struct job *job, const struct job_record *record)
{
    for (size_t i = 0; i < record->n_slots; i++) {
        const struct slot_record *slot = &record->slots[i];

        /* bounds may have been scaled down since: the events there still count */
        job_grow_slots(job, slot->role, slot->index + 1);
        job->slots[slot->role][slot->index].failures = slot->failures;
        job->slots[slot->role][slot->index].finished = slot->finished;
        job->slots[slot->role][slot->index].due = slot->due;
    }
}

static void set_text(char **text, const char *to)
{
    free(*text);
    *text = xstrdup(to);
}

int cluster_restore_job_record(struct cluster *cluster, const struct job_record *record,
                               struct job_spec *take_spec, struct instant now,
                               struct edl_error *error)
{
    struct job *job;
    int r = check_job(cluster, record, take_spec, error);

    if (r < 0)
        return r;
    job = cluster_restore_job(cluster, record->id, take_spec, record->user, record->state);
    columns_give(&job_table, record, job);
    if (job_state_is_final(record->state)) /* nobody asks for it any more */
        memset(job->secret, 0, sizeof job->secret);
    cluster->newest_wall_us = MAX_OF(cluster->newest_wall_us, job->submitted_wall_us);
    job->submitted_us = boot_time_of(now, record->submitted_wall_us);
    usage_of_ended(job, &record->usage);
    memcpy(job->target, record->target, job->spec->n_roles * sizeof *job->target);
    set_text(&job->reason, record->reason);
    if (record->dataset_digest[0] != '\0')
        set_text(&job->dataset_digest, record->dataset_digest);
    if (record->metrics != NULL)
        job->metrics = xstrdup(record->metrics);
    restore_slots(job, record);
    return 0;
}

static int check_process(const struct job *job, const struct process_record *record,
                         struct edl_error *error)
{
    const struct role_spec *role;
    const struct process *last;

    if (job == NULL || record->role >= job->spec->n_roles || record->index >= ROLE_INSTANCES_MAX)
        return CORRUPT("incarnation %llu of job %llu refers to no job, role or slot that there is",
                       ULL(record->incarnation), ULL(record->job_id));
    role = &job->spec->roles[record->role];
    last = job->processes != NULL ? job->processes->job_prev : NULL;
    if (record->incarnation == 0 || record->incarnation >= job->next_incarnation ||
        (last != NULL && last->incarnation == record->incarnation))
        return CORRUPT("job %llu has the incarnation %llu twice, or never made it (the next is "
                       "%llu)",
                       ULL(record->job_id), ULL(record->incarnation), ULL(job->next_incarnation));
    if (record->n_ports > PROCESS_PORTS_MAX ||
        (!process_state_is_final(record->state) &&
         (uint32_t)__builtin_popcountll(record->gpu_mask) != role->gpus))
        return CORRUPT(
            "incarnation %llu of job %llu has the devices %llx of %u, and so many ports: %u",
            ULL(record->incarnation), ULL(record->job_id), ULL(record->gpu_mask), role->gpus,
            record->n_ports);
    return 0;
}

int cluster_restore_process_record(struct cluster *cluster, const struct process_record *record,
                                   struct edl_error *error)
{
    struct job *job = cluster_job(cluster, record->job_id);
    struct process *process;
    int r = check_process(job, record, error);

    if (r < 0)
        return r;
    process = cluster_restore_process(job, record->role, record->index, record->incarnation,
                                      record->state, record->node_name);
    columns_give(&process_table, record, process);
    process->frozen_before_us = record->frozen_us;
    return 0;
}

static int check_task(const struct queue_record *queue, const struct task_record *task, size_t id,
                      struct edl_error *error)
{
    if (task->id == id && task->state <= TASK_DISCARDED &&
        (task->state != TASK_LEASED || (task->holder != 0 && task->lease != 0)))
        return 0;
    return CORRUPT("task %zu of job %llu is recorded as %u in state %d, held by %llu with lease %u",
                   id, ULL(queue->job_id), task->id, (int)task->state, ULL(task->holder),
                   task->lease);
}

static int check_lost(const struct job *job, const struct task_record *record,
                      struct edl_error *error)
{
    const struct task *task = task_queue_task(job->queue, record->id);

    if (record->lost_records <= task->n_records && record->lost_chunks <= task->n_chunks)
        return 0;
    return CORRUPT("task %u of job %llu has %llu record%s, and %llu of them are recorded as lost",
                   record->id, ULL(job->id), ULL(task->n_records), PLURAL(task->n_records),
                   ULL(record->lost_records));
}

/* The last pass has no other behind it: it keeps its states. */
static void restore_task(struct task_queue *queue, const struct task_record *task, uint64_t now_us)
{
    bool of_before =
        task->pass < task_queue_pass(queue) && task->pass + 1 < task_queue_passes(queue);
    struct task told;

    (void)task_queue_restore_task(queue, task->id, of_before ? TASK_TODO : task->state, task->lease,
                                  of_before ? 0 : task->failures, of_before ? 0 : task->holder,
                                  now_us);
    if (of_before)
        return;
    columns_give(&task_table, task, &told);
    task_queue_restore_deaths(queue, task->id, &told);
    task_queue_restore_lost(queue, task->id, task->lost_records, task->lost_chunks);
}

int cluster_restore_queue_record(struct cluster *cluster, const struct queue_record *record,
                                 const struct task_record *tasks, size_t n, struct instant now,
                                 struct edl_error *error)
{
    struct job *job = cluster_job(cluster, record->job_id);

    if (job == NULL || job->queue == NULL || task_queue_n_tasks(job->queue) != n)
        return CORRUPT("the task queue of job %llu has no job or not its tasks",
                       ULL(record->job_id));
    task_queue_restore_passes(job->queue, record->passes);
    if (record->pass > task_queue_passes(job->queue))
        return CORRUPT("the task queue of job %llu is in pass %u of %u", ULL(record->job_id),
                       record->pass, task_queue_passes(job->queue));
    if (record->closed && (n > 0 || !job_state_is_final(job->state)))
        return CORRUPT("the task queue of job %llu is closed, and the job goes on or it has tasks",
                       ULL(record->job_id));
    for (uint32_t i = 0; i < n; i++)
        if (check_task(record, &tasks[i], i, error) < 0 || check_lost(job, &tasks[i], error) < 0)
            return EDL_ECORRUPT;
    task_queue_restore(job->queue, record->pass, &record->counts);
    for (uint32_t i = 0; i < n; i++)
        restore_task(job->queue, &tasks[i], now.now_us);
    task_queue_restore_model(job->queue, record->saver, record->save_asked, record->model_saved,
                             record->model_path);
    if (record->closed)
        task_queue_restore_closed(job->queue, &record->counts);
    /* tasks that were just read need no writing */
    task_queue_take_changed(job->queue, NULL, NULL);
    return 0;
}

static int check_members(const struct job *job, const struct rendezvous_record *record,
                         struct edl_error *error)
{
    for (uint32_t i = 0; i < record->n_members; i++) {
        const struct rendezvous_member *member = &record->members[i];

        if (member->index < ROLE_INSTANCES_MAX && member->incarnation != 0 &&
            member->incarnation < job->next_incarnation &&
            (member->note == NULL || strlen(member->note) <= RENDEZVOUS_NOTE_MAX) &&
            (i == 0 || member->index > record->members[i - 1].index))
            continue;
        return CORRUPT(
            "generation %llu of job %llu has the member %u: index %u, incarnation %llu, or its "
            "note is too long",
            ULL(record->generation), ULL(record->job_id), i, member->index,
            ULL(member->incarnation));
    }
    return 0;
}

int cluster_restore_rendezvous_record(struct cluster *cluster,
                                      const struct rendezvous_record *record,
                                      struct edl_error *error)
{
    struct job *job = cluster_job(cluster, record->job_id);
    struct rendezvous *rendezvous;

    if (job == NULL || record->role >= job->spec->n_roles || record->generation == 0 ||
        record->n_members > ROLE_INSTANCES_MAX)
        return CORRUPT("generation %llu of job %llu refers to no job or role that there is, or has"
                       " so many members: %u",
                       ULL(record->generation), ULL(record->job_id), record->n_members);
    if (check_members(job, record, error) < 0)
        return EDL_ECORRUPT;
    rendezvous = rendezvous_get(job, record->role);
    if (rendezvous->generation != 0)
        return CORRUPT("the generation of role %u of job %llu is recorded twice", record->role,
                       ULL(record->job_id));
    rendezvous->generation = record->generation;
    rendezvous->n_members = record->n_members;
    rendezvous->members = rendezvous_members_copy(record->members, record->n_members);
    return 0;
}

void record_of_array_notice(const struct array_notice *array, struct array_notice_record *ret)
{
    *ret = (struct array_notice_record){ 0 };
    columns_take(&array_notice_table, array, ret);
}

int cluster_restore_array_notice_record(struct cluster *cluster,
                                        const struct array_notice_record *record,
                                        struct edl_error *error)
{
    uint64_t n_over =
        (uint64_t)record->n_succeeded + (uint64_t)record->n_failed + (uint64_t)record->n_killed;

    if (array_notice_find(cluster, record->first_id) != NULL || record->n_jobs > JOB_ARRAY_MAX ||
        n_over >= record->n_jobs)
        return CORRUPT("the array from job %llu on is recorded twice, or with so many jobs over: "
                       "%llu of %u",
                       ULL(record->first_id), ULL(n_over), record->n_jobs);
    columns_give(&array_notice_table, record,
                 array_notice_add(cluster, record->first_id, record->n_jobs));
    return 0;
}

/* --- beliefs about families --- */

static bool is_amount(double value)
{
    return isfinite(value) && value >= 0;
}

static bool prior_can_be(const struct goodput_prior *prior)
{
    const struct goodput_pserver_fit *fit = &prior->fit;
    bool sound = is_amount(prior->unit_s) && is_amount(prior->resize_s);

    for (int i = 0; i < GOODPUT_THETAS; i++) {
        sound = sound && is_amount(fit->gram[i][i]) && isfinite(fit->moment[i]);
        for (int j = 0; j < GOODPUT_THETAS; j++)
            sound = sound && isfinite(fit->gram[i][j]);
    }
    sound = sound && (prior->largest > 0) == (prior->unit_s > 0) &&
            (prior->largest > 0) == (fit->reports > 0);
    return sound && (prior->largest == 0 || goodput_prior_is_sound(prior));
}

static bool family_can_be(const struct goodput_family_facts *family)
{
    bool sound = is_amount(family->most) && family->n_ended <= GOODPUT_FAMILY_ENDED_MAX &&
                 prior_can_be(&family->prior);

    for (size_t i = 0; sound && i < family->n_ended; i++)
        sound = is_amount(family->ended[i]) && (i == 0 || family->ended[i - 1] <= family->ended[i]);
    return sound;
}

bool record_of_family(const struct job *job, unsigned which, struct goodput_family_facts *ret)
{
    const struct job_learned *learned = job->learned;
    const char *name;

    if (learned == NULL)
        return false;
    name = which == 0 ? learned->family : which == 1 ? learned->curve : learned->program;
    if (which > 0 && learned->program[0] == '\0') /* it has no number of its own */
        return false;
    return goodput_family_get(learned->families, name, ret) && family_can_be(ret);
}

int cluster_restore_family_record(struct cluster *cluster,
                                  const struct goodput_family_facts *record,
                                  struct edl_error *error)
{
    if (!family_can_be(record))
        return CORRUPT("family %s: an amount is below 0, no number or in no order", record->name);
    if (cluster->families != NULL)
        goodput_family_put(cluster->families, record);
    return 0;
}
