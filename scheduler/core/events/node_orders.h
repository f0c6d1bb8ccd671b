/* SPDX-License-Identifier: Apache-2.0 */
/* node_orders.h - which of its processes a node is told of at a time
 *
 * All that its agent has reported, and so many of the others, the oldest first. One that cannot be
 * told of yet (its account's number is being asked for) takes nobody's place. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cluster;
struct job;
struct node;
struct process;

#define NODE_STARTS_TOLD 256U

struct orders_turn {
    uint32_t n_starts; /* that may still be told */
};

/* node_orders_begin - O(its processes). node_orders_may_tell - asked for each of its processes in
 * their order: whether it may be told of this one. node_orders_told - it is: from now on always */
struct orders_turn node_orders_begin(const struct node *node);
bool node_orders_may_tell(const struct orders_turn *turn, const struct process *process);
void node_orders_told(struct orders_turn *turn, struct process *process);

/* node_count_new - those that it may not have been told of. O(its processes)
 * node_orders_go_on - after a report, before which it had n_before of those: it may be told of more
 */
uint32_t node_count_new(const struct node *node);
void node_orders_go_on(struct cluster *cluster, struct node *node, uint32_t n_before);

/* job_account - the name of the account that its processes run as, where there is one
 * cluster_order_account - something that orders wait for is known of it: nodes are told anew of
 * their processes of such jobs that they have not reported. false: there are none. O(jobs) */
const char *job_account(const struct job *job);
bool cluster_order_account(struct cluster *cluster, const char *name);
