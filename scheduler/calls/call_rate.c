/* SPDX-License-Identifier: Apache-2.0 */
/* call_rate.c - how often each user may make a kind of call
 *
 * Of each user one instant is kept: when it has all its calls again. A call moves it by a period
 * (the generic cell rate algorithm). */
#include "scheduler/calls/call_rate.h"

#include <stdio.h>
#include <string.h>

#include "shared/macro.h"

#define LOOK_LEAST 16

static void forget(struct call_rate *rate, struct call_allowance *allowance)
{
    HASH_DEL(rate->users, allowance);
    free(allowance);
}

/* Once for half as many calls as there are users: a few steps a call. */
static void let_go(struct call_rate *rate, uint64_t now_us)
{
    struct call_allowance *allowance, *next;

    if (++rate->looked_at < HASH_COUNT(rate->users) / 2 + LOOK_LEAST)
        return;
    rate->looked_at = 0;
    HASH_ITER(hh, rate->users, allowance, next)
    {
        if (allowance->full_us <= now_us)
            forget(rate, allowance);
    }
}

uint64_t call_rate_take(struct call_rate *rate, const char *user, uint64_t now_us)
{
    struct call_allowance *allowance;
    uint64_t full_us;

    let_go(rate, now_us);
    HASH_FIND_STR(rate->users, user, allowance);
    full_us = MAX_OF(allowance != NULL ? allowance->full_us : 0, now_us) + rate->period_us;
    if (full_us > now_us + rate->at_once * rate->period_us)
        return full_us - now_us - rate->at_once * rate->period_us;
    if (allowance == NULL) {
        allowance = xcalloc(1, sizeof *allowance);
        (void)snprintf(allowance->user, sizeof allowance->user, "%s", user);
        HASH_ADD_STR(rate->users, user, allowance);
    }
    allowance->full_us = full_us;
    return 0;
}

void call_rate_done(struct call_rate *rate)
{
    while (rate->users != NULL)
        forget(rate, rate->users);
}
