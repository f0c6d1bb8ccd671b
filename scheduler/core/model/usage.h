/* SPDX-License-Identifier: Apache-2.0 */
/* usage.h - the grants of jobs, and their use: accounting in resource-time
 *
 * Pure. Each grant from the assignment of a process to its end is one of four kinds, so that they
 * add up to it:
 *   resize  - until it ran, and from being asked to stop until it was gone
 *   wasted  - it ran for work that has to be done again: the failed, the lost, and the unfinished
 *             task of one that had to stop
 *   idle    - it ran and did not use the cores (its cgroup's CPU time; cores only)
 *   useful  - the rest
 *
 * A process without tasks that is asked to stop is taken to have saved its work. Counted when a
 * process ends; usage_of_job adds the living ones. Wall time: a clock that jumps back costs
 * nothing. */
#pragma once

#include <stdint.h>

enum usage_kind { USAGE_USEFUL, USAGE_RESIZE, USAGE_IDLE, USAGE_WASTED, USAGE_KINDS };

/* usage_kind_to_string - "useful", "resize", "idle", "wasted" */
const char *usage_kind_to_string(enum usage_kind kind);

/* Amount times time. Ten thousand nodes of 256 cores for a hundred years fit 64 bits. */
struct resource_time {
    uint64_t cpu_millicore_ms;
    uint64_t gpu_ms;
    uint64_t memory_mib_ms;
};

struct usage {
    struct resource_time kinds[USAGE_KINDS];
};

struct job;
struct process;

void usage_add(struct usage *to, const struct usage *what);

/* usage_of_ended - what the job used by processes that ended is more by this */
void usage_of_ended(struct job *job, const struct usage *what);

/* usage_of_process - from its assignment to its end, or to now when it lives */
void usage_of_process(const struct process *process, uint64_t now_wall_us, struct usage *ret);

/* usage_of_job - of all that ended and all that lives */
void usage_of_job(const struct job *job, uint64_t now_wall_us, struct usage *ret);
