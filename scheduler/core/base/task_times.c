/* SPDX-License-Identifier: Apache-2.0 */
/* task_times.c - how long tasks of a queue took lately, and how long one may be held */
#include "scheduler/core/base/task_times.h"

#include <stddef.h>

#include "shared/macro.h"

#define UNIT_US 1000 /* a shorter one is in the first bucket */

static size_t bucket_of(uint64_t took_us)
{
    uint64_t ms = took_us / UNIT_US;
    unsigned power;
    size_t quarter;

    if (ms == 0)
        return 0;
    power = 63 - (unsigned)__builtin_clzll(ms);
    quarter = (size_t)(power >= 2 ? ms >> (power - 2) : ms << (2 - power)) & 3;
    return MIN_OF(1 + 4 * (size_t)power + quarter, (size_t)TASK_TIMES_BUCKETS - 1);
}

static uint64_t upper_us(size_t bucket)
{
    if (bucket == 0)
        return UNIT_US;
    return ((uint64_t)(5 + (bucket - 1) % 4) * UNIT_US << (bucket - 1) / 4) / 4;
}

void task_times_add(struct task_times *times, uint64_t took_us)
{
    uint8_t bucket = (uint8_t)bucket_of(took_us);

    if (times->n == TASK_TIMES_WINDOW)
        times->counts[times->last[times->next]]--;
    else
        times->n++;
    times->counts[bucket]++;
    times->last[times->next] = bucket;
    times->next = (times->next + 1) % TASK_TIMES_WINDOW;
}

uint64_t task_times_p95_us(const struct task_times *times)
{
    uint32_t beyond = 0;
    size_t i = TASK_TIMES_BUCKETS;

    if (times->n < TASK_TIMES_LEAST)
        return 0;
    while (i > 0 && (beyond + times->counts[i - 1]) * 20 <= times->n)
        beyond += times->counts[--i];
    return upper_us(i > 0 ? i - 1 : 0);
}

uint64_t task_times_lease_us(const struct task_times *times, uint64_t own_us, uint64_t least_us,
                             uint64_t most_us)
{
    uint64_t p95_us = task_times_p95_us(times);
    uint64_t long_us = MIN_OF(MAX_OF(p95_us, own_us), most_us);

    if (least_us == 0 || p95_us == 0)
        return most_us;
    return MIN_OF(MAX_OF(TASK_TIMES_LEASE_RATIO * long_us, least_us), most_us);
}
