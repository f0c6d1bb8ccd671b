/* SPDX-License-Identifier: Apache-2.0 */
/* job_time.h - how long a whole job takes with one amount */
#pragma once

#include <stdint.h>

struct edl_error;
struct trace_job;

/* job_time_s - n instances on as few nodes as they fill; INFINITY where nothing is known of that */
double job_time_s(const struct trace_job *job, uint32_t n, uint32_t per_node);

/* job_phase_s - the same of one phase alone */
double job_phase_s(const struct trace_job *job, uint32_t phase, uint32_t n, uint32_t per_node);

/* job_most - the most instances that it can use of capacity; 0: it needs more */
uint32_t job_most(const struct trace_job *job, uint32_t capacity);
uint32_t job_least(const struct trace_job *job);

/* job_next - the next larger amount that makes a difference; 0: none up to most */
uint32_t job_next(const struct trace_job *job, uint32_t n, uint32_t most);
