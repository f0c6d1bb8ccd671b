/* SPDX-License-Identifier: Apache-2.0 */
/* test_link_crowds.c - how far apart reports and polls are that list hundreds of processes */
#include <stdint.h>

#include "agent/core/link_sm.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define LEASE (8 * USEC_PER_SEC)
#define HEARTBEAT (2 * USEC_PER_SEC)
#define APART_US (900 * LINK_CROWD_EACH_US)

static struct link_sm sm;
static struct link_actions actions;
static uint64_t now;

/* at - when this timer goes by the last actions; NEVER_US: it was not armed */
static uint64_t at(enum link_action_kind timer)
{
    for (size_t i = 0; i < actions.n; i++)
        if (actions.list[i].kind == timer)
            return actions.list[i].at_us;
    return NEVER_US;
}

/* report - one that lists n and is taken; returns when the next one goes, with news meanwhile */
static uint64_t report(size_t n)
{
    const struct link_report_answer answer = {
        .result = LINK_TAKEN, .lease_us = LEASE, .has_version = true, .version = 1
    };

    link_sm_main_timer(&sm, now, 0, &actions);
    link_sm_reports(&sm, n);
    link_sm_changed(&sm, now, &actions);
    now += USEC_PER_MSEC;
    link_sm_report_answered(&sm, sm.main_call, &answer, now, 0, &actions);
    return at(LINK_ARM_MAIN);
}

static int set_up(void **state)
{
    (void)state;
    now = 100 * USEC_PER_SEC;
    link_sm_init(&sm, HEARTBEAT, true, now, &actions);
    return 0;
}

TEST_EACH(set_up, NULL);

TEST(test_reports)
{
    uint64_t at_us = report(LINK_CROWD_FREE);

    assert_int_equal(at_us, now);
    at_us = report(LINK_CROWD_FREE + 900);
    assert_int_equal(at_us, sm.sent_us + APART_US);
    at_us = report(1000000);
    assert_int_equal(at_us, sm.sent_us + LINK_CROWD_MOST_US);
}

TEST(test_news_after_a_report_wait)
{
    (void)report(1);
    (void)report(LINK_CROWD_FREE + 900);
    link_sm_main_timer(&sm, now, 0, &actions);
    link_sm_report_answered(&sm, sm.main_call,
                            &(struct link_report_answer){ .result = LINK_TAKEN, .lease_us = LEASE },
                            now, 0, &actions); /* all is told */
    link_sm_changed(&sm, now, &actions);
    assert_int_equal(at(LINK_ARM_MAIN), sm.sent_us + APART_US);
}

TEST(test_polls)
{
    (void)report(1);
    assert_true(sm.orders_call != 0);
    link_sm_is_ordered(&sm, LINK_CROWD_FREE + 900);
    link_sm_orders_answered(&sm, sm.orders_call, LINK_TAKEN, 2, now, 0, &actions);
    assert_true(sm.orders_call == 0);
    assert_int_equal(at(LINK_ARM_ORDERS), sm.asked_us + APART_US);
}
