/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.c - how foreign load is smoothed before it is reported */
#include "agent/core/foreign.h"

#include "shared/macro.h"

#define RISE_US USEC_PER_SEC
#define FALL_US (5 * USEC_PER_SEC)

uint64_t foreign_smooth(uint64_t value, uint64_t sample, uint64_t elapsed_us)
{
    uint64_t constant_us = sample > value ? RISE_US : FALL_US;
    uint64_t weight_us = MIN_OF(elapsed_us, constant_us);

    return (value * (constant_us - weight_us) + sample * weight_us) / constant_us;
}
