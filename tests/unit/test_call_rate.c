/* SPDX-License-Identifier: Apache-2.0 */
/* test_call_rate.c - some calls at once, then one in a while, for each user by itself */
#include <stdint.h>

#include <stdio.h>

#include "scheduler/calls/call_rate.h"
#include "tests/unit/test.h"

TEST(test_some_at_once_then_one_in_a_while)
{
    struct call_rate rate = { .at_once = 3, .period_us = 10 };

    for (int i = 0; i < 3; i++)
        assert_int_equal(call_rate_take(&rate, "ann", 1000), 0);
    assert_int_equal(call_rate_take(&rate, "ann", 1000), 10);
    assert_int_equal(call_rate_take(&rate, "ann", 1004), 6); /* what was refused does not count */
    assert_int_equal(call_rate_take(&rate, "bob", 1004), 0); /* nor what somebody else did */
    assert_int_equal(call_rate_take(&rate, "ann", 1010), 0);
    assert_int_equal(call_rate_take(&rate, "ann", 1010), 10);
    for (int i = 0; i < 3; i++) /* never more at once, however long nobody called */
        assert_int_equal(call_rate_take(&rate, "ann", 5000), 0);
    assert_int_equal(call_rate_take(&rate, "ann", 5000), 10);
    call_rate_done(&rate);
}

TEST(test_who_has_not_called_takes_no_memory)
{
    struct call_rate rate = { .at_once = 3, .period_us = 10 };
    char user[20];

    for (uint64_t i = 0; i < 1000; i++) {
        (void)snprintf(user, sizeof user, "u%d", (int)i);
        assert_int_equal(call_rate_take(&rate, user, 100 * i), 0);
    }
    assert_in_range(HASH_COUNT(rate.users), 1, 32);
    call_rate_done(&rate);
}
