/* SPDX-License-Identifier: Apache-2.0 */
/* node_identity.h - whether who reports as a node is that node: boots, and copies of machines */
#pragma once

#include <stdbool.h>

struct cluster;
struct edl_error;
struct node;
struct node_report;

/* node_admit - whether a report is to be believed, see cluster_report; node_take_identity - of one
 * that is: its machine and boot; true: the node was started again since its last report */
int node_admit(struct cluster *cluster, struct node *node, const struct node_report *report,
               struct edl_error *error);
bool node_take_identity(struct cluster *cluster, struct node *node,
                        const struct node_report *report);

void cluster_note_machine(struct cluster *cluster, struct node *node, const char *machine_id);
bool node_awaits_first_report(const struct node *node, const char *machine_id); /* joined there */

/* cluster_check_machine - -EEXIST with error when a node of another name that is alive has this
 * machine_id in another boot than this one: then one machine is a copy of the other. For whoever
 * wants to join as `name`; reports are checked by cluster_report. NULL or "": not told, nothing is
 * checked. */
int cluster_check_machine(const struct cluster *cluster, const char *name, const char *machine_id,
                          const char *boot_id, struct edl_error *error);
