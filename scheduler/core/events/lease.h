/* SPDX-License-Identifier: Apache-2.0 */
/* lease.h - a scheduler that stood still must not blame its nodes for that
 *
 * The shell measures for how long it could hear nobody, and says so before the next
 * cluster_tick. */
#pragma once

#include <stdint.h>

struct cluster;
struct instant;

/* cluster_least_lease_us - with a shorter one its nodes report more often than one thread should
 * have to answer: each does it four times in a lease */
uint64_t cluster_least_lease_us(const struct cluster *cluster);

/* cluster_stall_least_us - shorter standstills cost no lease: agents report several times in one */
uint64_t cluster_stall_least_us(const struct cluster *cluster);

/* cluster_stalled - nothing was heard for missed_us before now, for a reason of the scheduler's
 * own: every lease ends so much later, no sooner than the messages in the sockets can be read, and
 * no later than one that is renewed now. Stores nothing: on a slow disk that would be the next
 * standstill. Linear in the nodes */
void cluster_stalled(struct cluster *cluster, uint64_t missed_us, struct instant now);

/* cluster_first_lease - of the node whose lease ends first; NULL: there is none */
struct node *cluster_first_lease(const struct cluster *cluster);

/* node_extend_lease - as node_renew_lease, while a turn is on its way to the store: it changes
 * nothing that is stored. A node that has to repeat a session still has to */
void node_extend_lease(struct cluster *cluster, struct node *node, struct instant now);

/* node_renew_lease - it was heard now; node_end_lease - it has none any more. Idempotent
 * node_begin_lease - at a start; no report makes it shorter until one repeats the session that its
 * node gets here, which node_repeats looks at */
void node_renew_lease(struct cluster *cluster, struct node *node, struct instant now);
void node_end_lease(struct cluster *cluster, struct node *node);
void node_begin_lease(struct cluster *cluster, struct node *node, struct instant now);
void node_repeats(struct cluster *cluster, struct node *node, uint64_t session);
