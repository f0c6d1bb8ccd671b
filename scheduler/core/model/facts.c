/* SPDX-License-Identifier: Apache-2.0 */
/* facts.c - what happened, collected as data for learning */
#include "scheduler/core/model/facts.h"

#include <stdio.h>

#include "scheduler/core/base/steps.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/figures.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_restarts.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_servers.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/core/model/states.h"
#include "shared/macro.h"
#include "shared/node_name.h"

_Static_assert(sizeof((struct fact *)0)->node == NODE_NAME_MAX + 1, "a node's name fits");

static struct fact *fact_new(struct cluster *cluster, enum fact_kind kind, struct instant now)
{
    struct fact *fact;

    if (cluster->n_facts == cluster->cap_facts) {
        cluster->cap_facts = cluster->cap_facts ? 2 * cluster->cap_facts : 64;
        cluster->facts = xreallocarray(cluster->facts, cluster->cap_facts, sizeof *cluster->facts);
    }
    fact = &cluster->facts[cluster->n_facts++];
    *fact = (struct fact){ .kind = kind, .now = now, .elastic = -1, .units_left = -1 };
    return fact;
}

static bool is_wanted(const struct cluster *cluster)
{
    return cluster->families != NULL;
}

/* How many there are when all of them run and nobody is being stopped, else 0 */
static uint32_t steady_instances(const struct job *job, uint32_t role)
{
    uint32_t live = job_count(job, role, true);

    return live == job_count_running(job, role) && live == job_count(job, role, false) ? live : 0;
}

/* It lacks instances for another reason than a change of its size, or is about to be over. */
static bool is_disturbed(const struct job *job, uint32_t role)
{
    return !(job->state == JOB_RUNNING || job->state == JOB_RESIZING) || job->finishing ||
           job->waits_for_room || job_count_due(job, role) > 0;
}

/* Of a program that neither takes tasks nor meets others nor tells of steps it is only known that
 * it runs. */
static uint32_t working_instances(const struct job *job, uint32_t role)
{
    bool tells = job->queue != NULL || rendezvous_of(job, role) != NULL || job->tells_steps;

    return tells ? job->counts[role].at_work : job_count_running(job, role);
}

static void tell_size(const struct job *job, struct fact *fact)
{
    uint32_t role = (uint32_t)fact->elastic;
    const struct rendezvous *rendezvous = rendezvous_of(job, role);

    fact->wanted = job_count(job, role, false);
    fact->running = job_count_running(job, role);
    fact->at_work = working_instances(job, role);
    fact->servers_run = job_servers_run(job);
    fact->steady = fact->servers_run ? steady_instances(job, role) : 0;
    /* a member that is left of a generation that is over is about to wait for the next one */
    fact->stopping = job->counts[role].stopping > 0 || (rendezvous != NULL && rendezvous->over);
    fact->disturbed = is_disturbed(job, role);
}

/* Of so much time that a process was there. */
static uint64_t less_still_us(const struct process *process, uint64_t us)
{
    return us - MIN_OF(process->frozen_us, us);
}

static uint64_t worked_us(const struct process *process)
{
    return less_still_us(process, process->ran_us);
}

/* The work before anybody learnt, by the reports of its instances' agents: the wall clock of a
 * start may have been wrong, or be so now. */
static void tell_past(const struct job *job, struct fact *fact)
{
    uint32_t role = (uint32_t)fact->elastic;
    bool heard = false;

    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        const struct process *process = job->slots[role][i].live;

        heard = heard || (process != NULL && process->listed);
        if (process == NULL || process->ran_us == 0)
            continue;
        fact->n_ran++;
        fact->ran_s += (double)worked_us(process) / USEC_PER_SEC;
    }
    fact->unheard = !heard && fact->running > 0;
}

static struct fact *job_fact_new(struct cluster *cluster, enum fact_kind kind,
                                 const struct job *job, struct instant now)
{
    struct fact *fact = fact_new(cluster, kind, now);

    fact->job = job->id;
    fact->elastic = job_elastic_role(job);
    fact->crowd = cluster_crowd(cluster);
    fact->tells = job->queue != NULL || job->tells_steps;
    if (fact->elastic >= 0)
        tell_size(job, fact);
    if (fact->elastic >= 0 && job->learned == NULL)
        tell_past(job, fact);
    return fact;
}

static struct fact *process_fact_new(struct cluster *cluster, enum fact_kind kind,
                                     const struct process *process, struct instant now)
{
    struct fact *fact = job_fact_new(cluster, kind, process->job, now);

    fact->incarnation = process->incarnation;
    fact->role = process->role;
    fact->index = process->index;
    return fact;
}

/* How far its queue is. */
static void tell_progress(const struct job *job, struct fact *fact)
{
    struct task_queue_counts counts;

    if (job->queue == NULL || task_queue_is_closed(job->queue))
        return;
    counts = task_queue_counts(job->queue);
    fact->has_data = true;
    fact->tasks = (uint64_t)task_queue_pass(job->queue) * task_queue_n_tasks(job->queue) +
                  counts.done + counts.discarded;
    fact->units = counts.records_total + counts.records_discarded_total + counts.records_lost_total;
    fact->units_left =
        (double)task_queue_passes(job->queue) * (double)counts.records_pass - (double)fact->units;
    fact->units_left = fact->units_left > 0 ? fact->units_left : 0;
}

/* Those that run now, or did last, for the longest. */
static uint64_t longest_us(const struct job *job, struct instant now)
{
    uint64_t us = 0;

    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; i < job->n_slots[r]; i++)
            if (job->slots[r][i].newest != NULL)
                us = MAX_OF(us, less_still_us(job->slots[r][i].newest,
                                              process_ran_for_us(job->slots[r][i].newest, now)));
    return us;
}

void fact_of_job(struct cluster *cluster, enum fact_kind kind, const struct job *job,
                 struct instant now)
{
    struct fact *fact;

    if (!is_wanted(cluster))
        return;
    fact = job_fact_new(cluster, kind, job, now);
    if (kind == FACT_JOB_ENDED && fact->elastic < 0 && job->state == JOB_SUCCEEDED)
        fact->us = longest_us(job, now);
}

void fact_of_queue(struct cluster *cluster, enum fact_kind kind, const struct job *job,
                   struct instant now)
{
    if (is_wanted(cluster) && job_elastic_role(job) >= 0 && job->queue != NULL &&
        !task_queue_is_closed(job->queue))
        tell_progress(job, job_fact_new(cluster, kind, job, now));
}

static bool is_elastic(const struct process *process)
{
    return job_elastic_role(process->job) == (int)process->role;
}

static bool stood_still_since(const struct process *process, uint64_t since_us)
{
    return process->still_seen_us != 0 && process->still_seen_us >= since_us;
}

void fact_task_timed(struct cluster *cluster, const struct process *process, uint64_t held_us,
                     uint64_t units, struct instant now)
{
    struct fact *fact;

    if (!is_wanted(cluster) || !is_elastic(process))
        return;
    fact = process_fact_new(cluster, FACT_TASK_TIMED, process, now);
    fact->us = held_us;
    fact->units = units;
    fact->stood_still = stood_still_since(process, now.now_us - MIN_OF(held_us, now.now_us));
}

void fact_tasks_lost(struct cluster *cluster, const struct process *process, struct instant now)
{
    if (is_wanted(cluster) && process->stop_wanted && is_elastic(process))
        process_fact_new(cluster, FACT_TASKS_LOST, process, now)->us =
            task_queue_held_us(process->job->queue, process->incarnation, now.now_us);
}

void fact_seen(struct cluster *cluster, const struct process *process, struct instant now)
{
    struct fact *fact;

    if (!is_wanted(cluster) || !job_is_started(process->job))
        return;
    fact = process_fact_new(cluster, FACT_SEEN, process, now);
    fact->us = worked_us(process);
    tell_progress(process->job, fact);
}

void fact_steps(struct cluster *cluster, const struct process *process, struct instant now)
{
    struct fact *fact;

    if (!is_wanted(cluster) || !is_elastic(process))
        return;
    fact = process_fact_new(cluster, FACT_STEPS, process, now);
    fact->units = process->steps->last.samples;
    fact->us = process->steps->last.compute_us;
    fact->at_us = process->steps->at_us;
}

void fact_stood_still(struct cluster *cluster, const struct process *process, uint64_t us,
                      struct instant now)
{
    if (is_wanted(cluster))
        process_fact_new(cluster, FACT_STOOD_STILL, process, now)->us =
            process->at_work && is_elastic(process) ? us : 0;
}

void fact_process_moved(struct cluster *cluster, const struct process *process, struct instant now)
{
    if (is_wanted(cluster))
        process_fact_new(cluster, FACT_PROCESS_MOVED, process, now)->runs =
            process->state == PROCESS_RUNNING;
}

void fact_servers_fixed(struct cluster *cluster, const struct job *job, uint32_t pservers)
{
    if (is_wanted(cluster))
        job_fact_new(cluster, FACT_SERVERS_FIXED, job, (struct instant){ 0 })->wanted = pservers;
}

void fact_machine_changed(struct cluster *cluster, const struct node *node)
{
    if (is_wanted(cluster))
        (void)snprintf(fact_new(cluster, FACT_MACHINE_CHANGED, (struct instant){ 0 })->node,
                       sizeof cluster->facts->node, "%s", node->name);
}

void facts_copy(struct cluster *copy, const struct cluster *cluster)
{
    copy->n_facts = 0;
    for (size_t i = 0; i < cluster->n_facts; i++)
        *fact_new(copy, cluster->facts[i].kind, cluster->facts[i].now) = cluster->facts[i];
}
