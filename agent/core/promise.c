/* SPDX-License-Identifier: Apache-2.0 */
/* promise.c - see promise.h */
#include "agent/core/promise.h"

#include "shared/macro.h"

static void plan(struct promise *promise, uint64_t now_us)
{
    promise->began_us = now_us;
    promise->planned_us =
        promise->left_us > 0 ? MIN_OF(promise->left_us, PROMISE_LOOK_US) : PROMISE_LOOK_US;
}

void promise_make(struct promise *promise, uint64_t within_us, uint64_t now_us)
{
    promise->within_us = promise->left_us = within_us;
    plan(promise, now_us);
}

bool promise_look(struct promise *promise, bool counts, uint64_t now_us)
{
    uint64_t took_us = now_us - MIN_OF(promise->began_us, now_us);

    if (promise->within_us == 0)
        return false;
    if (counts)
        promise->left_us -= MIN_OF(MIN_OF(took_us, promise->planned_us), promise->left_us);
    else
        promise->left_us = promise->within_us;
    if (took_us > promise->planned_us + PROMISE_LATE_US)
        promise->left_us = MAX_OF(promise->left_us, PROMISE_LATE_US);
    plan(promise, now_us);
    return counts && promise->left_us == 0;
}

uint64_t promise_next_us(const struct promise *promise)
{
    return promise->within_us > 0 ? promise->began_us + promise->planned_us : NEVER_US;
}
