/* SPDX-License-Identifier: Apache-2.0 */
/* link_fixture.h - a link of an agent, and its news, step by step
 *
 * Used by: test_link_sm.c, test_link_away.c. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/core/link_sm.h"
#include "shared/macro.h"

#define HEARTBEAT USEC_PER_SEC
#define LEASE (10 * USEC_PER_SEC)
#define START (100 * USEC_PER_SEC)

static struct link_sm sm;
static struct link_actions actions;
static uint64_t now;

/* action - of this kind among the last ones, NULL when there is none */
static const struct link_action *action(enum link_action_kind kind)
{
    for (size_t i = 0; i < actions.n; i++)
        if (actions.list[i].kind == kind)
            return &actions.list[i];
    return NULL;
}

static void assert_armed(enum link_action_kind timer, uint64_t from_us, uint64_t to_us)
{
    const struct link_action *armed = action(timer);

    assert_non_null(armed);
    assert_in_range(armed->at_us, from_us, to_us);
}

static uint64_t assert_call(enum link_action_kind kind)
{
    assert_non_null(action(kind));
    assert_true(link_sm_awaits(&sm, action(kind)->call));
    return action(kind)->call;
}

static void init(bool joined)
{
    now = START;
    link_sm_init(&sm, HEARTBEAT, joined, now, &actions);
    assert_armed(LINK_ARM_MAIN, now, now);
}

static uint64_t main_timer(enum link_action_kind kind)
{
    link_sm_main_timer(&sm, now, 0, &actions);
    return assert_call(kind);
}

static void report_taken(uint64_t version)
{
    link_sm_report_answered(&sm, sm.main_call,
                            &(struct link_report_answer){ .result = LINK_TAKEN,
                                                          .lease_us = LEASE,
                                                          .has_version = true,
                                                          .version = version },
                            now, 0, &actions);
}

static void report_not_taken(enum link_result result)
{
    link_sm_report_answered(&sm, sm.main_call, &(struct link_report_answer){ .result = result },
                            now, 0, &actions);
}

static void orders(enum link_result result, uint64_t version)
{
    link_sm_orders_answered(&sm, sm.orders_call, result, version, now, 0, &actions);
}

/* settle - joined, reported, version 1 of the orders is here and the long poll waits */
static void settle(void)
{
    init(true);
    (void)main_timer(LINK_REPORT);
    report_taken(1);
    now += 50 * USEC_PER_MSEC;
    orders(LINK_TAKEN, 1);
    assert_int_equal(action(LINK_POLL_ORDERS)->wait_s, LINK_ORDERS_WAIT_S);
}
