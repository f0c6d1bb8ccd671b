/* SPDX-License-Identifier: Apache-2.0 */
/* work_told.h - long work says how far it is: a note after five seconds, then one each half minute
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/report.h"
#include "shared/clock.h"
#include "shared/macro.h"

struct work_told {
    bool quiet;       /* --json: nothing is told */
    uint64_t next_us; /* 0: the work has not begun */
};

/* work_told_due - it is time for a note */
static inline bool work_told_due(struct work_told *told)
{
    const uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    bool due;

    if (told->next_us == 0)
        told->next_us = now_us + 5 * USEC_PER_SEC;
    due = now_us >= told->next_us && !told->quiet;
    if (due)
        told->next_us = now_us + 30 * USEC_PER_SEC;
    return due;
}
