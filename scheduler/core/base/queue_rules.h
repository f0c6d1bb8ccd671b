/* SPDX-License-Identifier: Apache-2.0 */
/* queue_rules.h - the numbers every job's task queue is made with, new or restored */
#pragma once

#include "scheduler/core/base/task_queue.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

/* How often a task is tried where its job does not say it: a failure that a holder tells of is the
 * task's; the death of one may have any cause (task_deaths.c). */
#define TASK_FAILURES_MAX 3
#define TASK_DEATHS_MAX 5
/* Tasks of a process that died come back at once; a lease is for one that hangs. It follows what
 * tasks take (task_times.h); the longest is that of upstream's master. */
#define TASK_LEASE_TIMEOUT_US (20 * 60 * USEC_PER_SEC)
#define TASK_LEASE_LEAST_US (20 * USEC_PER_SEC)

static inline uint32_t queue_tries(const struct job_spec *spec)
{
    return spec->task_tries > 0 ? spec->task_tries : TASK_FAILURES_MAX + 1;
}

static inline uint32_t queue_deaths(const struct job_spec *spec)
{
    return spec->task_tries > 0 ? spec->task_tries : TASK_DEATHS_MAX;
}

static inline struct task_queue_config queue_rules(const struct job_spec *spec)
{
    return (struct task_queue_config){
        .passes = job_spec_passes(spec),
        .passes_open = spec->passes == 0,
        .failures_max = queue_tries(spec) - 1,
        .deaths_max = queue_deaths(spec),
        .deaths_alone_max = MAX_OF(2 * queue_deaths(spec), spec->restart_max),
        .lease_timeout_us = TASK_LEASE_TIMEOUT_US,
        .lease_least_us = TASK_LEASE_LEAST_US,
        .shuffled = spec->shuffled,
        .seed = spec->shuffle_seed,
    };
}
