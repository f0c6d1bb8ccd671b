/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_idle.h - instances that do not use the GPUs they were granted: others have those first */
#pragma once

#include <stdint.h>

struct cluster;
struct instant;
struct job;
struct node;
struct process;

/* node_take_idle_gpus - as its agent reports them. O(processes of the node) when they change */
void node_take_idle_gpus(struct cluster *cluster, struct node *node, uint64_t mask,
                         struct instant now);

/* process_note_taken - it is stopped, and nobody is to take its place */
void process_note_taken(struct cluster *cluster, struct process *process, struct instant now);

/* job_busy_most - so many of its instances use their GPUs; 0: all do. O(its processes) of a job
 * with GPUs, else O(1) */
uint32_t job_busy_most(const struct job *job, uint32_t role);

/* job_forget_idle - it is over, or begins anew */
void job_forget_idle(struct cluster *cluster, struct job *job);
void job_idle_fell_due(struct cluster *cluster, struct job *job);
