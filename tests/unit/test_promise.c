/* SPDX-License-Identifier: Apache-2.0 */
/* test_promise.c - a promise to be alive: what counts, and what does not */
#include <stdint.h>

#include "agent/core/promise.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define WITHIN (3 * USEC_PER_SEC)
#define START (100 * USEC_PER_SEC)

/* broken_after - of one that says nothing, looked at so late each time; 0: not within a minute */
static uint64_t broken_after(uint64_t late_us)
{
    struct promise promise = { 0 };
    uint64_t now = START;

    promise_make(&promise, WITHIN, now);
    while (now < START + 60 * USEC_PER_SEC) {
        now = promise_next_us(&promise) + late_us;
        if (promise_look(&promise, true, now))
            return now - START;
    }
    return 0;
}

TEST(test_silence_is_seen_in_time)
{
    assert_int_equal(broken_after(0), WITHIN);
    assert_int_equal(broken_after(100 * USEC_PER_MSEC), WITHIN + 3 * 100 * USEC_PER_MSEC);
    assert_int_equal(broken_after(2 * USEC_PER_SEC), 0); /* such an agent hears nobody either */
}

TEST(test_who_says_so_is_alive)
{
    struct promise promise = { 0 };
    uint64_t now = START;

    for (int i = 0; i < 100; i++) {
        promise_make(&promise, WITHIN, now);
        now += WITHIN - 1000;
        for (uint64_t at; (at = promise_next_us(&promise)) <= now;)
            assert_false(promise_look(&promise, true, at));
    }
}

TEST(test_a_promise_can_be_taken_back)
{
    struct promise promise = { 0 };

    assert_int_equal(promise_next_us(&promise), NEVER_US);
    promise_make(&promise, WITHIN, START);
    promise_make(&promise, 0, START + 1);
    assert_int_equal(promise_next_us(&promise), NEVER_US);
    assert_false(promise_look(&promise, true, START + 60 * USEC_PER_SEC));
}

/* It stood still for a minute, and has all of its time when it goes on. */
TEST(test_time_in_which_it_is_frozen_does_not_count)
{
    struct promise promise = { 0 };
    uint64_t now = START;

    promise_make(&promise, WITHIN, now);
    now += 2900 * USEC_PER_MSEC;
    while (promise_next_us(&promise) <= now)
        assert_false(promise_look(&promise, true, promise_next_us(&promise)));
    for (int i = 0; i < 60; i++) {
        now = promise_next_us(&promise);
        assert_false(promise_look(&promise, false, now));
    }
    while (!promise_look(&promise, true, promise_next_us(&promise)))
        ;
    assert_int_equal(promise_next_us(&promise), now + WITHIN + PROMISE_LOOK_US);
}

/* An agent was stopped, or its machine slept: words of that time wait to be read. */
TEST(test_time_in_which_nobody_listens_does_not_count)
{
    struct promise promise = { 0 };
    uint64_t now = START;

    promise_make(&promise, WITHIN, now);
    now += 3600 * USEC_PER_SEC;
    assert_false(promise_look(&promise, true, now)); /* one wait of it was spent */
    now = promise_next_us(&promise);
    assert_false(promise_look(&promise, true, now));
    now = promise_next_us(&promise) + 10 * USEC_PER_SEC; /* the last one, and late again */
    assert_false(promise_look(&promise, true, now));
    assert_int_equal(promise_next_us(&promise), now + PROMISE_LATE_US);
    assert_true(promise_look(&promise, true, promise_next_us(&promise)));
    assert_true(promise_look(&promise, true, promise_next_us(&promise))); /* and again */
}
