/* SPDX-License-Identifier: Apache-2.0 */
/* call_rate.h - how often each user may make a kind of call: some at once, then one in a while
 *
 * Pure: the caller has the clock. A user who has not called for long takes no memory.
 *
 * Used by: api/users.c. Tests: tests/unit/test_call_rate.c. */
#pragma once

#include <stdint.h>
#include <uthash.h>

#include "shared/account_name.h"

struct call_allowance {
    char user[ACCOUNT_NAME_MAX + 1];
    uint64_t full_us; /* when all calls are there again */
    UT_hash_handle hh;
};

struct call_rate {
    uint32_t at_once;             /* calls */
    uint64_t period_us;           /* after which one more may come */
    struct call_allowance *users; /* owned; uthash, those who have less than all */
    uint32_t looked_at;           /* since users who have all again were last let go of */
};

/* call_rate_take - 0: it may, and counts; else how long until it may. now_us: CLOCK_BOOTTIME */
uint64_t call_rate_take(struct call_rate *rate, const char *user, uint64_t now_us);
void call_rate_done(struct call_rate *rate);
