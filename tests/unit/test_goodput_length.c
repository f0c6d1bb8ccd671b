/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_length.c - lengths that nobody told, and fairness */
#include "scheduler/core/speed/length.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

static const struct goodput_levels levels = { .first_s = 600, .ratio = 4 };

TEST(test_level_is_the_first_above)
{
    assert_near(goodput_level(&levels, 0), 600, 0);
    assert_near(goodput_level(&levels, 599.9), 600, 0);
    assert_near(goodput_level(&levels, 600), 2400, 0);
    assert_near(goodput_level(&levels, 2400 * 4 - 1), 9600, 0);
    assert_true(isinf(goodput_level(&levels, INFINITY)));
}

TEST(test_remaining_takes_the_best_that_is_known)
{
    static const struct {
        struct goodput_work work;
        double expected_s;
    } cases[] = {
        { { .remaining_s = 7, .family_median_s = 1000, .hint_s = 9 }, 7 },
        { { .remaining_s = 0, .attained_s = 50 }, 0 },
        { { .remaining_s = -1, .attained_s = 100, .family_median_s = 1000, .hint_s = 9000 }, 900 },
        /* close to the median it is not as good as over, beyond it the level counts */
        { { .remaining_s = -1, .attained_s = 990, .family_median_s = 1000 }, 250 },
        { { .remaining_s = -1, .attained_s = 1000, .family_median_s = 1000, .hint_s = 9000 },
          2400 },
        { { .remaining_s = -1, .attained_s = 100, .hint_s = 9000 }, 8900 },
        { { .remaining_s = -1, .attained_s = 9700, .hint_s = 9000 }, 38400 },
        { { .remaining_s = -1, .attained_s = 100 }, 600 },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++)
        assert_near(goodput_remaining(&levels, &cases[i].work), cases[i].expected_s, 1e-9);
}

TEST(test_fairness_boost_begins_before_a_job_is_late)
{
    assert_near(goodput_rho(30, 90, 100), 1.2, 1e-12);
    assert_near(goodput_rho(30, 90, 0), 0, 0);
    assert_near(goodput_fairness_boost(0.9, 0.3), 1, 0);
    assert_near(goodput_fairness_boost(1.2, 0.3), 1.9, 1e-12);
    assert_near(goodput_fairness_boost(5, 0), 1, 0);
}
