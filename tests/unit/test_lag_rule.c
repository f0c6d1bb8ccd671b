/* SPDX-License-Identifier: Apache-2.0 */
/* test_lag_rule.c - which pushes of a slow trainer are dropped */
#include <stdint.h>

#include "shared/macro.h"
#include "tests/unit/test.h"
#include "trainer/server/lag_rule.h"

/* Four trainers and the usual ratio: 6. A ratio that is not above 1 is the usual one. */
TEST(test_threshold)
{
    static const struct {
        uint64_t trainers;
        double ratio;
        uint64_t threshold;
    } cases[] = { { 4, 1.5, 6 }, { 4, 1.0, 6 }, { 4, 0.5, 6 }, { 3, 1.5, 4 },
                  { 1, 1.5, 1 }, { 2, 2.9, 5 }, { 0, 1.5, 0 }, { 100, 1.2, 120 } };

    for (size_t i = 0; i < ELEMENTS(cases); i++)
        assert_int_equal(lag_threshold(cases[i].trainers, cases[i].ratio), cases[i].threshold);
}

/* Two trainers push in turns, at one rate: nothing is dropped. */
TEST(test_equal_trainers_lose_nothing)
{
    struct lag_record a = { 0 }, b = { 0 };
    uint64_t version = 0, threshold = lag_threshold(2, 1.5);

    for (int i = 0; i < 100; i++) {
        version += lag_take(&a, version, threshold);
        version += lag_take(&b, version, threshold);
    }
    assert_int_equal(version, 200);
    assert_int_equal(a.committed, 100);
    assert_int_equal(a.discarded + b.discarded, 0);
}

/* One that is three times slower, with threshold 3: each of its pushes but the first comes too
 * late. */
TEST(test_a_slow_trainer_is_dropped)
{
    struct lag_record fast = { 0 }, slow = { 0 };
    uint64_t version = 0, threshold = lag_threshold(2, 1.5);

    version += lag_take(&slow, version, threshold); /* nobody knows how late the first one is */
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 3; k++)
            version += lag_take(&fast, version, threshold);
        assert_false(lag_take(&slow, version, threshold));
    }
    assert_int_equal(slow.committed, 1);
    assert_int_equal(slow.discarded, 10);
    assert_int_equal(fast.discarded, 0);
    assert_int_equal(version, 31); /* a push that is dropped does not raise it */
    /* two pushes of the other are still in time */
    for (int k = 0; k < 2; k++)
        version += lag_take(&fast, version, threshold);
    assert_true(lag_take(&slow, version, threshold));
}

TEST(test_without_a_rule)
{
    struct lag_record record = { 0 };

    assert_true(lag_take(&record, 0, 0));
    assert_true(lag_take(&record, UINT64_MAX - 1, 0));
    assert_int_equal(record.committed, 2);
}
