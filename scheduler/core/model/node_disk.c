/* SPDX-License-Identifier: Apache-2.0 */
/* node_disk.c - a node whose disk is full starts nothing; its processes go on
 *
 * Each start would fail for it, and most of those who asked would be told of that as their end. The
 * agent says when it is so, and when it is not any more; until it is heard again nothing is known.
 */
#include "scheduler/core/model/node_disk.h"

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "shared/clock.h"

void node_take_disk(struct cluster *cluster, struct node *node, bool full, struct instant now)
{
    if (node->disk_full == full)
        return;
    node->disk_full = full;
    node_changed(cluster, node);
    cluster->plan_wanted = true;
    effect_event(cluster, now, NULL, node->name, full ? "node-disk-full" : "node-disk-has-room",
                 "%s: %s", node->name, full ? REASON_DISK_FULL : "there is room on its disk again");
    if (!full)
        unfit_forget_disk(cluster, node);
}
