/* SPDX-License-Identifier: Apache-2.0 */
/* test_patience.c - time in which nobody could wait is not spent */
#include <stdint.h>

#include "shared/macro.h"
#include "shared/patience.h"
#include "tests/unit/test.h"

static uint64_t now = 1000 * USEC_PER_SEC;

/* pass - a wait of most_us at most that takes took_us; returns what was planned */
static uint64_t pass(struct patience *patience, uint64_t most_us, uint64_t took_us)
{
    uint64_t planned_us = patience_plan(patience, most_us, now);

    now += took_us;
    patience_spend(patience, now);
    return planned_us;
}

TEST(test_waits_spend_what_they_take)
{
    struct patience patience = patience_of(10 * USEC_PER_SEC);

    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(pass(&patience, USEC_PER_SEC, USEC_PER_SEC), USEC_PER_SEC);
        assert_false(patience_is_over(&patience));
    }
    (void)pass(&patience, USEC_PER_SEC, USEC_PER_SEC / 2); /* there was news */
    assert_int_equal(pass(&patience, USEC_PER_SEC, USEC_PER_SEC / 2), USEC_PER_SEC / 2);
    assert_true(patience_is_over(&patience));
    assert_int_equal(pass(&patience, USEC_PER_SEC, 0), 0);
}

/* A machine that is busy is no process that was stopped. */
TEST(test_late_waits_count_whole)
{
    struct patience patience = patience_of(10 * USEC_PER_SEC);

    (void)pass(&patience, USEC_PER_SEC, 3 * USEC_PER_SEC);
    assert_int_equal(patience.left_us, 7 * USEC_PER_SEC);
}

TEST(test_time_that_was_stood_still_is_not_spent)
{
    struct patience patience = patience_of(10 * USEC_PER_SEC);

    (void)pass(&patience, USEC_PER_SEC, 3 * USEC_PER_SEC + 1);
    assert_int_equal(patience.left_us, 9 * USEC_PER_SEC);
    (void)pass(&patience, USEC_PER_SEC, 900 * USEC_PER_SEC);
    assert_int_equal(patience.left_us, 8 * USEC_PER_SEC);
    (void)pass(&patience, 0, 900 * USEC_PER_SEC); /* of no time at all */
    assert_int_equal(patience.left_us, 8 * USEC_PER_SEC);
}

TEST(test_clocks_and_bounds)
{
    struct patience patience = patience_of(UINT64_MAX);

    assert_int_equal(pass(&patience, UINT64_MAX, 5), UINT64_MAX);
    assert_int_equal(patience.left_us, UINT64_MAX - 5);
    patience = patience_of(USEC_PER_SEC);
    (void)patience_plan(&patience, USEC_PER_SEC, now);
    patience_spend(&patience, now - 1); /* another clock, by mistake */
    assert_int_equal(patience.left_us, USEC_PER_SEC);
}
