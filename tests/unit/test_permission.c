/* SPDX-License-Identifier: Apache-2.0 */
/* test_permission.c - a leader's right to tell leases ends before the next leader judges */
#include "scheduler/core/base/permission.h"
#include "tests/unit/test.h"

#define LEASE_US (5 * USEC_PER_SEC)
#define MARGIN_US (LEASE_US / 4)

TEST(test_nobody_begins_with_a_permission)
{
    struct permission permission = { 0 };

    assert_false(permission_holds(&permission, 0));
    assert_false(permission_holds(&permission, 1));
}

TEST(test_it_counts_from_when_the_stored_turn_was_sent)
{
    struct permission permission = { 0 };
    uint64_t sent_us = 100 * USEC_PER_SEC;

    permission_stored(&permission, sent_us);
    assert_true(permission_holds(&permission, sent_us));
    assert_true(permission_holds(&permission, sent_us + PERMISSION_US - 1));
    assert_false(permission_holds(&permission, sent_us + PERMISSION_US));
}

/* One that was sent earlier may be known to be stored later. */
TEST(test_the_turn_that_was_sent_last_counts)
{
    struct permission permission = { 0 };

    permission_stored(&permission, 7 * USEC_PER_SEC);
    permission_stored(&permission, 2 * USEC_PER_SEC);
    assert_true(permission_holds(&permission, 7 * USEC_PER_SEC + PERMISSION_US - 1));
    permission_stored(&permission, 9 * USEC_PER_SEC);
    assert_false(permission_holds(&permission, 9 * USEC_PER_SEC + PERMISSION_US));
}

TEST(test_a_wait_bears_clocks_that_differ_by_a_fiftieth)
{
    assert_int_equal(permission_wait_us(0, 50 * USEC_PER_SEC, 1), 51 * USEC_PER_SEC + 1);
    assert_int_equal(permission_wait_us(8 * USEC_PER_SEC, 42 * USEC_PER_SEC, 0), 51 * USEC_PER_SEC);
}

TEST(test_the_first_lease_outlasts_what_the_leader_before_may_tell)
{
    assert_int_equal(permission_first_lease_us(LEASE_US, MARGIN_US), 15 * USEC_PER_SEC);
    assert_int_equal(permission_first_lease_us(0, 0), FIRST_LEASE_LEAST_US);
    assert_true(permission_wait_us(PERMISSION_US, LEASE_US, MARGIN_US) < FIRST_LEASE_LEAST_US);
    assert_int_equal(permission_first_lease_us(42 * USEC_PER_SEC, 10 * USEC_PER_SEC),
                     61 * USEC_PER_SEC);
}
