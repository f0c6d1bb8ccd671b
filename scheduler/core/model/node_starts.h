/* SPDX-License-Identifier: Apache-2.0 */
/* node_starts.h - what starts that fail say of a node */
#pragma once

#include <stdbool.h>

struct cluster;
struct instant;
struct job;
struct node;

/* node_failed_to_start - a process of that job, in the last ten minutes */
bool node_failed_to_start(const struct node *node, const struct job *job, struct instant now);

/* node_start_failed, node_started - what a node's processes tell about it */
void node_start_failed(struct cluster *cluster, struct node *node, struct job *job,
                       struct instant now);
void node_started(struct cluster *cluster, struct node *node, struct job *job, struct instant now);
