/* SPDX-License-Identifier: Apache-2.0 */
/* node_lost.c - a node was silent for longer than its lease: it and its processes are lost
 *
 * What its agent said before is not known any more: it has to tell all of it anew. */
#include "scheduler/core/events/node_lost.h"

#include <stddef.h>

#include "scheduler/core/events/lease.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/foreign_load.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/node_kept.h"
#include "scheduler/core/model/node_pick.h"
#include "scheduler/core/model/process_sm.h"

void node_lost(struct cluster *cluster, struct node *node, struct instant now)
{
    struct process *process;

    node->n_stale = 0;
    node->heard = false;
    node->foreign_cpu_millicores = 0;
    node->foreign_memory_bytes = 0;
    node->gpus_foreign = 0;
    node->gpus_idle = 0;
    node_take_foreign_ports(cluster, node, NULL, 0);
    node->disk_full = false; /* it has to tell anew */
    node_plan_with_foreign(cluster, node, 0, 0);
    cluster->figures.nodes_lost++;
    node_set_state(cluster, node, NODE_LOST, "node-lost", "was silent for longer than its lease",
                   now);
    node_note_kept(cluster, node, now);
    while ((process = node_first_fenced(node)) != NULL)
        process_lost(cluster, process, CAUSE_NODE_SILENT,
                     "its node was silent for longer than its lease", now);
    node->offer_shrunk = node->offer_shrunk && node->processes != NULL;
}

void nodes_lose_silent(struct cluster *cluster, struct instant now)
{
    struct node *node;

    while ((node = cluster_first_lease(cluster)) != NULL && node->lease_deadline_us <= now.now_us) {
        node_end_lease(cluster, node);
        node_lost(cluster, node, now);
    }
}
