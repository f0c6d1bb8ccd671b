/* SPDX-License-Identifier: Apache-2.0 */
/* test_link_sm.c - what an agent calls and when: single steps, then storms with a pretended
 * scheduler */
#include <stdint.h>
#include <stdlib.h>

#include "agent/core/link_sm.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "tests/unit/link_fixture.h"
#include "tests/unit/test.h"

TEST(test_join_then_report_then_orders)
{
    init(false);
    assert_false(link_sm_all_told(&sm));
    link_sm_join_answered(&sm, main_timer(LINK_JOIN), LINK_TAKEN, now, 0, &actions);
    (void)assert_call(LINK_REPORT);
    report_taken(7);
    assert_true(link_sm_all_told(&sm));
    assert_armed(LINK_ARM_MAIN, now + HEARTBEAT, now + HEARTBEAT);
    (void)assert_call(LINK_POLL_ORDERS);
    assert_int_equal(action(LINK_POLL_ORDERS)->wait_s, 0);
    now += 50 * USEC_PER_MSEC;
    orders(LINK_TAKEN, 7);
    (void)assert_call(LINK_POLL_ORDERS);
    assert_int_equal(action(LINK_POLL_ORDERS)->after, 7);
    assert_int_equal(action(LINK_POLL_ORDERS)->wait_s, LINK_ORDERS_WAIT_S);
}

TEST(test_one_main_call_at_a_time)
{
    init(true);
    (void)main_timer(LINK_REPORT);
    link_sm_main_timer(&sm, now, 0, &actions);
    assert_int_equal(actions.n, 0);
}

TEST(test_change_is_reported_at_once)
{
    settle();
    link_sm_changed(&sm, now, &actions);
    assert_armed(LINK_ARM_MAIN, now, now);
    now += 10;
    link_sm_changed(&sm, now,
                    &actions); /* armed anew it would wait behind what happens meanwhile */
    assert_int_equal(actions.n, 0);
    (void)main_timer(LINK_REPORT);
    link_sm_changed(&sm, now, &actions); /* after this report was made */
    assert_int_equal(actions.n, 0);
    report_taken(1);
    assert_false(link_sm_all_told(&sm));
    assert_armed(LINK_ARM_MAIN, now, now);
    (void)main_timer(LINK_REPORT);
    report_taken(1);
    assert_true(link_sm_all_told(&sm));
}

static void report_fails(void)
{
    link_sm_report_answered(&sm, main_timer(LINK_REPORT),
                            &(struct link_report_answer){ .result = LINK_FAILED }, now, UINT32_MAX,
                            &actions);
}

/* Slow ones are waited for when there is nothing to lose. */
TEST(test_reports_are_given_up_before_the_lease)
{
    init(true);
    assert_int_equal(link_sm_timeout_us(&sm, now), LINK_CALL_TIMEOUT_US);
    settle();
    assert_int_equal(link_sm_timeout_us(&sm, now), LEASE / 7);
    assert_int_equal(link_sm_timeout_us(&sm, now + LEASE), LINK_CALL_TIMEOUT_US);
    report_fails();
    report_fails();
    assert_int_equal(link_sm_timeout_us(&sm, now), LEASE / 7);
    report_fails(); /* it seems to take that long */
    assert_int_equal(link_sm_timeout_us(&sm, now), LEASE / 7 * 2);
    for (int i = 0; i < 20; i++)
        report_fails();
    assert_int_equal(link_sm_timeout_us(&sm, now), LINK_CALL_TIMEOUT_US);
}

static void report_takes(uint64_t us)
{
    (void)main_timer(LINK_REPORT);
    now += us;
    report_taken(1);
}

/* A new connection over a link of 2 s there and back takes four rounds, a report over it one. A
 * single slow answer on a fast link is no slow link. */
TEST(test_a_slow_link_gets_the_time_of_a_connection)
{
    init(true);
    report_takes(LEASE / 10); /* the first one that an agent gets is believed */
    assert_int_equal(link_sm_timeout_us(&sm, now), LEASE / 10 * 2);
    report_takes(100 * USEC_PER_MSEC);
    assert_int_equal(link_sm_timeout_us(&sm, now), LEASE / 7);
    report_takes(LEASE / 10);
    assert_int_equal(link_sm_timeout_us(&sm, now), LEASE / 7);
    report_takes(LEASE / 4);
    assert_int_equal(link_sm_timeout_us(&sm, now), LEASE / 10 * 2);
    report_takes(LEASE / 4);
    assert_int_equal(link_sm_timeout_us(&sm, now), LEASE / 3);
}

/* Leases from the shortest to one of a day: what runs gets SIGTERM a third of it before its end. */
TEST(test_two_lost_reports_cost_no_lease)
{
    static const uint64_t leases_s[] = { 2, 3, 5, 10, 20, 60, 24 * 3600 };

    for (size_t i = 0; i < ELEMENTS(leases_s); i++) {
        const struct link_report_answer taken = { .result = LINK_TAKEN,
                                                  .lease_us = leases_s[i] * USEC_PER_SEC,
                                                  .next_us = UINT64_MAX };
        uint64_t sent_us;

        init(true);
        sent_us = now;
        link_sm_report_answered(&sm, main_timer(LINK_REPORT), &taken, now, 0, &actions);
        for (int lost = 0; lost < 2; lost++) {
            now = action(LINK_ARM_MAIN)->at_us;
            (void)main_timer(LINK_REPORT);
            now += link_sm_timeout_us(&sm, now);
            link_sm_report_answered(&sm, sm.main_call,
                                    &(struct link_report_answer){ .result = LINK_FAILED }, now,
                                    UINT32_MAX, &actions);
        }
        assert_true(action(LINK_ARM_MAIN)->at_us < sent_us + taken.lease_us * 2 / 3);
    }
}

/* Who has a lease to lose tries more often than who has none. */
TEST(test_tries_are_close_while_there_is_a_lease)
{
    settle();
    for (int i = 0; i < 12; i++)
        report_fails();
    assert_armed(LINK_ARM_MAIN, now, now + LEASE / 16);
    now += LEASE;
    report_fails();
    assert_armed(LINK_ARM_MAIN, now + LEASE / 16, now + 2 * USEC_PER_SEC);
}

/* The scheduler is away and said so: an agent that waited for long would come late to the next
 * one. */
TEST(test_tries_are_close_while_the_lease_goes_on)
{
    settle();
    for (int i = 0; i < 20; i++) {
        now += LEASE / 2;
        link_sm_renewed(&sm, now, LEASE, now);
        report_fails();
        assert_armed(LINK_ARM_MAIN, now, now + LEASE / 16);
    }
    (void)main_timer(LINK_REPORT);
    report_taken(1);
    assert_null(action(LINK_CANCEL_POLL)); /* it has not lapsed: what was ordered is still ours */
}

/* Renewed after its end: what was ordered before may have been given to others meanwhile. */
TEST(test_what_is_renewed_too_late_has_lapsed)
{
    settle();
    now += LEASE;
    link_sm_renewed(&sm, now, LEASE, now);
    (void)main_timer(LINK_REPORT);
    report_taken(1);
    assert_non_null(action(LINK_CANCEL_POLL));
    (void)main_timer(LINK_REPORT);
    report_taken(1);
    assert_null(action(LINK_CANCEL_POLL));
}

TEST(test_failures_back_off)
{
    static const uint64_t delays_ms[] = { 50, 100, 200, 400, 800, 1000, 1000 };

    init(true);
    for (size_t i = 0; i < ELEMENTS(delays_ms); i++) {
        (void)main_timer(LINK_REPORT);
        report_not_taken(LINK_FAILED);
        assert_int_equal(action(LINK_ARM_MAIN)->at_us, now + delays_ms[i] * USEC_PER_MSEC);
        link_sm_changed(&sm, now, &actions); /* does not cut the wait short */
        assert_int_equal(actions.n, 0);
    }
    assert_int_equal(link_backoff_us(0, USEC_PER_SEC, 1023), 99951);
    assert_int_equal(link_backoff_us(999, USEC_PER_SEC, 0), USEC_PER_SEC / 2);
}

/* The join token works, but the credential never does. */
TEST(test_joining_in_vain_backs_off)
{
    uint64_t at_us = 0;

    init(false);
    for (int i = 0; i < 20; i++) {
        link_sm_join_answered(&sm, main_timer(LINK_JOIN), LINK_TAKEN, now, 0, &actions);
        (void)assert_call(LINK_REPORT);
        report_not_taken(LINK_REFUSED);
        assert_non_null(action(LINK_DROP_CREDENTIAL));
        at_us = action(LINK_ARM_MAIN)->at_us;
    }
    assert_int_equal(at_us, now + USEC_PER_SEC);
    link_sm_join_answered(&sm, main_timer(LINK_JOIN), LINK_REFUSED, now, 0, &actions);
    assert_armed(LINK_ARM_MAIN, now + USEC_PER_SEC, now + USEC_PER_SEC);
    assert_false(sm.joined);
}

TEST(test_refused_drops_orders_and_poll)
{
    uint64_t poll;

    settle();
    poll = sm.orders_call;
    (void)main_timer(LINK_REPORT);
    report_not_taken(LINK_REFUSED);
    assert_non_null(action(LINK_DROP_CREDENTIAL));
    assert_int_equal(action(LINK_CANCEL_POLL)->call, poll);
    assert_false(link_sm_awaits(&sm, poll));
    link_sm_orders_timer(&sm, now, &actions);
    assert_int_equal(actions.n, 0);
    now += USEC_PER_SEC;
    link_sm_join_answered(&sm, main_timer(LINK_JOIN), LINK_TAKEN, now, 0, &actions);
    report_taken(1);
    (void)assert_call(LINK_POLL_ORDERS);
    assert_int_equal(action(LINK_POLL_ORDERS)->wait_s, 0); /* equal versions prove nothing now */
}

TEST(test_answers_of_given_up_calls_are_ignored)
{
    struct link_sm before;

    settle();
    (void)main_timer(LINK_REPORT);
    before = sm;
    link_sm_orders_answered(&sm, sm.orders_call - 1, LINK_TAKEN, 9, now, 0, &actions);
    assert_int_equal(actions.n, 0);
    link_sm_report_answered(&sm, sm.main_call - 1,
                            &(struct link_report_answer){ .result = LINK_REFUSED }, now, 0,
                            &actions);
    assert_int_equal(actions.n, 0);
    link_sm_join_answered(&sm, 0, LINK_TAKEN, now, 0, &actions);
    assert_int_equal(actions.n, 0);
    assert_memory_equal(&before, &sm, sizeof sm);
}

TEST(test_poll_that_brings_nothing_is_given_up)
{
    uint64_t poll;

    settle();
    poll = sm.orders_call;
    for (int i = 0; i < 2; i++) {
        now += HEARTBEAT;
        (void)main_timer(LINK_REPORT);
        report_taken(2);
        assert_null(action(LINK_CANCEL_POLL));
    }
    now += HEARTBEAT;
    (void)main_timer(LINK_REPORT);
    report_taken(2);
    assert_int_equal(action(LINK_CANCEL_POLL)->call, poll);
    assert_int_not_equal(assert_call(LINK_POLL_ORDERS), poll);
    assert_int_equal(action(LINK_POLL_ORDERS)->after, 1);
}

/* Ten reports in 100 ms overtake an answer with orders, and must not cut it off. */
TEST(test_quick_reports_do_not_end_a_poll)
{
    uint64_t poll;

    settle();
    poll = sm.orders_call;
    for (int i = 0; i < 10; i++) {
        now += 10 * USEC_PER_MSEC;
        (void)main_timer(LINK_REPORT);
        report_taken(2);
        assert_true(link_sm_awaits(&sm, poll));
    }
}

/* The lease ran out before this answer: what the poll in flight brings may be from before. */
TEST(test_gap_in_the_lease_asks_for_orders_anew)
{
    uint64_t poll;

    settle();
    poll = sm.orders_call;
    now = sm.lease_end_us;
    (void)main_timer(LINK_REPORT);
    report_taken(1);
    assert_int_equal(action(LINK_CANCEL_POLL)->call, poll);
    (void)assert_call(LINK_POLL_ORDERS);
    assert_int_equal(action(LINK_POLL_ORDERS)->wait_s, 0);
    assert_int_equal(sm.asked_us, now);
    now += USEC_PER_SEC;
    (void)main_timer(LINK_REPORT);
    report_taken(1);
    assert_null(action(LINK_CANCEL_POLL));
}

TEST(test_polls_are_spaced)
{
    uint64_t asked;

    settle();
    asked = now;
    now += 1 * USEC_PER_MSEC;
    orders(LINK_TAKEN, 2);
    assert_null(action(LINK_POLL_ORDERS));
    assert_armed(LINK_ARM_ORDERS, now, asked + 5 * USEC_PER_MSEC);
    (void)main_timer(LINK_REPORT);
    report_taken(3); /* no report makes it sooner */
    assert_null(action(LINK_POLL_ORDERS));
    now = asked + 5 * USEC_PER_MSEC;
    link_sm_orders_timer(&sm, now, &actions);
    (void)assert_call(LINK_POLL_ORDERS);
    orders(LINK_TAKEN, 2); /* a server that does not wait */
    assert_armed(LINK_ARM_ORDERS, now + 100 * USEC_PER_MSEC, now + 100 * USEC_PER_MSEC);
}

TEST(test_unreadable_orders_wait)
{
    settle();
    now += USEC_PER_SEC;
    orders(LINK_UNREADABLE, 2);
    assert_armed(LINK_ARM_ORDERS, now + 2 * USEC_PER_SEC, now + 2 * USEC_PER_SEC);
    (void)main_timer(LINK_REPORT);
    report_taken(2);
    assert_null(action(LINK_POLL_ORDERS));
    now += 2 * USEC_PER_SEC;
    link_sm_orders_timer(&sm, now, &actions);
    assert_int_equal(action(LINK_POLL_ORDERS)->after, 1);
}

TEST(test_failed_poll_is_tried_with_the_next_report)
{
    settle();
    now += USEC_PER_SEC;
    orders(LINK_FAILED, 0);
    assert_armed(LINK_ARM_ORDERS, now + 50 * USEC_PER_MSEC, now + 100 * USEC_PER_MSEC);
    (void)main_timer(LINK_REPORT);
    report_taken(1);
    (void)assert_call(LINK_POLL_ORDERS);
    assert_armed(LINK_ARM_ORDERS, NEVER_US, NEVER_US);
}

/* ---- a storm: calls are lost, late, refused; polls that were given up answer nevertheless ---- */

struct call {
    uint64_t number; /* 0: none */
    bool report;
    uint64_t at_us; /* its answer */
    enum link_result result;
    uint64_t version; /* as the scheduler had it, or what the poll knew */
    unsigned wait_s;
    uint64_t until_us;
};

struct storm {
    uint64_t random;
    bool calm;
    uint64_t version;
    struct call main, poll, ghost; /* ghost: a poll that was given up */
    uint64_t main_at, orders_at;
    uint64_t starts[8]; /* of calls, the last ones */
    size_t n_starts;
};

static enum link_result fate(struct storm *s, uint64_t *ret_delay)
{
    uint64_t dice = s->calm ? 99 : random_below(&s->random, 100);

    *ret_delay = USEC_PER_MSEC * (1 + random_below(&s->random, 20));
    if (dice < 15)
        *ret_delay = LINK_CALL_TIMEOUT_US;
    return dice < 30 ? LINK_FAILED : dice < 35 ? LINK_REFUSED : LINK_TAKEN;
}

/* Eight calls take some time, also when every answer comes at once. */
static void note_start(struct storm *s)
{
    uint64_t *oldest = &s->starts[s->n_starts++ % ELEMENTS(s->starts)];

    assert_true(*oldest == 0 || now - *oldest >= 5 * USEC_PER_MSEC);
    *oldest = now;
}

static void start_main(struct storm *s, const struct link_action *a)
{
    uint64_t delay;

    assert_int_equal(s->main.number, 0);
    note_start(s);
    s->main = (struct call){ .number = a->call, .report = a->kind == LINK_REPORT };
    s->main.result = fate(s, &delay);
    s->main.at_us = now + delay;
    s->main_at = NEVER_US; /* the timer fired */
}

static void start_poll(struct storm *s, const struct link_action *a)
{
    uint64_t delay;

    assert_int_equal(s->poll.number, 0);
    assert_true(sm.joined);
    note_start(s);
    s->poll = (struct call){ .number = a->call, .version = a->after, .wait_s = a->wait_s };
    s->poll.result = fate(s, &delay);
    s->poll.until_us = now + a->wait_s * USEC_PER_SEC;
    s->poll.at_us = now + delay;
}

static void do_actions(struct storm *s)
{
    for (size_t i = 0; i < actions.n; i++) {
        const struct link_action *a = &actions.list[i];

        if (a->kind == LINK_JOIN || a->kind == LINK_REPORT) {
            start_main(s, a);
        } else if (a->kind == LINK_POLL_ORDERS) {
            start_poll(s, a);
        } else if (a->kind == LINK_CANCEL_POLL) {
            assert_int_equal(a->call, s->poll.number);
            s->ghost = s->poll;
            s->poll.number = 0;
        } else if (a->kind == LINK_ARM_MAIN) {
            s->main_at = a->at_us;
        } else if (a->kind == LINK_ARM_ORDERS) {
            s->orders_at = a->at_us;
        }
    }
}

static void answer_main(struct storm *s)
{
    struct call call = s->main;

    s->main.number = 0;
    if (call.report)
        link_sm_report_answered(&sm, call.number,
                                &(struct link_report_answer){ .result = call.result,
                                                              .lease_us = LEASE,
                                                              .has_version = true,
                                                              .version = s->version },
                                now, (uint32_t)random_u64(&s->random), &actions);
    else
        link_sm_join_answered(&sm, call.number, call.result, now, (uint32_t)random_u64(&s->random),
                              &actions);
    do_actions(s);
}

static void answer_poll(struct storm *s)
{
    struct call call = s->poll;

    if (call.result == LINK_TAKEN && call.version == s->version && now < call.until_us) {
        s->poll.at_us = now + USEC_PER_MSEC; /* nothing new, it waits */
        return;
    }
    s->poll.number = 0;
    link_sm_orders_answered(&sm, call.number, call.result, s->version, now,
                            (uint32_t)random_u64(&s->random), &actions);
    do_actions(s);
}

static void step(struct storm *s)
{
    if (!s->calm && random_below(&s->random, 300) == 0)
        s->version += 1 + random_below(&s->random, 3);
    if (!s->calm && random_below(&s->random, 200) == 0) {
        link_sm_changed(&sm, now, &actions);
        do_actions(s);
    }
    if (s->ghost.number != 0 && now >= s->ghost.at_us) {
        link_sm_orders_answered(&sm, s->ghost.number, LINK_TAKEN, 0, now, 0, &actions);
        assert_int_equal(actions.n, 0);
        s->ghost.number = 0;
    }
    if (s->main.number != 0 && now >= s->main.at_us)
        answer_main(s);
    if (s->poll.number != 0 && now >= s->poll.at_us)
        answer_poll(s);
    if (now >= s->main_at) {
        s->main_at = NEVER_US;
        link_sm_main_timer(&sm, now, 0, &actions);
        do_actions(s);
    }
    if (now >= s->orders_at) {
        s->orders_at = NEVER_US;
        link_sm_orders_timer(&sm, now, &actions);
        do_actions(s);
    }
    assert_true(s->main.number != 0 || s->main_at != NEVER_US); /* never waits for nothing */
}

TEST(test_storms)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct storm s = { .random = seed, .version = 5, .orders_at = NEVER_US };

        init(random_below(&s.random, 2) == 0);
        do_actions(&s);
        for (int i = 0; i < 60000; i++, now += USEC_PER_MSEC)
            step(&s);
        s.calm = true;
        for (int i = 0; i < 20000; i++, now += USEC_PER_MSEC)
            step(&s);
        assert_true(sm.joined);
        assert_true(link_sm_all_told(&sm));
        assert_true(sm.have_orders);
        assert_int_equal(sm.version, s.version);
    }
}

/* What the scheduler wants repeated is repeated by the next report, and not for longer. */
TEST(test_session_of_an_answer_is_kept_for_the_next_report)
{
    init(true);
    (void)main_timer(LINK_REPORT);
    link_sm_report_answered(&sm, sm.main_call,
                            &(struct link_report_answer){ .result = LINK_FAILED, .session = 7 },
                            now, 0, &actions);
    assert_int_equal(sm.session, 7);
    assert_armed(LINK_ARM_MAIN, now, now + USEC_PER_SEC);
    now += USEC_PER_SEC;
    (void)main_timer(LINK_REPORT);
    report_taken(1);
    assert_int_equal(sm.session, 0);
}

/* The scheduler's disk is full: the lease is renewed, and what changed is told again with each
 * heartbeat, not faster. */
TEST(test_what_was_not_stored_is_told_again)
{
    const struct link_report_answer not_stored = { .result = LINK_TAKEN,
                                                   .lease_us = LEASE,
                                                   .not_stored = true };

    settle();
    link_sm_changed(&sm, now, &actions);
    for (int i = 0; i < 5; i++) {
        (void)main_timer(LINK_REPORT);
        link_sm_report_answered(&sm, sm.main_call, &not_stored, now, 0, &actions);
        assert_false(link_sm_all_told(&sm));
        assert_int_equal(sm.lease_end_us, now + LEASE);
        assert_armed(LINK_ARM_MAIN, now + HEARTBEAT, now + HEARTBEAT);
        now += HEARTBEAT;
    }
    (void)main_timer(LINK_REPORT);
    report_taken(1);
    assert_true(link_sm_all_told(&sm));
}

/* The scheduler may ask for fewer reports than the heartbeat, not for more; neither may be so few
 * that the lease is in danger. */
TEST(test_next_report_follows_the_scheduler)
{
    static const struct {
        uint64_t next_us, lease_us, after_us;
    } cases[] = {
        { 0, LEASE, HEARTBEAT },
        { HEARTBEAT / 2, LEASE, HEARTBEAT },
        { HEARTBEAT * 3 / 2, LEASE, HEARTBEAT * 3 / 2 },
        { LEASE / 4 + 1, LEASE, LEASE / 4 },
        { UINT64_MAX, LEASE, LEASE / 4 },
        { UINT64_MAX, 0, HEARTBEAT },
        { UINT64_MAX, HEARTBEAT, HEARTBEAT / 4 },
        { 0, 2 * HEARTBEAT, HEARTBEAT / 2 },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        init(true);
        (void)main_timer(LINK_REPORT);
        link_sm_report_answered(&sm, sm.main_call,
                                &(struct link_report_answer){ .result = LINK_TAKEN,
                                                              .lease_us = cases[i].lease_us,
                                                              .next_us = cases[i].next_us },
                                now, 0, &actions);
        assert_armed(LINK_ARM_MAIN, now + cases[i].after_us, now + cases[i].after_us);
    }
}
