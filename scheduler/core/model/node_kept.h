/* SPDX-License-Identifier: Apache-2.0 */
/* node_kept.h - what goes on while its node is cut off (on_disconnect: keep) */
#pragma once

struct cluster;
struct edl_error;
struct instant;
struct node;

/* node_first_fenced - the first process on a lost node that ended with its lease, or NULL;
 * node_note_kept - an event for each that did not */
struct process *node_first_fenced(const struct node *node);
void node_note_kept(struct cluster *cluster, const struct node *node, struct instant now);

/* node_note_reachable - what runs there can be reached again, or at another address */
void node_note_reachable(struct cluster *cluster, const struct node *node);

/* cluster_give_up_node - somebody knows that a lost node is off for good: what is kept there is
 * lost then. EDL_EBADTRANSITION unless it is lost */
int cluster_give_up_node(struct cluster *cluster, struct node *node, struct instant now,
                         struct edl_error *error);
