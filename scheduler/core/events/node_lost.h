/* SPDX-License-Identifier: Apache-2.0 */
/* node_lost.h - a node was silent for longer than its lease: it and its processes are lost */
#pragma once

struct cluster;
struct instant;
struct node;

/* nodes_lose_silent - every node whose lease is over now. O(log n) for each, and its processes */
void nodes_lose_silent(struct cluster *cluster, struct instant now);

/* node_lost - this one. Its processes are lost, but for those that go on while it is cut off
 * (on_disconnect: keep). It has no lease any more. Linear in its processes */
void node_lost(struct cluster *cluster, struct node *node, struct instant now);
