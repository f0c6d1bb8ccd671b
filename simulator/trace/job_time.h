/* SPDX-License-Identifier: Apache-2.0 */
/* job_time.h - how long a job takes with the best of its amounts */
#pragma once

#include <stdint.h>

struct edl_error;
struct trace_job;

struct job_best {
    double time_s; /* the least seconds; INFINITY where nothing is known of any amount */
    double size_s; /* the least instances times seconds */
};

/* job_best - of a phase, of all amounts from the job's least one to most (the least one in any
 * case), each on as few nodes as it fills. Of laws that rise two amounts are looked at, else all.
 */
struct job_best job_best(const struct trace_job *job, uint32_t phase, uint32_t most,
                         uint32_t per_node);

/* job_most - the most instances that it can use of capacity; 0: it needs more */
uint32_t job_most(const struct trace_job *job, uint32_t capacity);
uint32_t job_least(const struct trace_job *job);

/* job_next - the next larger amount that makes a difference; 0: none up to most */
uint32_t job_next(const struct trace_job *job, uint32_t n, uint32_t most);
