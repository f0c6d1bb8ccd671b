/* SPDX-License-Identifier: Apache-2.0 */
/* length.h - how much work is left in a job when nobody says so
 *
 * The best knowledge goes first: the job's own queue; then how much work others of its family took
 * (the median); then, while it has run for less, the guess of its user; and for the others its
 * level: its service so far, rounded up to a geometric series. A job of unknown length is taken to
 * have as much left as it got at most. Levels keep the order of jobs from changing all the time:
 * without them jobs overtake each other for ever (measured: 21 restarts a job; reference policy
 * 4.5). */
#pragma once

#include "scheduler/core/speed/curve.h"

struct goodput_work {
    double remaining_s;     /* seconds on one bundle, as the job knows it; below 0: it does not */
    double attained_s;      /* its service so far, in seconds on one bundle; >= 0 */
    double family_median_s; /* of the work of jobs like it that have ended; 0: there are none */
    double hint_s;          /* its user's, for the whole job; 0: none */
};

struct goodput_levels {
    double first_s; /* > 0; the reference has 600 to 3600 s */
    double ratio;   /* > 1; the reference has 4 at least */
};

/* those of the scheduler, and of the laboratory where it says nothing else */
#define GOODPUT_LEVELS                                                                             \
    (struct goodput_levels)                                                                        \
    {                                                                                              \
        .first_s = 3600, .ratio = 16                                                               \
    }

/* goodput_level - the first level above it */
double goodput_level(const struct goodput_levels *levels, double attained_s);
/* goodput_remaining - seconds on one bundle, > 0 unless the job itself says 0 */
double goodput_remaining(const struct goodput_levels *levels, const struct goodput_work *work);

/* Finish-time fairness: rho = the time of a job from its submission to its end, by the time that it
 * would take alone in its share of the cluster. Source: Themis (NSDI 2020); reference policy,
 * section 6.
 */
/* goodput_rho - 0 when isolated_s is not positive */
double goodput_rho(double elapsed_s, double remaining_in_share_s, double isolated_s);
/* goodput_fairness_boost - by which a weight is multiplied: 1 + gain * 10 * (rho - 0.9) from 0.9 on
 */
double goodput_fairness_boost(double rho, double gain);

/* goodput_length - by which jobs are ordered: sqrt(x1 * xmin), x1 what is left in the smallest
 * configuration and xmin in the best, in seconds; divided by the weight */
double goodput_length(const struct goodput_curve *curve, double remaining_s,
                      double priority_weight);
