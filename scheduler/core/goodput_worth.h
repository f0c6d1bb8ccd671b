/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_worth.h - what each further instance of one job adds, as steps
 *
 * The slopes of the hull of goodput_curve.h, from the job's minimum up to the largest size that is
 * of use to it: they fall, so a policy that gives and takes one instance at a time needs to know
 * nothing else of the curve. Sizes beyond are "spare": they do not pay for the change, or nobody
 * knows that they would not; they are worth having while nobody else wants what they take. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/goodput_curve.h"

struct goodput_step {
    uint32_t upto; /* instances */
    float value;   /* that each of them adds; 0: spare */
};

struct goodput_worth {
    uint32_t required;          /* so many it has whatever it costs */
    uint32_t n, cap;            /* steps */
    struct goodput_step *steps; /* owned; values fall, upto rises */
};

/* goodput_worth_set - change: what another size than the one held costs; NULL: nothing. required:
 * point that is a must (its minimum, or what its deadline needs). measured: the largest size of
 * which it is known how fast it is: one that was measured and is slower is not even spare. */
void goodput_worth_set(struct goodput_worth *worth, const struct goodput_curve *curve,
                       const struct goodput_change *change, int required, uint32_t measured);
void goodput_worth_done(struct goodput_worth *worth);
/* goodput_worth_of - what the last of so many instances adds; INFINITY: it is a must; 0: it is
 * spare; below 0: it is of no use. O(log steps) */
double goodput_worth_of(const struct goodput_worth *worth, uint32_t instances);
