/* SPDX-License-Identifier: Apache-2.0 */
/* length.c - how much work is left, and whether a job gets its share */
#include "scheduler/core/speed/length.h"

#include <math.h>

#include "scheduler/core/speed/curve.h"

#define FAIR_RHO 0.9

double goodput_level(const struct goodput_levels *levels, double attained_s)
{
    double level_s = levels->first_s;

    /* by steps, not by a logarithm: a job that sits exactly on a level is always above it */
    while (level_s <= attained_s && level_s < INFINITY)
        level_s *= levels->ratio;
    return level_s;
}

/* The rest of a length that others had. Close to it a job is not taken to be as good as over: half
 * of them are longer. */
static double left_of(const struct goodput_levels *levels, double whole_s, double attained_s)
{
    return fmax(whole_s - attained_s, whole_s / levels->ratio);
}

double goodput_remaining(const struct goodput_levels *levels, const struct goodput_work *work)
{
    if (work->remaining_s >= 0)
        return work->remaining_s;
    if (work->attained_s < work->family_median_s)
        return left_of(levels, work->family_median_s, work->attained_s);
    if (work->family_median_s <= 0 && work->attained_s < work->hint_s)
        return left_of(levels, work->hint_s, work->attained_s);
    return goodput_level(levels, work->attained_s);
}

double goodput_rho(double elapsed_s, double remaining_in_share_s, double isolated_s)
{
    return isolated_s > 0 ? (elapsed_s + remaining_in_share_s) / isolated_s : 0;
}

double goodput_fairness_boost(double rho, double gain)
{
    return rho > FAIR_RHO ? 1 + gain * 10 * (rho - FAIR_RHO) : 1;
}

double goodput_length(const struct goodput_curve *curve, double remaining_s, double priority_weight)
{
    double slowest = curve->points[0].speed;
    double fastest = curve->points[goodput_curve_best(curve)].speed;

    return remaining_s / (sqrt(slowest * fastest) * priority_weight);
}
