/* SPDX-License-Identifier: Apache-2.0 */
/* patience.c - see patience.h */
#include "shared/patience.h"

#include "shared/macro.h"

#define LATE_US (2 * USEC_PER_SEC) /* a busy machine wakes nobody later */

uint64_t patience_plan(struct patience *patience, uint64_t most_us, uint64_t now_us)
{
    patience->planned_us = MIN_OF(most_us, patience->left_us);
    patience->began_us = now_us;
    return patience->planned_us;
}

void patience_spend(struct patience *patience, uint64_t now_us)
{
    uint64_t took_us = now_us - MIN_OF(patience->began_us, now_us);

    if (took_us > patience->planned_us && took_us - patience->planned_us > LATE_US)
        took_us = patience->planned_us;
    patience->left_us -= MIN_OF(took_us, patience->left_us);
    patience->planned_us = 0;
    patience->began_us = now_us;
}
