/* SPDX-License-Identifier: Apache-2.0 */
/* curve.h - how fast a job is at each size, and which growth is worth how much
 *
 * Pure: double arithmetic, no allocation. A curve is the knowledge of one job: configurations in
 * ascending order of cost, each with the speed it gives; a hull is the upper concave envelope of
 * the values that those speeds are worth (Graham's scan), as segments of falling slope. A policy
 * buys segments, so a point under the hull is never bought but to fill a gap.
 *
 * Unit of cost: one bundle, the part of the cluster that the smallest useful instance takes (the
 * dominant resource of a configuration, where there are several). Unit of speed: that of one
 * bundle. Work is counted in seconds on one bundle. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GOODPUT_POINTS_MAX 32
#define GOODPUT_NO_POINT (-1)

struct goodput_point {
    uint32_t instances;
    double cost;  /* bundles, > 0, strictly ascending in a curve */
    double speed; /* > 0 */
};

/* A job is to be over in this part of the time that is left: its measurements vary. */
#define GOODPUT_IN_TIME 0.95

struct goodput_curve {
    struct goodput_point points[GOODPUT_POINTS_MAX];
    int n;
};

struct goodput_segment {
    double cost;  /* bundles that it takes */
    double value; /* its gain */
    int point;    /* of the curve, reached at its end */
};

struct goodput_hull {
    struct goodput_segment segments[GOODPUT_POINTS_MAX];
    int n;
};

/* The cost of a change of size (a kink at the current configuration: hysteresis). */
struct goodput_change {
    int current; /* point held now; GOODPUT_NO_POINT: none, then nothing is lost by a start */
    double remaining_s; /* work left, in seconds on one bundle; INFINITY: no end known */
    double resize_s;    /* of no progress */
    double horizon_s;   /* over which it is paid back at the latest */
    double floor;       /* least share of the value that is left of a change */
};

/* goodput_curve_check - 0; -EINVAL: costs do not ascend, or a speed or a cost is not positive and
 * finite, or there are no points or too many */
int goodput_curve_check(const struct goodput_curve *curve);
/* goodput_curve_best - the cheapest of the fastest points */
int goodput_curve_best(const struct goodput_curve *curve);
/* goodput_curve_at - the point with so many instances, or GOODPUT_NO_POINT */
int goodput_curve_at(const struct goodput_curve *curve, uint32_t instances);
/* goodput_curve_within - the last point whose cost is not above it, or GOODPUT_NO_POINT */
int goodput_curve_within(const struct goodput_curve *curve, double cost);

/* goodput_kept_share - the part that is left of the value of a configuration that is changed to: (h
 * - resize) / h with h = the shorter of the horizon and of the work left at that speed, but never
 * below the floor. Source: reference policy, section 6. */
double goodput_kept_share(const struct goodput_change *change, double speed);
/* goodput_utility - U_q: z for q = 1, else (z^q - 1) / q + 2 with 0 < q < 1. The smaller q, the
 * less the last bundles are worth; it balances completion time against makespan. */
double goodput_utility(double speed, double q);
/* goodput_curve_values - U_q of each speed, less what a change costs (change may be NULL) */
void goodput_curve_values(const struct goodput_curve *curve, double q,
                          const struct goodput_change *change,
                          double ret_values[GOODPUT_POINTS_MAX]);
/* goodput_hull_of - the envelope above point `base` (GOODPUT_NO_POINT: above nothing at no cost).
 * Segments have positive values and strictly falling slopes; three points on a line are one
 * segment. O(n). */
void goodput_hull_of(const struct goodput_curve *curve, const double values[], int base,
                     struct goodput_hull *ret_hull);

static inline double goodput_slope(const struct goodput_segment *segment)
{
    return segment->value / segment->cost;
}
