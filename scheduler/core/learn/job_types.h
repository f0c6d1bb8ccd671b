/* SPDX-License-Identifier: Apache-2.0 */
/* job_types.h - how a job compares the types of GPU, where that differs from most jobs */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/base/gpu_table.h"

struct cluster;
struct gpu_order;
struct instant;
struct job;
struct process;

/* Where some of a job runs, in seconds per unit of work, as logarithms. */
struct node_stay {
    struct node *node;
    double log_s; /* the median of what runs there */
    double level; /* how fast the node is for all jobs */
    double bias;  /* and by how much more for this one, by its type of GPU */
};

/* The beliefs about a job on a type of GPU that some node has. */
struct job_gpu_type {
    const char *name;   /* borrowed; "": no label, or of more types than are told apart */
    double speed;       /* as many times as on the slowest that is known; 0: not known */
    uint32_t rounds;    /* comparisons that say so */
    uint32_t instances; /* of its elastic role, there */
};

/* cluster_minds_types - there are nodes of several types, and the policy wants to know which is
 * faster for whom. O(types) */
bool cluster_minds_types(const struct cluster *cluster);

/* job_order_types - the order in which it goes to the types, while cluster_minds_types. family: its
 * name, of a job that waits. false: it does not differ from others. A look at its family */
bool job_order_types(const struct cluster *cluster, const struct job *job, const char *family,
                     struct instant now, struct gpu_order *ret);

/* job_knows_type - of its family it is known what it makes of the node's type */
bool job_knows_type(const struct cluster *cluster, const struct job *job, const struct node *node);

/* job_expect_node - how fast a node is for this job: level and bias, 0 as far as nothing is known.
 * O(types) and a look at its family */
void job_expect_node(const struct cluster *cluster, const struct job *job, uint32_t role,
                     struct node_stay *stay);

/* process_gain_log - how much faster its job takes it to be on that node: a logarithm */
double process_gain_log(const struct cluster *cluster, const struct process *process,
                        const struct node *node);

/* job_believe_types - what its family is known to make of them now. O(types) and a look at it */
void job_believe_types(struct cluster *cluster, struct job *job, struct instant now);

/* job_misplaced - the incarnation of one that would be clearly faster on another type of GPU that
 * there is; 0: none. O(instances) */
uint64_t job_misplaced(const struct cluster *cluster, const struct job *job, uint32_t role);

/* job_note_types - it was compared on these nodes. O(n log n) */
void job_note_types(struct cluster *cluster, const struct job *job, uint32_t role,
                    const struct node_stay *stays, size_t n, struct instant now);

/* cluster_job_gpu_types - so many; none of a job that uses no GPUs or has not started, or where all
 * are of one type. O(types) */
size_t cluster_job_gpu_types(const struct cluster *cluster, const struct job *job,
                             struct job_gpu_type ret[GPU_TYPES_MAX]);
