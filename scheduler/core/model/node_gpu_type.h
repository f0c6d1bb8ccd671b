/* SPDX-License-Identifier: Apache-2.0 */
/* node_gpu_type.h - which type of GPU a node is of, in the table of the cluster */
#pragma once

#include <stdbool.h>

struct cluster;
struct node;

/* node_set_gpu_type - as it offers now; there: not any more. The caller lists its rooms afresh.
 * node_copy_gpu_type - of the same type as the original. O(types) */
void node_set_gpu_type(struct cluster *cluster, struct node *node, bool there);
void node_copy_gpu_type(struct cluster *copy, struct node *to, const struct node *from);

/* node_count_type_speed - the known speed of the node is a part of that of its type (1), or not any
 * more (-1): away before a change of either, and back after it. O(1) */
void node_count_type_speed(struct cluster *cluster, const struct node *node, int sign);
