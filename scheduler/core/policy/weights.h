/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h - what one unit of speed of each job is worth
 *
 * Jobs that are to finish with the least sum of weighted completion times. With the value function
 * V = sum of a_i x_i (x: work left) the optimal division is at each moment the one that maximises
 * sum of a_i s_i, and that maximum is the sum of the priority weights. So, from the longest job to
 * the shortest, with F(b) the most that the jobs before it make of a budget b:
 *     a_k = min over configurations c of (W_k + F(B) - F(B - c)) / s_k(c)
 * its own waiting plus what it displaces, per unit of speed. It depends on the order of the jobs
 * and on their curves, not on how much is left: it is constant between two events. Exact without
 * arrivals and costs of change; for s = k^p it is heSRPT's closed form.
 * Sources: Berg, Vesilo, Harchol-Balter, heSRPT (arXiv 1903.09346); SmartFill (arXiv 2509.01811);
 * reference policy, section 6. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/speed/curve.h"
#include "scheduler/core/speed/length.h"

struct goodput_weighed {
    uint64_t id;                       /* breaks ties: the lower one is longer */
    const struct goodput_curve *curve; /* borrowed */
    double priority_weight;            /* W > 0 */
    double remaining_s;                /* on one bundle */
    double a;                          /* result */
    double length_s;                   /* result: goodput_length */
    uint32_t rank;                     /* result: 1 is the longest */
};

/* The state of one weighing for the next: a weight depends on the longer jobs alone, so as far as
 * these are the same, so are the weights and the ladder. Private. */
struct goodput_weighing;

struct goodput_weighing *goodput_weighing_new(void);
/* goodput_weighing_free - accepts NULL; returns NULL */
struct goodput_weighing *goodput_weighing_free(struct goodput_weighing *weighing);

/* goodput_weigh - the recursion. Jobs keep their places. O(n log n) and about the segments that
 * count, of the jobs behind the last copy of the ladder before the first that has changed since the
 * last time; 1,000 jobs in about 1 ms. weighing: updated; it keeps the curves and up to 32 copies
 * of the ladder, each of which is as large as the budget has places; NULL: nothing is kept. The
 * results are the same to the last bit. */
void goodput_weigh(struct goodput_weighing *weighing, struct goodput_weighed *jobs, size_t n,
                   double budget);
/* goodput_weigh_by_rank - the closed form for s = k^p: a_i = (C_i^Q - C_(i-1)^Q)^(1/Q) with
 * Q = 1/(1-p) and C the sum of the priority weights up to rank i; with weights of 1 the longest job
 * has 1. Cheaper, and close when curves are alike. 0 <= p < 1. */
void goodput_weigh_by_rank(struct goodput_weighed *jobs, size_t n, double p);
/* goodput_rank_weight - one of them: C_before and W of the job itself */
double goodput_rank_weight(double sum_before, double priority_weight, double p);
