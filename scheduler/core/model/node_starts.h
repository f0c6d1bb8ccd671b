/* SPDX-License-Identifier: Apache-2.0 */
/* node_starts.h - what starts that fail say of a node */
#pragma once

#include <stdbool.h>

#include "scheduler/core/model/node.h"

struct cluster;
struct instant;
struct job;

/* node_failed_to_start - a process of that job, in the last ten minutes */
bool node_failed_to_start(const struct node *node, const struct job *job, struct instant now);

/* node_start_failed, node_started - what a node's processes tell about it
 * node_proved - one ran on it for longer than seconds, or ended as only a program does that was
 * executed */
void node_start_failed(struct cluster *cluster, struct node *node, struct job *job,
                       enum start_doubt doubt, struct instant now);
void node_started(struct cluster *cluster, struct node *node, struct job *job, struct instant now);
void node_proved(struct cluster *cluster, struct node *node, struct job *job, struct instant now);

/* job_proof_fell_due - some of its processes may have run for so long. Linear in its slots */
void job_proof_fell_due(struct cluster *cluster, struct job *job, struct instant now);
