/* SPDX-License-Identifier: Apache-2.0 */
/* worth.h - what each further instance of one job adds, as steps
 *
 * The slopes of the hull of speed/curve.h, from the job's minimum up to the largest size that is
 * of use to it: they fall, so a policy that gives and takes one instance at a time needs to know
 * nothing else of the curve. Sizes beyond are "spare" if nobody knows them to be slower and a
 * change is cheap: they are worth a try while nobody else wants what they take. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/speed/curve.h"

/* A change that keeps a job from so much work is made without being paid back, while nobody else
 * wants the room. */
#define GOODPUT_CHEAP_S 10

struct goodput_step {
    uint32_t upto; /* instances */
    float value;   /* that each of them adds; 0: spare */
};

struct goodput_worth_size {
    uint32_t instances;
    float speed;
};

/* A job whose speeds and length somebody knows, and need not learn. */
struct goodput_known {
    struct goodput_curve curve;
    double remaining_s; /* on the first size of the curve */
    double done_s;      /* the same; below 0: nobody knows, or the rest is only a guess */
    double resize_s;
    int held;     /* point of the curve, or GOODPUT_NO_POINT */
    int required; /* the first of the curve; or the need of a deadline */
};

struct goodput_worth {
    uint32_t required;          /* so many it has whatever it costs */
    uint32_t harmless;          /* with more it is known to be slower; UINT32_MAX: not so */
    uint32_t n, cap;            /* steps */
    struct goodput_step *steps; /* owned; values fall, upto rises */
    uint32_t n_sizes, cap_sizes;
    struct goodput_worth_size *sizes; /* owned */
};

/* goodput_worth_set - q: of the utility (speed/curve.h); change: the cost of another size than the
 * present one; NULL: nothing. required: point that is a must (its minimum, or the need of its
 * deadline). measured: the largest size of which it is known how fast it is: one that was measured
 * and is slower is not even spare. */
void goodput_worth_set(struct goodput_worth *worth, const struct goodput_curve *curve, double q,
                       const struct goodput_change *change, int required, uint32_t measured);
/* goodput_worth_set_sizes - the sizes that goodput_worth_weight looks at; the curve must span all
 * sizes that a job may ever have and not depend on the present one, or its weight would go up and
 * down with that */
void goodput_worth_set_sizes(struct goodput_worth *worth, const struct goodput_curve *curve);
void goodput_worth_done(struct goodput_worth *worth);
/* goodput_worth_weight - what a unit of its speed is worth: its own waiting and that of those whom
 * it displaces, at its best size: min over sizes c of (W + F (1 - (1 - c part)^p)) / s(c) That is
 * the recursion of policy/weights.h, with the speed of longer jobs taken to be a power of their
 * budget. before: F, the sum of the weights of those that are longer; part: the part of one
 * instance in the cluster; p: that power. O(steps) */
double goodput_worth_weight(const struct goodput_worth *worth, double before,
                            double priority_weight, double part, double p);
/* goodput_worth_speed - the best with at most so many instances, which need not be a size; 0 of
 * none */
double goodput_worth_speed(const struct goodput_worth *worth, double instances);
/* goodput_worth_of - what the last of so many instances adds; INFINITY: it is a must; 0: it is
 * spare; below 0: it is of no use. O(log steps) */
double goodput_worth_of(const struct goodput_worth *worth, uint32_t instances);
