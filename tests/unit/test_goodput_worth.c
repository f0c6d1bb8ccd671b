/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_worth.c - what each further instance of a job adds */
#include "scheduler/core/policy/worth.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

static struct goodput_curve curve_of_speeds(const double speeds[], int n)
{
    struct goodput_curve curve = { .n = n };

    for (int i = 0; i < n; i++)
        curve.points[i] = (struct goodput_point){ (uint32_t)i + 1, i + 1, speeds[i] };
    return curve;
}

TEST(test_worth_is_the_slope_of_the_hull)
{
    static const double speeds[] = { 1, 1.2, 2, 2.5, 2.6 };
    struct goodput_curve curve = curve_of_speeds(speeds, 5);
    struct goodput_worth worth = { 0 };

    goodput_worth_set(&worth, &curve, 1, NULL, 0, 5);
    assert_true(isinf(goodput_worth_of(&worth, 0)));
    assert_true(isinf(goodput_worth_of(&worth, 1)));
    assert_near(goodput_worth_of(&worth, 2), 0.5, 1e-6); /* 1.2 lies under the line from 1 to 2.5 */
    assert_near(goodput_worth_of(&worth, 3), 0.5, 1e-6);
    assert_near(goodput_worth_of(&worth, 4), 0.5, 1e-6);
    assert_near(goodput_worth_of(&worth, 5), 0.1, 1e-6);
    assert_true(goodput_worth_of(&worth, 6) < 0);
    goodput_worth_done(&worth);
}

TEST(test_what_a_deadline_needs_is_a_must)
{
    static const double speeds[] = { 1, 1.9, 2.6, 3 };
    struct goodput_curve curve = curve_of_speeds(speeds, 4);
    struct goodput_worth worth = { 0 };

    goodput_worth_set(&worth, &curve, 1, NULL, 2, 4);
    assert_true(isinf(goodput_worth_of(&worth, 3)));
    assert_near(goodput_worth_of(&worth, 4), 0.4, 1e-6);
    goodput_worth_done(&worth);
}

/* Three are held; to change costs a fifth of every other size. */
TEST(test_change_that_does_not_pay_is_not_made)
{
    static const double speeds[] = { 1, 1.9, 2.6, 3 };
    struct goodput_curve curve = curve_of_speeds(speeds, 4);
    struct goodput_change change = {
        .current = 2, .remaining_s = 1e9, .resize_s = 120, .horizon_s = 600, .floor = 0.02
    };
    struct goodput_worth worth = { 0 };

    goodput_worth_set(&worth, &curve, 1, &change, 0, 4);
    assert_true(goodput_worth_of(&worth, 3) > 0.7); /* dearer to lose than it was to gain */
    /* 0.8 * 3 is less than 2.6: nobody gives it up for that, but in the end it is paid back */
    assert_true(goodput_worth_of(&worth, 4) == 0);
    change.remaining_s = 500; /* it is over before */
    goodput_worth_set(&worth, &curve, 1, &change, 0, 4);
    assert_true(goodput_worth_of(&worth, 4) < 0);
    change.remaining_s = change.resize_s = 5; /* it is over soon, but a change costs little */
    goodput_worth_set(&worth, &curve, 1, &change, 0, 4);
    assert_true(goodput_worth_of(&worth, 4) == 0);
    assert_true(goodput_worth_of(&worth, 5) < 0);
    goodput_worth_done(&worth);
}

TEST(test_size_that_was_measured_to_be_slower_is_of_no_use)
{
    static const double speeds[] = { 1, 1.9, 1.5, 1.2 };
    struct goodput_curve curve = curve_of_speeds(speeds, 4);
    struct goodput_worth worth = { 0 };

    goodput_worth_set(&worth, &curve, 1, NULL, 0, 4);
    assert_true(goodput_worth_of(&worth, 3) < 0);
    goodput_worth_set(&worth, &curve, 1, NULL, 0, 2); /* not tried: it may be as fast */
    assert_true(goodput_worth_of(&worth, 3) == 0);
    assert_true(goodput_worth_of(&worth, 4) == 0);
    goodput_worth_done(&worth);
}

TEST(test_what_is_thought_to_be_slower_is_tried_a_little)
{
    static const double speeds[] = { 1, 1.9, 2.5, 2.4, 2.2, 2.0, 1.8, 1.7, 1.6, 1.5 };
    struct goodput_curve curve = curve_of_speeds(speeds, 10);
    struct goodput_change change = { .current = 3, .remaining_s = 1e9, .horizon_s = 600 };
    struct goodput_worth worth = { 0 };

    goodput_worth_set(&worth, &curve, 1, &change, 0, 4);
    assert_true(goodput_worth_of(&worth, 7) == 0);
    assert_true(goodput_worth_of(&worth, 8) < 0);
    assert_int_equal(worth.harmless, UINT32_MAX); /* four are nearly as fast as three */
    change.current = 6;
    goodput_worth_set(&worth, &curve, 1, &change, 0, 6); /* nobody is sure of seven */
    assert_int_equal(worth.harmless, UINT32_MAX);
    goodput_worth_set(&worth, &curve, 1, &change, 0, 7);
    assert_int_equal(worth.harmless, 4);
    goodput_worth_done(&worth);
}

/* As its own waiting and that of a longer one: (1 + 1 * c / 10) / s(c) for a power of 1 */
TEST(test_weight_is_that_of_the_best_size)
{
    static const double speeds[] = { 1, 1.9, 2.0 };
    struct goodput_curve curve = curve_of_speeds(speeds, 3);
    struct goodput_worth worth = { 0 };

    goodput_worth_set_sizes(&worth, &curve);
    assert_near(goodput_worth_weight(&worth, 0, 1, 0.1, 1), 1 / 2.0, 1e-6);
    assert_near(goodput_worth_weight(&worth, 1, 1, 0.1, 1), 1.2 / 1.9, 1e-6);
    assert_near(goodput_worth_weight(&worth, 10, 1, 0.1, 1), 3 / 1.9, 1e-6);
    assert_true(goodput_worth_weight(&worth, 100, 2, 0.1, 1) >
                goodput_worth_weight(&worth, 100, 1, 0.1, 1));
    goodput_worth_done(&worth);
}

TEST(test_speed_between_two_sizes)
{
    struct goodput_curve curve = { .n = 3, .points = { { 2, 2, 1 }, { 6, 6, 2 }, { 30, 30, 1 } } };
    struct goodput_worth worth = { 0 };

    goodput_worth_set_sizes(&worth, &curve);
    assert_near(goodput_worth_speed(&worth, 0.5), 0.25, 1e-6); /* a part of the time */
    assert_near(goodput_worth_speed(&worth, 2), 1, 1e-6);
    assert_near(goodput_worth_speed(&worth, 4), 1.5, 1e-6);
    assert_near(goodput_worth_speed(&worth, 60), 2, 1e-6);
    goodput_worth_done(&worth);
}

TEST(test_worth_falls_for_any_curve)
{
    uint64_t seed = 3;

    for (int round = 0; round < 500; round++) {
        struct goodput_curve curve = { 0 };
        struct goodput_worth worth = { 0 };
        struct goodput_change change = { .current = (int)random_below(&seed, 8),
                                         .remaining_s = 1000 * random_unit(&seed),
                                         .resize_s = 60 * random_unit(&seed),
                                         .horizon_s = 600,
                                         .floor = 0.02 };
        uint32_t instances = 0;

        for (curve.n = 0; curve.n < 8; curve.n++) {
            instances += 1 + (uint32_t)random_below(&seed, 5);
            curve.points[curve.n] =
                (struct goodput_point){ instances, instances, 0.1 + 5 * random_unit(&seed) };
        }
        goodput_worth_set(&worth, &curve, 1, &change, (int)random_below(&seed, 3),
                          (uint32_t)random_below(&seed, instances));
        for (uint32_t k = 1; k < instances + 2; k++)
            assert_true(goodput_worth_of(&worth, k) >= goodput_worth_of(&worth, k + 1));
        goodput_worth_done(&worth);
    }
}
