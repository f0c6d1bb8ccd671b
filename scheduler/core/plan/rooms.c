/* SPDX-License-Identifier: Apache-2.0 */
/* rooms.c - the rooms of the nodes, as the model has these
 *
 * The model only marks a node or a job of which something changed (node_changed, job_changed). The
 * room of the node is made, listed or changed here, before planning looks for one, and the totals
 * with it: so is what a job could give, and what it is for its group. */
#include "scheduler/core/plan/rooms.h"

#include <utlist.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/node_pick.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/group_levels.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"

static struct room *room_new(struct node *node)
{
    struct room *room = xcalloc(1, sizeof *room);

    room->node = node;
    room->name = node->name;
    room->labels = &node->offer.labels;
    return room;
}

/* The figures for the policy: only nodes that take processes, so a process on a cordoned node is
 * neither offered nor requested; a stopping one is not requested any more. */
static void count_totals(struct planner *planner, const struct node *node)
{
    struct room *room = node->room;
    struct resources total = { 0 };
    struct resources requested = { 0 };
    struct resources stopping = { 0 };

    if (node_takes_processes(node)) {
        total = resources_of_offer(&node->offer);
        requested = (struct resources){
            .cpu_millicores = (int64_t)(node->cpu_granted_millicores + node->foreign_planned_cpu),
            .memory_bytes = (int64_t)(node->memory_granted_bytes + node->foreign_planned_memory),
            .gpus = node->gpus_granted + node_gpus_withheld(node),
            .ports = node->ports_held + node_ports_withheld(node)
        };
        stopping = node->stopping;
        resources_add(&requested, &stopping, -1);
    }
    planner->groups_changed = planner->groups_changed || !resources_equal(&total, &room->total);
    resources_add(&planner->total, &room->total, -1);
    resources_add(&planner->total, &total, 1);
    resources_add(&planner->requested, &room->requested, -1);
    resources_add(&planner->requested, &requested, 1);
    resources_add(&planner->stopping, &room->stopping, -1);
    resources_add(&planner->stopping, &stopping, 1);
    resources_add(&planner->held, &room->requested, -1);
    resources_add(&planner->held, &room->stopping, -1);
    resources_add(&planner->held, &requested, 1);
    resources_add(&planner->held, &stopping, 1);
    room->stopping = stopping;
    room->total = total;
    room->requested = requested;
}

static void list_offer(struct planner *planner, struct node *node)
{
    struct room_facts empty = { .now = resources_of_offer(&node->offer) };

    empty.later = empty.now;
    if (node->removed)
        capacity_unlist(&planner->offered, node->empty_room);
    else
        (void)capacity_set(&planner->offered, node->empty_room, &empty);
}

/* true: something might fit that did not, or a reservation there has to go elsewhere */
static bool list_room(struct planner *planner, struct node *node)
{
    struct room_facts facts = node_facts(node);
    bool was_listed = room_is_listed(node->room);

    facts.yield = node->room->yield;

    if (node_takes_processes(node))
        return capacity_set(&planner->rooms, node->room, &facts);
    if (was_listed)
        capacity_unlist(&planner->rooms, node->room);
    return was_listed;
}

static void look(struct planner *planner, struct node *node)
{
    node->room->gpu_type = node->empty_room->gpu_type = node->gpu_type;
    memcpy(node->room->speed, node->levels, sizeof node->room->speed);
    if (node->offer_changed || node->removed)
        list_offer(planner, node);
    node->offer_changed = false;
    if (list_room(planner, node))
        planner->queue_moves = true;
    count_totals(planner, node);
}

/* Linear in its processes. */
static void count_yield(struct node *node)
{
    const struct process *process;

    node->room->yield = (struct resources){ 0 };
    DL_FOREACH2(node->processes, process, node_next)
    {
        struct resources held;

        if (process->state == PROCESS_STOPPING || !planned_yields(process))
            continue;
        held = resources_of_role(&process->job->spec->roles[process->role]);
        held.ports = node_ports_of(node, process);
        resources_add(&node->room->yield, &held, 1);
    }
}

static void look_at_changed(struct planner *planner, struct node *node)
{
    if (node->room == NULL) {
        node->room = room_new(node);
        node->empty_room = room_new(node);
    }
    count_yield(node);
    look(planner, node);
}

/* The nodes of its instances of that role, where these could give way or cannot any more. */
static void mark_nodes(struct cluster *cluster, const struct job *job, uint32_t role)
{
    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        const struct process *process = job->slots[role][i].live;

        if (process != NULL && process->node != NULL && process->state != PROCESS_STOPPING)
            node_changed(cluster, process->node);
    }
}

/* Walks the job's own instances, and only when it leaves or reaches its minimum. */
static void look_at_job(struct planner *planner, struct job *job)
{
    struct planned *its = planned_of(job);
    uint32_t surplus = job_surplus(job);
    uint32_t role = surplus > 0 ? (uint32_t)job_elastic_role(job) + 1 : 0;
    uint32_t old = its->yield_role;

    planner->queue_moves = planner->queue_moves || surplus > its->surplus;
    its->surplus = surplus;
    its->yield_role = role;
    if (role != old && old != 0)
        mark_nodes(planner->cluster, job, old - 1);
    if (role != old && role != 0)
        mark_nodes(planner->cluster, job, role - 1);
    group_count(planner, job);
    owner_room_count(planner, job);
    array_room_count(planner, job);
}

static void look_at_jobs(struct planner *planner)
{
    struct cluster *cluster = planner->cluster;

    while (cluster->changed_jobs != NULL) {
        struct job *job = cluster->changed_jobs;

        LL_DELETE2(cluster->changed_jobs, job, changed_next);
        job->changed = false;
        look_at_job(planner, job);
    }
}

void rooms_look(struct planner *planner)
{
    struct cluster *cluster = planner->cluster;

    groups_begin(planner);
    look_at_jobs(planner);
    while (cluster->changed != NULL) {
        struct node *node = cluster->changed;

        LL_DELETE2(cluster->changed, node, changed_next);
        node->changed = false;
        look_at_changed(planner, node);
    }
    groups_look(planner);
}

void rooms_look_at_all(struct planner *planner)
{
    struct node *node;

    rooms_look(planner);
    for (node = planner->cluster->nodes; node != NULL; node = node->hh.next)
        look(planner, node);
}

void rooms_tell(struct planner *planner)
{
    struct node *node;

    for (node = planner->cluster->nodes; node != NULL; node = node->hh.next) {
        node->promised_now = node->room->taken_now;
        node->promised_later = node->room->taken_later;
    }
}
