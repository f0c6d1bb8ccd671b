/* SPDX-License-Identifier: Apache-2.0 */
/* node_gpu_type.c - which type of GPU a node is of, in the table of the cluster */
#include "scheduler/core/model/node_gpu_type.h"

#include "scheduler/core/base/gpu_table.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/node.h"

/* Its known speed is part of that of its type. */
void node_count_type_speed(struct cluster *cluster, const struct node *node, int sign)
{
    const struct node_speed *speed = &node->speeds[SPEED_GPU];

    if (speed->rounds > 0)
        gpu_types_count_speed(&cluster->gpu_types, node->gpu_type, speed->log, sign);
}

static void set_type(struct cluster *cluster, struct node *node, uint8_t type)
{
    if (node->gpu_type == type)
        return;
    node_count_type_speed(cluster, node, -1);
    gpu_types_count(&cluster->gpu_types, node->gpu_type, -1);
    node->gpu_type = type;
    gpu_types_count(&cluster->gpu_types, type, 1);
    node_count_type_speed(cluster, node, 1);
}

void node_set_gpu_type(struct cluster *cluster, struct node *node, bool there)
{
    struct gpu_types *types = &cluster->gpu_types;
    bool has = there && node->offer.gpus > 0;

    if (has && node->gpu_type != GPU_TYPE_NONE && node->gpu_type != GPU_TYPE_OTHER &&
        node->gpu_type == gpu_types_lookup(types, &node->offer.labels))
        return;
    set_type(cluster, node, GPU_TYPE_NONE); /* its entry may be free for the new name now */
    if (has)
        set_type(cluster, node, gpu_types_find(types, &node->offer.labels));
}

/* One that came when the table was full is of no type of its own still. */
void node_copy_gpu_type(struct cluster *copy, struct node *to, const struct node *from)
{
    if (to->gpu_type == from->gpu_type)
        return;
    set_type(copy, to, from->gpu_type);
    to->offer_changed = true;
    node_changed(copy, to);
}
