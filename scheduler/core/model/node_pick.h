/* SPDX-License-Identifier: Apache-2.0 */
/* node_pick.h - which ports and devices of a node an instance gets */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster;
struct node;
struct process;

/* node_take_foreign_ports - what others listen on, as a report says; n 0: nothing
 * node_ports_withheld - how many ports of its range are not free for that, held by none of ours */
void node_take_foreign_ports(struct cluster *cluster, struct node *node, const uint16_t *ports,
                             size_t n);
int64_t node_ports_withheld(const struct node *node);

/* node_pick_ports - n free ports of the node's range, round robin; false when there are too few */
bool node_pick_ports(struct node *node, uint32_t n, uint16_t *ret_ports);

/* node_pick_gpus - n free devices, of one NUMA node if one has as many; false when there are too
 * few */
bool node_pick_gpus(const struct node *node, uint32_t n, uint64_t *ret_mask);

/* of the node's range, which may have moved since they were handed out */
int64_t node_ports_of(const struct node *node, const struct process *process);
