/* SPDX-License-Identifier: Apache-2.0 */
/* queue_rules.h - the numbers every job's task queue is made with, new or restored */
#pragma once

#include "scheduler/core/base/task_queue.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

#define TASK_FAILURES_MAX 3
/* Tasks of a process that died come back at once; a lease is for one that hangs. It follows what
 * tasks take (task_times.h); the longest is that of upstream's master. */
#define TASK_LEASE_TIMEOUT_US (20 * 60 * USEC_PER_SEC)
#define TASK_LEASE_LEAST_US (20 * USEC_PER_SEC)

static inline struct task_queue_config queue_rules(const struct job_spec *spec)
{
    return (struct task_queue_config){
        .passes = job_spec_passes(spec),
        .passes_open = spec->passes == 0,
        .failures_max = TASK_FAILURES_MAX,
        .lease_timeout_us = TASK_LEASE_TIMEOUT_US,
        .lease_least_us = TASK_LEASE_LEAST_US,
        .shuffled = spec->shuffled,
        .seed = spec->shuffle_seed,
    };
}
