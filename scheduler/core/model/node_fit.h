/* SPDX-License-Identifier: Apache-2.0 */
/* node_fit.h - which nodes could run an instance of a job if nothing else ran there */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cluster;
struct job;
struct node;
struct role_spec;

/* node_could_hold - it offers enough for an instance of the role, and carries its labels.
 * node_could_run - likewise, and it did not refuse the job. node_could_run_slot - likewise, and the
 * role names no other node for that instance */
bool node_could_hold(const struct node *node, const struct role_spec *role);
bool node_could_run(const struct node *node, const struct job *job, uint32_t role);
bool node_could_run_slot(const struct node *node, const struct job *job, uint32_t role,
                         uint32_t index);

/* job_could_be_complete - false: the nodes that there are, here or away, cannot run its minimum at
 * once. That is certain; true is not, as no places are looked for. Linear in the nodes, for each
 * role */
bool job_could_be_complete(const struct cluster *cluster, const struct job *job);
