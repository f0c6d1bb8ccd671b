/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_curves.h - speed curves with known shapes, for the tests of the policy's arithmetic */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "scheduler/core/speed/curve.h"
#include "shared/macro.h"
#include "shared/random.h"

#define assert_near(value, expected, tolerance)                                                    \
    do {                                                                                           \
        double value_ = (value), expected_ = (expected);                                           \
                                                                                                   \
        if (!(fabs(value_ - expected_) <= (tolerance)))                                            \
            fail_msg("%s is %.12g, not %.12g", #value, value_, expected_);                         \
    } while (0)

static inline void add_point(struct goodput_curve *curve, double cost, double speed)
{
    curve->points[curve->n++] =
        (struct goodput_point){ .instances = (uint32_t)cost, .cost = cost, .speed = speed };
}

/* s(k) = k^p at 1..most, in so many steps that a curve can hold: all, or geometric ones */
static inline struct goodput_curve power_curve(double p, int most)
{
    struct goodput_curve curve = { .n = 0 };
    double last = 0;

    for (int i = 0; i < GOODPUT_POINTS_MAX; i++) {
        double k = most <= GOODPUT_POINTS_MAX
                       ? i + 1
                       : rint(pow(most, (double)i / (GOODPUT_POINTS_MAX - 1)));

        if (k > most)
            break;
        if (k > last)
            add_point(&curve, k, pow(k, p));
        last = fmax(k, last);
    }
    return curve;
}

/* Steps of random size, each of which adds some speed, less and less when `concave`. */
static inline struct goodput_curve random_curve(uint64_t *seed, int n, bool concave)
{
    struct goodput_curve curve = { .n = 0 };
    double speed = 1, slope = 1;

    add_point(&curve, 1, 1);
    for (int i = 1; i < n; i++) {
        slope = concave ? slope * (0.3 + 0.7 * random_unit(seed)) : random_unit(seed);
        speed += slope;
        add_point(&curve, i + 1, speed);
    }
    return curve;
}
