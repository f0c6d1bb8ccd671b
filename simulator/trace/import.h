/* SPDX-License-Identifier: Apache-2.0 */
/* import.h - readers of public traces, from wherever the user has them */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct edl_error;
struct trace;

struct import_options {
    const char *dir; /* with the measurements that belong to the trace */
    bool adaptive;   /* batches are chosen for goodput, not the owners' */
    uint64_t seed;   /* of what the trace does not say */
};

/* All return 0, or -EINVAL or what opening gives, with file, line and remedy in the error. */

/* pollux_import - a workload of Pollux (OSDI 2021) whose applications are folders of dir */
int pollux_import(const char *path, const struct import_options *options, struct trace **ret,
                  struct edl_error *error);

/* elasticflow_import - a log of a cluster (job_id, submission_time, duration, num_gpu, maybe
 * model_name and batch_size) over tables of throughput: dir/MODEL.csv with a line for each
 * global_batch_size and a column for each number of GPUs, in iterations per second. A job that
 * names no model is given one by the seed: of all models and batches that were measured with its
 * GPUs, in order of name and batch, each with the same probability, job after job as the log has
 * them. */
int elasticflow_import(const char *path, const struct import_options *options, struct trace **ret,
                       struct edl_error *error);
