/* SPDX-License-Identifier: Apache-2.0 */
/* time_limit.h - how long a job may run, counted over all its runs
 *
 * A run goes from the start of its whole minimum to its end, or to its way back to the queue.
 * The time while it waits, starts or is parked does not count. Both facts are stored, so a
 * restart neither gives time nor takes any. */
#pragma once

#include <stdint.h>

#include "scheduler/core/model/states.h"

struct cluster;
struct instant;
struct job;

/* job_run_us - the time that counts so far */
uint64_t job_run_us(const struct job *job, struct instant now);
/* job_limit_left_us - what is left of its limit; NEVER_US: it has none */
uint64_t job_limit_left_us(const struct job *job, struct instant now);
/* job_count_run - it comes into this state now: a run begins or ends, or neither */
void job_count_run(struct cluster *cluster, struct job *job, enum job_state to, struct instant now);
/* job_watch_limit - from now on it is known when its limit comes; nothing while it does not run */
void job_watch_limit(struct cluster *cluster, struct job *job, struct instant now);
/* job_set_limit - another limit, 0: none; the caller has seen that it did not run for so long. The
 * event job-limited tells both */
void job_set_limit(struct cluster *cluster, struct job *job, uint64_t limit_us, struct instant now);
/* job_ran_out - its limit came: it is killed */
void job_ran_out(struct cluster *cluster, struct job *job, struct instant now);
