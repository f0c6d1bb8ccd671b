/* SPDX-License-Identifier: Apache-2.0 */
/* foreign_wait.c - a job that waits because other programs use the nodes */
#include "scheduler/core/ask/foreign_wait.h"

#include <stdio.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/node_pick.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/planner.h"
#include "shared/macro.h"

/* plan_foreign_of - see foreign_wait.h */
struct resources plan_foreign_of(const struct node *node)
{
    return (struct resources){ .cpu_millicores = (int64_t)node->foreign_planned_cpu,
                               .memory_bytes = (int64_t)node->foreign_planned_memory,
                               .gpus = node_gpus_withheld(node) };
}

/* plan_waits_for_foreign - see foreign_wait.h */
bool plan_waits_for_foreign(const struct cluster *cluster, const struct demand *demands, size_t n,
                            struct foreign_load *ret)
{
    struct capacity *rooms = &cluster->planner->rooms;
    size_t mark = capacity_mark(rooms);
    bool waits;

    *ret = (struct foreign_load){ .n_nodes = 0 };
    for (struct node *node = cluster->nodes; node != NULL; node = node->hh.next) {
        struct resources foreign = plan_foreign_of(node);
        struct resources back = { 0 };

        if (!room_is_listed(node->room) || !node->heard ||
            resources_equal(&foreign, &(struct resources){ 0 }))
            continue;
        resources_add(&back, &foreign, -1);
        capacity_take(rooms, node->room, &back, true);
        resources_add(&ret->sum, &foreign, 1);
        ret->n_nodes++;
        if (ret->most == NULL || foreign.cpu_millicores > plan_foreign_of(ret->most).cpu_millicores)
            ret->most = node;
    }
    waits = ret->n_nodes > 0 && place_gang(rooms, demands, n, true, NULL);
    capacity_roll_back(rooms, mark);
    return waits;
}

/* foreign_describe - see foreign_wait.h */
char *foreign_describe(const struct foreign_load *load, char *buffer, size_t size)
{
    char amount[80];

    resources_describe(&load->sum, amount, sizeof amount);
    if (load->n_nodes == 1)
        (void)snprintf(buffer, size, "other programs use %s on %.48s (foreign load)", amount,
                       load->most->name);
    else
        (void)snprintf(buffer, size,
                       "other programs use %s on %u node%s, most on %.48s (foreign load)", amount,
                       load->n_nodes, PLURAL(load->n_nodes), load->most->name);
    return buffer;
}
