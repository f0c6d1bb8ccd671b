/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_curve.c - envelopes, the rest after a change of size, utilities */
#include <stdbool.h>

#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

static void speeds_of(const struct goodput_curve *curve, double *ret)
{
    for (int i = 0; i < curve->n; i++)
        ret[i] = curve->points[i].speed;
}

TEST(test_curve_check_names_what_is_no_curve)
{
    struct goodput_curve curve = power_curve(0.5, 4);

    assert_int_equal(goodput_curve_check(&curve), 0);
    curve.points[2].cost = curve.points[1].cost;
    assert_true(goodput_curve_check(&curve) < 0);
    curve = power_curve(0.5, 4);
    curve.points[3].speed = NAN;
    assert_true(goodput_curve_check(&curve) < 0);
    curve.n = 0;
    assert_true(goodput_curve_check(&curve) < 0);
}

TEST(test_hull_passes_by_what_lies_under_it)
{
    struct goodput_curve curve = { .n = 0 };
    double values[GOODPUT_POINTS_MAX];
    struct goodput_hull hull;

    add_point(&curve, 1, 1);
    add_point(&curve, 2, 1.2); /* under the line from 1 to 4 */
    add_point(&curve, 4, 2.5);
    add_point(&curve, 6, 3);
    add_point(&curve, 8, 3.5);  /* on a line with 4 and 6: one segment */
    add_point(&curve, 12, 3.4); /* slower than before */
    speeds_of(&curve, values);
    goodput_hull_of(&curve, values, GOODPUT_NO_POINT, &hull);
    assert_int_equal(hull.n, 3);
    assert_int_equal(hull.segments[0].point, 0);
    assert_int_equal(hull.segments[1].point, 2);
    assert_near(hull.segments[1].cost, 3, 0);
    assert_near(goodput_slope(&hull.segments[1]), 0.5, 1e-12);
    assert_int_equal(hull.segments[2].point, 4);
    assert_near(hull.segments[2].cost, 4, 0);
    goodput_hull_of(&curve, values, 2, &hull);
    assert_int_equal(hull.n, 1);
    assert_int_equal(hull.segments[0].point, 4);
}

/* The definition, tried out: no line between two points passes above the envelope, and every
 * corner is a point. */
TEST(test_hull_of_random_points_is_the_envelope)
{
    uint64_t seed = 7;

    for (int round = 0; round < 500; round++) {
        struct goodput_curve curve = random_curve(&seed, 2 + (int)random_below(&seed, 20), false);
        double values[GOODPUT_POINTS_MAX], cost = 0, value = 0;
        struct goodput_hull hull;

        for (int i = 0; i < curve.n; i++)
            values[i] = 3 * random_unit(&seed);
        goodput_hull_of(&curve, values, GOODPUT_NO_POINT, &hull);
        assert_true(hull.n > 0);
        for (int s = 0, i = 0; s < hull.n; s++) {
            const struct goodput_segment *segment = &hull.segments[s];

            assert_true(segment->value > 0);
            assert_true(s == 0 || goodput_slope(segment) < goodput_slope(segment - 1));
            for (; i <= segment->point; i++)
                assert_true(values[i] <=
                            value + goodput_slope(segment) * (curve.points[i].cost - cost) + 1e-9);
            cost += segment->cost;
            value += segment->value;
            assert_near(value, values[segment->point], 1e-9);
            assert_near(cost, curve.points[segment->point].cost, 1e-9);
        }
        for (int i = 0; i < curve.n; i++)
            assert_true(values[i] <= value + 1e-9);
    }
}

TEST(test_kept_share_is_what_is_paid_back)
{
    struct goodput_change change = {
        .current = 0, .remaining_s = INFINITY, .resize_s = 30, .horizon_s = 600, .floor = 0.02
    };

    assert_near(goodput_kept_share(&change, 2), 0.95, 1e-12);
    change.remaining_s = 200; /* 100 s at that speed: shorter than the horizon */
    assert_near(goodput_kept_share(&change, 2), 0.7, 1e-12);
    change.remaining_s = 40; /* over before it has begun */
    assert_near(goodput_kept_share(&change, 2), 0.02, 1e-12);
    change.horizon_s = INFINITY;
    change.remaining_s = INFINITY;
    assert_near(goodput_kept_share(&change, 2), 1, 0);
}

TEST(test_current_point_is_a_corner)
{
    struct goodput_curve curve = { .n = 0 };
    struct goodput_change change = {
        .remaining_s = INFINITY, .resize_s = 30, .horizon_s = 600, .floor = 0.02
    };
    double values[GOODPUT_POINTS_MAX];
    struct goodput_hull hull;
    double before, after;

    for (int k = 1; k <= 8; k++)
        add_point(&curve, k, k); /* linear: without a change there is no corner at all */
    change.current = 3;
    goodput_curve_values(&curve, 1, &change, values);
    assert_near(values[3], 4, 0);
    assert_near(values[4], 5 * 0.95, 1e-12);
    goodput_hull_of(&curve, values, GOODPUT_NO_POINT, &hull);
    assert_int_equal(hull.n, 2);
    assert_int_equal(hull.segments[0].point, 3);
    before = goodput_slope(&hull.segments[0]);
    after = goodput_slope(&hull.segments[1]);
    assert_near(before, 1, 1e-12);
    assert_near(after, (8 * 0.95 - 4) / 4, 1e-12);
    change.current = GOODPUT_NO_POINT; /* who starts loses nothing by it */
    goodput_curve_values(&curve, 1, &change, values);
    assert_near(values[7], 8, 0);
}

TEST(test_utility_bends_with_q)
{
    assert_near(goodput_utility(7, 1), 7, 0);
    assert_near(goodput_utility(1, 0.75), 2, 1e-12);
    assert_near(goodput_utility(16, 0.5), (4 - 1) / 0.5 + 2, 1e-12);
}

TEST(test_curve_look_ups)
{
    struct goodput_curve curve = { .n = 0 };

    add_point(&curve, 2, 1);
    add_point(&curve, 4, 2);
    add_point(&curve, 8, 2);
    assert_int_equal(goodput_curve_best(&curve), 1);
    assert_int_equal(goodput_curve_at(&curve, 8), 2);
    assert_int_equal(goodput_curve_at(&curve, 3), GOODPUT_NO_POINT);
    assert_int_equal(goodput_curve_within(&curve, 1), GOODPUT_NO_POINT);
    assert_int_equal(goodput_curve_within(&curve, 7.5), 1);
    assert_int_equal(goodput_curve_within(&curve, 8), 2);
}
