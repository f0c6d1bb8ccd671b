/* SPDX-License-Identifier: Apache-2.0 */
/* drain.c - nodes that are emptied, and nodes that owe
 *
 * Draining: nobody loses anything for it. An elastic role is shrunk away from there; when it is at
 * its minimum, others are started elsewhere first and the old ones go when those run. A role of
 * fixed number that is fault tolerant is stopped and started again elsewhere, because two
 * incarnations of one slot must not live, but only once there is a place for it, which is reserved.
 * A job that is not fault tolerant would end with any of its processes: it is waited for. The node
 * stays draining so long, and says for whom (node->waits).
 *
 * Owing: foreign load came, or the node offers less than before. Elastic instances give way at once
 * down to their jobs' minima. A job at its minimum stays, even where other nodes have room: moving
 * it would stop its job's gang, which costs more than a machine that is short for a while, and the
 * node's own kernel shares what there is.
 *
 * Linear in the nodes that drain or owe and their processes; those are few, and a node on which
 * nobody could give way is passed by. */
#include "scheduler/core/plan/drain.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/tasks.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/pins.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/placement_types.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/plan/repair.h"
#include "scheduler/core/plan/victims.h"

#define WAITS_NAMED_MAX 3 /* jobs, of each kind */

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

/* Where its slots have places of their own, those that are free are filled. */
static bool bring_one(struct plan *plan, struct job *job, uint32_t role, const struct want *want)
{
    int index = next_slot(job, role, plan->now);
    struct room *room;

    if (job->spec->roles[role].nodes != NULL)
        return pins_fill(plan, job, role, 1) > 0;
    room = index < 0 ? NULL : place_slot(plan, job, &job->slots[role][index], want);
    return room != NULL && plan_assign(plan, job, role, (uint32_t)index, room->node);
}

static void bring_others(struct plan *plan, struct job *job, uint32_t role,
                         struct standing *standing)
{
    const struct role_spec *spec = &job->spec->roles[role];
    struct want want = want_of_job(plan, job, role);

    while (standing->staying < spec->min && job_count(job, role, true) < spec->max) {
        if (!bring_one(plan, job, role, &want))
            return;
        plan_size(plan, job, RESIZE_DRAIN, "others start before a node is emptied");
        standing->staying++;
    }
}

/* Stops those that leave: of the running ones only as many as are spare. */
static void shrink_away(struct plan *plan, struct job *job, uint32_t role, uint32_t spare)
{
    bool enough = job_count_running(job, role) >= job->spec->roles[role].min;

    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        struct process *process = job->slots[role][i].live;

        if (process == NULL || !process_is_leaving(process) || process_is_saver(process))
            continue;
        if (process->state == PROCESS_RUNNING ? spare == 0 : !enough)
            continue;
        spare -= process->state == PROCESS_RUNNING;
        plan_size(plan, job, RESIZE_DRAIN, "node %s is being emptied", process->node->name);
        plan_stop(plan, process, false, CAUSE_DRAINED, "shrunk: its node is being drained");
    }
}

/* Instances above the minimum shrink away, the others stay until others stand in for them. */
static void move_elastic(struct plan *plan, struct job *job, uint32_t role)
{
    uint32_t min = job->spec->roles[role].min;
    uint32_t running = job_count_running(job, role);
    struct standing standing = standing_of(job, role);

    if (standing.staying < min)
        bring_others(plan, job, role, &standing);
    if (standing.staying < min)
        shrink_away(plan, job, role, running > min ? running - min : 0);
}

/* The place is reserved: by this take until the queue is gone through, then as a lacking instance
 * of its job (plan/repair.c). */
static void move_fixed(struct plan *plan, struct process *process)
{
    struct job *job = process->job;
    struct want want = want_of_job(plan, job, process->role);
    struct near near = { 0 };
    struct room *room;

    if (process_is_pinned(process))
        return; /* it has no other node */
    near_job(&near, job);
    room = place_one(&plan->planner->rooms, &want, &near, false);
    if (room == NULL)
        return;
    capacity_take(&plan->planner->rooms, room, &want.need, false);
    plan_stop(plan, process, true, CAUSE_DRAINED, "its node is being drained");
    job_set_lacking(plan->cluster, job, true); /* touched jobs were examined before */
    queue_might_move(plan->cluster);
}

/* Elastic, and some slot is spare: where so many were given up that none is, it moves as a fixed
 * one. */
static bool leaves_by_shrinking(const struct process *process)
{
    const struct job *job = process->job;
    const struct role_spec *spec = &job->spec->roles[process->role];

    return job_elastic_role(job) == (int)process->role && job->state != JOB_STARTING &&
           spec->max > spec->min + job->counts[process->role].given_up;
}

/* A finishing job has nobody to do its share, and is over soon: it is not moved any more. */
static bool is_finishing(const struct process *process)
{
    return process->job->finishing && job_role_works(process->job, process->role);
}

enum wait {
    WAITS_NOT,
    WAITS_FOR_END,
    WAITS_FOR_FINISH,
    WAITS_FOR_ROOM,
    WAITS_FOR_KILL,
    WAITS_FOR_PINNED,
    WAITS
};

static const char *const wait_texts[] = {
    [WAITS_NOT] = "",
    [WAITS_FOR_END] = "the end of jobs that are not fault tolerant",
    [WAITS_FOR_FINISH] = "the end of finishing jobs",
    [WAITS_FOR_ROOM] = "room elsewhere",
    [WAITS_FOR_KILL] = "somebody to kill what has ended and keeps what runs of it",
    [WAITS_FOR_PINNED] = "the end of instances that run there and nowhere else",
};

/* Jobs for which a node waits. */
struct waits {
    char names[100]; /* "a, b" */
    unsigned named, others;
    const struct job *last;
};

static void wait_for(struct waits *waits, const struct job *job)
{
    size_t used = strlen(waits->names);

    if (waits->last == job)
        return;
    waits->last = job;
    if (waits->named == WAITS_NAMED_MAX ||
        used + strlen(job->spec->name) + 3 > sizeof waits->names) {
        waits->others++;
        return;
    }
    (void)snprintf(waits->names + used, sizeof waits->names - used, "%s%s",
                   waits->named > 0 ? ", " : "", job->spec->name);
    waits->named++;
}

static void describe_waits(const struct waits *waits, const char *why, char *buffer, size_t size)
{
    size_t used = strlen(buffer);
    char more[32] = "";

    if (waits->named + waits->others == 0)
        return;
    if (waits->others > 0)
        (void)snprintf(more, sizeof more, "%s%u more", waits->named > 0 ? " and " : "",
                       waits->others);
    (void)snprintf(buffer + used, size - used, "%s%s: %s%s", used > 0 ? "; " : "waits for ", why,
                   waits->names, more);
}

/* true: once for each job */
static bool is_first_of_job(struct plan *plan, const struct process *process)
{
    struct job *job = process->job;

    if (planned_is(job)->drain_pass == plan->planner->drain_pass)
        return false;
    planned_of(job)->drain_pass = plan->planner->drain_pass;
    return true;
}

static bool is_special(const struct node *node)
{
    return node->state == NODE_DRAINING || node->owes;
}

bool plan_drain_any(const struct cluster *cluster)
{
    const struct node *node = cluster_nodes(cluster);

    while (node != NULL && !is_special(node))
        node = node->hh.next;
    return node != NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(struct node *const *)a)->name, (*(struct node *const *)b)->name);
}

/* Nodes that drain or owe, by name, so that the outcome does not depend on the order of the events,
 * which neither a copy nor a restart knows. The caller's, to be freed. */
static struct node **special_nodes(const struct plan *plan, size_t *ret_n)
{
    struct node **nodes = NULL;
    struct node *node;
    size_t n = 0;

    for (node = cluster_nodes(plan->cluster); node != NULL; node = node->hh.next) {
        if (!is_special(node))
            continue;
        nodes = xreallocarray(nodes, n + 1, sizeof(*nodes));
        nodes[n++] = node;
    }
    if (n > 1)
        qsort(nodes, n, sizeof(*nodes), compare_names);
    *ret_n = n;
    return nodes;
}

/* calls fn for each process there */
static void each_draining(struct plan *plan, void (*fn)(struct plan *plan, struct process *process))
{
    struct process *process;
    size_t n;
    struct node **nodes = special_nodes(plan, &n);

    plan->planner->drain_pass++;
    for (size_t i = 0; i < n; i++)
        if (nodes[i]->state == NODE_DRAINING) {
            DL_FOREACH2(nodes[i]->processes, process, node_next)
            fn(plan, process);
        }
    free(nodes);
}

static void let_shrink(struct plan *plan, struct process *process)
{
    struct job *job = process->job;

    if (job_is_started(job) && leaves_by_shrinking(process) && !job->finishing &&
        is_first_of_job(plan, process) &&
        standing_of(job, process->role).running >= job->spec->roles[process->role].min)
        shrink_away(plan, job, process->role, UINT32_MAX);
}

void plan_drain(struct plan *plan)
{
    each_draining(plan, let_shrink);
}

static void let_move(struct plan *plan, struct process *process)
{
    struct job *job = process->job;

    if (!process_is_leaving(process) || !job_is_started(job) || !job->spec->fault_tolerant ||
        is_finishing(process))
        return;
    if (!leaves_by_shrinking(process))
        move_fixed(plan, process);
    else if (is_first_of_job(plan, process))
        move_elastic(plan, job, process->role);
}

void plan_drain_to_places(struct plan *plan)
{
    each_draining(plan, let_move);
}

/* Others do not stand in for it, and are not on their way. */
static bool stays_at_minimum(struct plan *plan, const struct process *process)
{
    struct job *job = process->job;
    uint32_t role = process->role;

    if (!leaves_by_shrinking(process))
        return true;
    if (is_first_of_job(plan, process))
        planned_of(job)->drain_stays = standing_of(job, role).staying < job->spec->roles[role].min;
    return planned_is(job)->drain_stays;
}

static enum wait wait_of(struct plan *plan, const struct process *process)
{
    if (!process_is_leaving(process))
        return WAITS_NOT;
    if (job_keeps_remains(process->job))
        return WAITS_FOR_KILL;
    if (!process->job->spec->fault_tolerant)
        return WAITS_FOR_END;
    if (is_finishing(process))
        return WAITS_FOR_FINISH;
    if (!stays_at_minimum(plan, process))
        return WAITS_NOT;
    return process_is_pinned(process) ? WAITS_FOR_PINNED : WAITS_FOR_ROOM;
}

static void tell(struct plan *plan, struct node *node)
{
    struct waits waits[WAITS] = { 0 };
    const struct process *process;
    char text[sizeof node->waits] = "";

    DL_FOREACH2(node->processes, process, node_next)
    {
        enum wait wait = wait_of(plan, process);

        if (wait != WAITS_NOT)
            wait_for(&waits[wait], process->job);
    }
    for (size_t i = WAITS_NOT + 1; i < WAITS; i++)
        describe_waits(&waits[i], wait_texts[i], text, sizeof text);
    if (streq(text, node->waits))
        return;
    (void)plan_do(plan->cluster,
                  &(struct act){ .kind = ACT_DRAINS, .node = node->name, .text = text }, plan->now);
}

void plan_drain_tell(struct plan *plan)
{
    size_t n;
    struct node **nodes = special_nodes(plan, &n);

    plan->planner->drain_pass++;
    for (size_t i = 0; i < n; i++)
        if (nodes[i]->state == NODE_DRAINING)
            tell(plan, nodes[i]);
    free(nodes);
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
        if (is_victim(process, &later, &nothing) &&
            (best == NULL || gives_before(plan, process, best)))
            best = process;
    }
    if (best == NULL)
        return false;
    describe_debt(node, debt, sizeof debt);
    (void)snprintf(reason, sizeof reason, "shrunk: %.140s", debt);
    plan_size(plan, best->job, RESIZE_FOREIGN_LOAD, "%s", debt);
    plan_stop(plan, best, false, CAUSE_OWN_SERVICES, reason);
    return true;
}

void plan_relieve(struct plan *plan)
{
    static const struct resources nothing = { 0 };
    size_t n;
    struct node **nodes = special_nodes(plan, &n);

    for (size_t i = 0; i < n; i++)
        while (nodes[i]->owes && !resources_equal(&nodes[i]->room->yield, &nothing) &&
               relieve(plan, nodes[i]))
            continue;
    free(nodes);
}
