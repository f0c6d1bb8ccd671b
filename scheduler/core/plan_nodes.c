/* SPDX-License-Identifier: Apache-2.0 */
/* plan_nodes.c - nodes that are emptied, and nodes that owe
 *
 * Draining: what is fixed in number is stopped and started again elsewhere, because two
 * incarnations of one slot must not live. An elastic role is shrunk away from there; when it is at
 * its minimum, others are started elsewhere first and the old ones go when those run.
 *
 * Owing: foreign load came, or the node offers less than before. Elastic instances give way at once
 * down to their jobs' minima. What is at its minimum stays, even where other nodes have room:
 * moving it would stop its job's gang, which costs more than a machine that is short for a while,
 * and the node's own kernel shares what there is.
 *
 * Linear in the nodes that drain or owe and their processes; those are few, and a node on which
 * nobody could give way is passed by. */
#include "scheduler/core/plan_internal.h"

#include <stdio.h>
#include <utlist.h>

struct standing {
    uint32_t staying; /* or about to come back elsewhere */
    uint32_t running; /* of those that stay */
};

static struct standing standing_of(const struct job *job, uint32_t role)
{
    struct standing standing = { .staying = job->counts[role].due };

    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        const struct process *process = job->slots[role][i].live;

        if (process == NULL || process_is_leaving(process))
            continue;
        if (process->state == PROCESS_STOPPING)
            standing.staying += job->slots[role][i].due;
        else
            standing.staying++;
        standing.running += process->state == PROCESS_RUNNING;
    }
    return standing;
}

static void bring_others(struct plan *plan, struct job *job, uint32_t role,
                         struct standing *standing)
{
    const struct role_spec *spec = &job->spec->roles[role];
    struct want want = want_of_role(spec);

    while (standing->staying < spec->min && job_count(job, role, true) < spec->max) {
        int index = next_slot(job, role, plan->now);
        struct near near = { 0 };
        struct room *room;

        near_job(&near, job);
        room = index < 0 ? NULL : place_one(&plan->planner->rooms, &want, &near, true);
        if (room == NULL ||
            !process_assign(plan->cluster, job, role, (uint32_t)index, room->node, plan->now))
            return;
        job_decided(job, "drain", "others start before a node is emptied");
        standing->staying++;
    }
}

static void move_elastic(struct plan *plan, struct job *job, uint32_t role)
{
    uint32_t min = job->spec->roles[role].min;
    struct standing standing = standing_of(job, role);
    bool enough = standing.running >= min;

    if (!enough)
        bring_others(plan, job, role, &standing);
    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        struct process *process = job->slots[role][i].live;

        if (process == NULL || !process_is_leaving(process))
            continue;
        if (enough) {
            job_decided(job, "drain", "node %s is being emptied", process->node->name);
            process_stop(plan->cluster, process, false, "shrunk: its node is being drained",
                         plan->now);
        } else if (standing.staying < min) {
            process_stop(plan->cluster, process, true, REASON_DRAINED, plan->now);
            standing.staying++; /* it comes back where there is room */
        }
    }
}

void plan_drain(struct plan *plan)
{
    struct node *node;
    struct process *process;

    DL_FOREACH2(plan->planner->draining, node, draining_next)
    DL_FOREACH2(node->processes, process, node_next)
    {
        struct job *job = process->job;

        if (process->state == PROCESS_STOPPING)
            continue;
        if (job_elastic_role(job) == (int)process->role && job->state != JOB_STARTING &&
            job_is_started(job) && !job->finishing)
            move_elastic(plan, job, process->role);
        else
            process_stop(plan->cluster, process, true, REASON_DRAINED, plan->now);
    }
}

static void describe_debt(const struct node *node, char *buffer, size_t size)
{
    if (node->foreign_planned_cpu > 0)
        (void)snprintf(buffer, size, "node %s needs %llum CPU for its own services", node->name,
                       (unsigned long long)node->foreign_planned_cpu);
    else if (node->foreign_planned_memory > 0)
        (void)snprintf(buffer, size, "node %s needs %.1f GiB memory for its own services",
                       node->name, (double)node->foreign_planned_memory / (1 << 30));
    else
        (void)snprintf(buffer, size, "node %s offers %llum CPU only", node->name,
                       (unsigned long long)node->offer.cpu_millicores);
}

/* false: nobody is left who could give way */
static bool relieve(struct plan *plan, struct node *node)
{
    static const struct resources nothing = { 0 };
    struct resources later = node_facts(node).later;
    struct process *best = NULL;
    struct process *process;
    char debt[140];
    char reason[sizeof process->reason];

    DL_FOREACH2(node->processes, process, node_next)
    {
        if (is_victim(process, &later, &nothing) && (best == NULL || gives_before(process, best)))
            best = process;
    }
    if (best == NULL)
        return false;
    describe_debt(node, debt, sizeof debt);
    (void)snprintf(reason, sizeof reason, "shrunk: %.140s", debt);
    job_decided(best->job, "foreign-load", "%s", debt);
    process_stop(plan->cluster, best, false, reason, plan->now);
    return true;
}

void plan_relieve(struct plan *plan)
{
    struct node *node;
    struct node *next;

    DL_FOREACH_SAFE2(plan->planner->pressed, node, next, pressed_next)
    while (node->pressed_prev != NULL && !resources_equal(&node->yield, &(struct resources){ 0 }) &&
           relieve(plan, node))
        continue;
}
