/* SPDX-License-Identifier: Apache-2.0 */
/* clone.c - a copy of a cluster to try something on
 *
 * Remembered facts go through records, as a restart does; facts that a restart forgets and a plan
 * looks at are copied here by hand, so that a plan in the copy is the plan of the original. A new
 * volatile fact that a plan looks at has to be added here. plan/planner_copy.c copies the
 * memory of plans. */
#include "scheduler/core/record/clone.h"

#include <utlist.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/core.h"
#include "scheduler/core/events/lease.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/node_speed.h"
#include "scheduler/core/model/backlog.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_hasty.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node_gpu_type.h"
#include "scheduler/core/model/node_pick.h"
#include "scheduler/core/model/notices.h"
#include "scheduler/core/model/past_refusals.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "scheduler/core/record/columns.h"
#include "scheduler/core/record/records.h"
#include "scheduler/core/record/restore.h"
#include "scheduler/core/speed/pace.h"
#include "scheduler/core/speed/family.h"

/* --- remembered facts --- */

static void restore_node(struct cluster *copy, const struct node *node)
{
    struct node_record record;

    record_of_node(node, &record);
    (void)cluster_restore_node_record(copy, &record, NULL);
}

static void restore_job(struct cluster *copy, const struct job *job, struct instant now)
{
    struct slot_record *slots = xcalloc(record_max_slots(job), sizeof *slots);
    const struct process *process;
    struct job_record record;

    record_of_job(job, slots, &record);
    (void)cluster_restore_job_record(copy, &record, job_spec_copy(job->spec), now, NULL);
    free(slots);
    DL_FOREACH2(job->processes, process, job_next)
    {
        struct process_record row;

        record_of_process(process, &row);
        (void)cluster_restore_process_record(copy, &row, NULL);
    }
    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        struct rendezvous_record generation;

        if (record_of_rendezvous(job, r, &generation))
            (void)cluster_restore_rendezvous_record(copy, &generation, NULL);
    }
    if (job->queue != NULL)
        cluster_job(copy, job->id)->queue = task_queue_copy(job->queue);
}

/* Those that are over, in this turn, as well. */
static void restore_array_notices(struct cluster *copy, const struct cluster *cluster)
{
    struct array_notice_record record;

    for (const struct array_notice *array = cluster->array_notices; array != NULL;
         array = array->hh.next) {
        record_of_array_notice(array, &record);
        columns_give(&array_notice_table, &record,
                     array_notice_add(copy, array->first_id, array->n_jobs));
    }
}

/* --- facts that a restart forgets --- */

static struct process *same_process(const struct cluster *copy, const struct process *process)
{
    return cluster_job(copy, process->job->id)->slots[process->role][process->index].live;
}

static void copy_node(struct cluster *copy, const struct node *node)
{
    struct node *to = cluster_node(copy, node->name);
    const struct process *process;

    to->orders_version = node->orders_version;
    to->offer_shrunk = node->offer_shrunk;
    to->gpus_beyond = node->gpus_beyond;
    to->gpus_foreign = node->gpus_foreign;
    to->gpus_idle = node->gpus_idle;
    node_take_foreign_ports(copy, to, node->ports_foreign, node->n_ports_foreign);
    to->disk_full = node->disk_full;
    to->heard = node->heard;
    to->n_stale = node->n_stale;
    to->foreign_planned_cpu = node->foreign_planned_cpu;
    to->foreign_planned_memory = node->foreign_planned_memory;
    to->foreign_peak_cpu = node->foreign_peak_cpu;
    to->foreign_peak_memory = node->foreign_peak_memory;
    deadline_set(&copy->deadlines, &to->foreign_falls, DEADLINE_FOREIGN,
                 deadline_at(&node->foreign_falls));
    memcpy(to->start_failures, node->start_failures, sizeof to->start_failures);
    to->n_start_failures = node->n_start_failures;
    memcpy(to->waits, node->waits, sizeof to->waits);
    node_copy_speed(copy, to, node);
    node_copy_gpu_type(copy, to, node);
    to->report_sent_us = node->report_sent_us;
    to->processes = NULL; /* the same ones, in the order of the original */
    DL_FOREACH2(node->processes, process, node_next)
    DL_APPEND2(to->processes, same_process(copy, process), node_prev, node_next);
    node_changed(copy, to);
}

/* Leases in the order of the original; each keeps its deadline. */
static void copy_leases(struct cluster *copy, const struct cluster *cluster, struct instant now)
{
    const struct node *node;

    for (node = cluster->leases; node != NULL; node = node->lease_next) {
        struct node *to = cluster_node(copy, node->name);

        node_end_lease(copy, to); /* that of a start */
        node_renew_lease(copy, to, now);
        to->lease_deadline_us = node->lease_deadline_us;
    }
    for (node = cluster->starting; node != NULL; node = node->lease_next) {
        struct node *to = cluster_node(copy, node->name);

        to->lease_deadline_us = node->lease_deadline_us;
    }
}

static void copy_families(struct cluster *copy, const struct cluster *cluster)
{
    copy->newest_wall_us = cluster->newest_wall_us; /* which the turns of new jobs begin with */
    (void)goodput_families_free(copy->families);
    copy->families = cluster->families != NULL ? goodput_families_copy(cluster->families) : NULL;
}

static void copy_job(struct cluster *copy, const struct job *job)
{
    struct job *to = cluster_job(copy, job->id);
    struct process *other = to->processes;
    const struct process *process;

    to->submitted_us = job->submitted_us;
    free(to->learned);
    to->learned = NULL;
    if (job->learned != NULL) {
        to->learned = xcalloc(1, sizeof *to->learned);
        *to->learned = *job->learned;
        to->learned->families = copy->families;
    }
    to->waits_for_room = job->waits_for_room;
    to->tells_steps = job->tells_steps;
    job_copy_unfit(copy, to, job);
    to->was_told = job->was_told;
    to->settled = job->settled;
    to->gives = job->gives;
    to->exchange = job->exchange;
    to->noted_us = job->noted_us;
    deadline_set(&copy->deadlines, &to->backoff, DEADLINE_BACKOFF, deadline_at(&job->backoff));
    deadline_set(&copy->deadlines, &to->due, DEADLINE_JOB, deadline_at(&job->due));
    deadline_set(&copy->deadlines, &to->limit, DEADLINE_LIMIT, deadline_at(&job->limit));
    to->busy_left = job->busy_left;
    job_hasty_copy(to, job);
    job_copy_backlog(copy, to, job);
    deadline_set(&copy->deadlines, &to->idle_forgotten, DEADLINE_IDLE,
                 deadline_at(&job->idle_forgotten));
    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        job_grow_slots(to, r, job->n_slots[r]);
        for (uint32_t i = 0; i < job->n_slots[r]; i++)
            to->slots[r][i].not_before_us = job->slots[r][i].not_before_us;
    }
    DL_FOREACH2(job->processes, process, job_next)
    {
        other->reported = process->reported;
        if (process->pace != NULL) {
            other->pace = xcalloc(1, sizeof *other->pace);
            *other->pace = *process->pace;
        }
        other->runs = process->runs;
        other->speed = process->speed;
        other->idles = process->idles;
        other->backlog = process->backlog;
        if (other->at_work != process->at_work)
            process_set_at_work(other, process->at_work);
        other = other->job_next;
    }
}

/* Of the jobs that are over nothing matters to a plan, but the costs of those that it has not seen
 * yet. */
static bool is_wanted(const struct job *job, bool with_ended)
{
    return with_ended || !job_state_is_final(job->state) || !job->settled;
}

struct cluster *cluster_copy_facts(const struct cluster *cluster, bool with_ended,
                                   struct instant now)
{
    struct cluster *copy = cluster_new(&cluster->config);
    const struct node *node;
    const struct job *job;

    copy->gpu_types = cluster->gpu_types; /* the numbers of the types stay what they are */
    memset(copy->gpu_types.n_nodes, 0, sizeof copy->gpu_types.n_nodes);
    memset(copy->gpu_types.n_known, 0, sizeof copy->gpu_types.n_known);
    memset(copy->gpu_types.sum_micro, 0, sizeof copy->gpu_types.sum_micro);
    copy->gpu_types.fixed = true;
    for (node = cluster->nodes; node != NULL; node = node->hh.next)
        restore_node(copy, node);
    for (job = cluster->jobs; job != NULL; job = job->hh.next)
        if (is_wanted(job, with_ended))
            restore_job(copy, job, now);
    restore_links(copy, now);
    restore_array_notices(copy, cluster);
    copy->next_job_id = cluster->next_job_id;
    copy->lost_jobs_until = cluster->lost_jobs_until;
    copy->first_incarnation = cluster->first_incarnation;
    copy->offers_version = cluster->offers_version;
    deadline_set(&copy->deadlines, &copy->quiet, DEADLINE_QUIET, deadline_at(&cluster->quiet));
    for (node = cluster->nodes; node != NULL; node = node->hh.next)
        copy_node(copy, node);
    copy_leases(copy, cluster, now);
    copy->away_us = cluster->away_us; /* the stored figure, as the rest */
    copy_families(copy, cluster);
    for (job = cluster->jobs; job != NULL; job = job->hh.next)
        if (is_wanted(job, with_ended))
            copy_job(copy, job);
    copy->gpu_types.fixed = false;
    past_refusals_copy(copy, cluster);
    cluster_effects_clear(copy);
    facts_copy(copy, cluster);
    copy->plan_wanted = cluster->plan_wanted || deadline_at(&cluster->pause) != NEVER_US;
    return copy;
}
