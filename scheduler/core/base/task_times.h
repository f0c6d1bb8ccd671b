/* SPDX-License-Identifier: Apache-2.0 */
/* task_times.h - how long tasks of a queue took lately, and how long one may be held
 *
 * A task that nobody finishes has to come back, soon for short tasks, and not before it is done for
 * long ones. So a lease is four times what all but one in twenty of the last tasks took, within
 * bounds; before enough were seen it is the longest one. A holder that is slower than others has
 * longer leases: its own last tasks count as well.
 *
 * Times are in buckets, four for each power of two; the last TASK_TIMES_WINDOW tasks count. Pure;
 * volatile, as a few tasks tell it anew after a restart.
 *
 * Used by: task_queue.c. Tests: tests/unit/test_task_leases.c. */
#pragma once

#include <stdint.h>

#define TASK_TIMES_BUCKETS 96
#define TASK_TIMES_LEAST 8 /* tasks that are seen before they tell */
#define TASK_TIMES_WINDOW 64
#define TASK_TIMES_LEASE_RATIO 4

struct task_times {
    uint8_t counts[TASK_TIMES_BUCKETS];
    uint8_t last[TASK_TIMES_WINDOW]; /* their buckets, a ring */
    uint32_t n, next;                /* how many there are; where the next one goes */
};

/* task_times_add - one took so long */
void task_times_add(struct task_times *times, uint64_t took_us);

/* task_times_p95_us - at most this, for 19 of 20 of them: the upper end of a bucket, so up to a
 * quarter more; 0 while too few were seen */
uint64_t task_times_p95_us(const struct task_times *times);

/* task_times_lease_us - how long a task may be held by one whose own last tasks took own_us (0:
 * none is known), from least_us to most_us; least_us 0: always most_us */
uint64_t task_times_lease_us(const struct task_times *times, uint64_t own_us, uint64_t least_us,
                             uint64_t most_us);
