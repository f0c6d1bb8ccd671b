/* SPDX-License-Identifier: Apache-2.0 */
/* rooms.c - the rooms of the nodes, as the model has these
 *
 * The model only marks a node of which something changed (node_changed). Its room is made, listed
 * or changed here, before planning looks for one, and the totals with it. */
#include "scheduler/core/plan/rooms.h"

#include <utlist.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/node_pick.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/group_levels.h"
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
    const struct room_facts facts = node_facts(node);
    bool was_listed = room_is_listed(node->room);

    if (node_takes_processes(node))
        return capacity_set(&planner->rooms, node->room, &facts);
    if (was_listed)
        capacity_unlist(&planner->rooms, node->room);
    return was_listed;
}

static void look(struct planner *planner, struct node *node)
{
    if (node->room == NULL) {
        node->room = room_new(node);
        node->empty_room = room_new(node);
    }
    node->room->gpu_type = node->empty_room->gpu_type = node->gpu_type;
    memcpy(node->room->speed, node->levels, sizeof node->room->speed);
    if (node->offer_changed || node->removed)
        list_offer(planner, node);
    node->offer_changed = false;
    if (list_room(planner, node))
        planner->cluster->queue_moves = true;
    count_totals(planner, node);
}

void rooms_look(struct planner *planner)
{
    struct cluster *cluster = planner->cluster;

    while (cluster->changed != NULL) {
        struct node *node = cluster->changed;

        LL_DELETE2(cluster->changed, node, changed_next);
        node->changed = false;
        look(planner, node);
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
