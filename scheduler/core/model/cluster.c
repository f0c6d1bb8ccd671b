/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - look-ups, the end of jobs and processes, and tasks whose time is over */
#include "scheduler/core/model/cluster.h"

#include <stdio.h>
#include <utlist.h>
#include <uthash.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/figures.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_hasty.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/task_gaps.h"
#include "scheduler/core/model/tasks.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "shared/job_spec.h"

void process_free(struct process *process)
{
    free(process->stuck);
    free(process->error);
    free(process->note);
    free(process->pace);
    free(process->steps);
    free(process);
}

void job_free(struct job *job)
{
    struct process *process;
    struct process *next;

    DL_FOREACH_SAFE2(job->processes, process, next, job_next)
    process_free(process);
    for (size_t i = 0; i < job->spec->n_roles; i++)
        free(job->slots[i]);
    free(job->slots);
    (void)task_queue_free(job->queue);
    free(job->metrics);
    free(job->usage);
    free(job->backlog);
    free(job->learned);
    (void)unfit_nodes_free(job->unfit);
    free(job->reason);
    free(job->dataset_digest);
    rendezvous_free(job); /* before the spec: it says how many roles there are */
    free(job->resize_why);
    job_hasty_forget(job);
    free(job->planned);
    free(job->after);
    (void)job_spec_free(job->spec);
    free(job);
}

void unlisted_move(struct cluster *cluster, const char *what, const char *name, const char *from,
                   const char *to)
{
    if (*cluster->unlisted == '\0')
        (void)snprintf(cluster->unlisted, sizeof cluster->unlisted, "%s %.60s: %s -> %s", what,
                       name, from, to);
}

/* cluster_job - by id, or NULL */
struct job *cluster_job(const struct cluster *cluster, uint64_t id)
{
    struct job *job;

    HASH_FIND(hh, cluster->jobs, &id, sizeof id, job);
    return job;
}

/* cluster_node - by name, or NULL */
struct node *cluster_node(const struct cluster *cluster, const char *name)
{
    struct node *node;

    HASH_FIND_STR(cluster->nodes, name, node);
    return node;
}

/* job_find_process - that very incarnation, live or not, unless it was forgotten; O(1) for the
 * newest of its slot, else linear in the job's history, which is bounded */
struct process *job_find_process(const struct job *job, uint32_t role, uint32_t index,
                                 uint64_t incarnation)
{
    struct process *process;

    if (role >= job->spec->n_roles || index >= job->n_slots[role])
        return NULL;
    process = job->slots[role][index].newest;
    if (process != NULL && process->incarnation == incarnation)
        return process;
    DL_FOREACH2(job->past, process, past_next)
    {
        if (process->role == role && process->index == index && process->incarnation == incarnation)
            return process;
    }
    return NULL;
}

/* job_count - live processes of a role; O(1) */
uint32_t job_count(const struct job *job, uint32_t role, bool with_stopping)
{
    const struct role_counts *counts = &job->counts[role];

    return with_stopping ? counts->live : counts->live - counts->stopping;
}

/* job_count_running - processes of a role that run; O(1) */
uint32_t job_count_running(const struct job *job, uint32_t role)
{
    return job->counts[role].running;
}

void job_tasks_changed(struct cluster *cluster, struct job *job)
{
    bool counts = job->queue != NULL && !job_state_is_final(job->state);
    struct task_queue_counts now =
        counts ? task_queue_counts(job->queue) : (struct task_queue_counts){ 0 };

    cluster->figures.tasks_todo += (uint64_t)now.todo - job->counted_todo;
    cluster->figures.tasks_leased += (uint64_t)now.leased - job->counted_leased;
    job->counted_todo = now.todo;
    job->counted_leased = now.leased;
    deadline_set(&cluster->deadlines, &job->tasks_due, DEADLINE_TASKS,
                 counts ? task_queue_next_deadline_us(job->queue) : NEVER_US);
}

void job_expire_tasks(struct cluster *cluster, struct job *job, struct instant now)
{
    const struct tasks_mark before = tasks_mark(job);
    size_t n_cut, n;

    tasks_put_off(cluster, job, now);
    n_cut = tasks_take_from_cut(job, now);
    n = task_queue_expire(job->queue, now.now_us);
    cluster->figures.task_ends[TASK_END_RELEASED] += n_cut;
    cluster->figures.task_ends[TASK_END_EXPIRED] += n;
    if (n > 0)
        effect_event(cluster, now, job, "", "tasks-expired", "tasks were not finished in time");
    if (n + n_cut > 0) {
        tasks_changed(cluster, job, &before, now);
        tasks_settle(cluster, job, now);
    }
    job_tasks_changed(cluster, job);
}

/* Reports cost tens of microseconds each: spaced so, they take a hundredth of a core or two. */
#define REPORT_SPACING_US (5 * USEC_PER_MSEC)
#define REPORT_PART_OF_LEASE 4

uint64_t cluster_next_report_us(const struct cluster *cluster)
{
    uint64_t spaced_us = HASH_COUNT(cluster->nodes) * REPORT_SPACING_US;

    return MIN_OF(spaced_us, cluster->config.lease_us / REPORT_PART_OF_LEASE);
}

/* cluster_utilisation_ppm - CPU granted plus foreign over CPU offered; linear in nodes */
uint32_t cluster_utilisation_ppm(const struct cluster *cluster)
{
    uint64_t used = 0;
    uint64_t offered = 0;
    const struct node *node;

    for (node = cluster->nodes; node != NULL; node = node->hh.next) {
        if (node->state == NODE_LOST)
            continue;
        used += MIN_OF(node->cpu_granted_millicores + node->foreign_cpu_millicores,
                       node->offer.cpu_millicores);
        offered += node->offer.cpu_millicores;
    }
    return offered == 0 ? 0 : (uint32_t)(used * 1000000 / offered);
}

/* ---- for others (cluster.h) ---- */

const struct cluster_config *cluster_config(const struct cluster *cluster)
{
    return &cluster->config;
}

struct node *cluster_nodes(const struct cluster *cluster)
{
    return cluster->nodes;
}

struct job *cluster_jobs(const struct cluster *cluster)
{
    return cluster->jobs;
}

struct job *cluster_last_job(const struct cluster *cluster)
{
    return cluster->jobs != NULL ? ELMT_FROM_HH(cluster->jobs->hh.tbl, cluster->jobs->hh.tbl->tail)
                                 : NULL;
}

struct job *cluster_active_jobs(const struct cluster *cluster)
{
    return cluster->active;
}

const struct cluster_figures *cluster_figures(const struct cluster *cluster)
{
    return &cluster->figures;
}

const struct holdings *cluster_holdings(const struct cluster *cluster)
{
    return &cluster->holdings;
}

uint64_t cluster_count_ended(const struct cluster *cluster)
{
    return cluster->n_ended;
}

bool cluster_has_news(const struct cluster *cluster)
{
    return cluster->plan_wanted;
}

/* cluster_plan_is_due - see cluster.h */
bool cluster_plan_is_due(const struct cluster *cluster)
{
    return cluster->plan_wanted || deadline_at(&cluster->pause) != NEVER_US ||
           deadline_at(&cluster->quiet) != NEVER_US;
}

void cluster_number_from(struct cluster *cluster, uint64_t job_id, uint64_t incarnation)
{
    cluster->next_job_id = MAX_OF(cluster->next_job_id, job_id);
    cluster->lost_jobs_until = job_id + LOST_JOBS_MOST;
    cluster->first_incarnation = incarnation;
}

uint64_t cluster_next_job(const struct cluster *cluster)
{
    return cluster->next_job_id;
}

void cluster_meet_job(struct cluster *cluster, uint64_t job_id)
{
    if (job_id >= cluster->next_job_id && job_id < cluster->lost_jobs_until)
        cluster->next_job_id = job_id + 1;
}
