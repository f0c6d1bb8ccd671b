/* SPDX-License-Identifier: Apache-2.0 */
/* machines.h - which nodes say that they are on one machine, by its /etc/machine-id */
#pragma once

struct cluster;
struct node;

void node_forget_machine(struct cluster *cluster, struct node *node);
void machines_free(struct cluster *cluster);

/* cluster_machine - by its id, or NULL. node_take_machine - the node is on that one; NULL, "": not
 * told, and nothing changes */
struct machine_nodes *cluster_machine(const struct cluster *cluster, const char *id);
void node_take_machine(struct cluster *cluster, struct node *node, const char *id);
