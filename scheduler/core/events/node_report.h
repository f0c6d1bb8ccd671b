/* SPDX-License-Identifier: Apache-2.0 */
/* node_report.h - nodes join, report, are cordoned, drained and removed */
#pragma once

#include "scheduler/core/model/states.h"

struct cluster;
struct edl_error;
struct instant;
struct node;
struct node_offer;
struct node_report;

/* cluster_join_node - new or known by name (a known one gets the new credential) */
int cluster_join_node(struct cluster *cluster, const char *name, const char *credential_hash,
                      const struct node_offer *offer, struct instant now, struct node **ret_node,
                      struct edl_error *error);

/* cluster_report - -EEXIST and nothing changed: the machine is a copy of another one that reports.
 * EDL_ESTALE and nothing changed: a newer one has overtaken it; or it is of
 * another boot than the last ones and does not repeat node->session, which only the node that runs
 * now can learn: then the answer is to tell it node->session, and it comes again. Else renews the
 * lease; unknown or stale processes in it are ignored (the agent stops what its orders do not
 * list). A process of ours not mentioned by a complete report that was PREPARING or later becomes
 * LOST. */
int cluster_report(struct cluster *cluster, struct node *node, const struct node_report *report,
                   struct instant now, struct edl_error *error);

/* cluster_note_disconnected - an event, once until it reports again */
void cluster_note_disconnected(struct cluster *cluster, struct node *node, struct instant now);

/* cluster_set_node_state - NODE_READY, NODE_CORDONED or NODE_DRAINING */
int cluster_set_node_state(struct cluster *cluster, struct node *node, enum node_state state,
                           struct instant now, struct edl_error *error);

/* cluster_remove_node - EDL_EBADTRANSITION while processes of ours live there (drain it first) */
int cluster_remove_node(struct cluster *cluster, struct node *node, struct instant now,
                        struct edl_error *error);
