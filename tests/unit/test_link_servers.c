/* SPDX-License-Identifier: Apache-2.0 */
/* test_link_servers.c - an agent that knows several schedulers: which one it asks, and when */
#include <stdint.h>
#include <string.h>

#include "agent/core/link_sm.h"
#include "agent/core/server_round.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "tests/unit/link_fixture.h"
#include "tests/unit/test.h"

#define BITS(n) ((UINT32_C(1) << (n)) - 1)

static void settle_of(unsigned n)
{
    settle();
    link_sm_servers(&sm, BITS(n));
}

static void answer(const struct link_report_answer *said)
{
    link_sm_report_answered(&sm, sm.main_call, said, now, 0, &actions);
}

static void not_stored(void)
{
    answer(&(struct link_report_answer){
        .result = LINK_TAKEN, .lease_us = LEASE, .not_stored = true, .version = 1 });
}

/* Each once, at once; then a wait that grows. */
TEST(test_each_is_asked_once_in_a_round)
{
    settle_of(3);
    for (unsigned round = 0; round < 4; round++) {
        uint32_t asked = 0;

        for (unsigned i = 0; i < 3; i++) {
            asked |= UINT32_C(1) << sm.round.current;
            (void)main_timer(LINK_REPORT);
            report_not_taken(LINK_FAILED);
            assert_int_equal(action(LINK_NEXT)->server, sm.round.current);
            if (i < 2)
                assert_armed(LINK_ARM_MAIN, now, now);
            else
                assert_armed(LINK_ARM_MAIN, now + 1, now + LEASE / 16);
        }
        assert_int_equal(asked, BITS(3));
        assert_int_equal(sm.failures, round + 1);
        now = sm.main_at_us;
    }
}

TEST(test_orders_come_from_where_reports_go)
{
    settle_of(2);
    assert_true(sm.orders_call != 0);
    (void)main_timer(LINK_REPORT);
    report_not_taken(LINK_FAILED);
    assert_non_null(action(LINK_CANCEL_POLL));
    assert_armed(LINK_ARM_ORDERS, NEVER_US, NEVER_US);
    assert_int_equal(sm.orders_call, 0);
    now += 10 * USEC_PER_MSEC;
    (void)main_timer(LINK_REPORT);
    report_taken(99); /* numbers of its own */
    (void)assert_call(LINK_POLL_ORDERS);
}

TEST(test_the_one_that_leads_is_asked_first)
{
    settle_of(4);
    (void)main_timer(LINK_REPORT);
    link_sm_hint(&sm, 3);
    report_not_taken(LINK_ELSEWHERE);
    assert_int_equal(action(LINK_NEXT)->server, 3);
    assert_armed(LINK_ARM_MAIN, now, now);
    (void)main_timer(LINK_REPORT);
    link_sm_hint(&sm, 0); /* two that name each other make no tight circle */
    report_not_taken(LINK_ELSEWHERE);
    assert_int_equal(action(LINK_NEXT)->server, 1);
    link_sm_hint(&sm, 7); /* nobody knows that one */
    (void)main_timer(LINK_REPORT);
    report_not_taken(LINK_ELSEWHERE);
    assert_int_equal(action(LINK_NEXT)->server, 2);
    (void)main_timer(LINK_REPORT);
    link_sm_hint(&sm, 3);
    report_not_taken(LINK_ELSEWHERE); /* the next round begins there */
    assert_int_equal(action(LINK_NEXT)->server, 3);
    assert_true(sm.main_at_us > now);
}

/* With a scheduler that stands still, and another one that takes over some time later. */
TEST(test_the_next_leader_is_found_within_the_lease)
{
    static const uint64_t takes_over_us[] = { 0, 20 * USEC_PER_MSEC, USEC_PER_SEC,
                                              2 * USEC_PER_SEC };
    static const uint64_t lease_us = 5 * USEC_PER_SEC;

    for (size_t i = 0; i < ELEMENTS(takes_over_us); i++) {
        uint64_t lost_us;

        settle_of(2);
        (void)main_timer(LINK_REPORT);
        answer(&(struct link_report_answer){ .result = LINK_TAKEN, .lease_us = lease_us });
        lost_us = now;
        now = sm.main_at_us; /* it stands still from just behind that answer on */
        for (;;) {
            (void)main_timer(LINK_REPORT);
            if (sm.round.current == 0) {
                now += link_sm_timeout_us(&sm, now);
                report_not_taken(LINK_FAILED);
            } else if (now - lost_us < takes_over_us[i]) {
                report_not_taken(LINK_ELSEWHERE);
            } else {
                break;
            }
            now = sm.main_at_us;
        }
        if (now - lost_us >= lease_us * 2 / 3)
            fail_msg("%llu us", (unsigned long long)(now - lost_us));
    }
}

TEST(test_one_that_repeats_is_not_left)
{
    settle_of(2);
    (void)main_timer(LINK_REPORT);
    answer(&(struct link_report_answer){ .result = LINK_FAILED, .session = 5 });
    assert_null(action(LINK_NEXT));
    assert_int_equal(sm.session, 5);
    assert_int_equal(sm.round.current, 0);
}

TEST(test_a_refusal_counts_when_each_was_asked)
{
    settle_of(2);
    (void)main_timer(LINK_REPORT);
    report_not_taken(LINK_REFUSED);
    assert_null(action(LINK_DROP_CREDENTIAL));
    assert_true(sm.joined);
    (void)main_timer(LINK_REPORT);
    report_taken(1); /* that one knows us */
    assert_true(sm.joined);
    (void)main_timer(LINK_REPORT);
    report_not_taken(LINK_ELSEWHERE);
    assert_true(sm.joined);
    (void)main_timer(LINK_REPORT);
    report_not_taken(LINK_REFUSED);
    assert_non_null(action(LINK_DROP_CREDENTIAL));
    assert_false(sm.joined);
    now = sm.main_at_us;
    link_sm_join_answered(&sm, main_timer(LINK_JOIN), LINK_REFUSED, now, 0, &actions);
    assert_armed(LINK_ARM_MAIN, now, now);
}

TEST(test_a_poll_that_breaks_off_brings_the_report_forward)
{
    settle_of(2);
    assert_true(sm.main_at_us > now + 100 * USEC_PER_MSEC);
    orders(LINK_FAILED, 0);
    assert_armed(LINK_ARM_MAIN, now, now + 100 * USEC_PER_MSEC);
    settle();
    orders(LINK_FAILED, 0); /* of one alone a report says no more than the poll did */
    assert_null(action(LINK_ARM_MAIN));
}

/* One that was deposed and does not know it yet is a sign of life for seconds. */
TEST(test_who_stores_nothing_is_no_leader_for_long)
{
    uint64_t poll;

    settle_of(2);
    poll = sm.orders_call;
    (void)main_timer(LINK_REPORT);
    not_stored();
    assert_null(action(LINK_NEXT));
    now = sm.main_at_us;
    (void)main_timer(LINK_REPORT);
    not_stored();
    assert_int_equal(action(LINK_NEXT)->server, 1);
    assert_armed(LINK_ARM_MAIN, now, sm.home_at_us);
    assert_int_equal(sm.orders_call, poll);
    link_sm_main_timer(&sm, now, 0, &actions);
    (void)assert_call(LINK_REPORT);
    report_taken(5);
    assert_int_equal(sm.round.current, 1);
    assert_int_equal(action(LINK_CANCEL_POLL)->call, poll);
    (void)assert_call(LINK_POLL_ORDERS);
}

/* While the database is slow nothing is given up for that question. */
TEST(test_who_stores_nothing_is_gone_back_to)
{
    uint64_t poll, at_us;
    uint32_t asked = 0;

    settle_of(3);
    poll = sm.orders_call;
    (void)main_timer(LINK_REPORT);
    not_stored();
    for (int i = 0; i < 4; i++) {
        now = sm.main_at_us;
        (void)main_timer(LINK_REPORT);
        assert_int_equal(sm.round.current, 0);
        not_stored();
        assert_true(link_sm_awaits(&sm, poll));
        at_us = sm.home_at_us;
        (void)main_timer(LINK_REPORT);
        asked |= UINT32_C(1) << sm.round.current;
        report_not_taken(i % 2 == 0 ? LINK_ELSEWHERE : LINK_REFUSED);
        assert_int_equal(action(LINK_NEXT)->server, 0);
        assert_armed(LINK_ARM_MAIN, at_us, at_us);
        assert_int_equal(sm.failures, 0);
        assert_true(link_sm_awaits(&sm, poll));
    }
    assert_int_equal(asked, 6);
    orders(LINK_FAILED, 0);
    now = sm.main_at_us;
    (void)main_timer(LINK_REPORT);
    not_stored(); /* another one is asked now: it is not asked for orders */
    link_sm_orders_timer(&sm, now, &actions);
    assert_int_equal(sm.orders_call, 0);
    (void)main_timer(LINK_REPORT);
    report_not_taken(LINK_ELSEWHERE);
    (void)assert_call(LINK_POLL_ORDERS);
}

/* A scheduler that needs a second for each answer is not slower because another one answers. */
TEST(test_a_slow_one_is_reached_although_another_answers)
{
    unsigned tries = 0;

    settle_of(2);
    now += LEASE;
    for (;;) {
        uint64_t limit_us;

        link_sm_main_timer(&sm, now, 0, &actions);
        (void)assert_call(LINK_REPORT);
        limit_us = link_sm_timeout_us(&sm, now);
        if (sm.round.current == 0 && limit_us >= 8 * USEC_PER_SEC)
            break;
        now += sm.round.current == 0 ? limit_us : 0;
        report_not_taken(sm.round.current == 0 ? LINK_FAILED : LINK_ELSEWHERE);
        now = sm.main_at_us;
        assert_true(tries++ < 40);
    }
}

/* One scheduler: all is as it was before there could be several. */
TEST(test_one_alone_is_never_left)
{
    settle();
    for (int i = 0; i < 20; i++) {
        (void)main_timer(LINK_REPORT);
        report_not_taken(i % 3 == 0 ? LINK_ELSEWHERE : LINK_FAILED);
        assert_null(action(LINK_NEXT));
        assert_null(action(LINK_CANCEL_POLL));
        now = sm.main_at_us;
    }
    for (int i = 0; i < 5; i++) {
        (void)main_timer(LINK_REPORT);
        not_stored();
        assert_null(action(LINK_NEXT));
        now = sm.main_at_us;
    }
}

/* Lists change at any time, also without the one that is asked. */
TEST(test_rounds_of_any_lists)
{
    uint64_t random = 7;

    for (int i = 0; i < 2000; i++) {
        struct server_round round = { 0 };
        unsigned in_round = 0;

        for (int j = 0; j < 200; j++) {
            if (random_below(&random, 10) == 0)
                server_round_list(&round, (uint32_t)random_below(&random, 1 << 5));
            server_round_hint(&round, (unsigned)random_below(&random, 8));
            in_round++;
            if (server_round_next(&round, random_below(&random, 2) == 0)) {
                assert_true(server_round_several(&round) || round.tried != 0);
                assert_int_equal(round.tried >> round.current & 1, 0);
            } else {
                assert_int_equal(round.tried, 0);
                in_round = 0;
            }
            assert_true(in_round <= SERVER_ROUND_MAX);
            assert_true(round.current < SERVER_ROUND_MAX);
        }
    }
}
