/* SPDX-License-Identifier: Apache-2.0 */
/* policy_goodput_division.h - how many instances each elastic job is to have, by what they bring
 *
 * The division of goodput_allocate.h in the terms of a policy: several resources instead of one
 * budget, bounds of each job, groups of users in their order, and jobs that must not shrink now.
 * Costs are compared by the dominant resource, room is counted in all of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/goodput_curve.h"
#include "scheduler/core/policy.h"

/* One elastic job in a decision. */
struct goodput_share {
    const struct policy_job *job; /* borrowed */
    struct goodput_curve curve;   /* instances; the cost is their number */
    double values[GOODPUT_POINTS_MAX];
    struct goodput_hull hull; /* above the base */
    double remaining_s;
    uint32_t measured; /* the largest size of which it is known how fast it is */
    double a;          /* weight */
    double dominant;   /* part of the cluster that one instance takes, of the scarcest resource */
    uint32_t base;     /* what it keeps in any case */
    int point;         /* of the curve, taken so far */
    int next;          /* segment */
    bool closed;       /* nothing more of it can be taken */
    uint32_t target;   /* result: instances */
    uint32_t plan;     /* for who carries it out */
};

/* goodput_share_init - curve and length of a job, as it was put; parallelism between min and max */
void goodput_share_init(struct goodput_share *share, const struct policy_job *job);

/* goodput_divide - targets of all. any_gang: room is made for a gang, so that jobs which are not
 * stable may shrink as well. ret_price: what the last instance sold brought for its part of the
 * cluster; 0: there was enough for all. O(n log n) and the segments that are sold. */
void goodput_divide(struct goodput_share **shares, size_t n, const struct policy_totals *totals,
                    bool any_gang, double *ret_price);

/* goodput_worth_at - what the last of so many instances brings, for its part of the cluster;
 * INFINITY at the minimum, 0 above what it could use */
double goodput_worth_at(const struct goodput_share *share, uint32_t instances);
