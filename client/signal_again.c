/* SPDX-License-Identifier: Apache-2.0 */
/* signal_again.c - see signal_again.h */
#include "client/signal_again.h"

#include "shared/clock.h"

bool signal_again(uint64_t *first_us)
{
    uint64_t now_us = clock_read_us(CLOCK_MONOTONIC);

    if (*first_us == 0)
        *first_us = now_us;
    return now_us - *first_us >= SIGNAL_AGAIN_US;
}
