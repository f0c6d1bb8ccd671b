/* SPDX-License-Identifier: Apache-2.0 */
/* restore.c - the cluster again, from the records of before a restart
 *
 * Rows come in any order; cluster_restored ties them together and derives what no row holds: lists,
 * sums, the next numbers. Nothing is stopped or started by it:
 * running processes go on, agents report within their lease and the first plan finds the wanted
 * ones already there. */
#include "scheduler/core/record/restore.h"

#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/events/scheduler_away.h"
#include "scheduler/core/events/lease.h"
#include "scheduler/core/events/submit.h"
#include "scheduler/core/model/after.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/backlog.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/model/history.h"
#include "scheduler/core/model/holdings.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/time_limit.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/core/model/states.h"

#define QUIET_PART_OF_LEASE 3 /* agents report several times in it */

/* cluster_restore_job - takes spec; the caller fills the plain members that it stored */
struct job *cluster_restore_job(struct cluster *cluster, uint64_t id, struct job_spec *take_spec,
                                const char *user, enum job_state state)
{
    struct job *job = job_new(cluster, id, take_spec, user);

    job->state = state;
    return job;
}

/* cluster_restore_process - role must be one of the job's; the caller fills the plain members */
struct process *cluster_restore_process(struct job *job, uint32_t role, uint32_t index,
                                        uint64_t incarnation, enum process_state state,
                                        const char *node_name)
{
    struct process *process;

    job_grow_slots(job, role, index + 1);
    process = process_new(job, role, index, incarnation);
    process->state = state;
    process->runs = state == PROCESS_RUNNING;
    (void)snprintf(process->node_name, sizeof process->node_name, "%s",
                   node_name != NULL ? node_name : "");
    return process;
}

/* cluster_restore_node - the caller fills the plain members that it stored */
struct node *cluster_restore_node(struct cluster *cluster, const char *name, enum node_state state,
                                  const struct node_offer *offer)
{
    return node_new(cluster, name, state, offer);
}

static int compare_ids(const struct job *a, const struct job *b)
{
    return a->id < b->id ? -1 : a->id > b->id;
}

static int compare_incarnations(const struct process *a, const struct process *b)
{
    return a->incarnation < b->incarnation ? -1 : a->incarnation > b->incarnation;
}

static void restore_live(struct cluster *cluster, struct job *job, struct process *process,
                         struct instant now)
{
    struct node *node = cluster_node(cluster, process->node_name);
    bool owed = job_is_started(job) || job->state == JOB_STOPPING;

    cluster->figures.processes[process->state]++;
    process->reported = process->state == PROCESS_PREPARING || process->state == PROCESS_RUNNING;
    process->at_work = process->state == PROCESS_RUNNING; /* as far as anybody knows */
    if (node == NULL || (node->state == NODE_LOST && !job->spec->keep_cut_off) || !owed ||
        process_slot(process)->live != NULL) {
        process_lost(cluster, process, CAUSE_UNRECORDED, "the records do not let it live", now);
        return;
    }
    process_attach(process, node);
}

static void restore_job(struct cluster *cluster, struct job *job, struct instant now)
{
    struct process *process;
    struct process *next;

    cluster->figures.jobs[job->state]++;
    job->group = group_table_index(cluster->config.groups, job->user);
    DL_SORT2(job->processes, compare_incarnations, job_prev, job_next);
    if (job->processes != NULL)
        job->next_incarnation =
            MAX_OF(job->next_incarnation, job->processes->job_prev->incarnation + 1);
    if (!job_state_is_final(job->state)) {
        DL_APPEND2(cluster->active, job, active_prev, active_next);
        holdings_enter(&cluster->holdings, job);
    } else {
        ended_restore(cluster, job);
    }
    job->waits_for_room = job->cause == CAUSE_NO_ROOM;
    job_recount(job);
    DL_FOREACH2(job->processes, process, job_next)
    history_add(process);
    DL_FOREACH_SAFE2(job->processes, process, next, job_next)
    {
        if (!process_state_is_final(process->state))
            restore_live(cluster, job, process, now);
    }
    history_trim(cluster, job);
    rendezvous_restored(job);
    if (*job->reason == '\0' && !job_state_is_final(job->state))
        job_set_reason(cluster, job, CAUSE_RESTORED, "the scheduler was started again");
    else if (job->state == JOB_QUEUED)
        job->was_told = true; /* not again just for this */
    if (job->state == JOB_QUEUED && !job->filed)
        after_link(cluster, job, false, now); /* it was told before the restart */
    job_watch_deadline(cluster, job, now);
    job_watch_limit(cluster, job, now);
    if (job->state == JOB_RUNNING || job->state == JOB_RESIZING)
        job_hear_backlog(cluster, job, now);
    if (job_state_is_final(job->state))
        job_close_queue(cluster, job); /* its row is of a program that kept them */
    else
        job_tasks_changed(cluster, job);
    if (!job_state_is_final(job->state))
        job_touch(cluster, job);
}

void restore_links(struct cluster *cluster, struct instant now)
{
    struct node *node;
    struct job *job;

    HASH_SRT(hh, cluster->jobs, compare_ids);
    for (node = cluster->nodes; node != NULL; node = node->hh.next) {
        if (node->state != NODE_LOST)
            node_begin_lease(cluster, node, now);
        node->foreign_planned_cpu = node->foreign_cpu_millicores;
        node->foreign_planned_memory = node->foreign_memory_bytes;
    }
    away_settle(cluster);
    for (job = cluster->jobs; job != NULL; job = job->hh.next)
        restore_job(cluster, job, now);
    ended_restored(cluster);
    for (node = cluster->nodes; node != NULL; node = node->hh.next) { /* once, with all it holds */
        node_measure_offer(node);
        node_changed(cluster, node);
    }
}

/* cluster_restored - see restore.h; linear in everything stored */
void cluster_restored(struct cluster *cluster, struct instant now)
{
    struct job *job;
    struct job *next;

    restore_links(cluster, now);
    deadline_set(&cluster->deadlines, &cluster->quiet, DEADLINE_QUIET,
                 now.now_us + cluster->config.lease_us / QUIET_PART_OF_LEASE);
    DL_FOREACH_SAFE2(cluster->active, job, next, active_next)
    job_settle(cluster, job, now);
    cluster->plan_wanted = true;
}

void cluster_restore_away(struct cluster *cluster, uint64_t us)
{
    cluster->away_us = us;
}
