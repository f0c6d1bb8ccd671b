/* SPDX-License-Identifier: Apache-2.0 */
/* curve.c - speed curves, the part of them that a change of size leaves, and their envelope
 *
 * The share that a change leaves is applied before the envelope is taken. The configuration that is
 * held keeps its full value, all others lose a little: so the envelope has a corner there, and the
 * price must move by more than the change costs before anything moves. */
#include "scheduler/core/speed/curve.h"

#include <errno.h>
#include <math.h>

#include "shared/macro.h"

int goodput_curve_check(const struct goodput_curve *curve)
{
    double last = 0;

    if (curve->n < 1 || curve->n > GOODPUT_POINTS_MAX)
        return -EINVAL;
    for (int i = 0; i < curve->n; i++) {
        const struct goodput_point *point = &curve->points[i];

        if (!(point->cost > last) || !isfinite(point->cost) || !(point->speed > 0) ||
            !isfinite(point->speed))
            return -EINVAL;
        last = point->cost;
    }
    return 0;
}

int goodput_curve_best(const struct goodput_curve *curve)
{
    int best = 0;

    for (int i = 1; i < curve->n; i++)
        if (curve->points[i].speed > curve->points[best].speed)
            best = i;
    return best;
}

int goodput_curve_at(const struct goodput_curve *curve, uint32_t instances)
{
    for (int i = 0; i < curve->n; i++)
        if (curve->points[i].instances == instances)
            return i;
    return GOODPUT_NO_POINT;
}

int goodput_curve_within(const struct goodput_curve *curve, double cost)
{
    int found = GOODPUT_NO_POINT;

    for (int i = 0; i < curve->n && curve->points[i].cost <= cost; i++)
        found = i;
    return found;
}

double goodput_kept_share(const struct goodput_change *change, double speed)
{
    double left_s = change->remaining_s / speed;
    double paid_back_s = MIN_OF(change->horizon_s, left_s);

    if (!(paid_back_s > change->resize_s))
        return change->floor;
    if (!isfinite(paid_back_s))
        return 1;
    return fmax((paid_back_s - change->resize_s) / paid_back_s, change->floor);
}

double goodput_utility(double speed, double q)
{
    return q >= 1 ? speed : (pow(speed, q) - 1) / q + 2;
}

void goodput_curve_values(const struct goodput_curve *curve, double q,
                          const struct goodput_change *change,
                          double ret_values[GOODPUT_POINTS_MAX])
{
    for (int i = 0; i < curve->n; i++) {
        double speed = curve->points[i].speed;
        double value = goodput_utility(speed, q);

        if (change != NULL && change->current != GOODPUT_NO_POINT && change->current != i)
            value *= goodput_kept_share(change, speed);
        ret_values[i] = value;
    }
}

/* The slope falls at the end of `before`; a rounding error is no corner. */
static int is_corner(const struct goodput_segment *before, const struct goodput_segment *after)
{
    return before->value * after->cost > after->value * before->cost * (1 + 1e-12);
}

void goodput_hull_of(const struct goodput_curve *curve, const double values[], int base,
                     struct goodput_hull *ret_hull)
{
    struct goodput_segment *segments = ret_hull->segments;
    double base_cost = base < 0 ? 0 : curve->points[base].cost;
    double base_value = base < 0 ? 0 : values[base];
    int n = 0;

    for (int i = base + 1; i < curve->n; i++) {
        double from_cost = n > 0 ? curve->points[segments[n - 1].point].cost : base_cost;
        double from_value = n > 0 ? values[segments[n - 1].point] : base_value;
        struct goodput_segment next = { .cost = curve->points[i].cost - from_cost,
                                        .value = values[i] - from_value,
                                        .point = i };

        if (next.value <= 0)
            continue;
        while (n > 0 && !is_corner(&segments[n - 1], &next)) {
            next.cost += segments[n - 1].cost;
            next.value += segments[n - 1].value;
            n--;
        }
        segments[n++] = next;
    }
    ret_hull->n = n;
}
