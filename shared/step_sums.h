/* SPDX-License-Identifier: Apache-2.0 */
/* step_sums.h - what a process tells of its training steps, in sums
 *
 * Used by: libedl (the sums not told yet), agent (all told sums), the scheduler's core, which
 * learns from it. Pure. All of it is the program's word: a reader trusts no relation between two of
 * the numbers. */
#pragma once

#include <stdint.h>

#include "shared/macro.h"

/* No number is larger, nor becomes so: each fits a double and the JSON of every language. */
#define STEP_SUM_MAX ((UINT64_C(1) << 53) - 1)

struct step_sums {
    uint64_t step;  /* the number of the last one, as the program counts */
    uint64_t steps; /* that were told */
    uint64_t samples;
    uint64_t compute_us, wait_us; /* at work; waiting for others, or for data */
};

static inline uint64_t step_sum(uint64_t a, uint64_t b)
{
    return MIN_OF(MIN_OF(a, STEP_SUM_MAX) + MIN_OF(b, STEP_SUM_MAX), STEP_SUM_MAX);
}

/* step_sums_add - sums stop at STEP_SUM_MAX; the step is that of the newer ones */
static inline void step_sums_add(struct step_sums *sums, const struct step_sums *newer)
{
    sums->step = MIN_OF(newer->step, STEP_SUM_MAX);
    sums->steps = step_sum(sums->steps, newer->steps);
    sums->samples = step_sum(sums->samples, newer->samples);
    sums->compute_us = step_sum(sums->compute_us, newer->compute_us);
    sums->wait_us = step_sum(sums->wait_us, newer->wait_us);
}
