/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the two clocks: boot time for every deadline, wall time for people */
#pragma once

#include <stdint.h>
#include <time.h>

/* One reading of both clocks, handed to everything that decides (deciders never read a clock). */
struct instant {
    uint64_t now_us;  /* CLOCK_BOOTTIME; deadlines, leases, back-off */
    uint64_t wall_us; /* CLOCK_REALTIME since 1970; display and records only */
};

static inline uint64_t clock_read_us(clockid_t clock)
{
    struct timespec t;

    (void)clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static inline struct instant clock_instant(void)
{
    return (struct instant){ .now_us = clock_read_us(CLOCK_BOOTTIME),
                             .wall_us = clock_read_us(CLOCK_REALTIME) };
}
