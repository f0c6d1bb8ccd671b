/* SPDX-License-Identifier: Apache-2.0 */
/* test_link_away.c - what an agent does while its scheduler is away: by its word, and when programs
 * stand still */
#include <stdint.h>

#include "agent/core/link_sm.h"
#include "shared/macro.h"
#include "tests/unit/link_fixture.h"
#include "tests/unit/test.h"

/* renew - as the agent does; the instant until when the lease goes then, 0: it does not go on */
static uint64_t renew(void)
{
    uint64_t sent_us;

    if (!link_sm_renew_away(&sm, now, &sent_us))
        return 0;
    assert_true(sent_us <= now);
    link_sm_renewed(&sm, sent_us, sm.lease_us, now);
    return sm.lease_end_us;
}

/* away - the scheduler leaves for a minute, counted from when it was asked */
static uint64_t away(void)
{
    settle();
    now += USEC_PER_SEC;
    link_sm_away(&sm, 60 * USEC_PER_SEC, now);
    return sm.asked_us + 60 * USEC_PER_SEC;
}

TEST(test_the_lease_goes_on_while_the_scheduler_is_away)
{
    uint64_t until_us = away();

    assert_int_equal(renew(), now + LEASE); /* never further than one lease */
    (void)main_timer(LINK_REPORT);
    while (now < until_us - LEASE) {
        now += LEASE / 8;
        assert_int_equal(renew(), MIN_OF(now + LEASE, until_us));
        report_not_taken(LINK_FAILED); /* tries stay close */
        assert_true(sm.main_at_us <= now + LEASE / 16);
        (void)main_timer(LINK_REPORT);
    }
    now += LEASE / 8;
    assert_int_equal(renew(), 0);
    assert_int_equal(sm.lease_end_us, until_us);
    assert_false(sm.lapsed);
    now = until_us;
    link_sm_away(&sm, 60 * USEC_PER_SEC, now); /* too late */
    assert_int_equal(renew(), 0);
}

/* It repeats the session only once it goes by that scheduler's leases again. */
TEST(test_a_report_ends_what_was_told)
{
    struct link_report_answer taken = { .result = LINK_TAKEN, .lease_us = LEASE, .session = 77 };

    (void)away();
    now += USEC_PER_SEC;
    (void)main_timer(LINK_REPORT);
    link_sm_report_answered(&sm, sm.main_call, &taken, now, 0, &actions);
    assert_int_equal(sm.session, 77);
    assert_int_equal(renew(), 0);
    settle();
    (void)main_timer(LINK_REPORT); /* under way when the scheduler leaves */
    now += USEC_PER_SEC;
    link_sm_away(&sm, 60 * USEC_PER_SEC, now);
    link_sm_report_answered(&sm, sm.main_call, &taken, now, 0, &actions);
    assert_int_equal(sm.session, 0);
    assert_int_equal(renew(), now + LEASE);
    report_not_taken(LINK_REFUSED);
}

TEST(test_without_a_lease_nothing_goes_on)
{
    settle();
    now += LEASE;
    link_sm_away(&sm, 60 * USEC_PER_SEC, now);
    assert_int_equal(renew(), 0);
    (void)away();
    now += LEASE; /* it stood still itself: the programs are fenced */
    assert_int_equal(renew(), 0);
    now -= 1;
    assert_int_equal(renew(), 0); /* for good */
    settle();
    link_sm_away(&sm, UINT64_MAX, now);
    assert_int_equal(sm.away_until_us, sm.asked_us + LINK_AWAY_MOST_US);
}

/* What programs that stand still wait for: the end of a call, and the next try. */
TEST(test_tries_are_close_while_programs_stand_still)
{
    unsigned patient = 0;

    settle();
    now += LEASE; /* nobody answered */
    for (unsigned i = 0; i < 6; i++) {
        (void)main_timer(LINK_REPORT);
        report_not_taken(LINK_FAILED);
    }
    assert_armed(LINK_ARM_MAIN, now + 500 * USEC_PER_MSEC, now + 2 * USEC_PER_SEC);
    link_sm_eager(&sm, true, now, 0, &actions);
    assert_armed(LINK_ARM_MAIN, now + 250 * USEC_PER_MSEC, now + 250 * USEC_PER_MSEC);
    for (unsigned i = 0; i < 64; i++) {
        uint64_t limit_us;

        (void)main_timer(LINK_REPORT);
        limit_us = link_sm_timeout_us(&sm, now);
        patient += limit_us == LINK_CALL_TIMEOUT_US;
        assert_true(limit_us == USEC_PER_SEC || limit_us == LINK_CALL_TIMEOUT_US);
        now += limit_us;
        link_sm_report_answered(&sm, sm.main_call,
                                &(struct link_report_answer){ .result = LINK_FAILED }, now,
                                i * 1023, &actions);
        assert_armed(LINK_ARM_MAIN, now + 250 * USEC_PER_MSEC, now + 500 * USEC_PER_MSEC);
    }
    assert_int_equal(patient, 4);
    link_sm_eager(&sm, false, now, 0, &actions);
    assert_int_equal(actions.n, 0);
    assert_int_equal(link_sm_timeout_us(&sm, now), LINK_CALL_TIMEOUT_US);
}

/* A new connection over a link of 2 s there and back needs three rounds, later reports one: both
 * are let be, whatever numbers the polls took meanwhile. */
TEST(test_a_slow_link_is_heard_while_programs_stand_still)
{
    unsigned tries = 0;

    settle();
    now += LEASE;
    link_sm_eager(&sm, true, now, 0, &actions);
    for (; tries < 64; tries++) {
        (void)main_timer(LINK_REPORT);
        sm.calls++; /* a poll in between */
        if (link_sm_timeout_us(&sm, now) > 6 * USEC_PER_SEC)
            break;
        now += link_sm_timeout_us(&sm, now);
        report_not_taken(LINK_FAILED);
    }
    assert_true(tries < 16);
    now += 6 * USEC_PER_SEC;
    report_taken(1);
    (void)main_timer(LINK_REPORT);
    now += 2 * USEC_PER_SEC;
    report_taken(1);
    (void)main_timer(LINK_REPORT);
    assert_int_equal(link_sm_timeout_us(&sm, now), 4 * USEC_PER_SEC);
}

/* A node that was removed joins anew, over such a link as well. */
TEST(test_a_slow_link_joins_while_programs_stand_still)
{
    unsigned patient = 0;

    settle();
    link_sm_eager(&sm, true, now, 0, &actions);
    (void)main_timer(LINK_REPORT);
    report_not_taken(LINK_REFUSED);
    for (unsigned i = 0; i < 64; i++) {
        (void)main_timer(LINK_JOIN);
        patient += link_sm_timeout_us(&sm, now) == LINK_CALL_TIMEOUT_US;
        now += link_sm_timeout_us(&sm, now);
        link_sm_join_answered(&sm, sm.main_call, LINK_FAILED, now, 0, &actions);
    }
    assert_int_equal(patient, 4);
}

/* A connection to a machine that was off takes until its time is over, unless it is given up. */
TEST(test_a_long_try_is_given_up_when_programs_stand_still)
{
    uint64_t call;

    settle();
    now += LEASE;
    call = main_timer(LINK_REPORT);
    now += USEC_PER_SEC - 1;
    link_sm_eager(&sm, true, now, 0, &actions);
    assert_null(action(LINK_CANCEL_MAIN)); /* not yet */
    assert_armed(LINK_ARM_MAIN, now + 1, now + 1);
    link_sm_eager(&sm, false, now, 0, &actions);
    now++;
    link_sm_eager(&sm, true, now, 0, &actions);
    assert_int_equal(action(LINK_CANCEL_MAIN)->call, call);
    assert_false(link_sm_awaits(&sm, call));
    assert_armed(LINK_ARM_MAIN, now + 250 * USEC_PER_MSEC, now + 500 * USEC_PER_MSEC);
    (void)main_timer(LINK_REPORT);
    report_taken(1);
    assert_armed(LINK_ARM_MAIN, now + HEARTBEAT, now + HEARTBEAT);
}

/* One that is younger is given up when it is a second old, if it is still under way then. */
TEST(test_a_young_try_is_given_up_in_time)
{
    uint64_t call;

    settle();
    now += LEASE;
    call = main_timer(LINK_REPORT);
    now += 100 * USEC_PER_MSEC;
    link_sm_eager(&sm, true, now, 0, &actions);
    assert_null(action(LINK_CANCEL_MAIN));
    assert_armed(LINK_ARM_MAIN, now + 900 * USEC_PER_MSEC, now + 900 * USEC_PER_MSEC);
    now += 900 * USEC_PER_MSEC;
    link_sm_main_timer(&sm, now, 0, &actions);
    assert_int_equal(action(LINK_CANCEL_MAIN)->call, call);
    assert_false(link_sm_awaits(&sm, call));
    assert_armed(LINK_ARM_MAIN, now + 250 * USEC_PER_MSEC, now + 500 * USEC_PER_MSEC);
}

TEST(test_a_young_try_goes_on_when_programs_go_on)
{
    uint64_t call;

    settle();
    now += LEASE;
    call = main_timer(LINK_REPORT);
    link_sm_eager(&sm, true, now, 0, &actions);
    link_sm_eager(&sm, false, now, 0, &actions);
    now += USEC_PER_SEC;
    link_sm_main_timer(&sm, now, 0, &actions);
    assert_int_equal(actions.n, 0);
    assert_true(link_sm_awaits(&sm, call));
}
