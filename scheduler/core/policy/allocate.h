/* SPDX-License-Identifier: Apache-2.0 */
/* allocate.h - who gets how much of a budget: everything decided afresh
 *
 * Pure and deterministic: ties are broken by the id, the order of the requests does not matter.
 * In this order: the needs of deadlines; the smallest configuration of every job, the shortest jobs
 * first when there is not enough for all; then segments of all jobs by the worth of a bundle of
 * them, until the budget is spent. The worth of the last bundle is the price. The segment that it
 * cuts is given in part where a smaller configuration helps by more than `cut_gain`, and the rest
 * is offered downwards.
 *
 * Tenants: each buys first from its own quota, at its own price, then all buy from the rest at the
 * common one. The unused part of a quota is lent, and a tenant loses the part that it holds above
 * its own quota when the owner comes back. Source: reference policy, section 6. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/speed/curve.h"
#include "scheduler/core/speed/length.h"

#define GOODPUT_NO_TENANT UINT32_MAX

enum goodput_weight_form {
    GOODPUT_WEIGHTS_RECURSION, /* the exact one */
    GOODPUT_WEIGHTS_RANK,      /* the closed form for powers */
};

struct goodput_options {
    enum goodput_weight_form weights;
    double rank_p;        /* the power of the closed form: 0.9 */
    double beta;          /* 1: completion time; down to 0.25: makespan; 0.8 loses nothing by it */
    double q;             /* of the utility: 1 */
    double horizon_s;     /* in which a change is paid back: 600 */
    double change_floor;  /* the least part of the value that a change leaves: 0.02 */
    double cut_gain;      /* the least gain of a part of a segment: 0.02 */
    double fairness_gain; /* 0: none; more of it costs more than it helps the last ones */
    struct goodput_levels levels;
    bool no_floors; /* smallest configurations are bought like all else */
};

extern const struct goodput_options goodput_defaults;
/* with an eye on the makespan: long jobs count for more, the last bundles of a job for less */
extern const struct goodput_options goodput_balanced;

struct goodput_request {
    uint64_t id;
    const struct goodput_curve *curve; /* borrowed; the first point is the job's minimum */
    double priority_weight;            /* > 0 */
    struct goodput_work work;
    double resize_s; /* the cost of a change for it */
    double rho;      /* 0: not known */
    int current;     /* point that it holds, or GOODPUT_NO_POINT */
    int required;    /* point that its deadline needs, or GOODPUT_NO_POINT */
    uint32_t tenant; /* in `tenants`, or GOODPUT_NO_TENANT */
};

struct goodput_tenant {
    double quota; /* bundles that are its own */
    double limit; /* bundles that it never holds more than; INFINITY: none */
    double price; /* result: the worth of its next bundle to it once its quota is spent, else 0 */
    double used;  /* result: bundles */
};

struct goodput_target {
    int point;       /* of its curve, or GOODPUT_NO_POINT: nothing */
    double a;        /* its weight, with everything that multiplies it */
    double worth;    /* of a bundle of its last segment */
    double borrowed; /* bundles that it holds at the common price although it has a quota */
};

struct goodput_outcome {
    double price; /* the worth of a bundle more; 0: there is room */
    double used;  /* bundles */
    bool short_of_floors;
};

struct goodput_weighing; /* policy/weights.h */

/* goodput_allocate - targets[i] is that of requests[i]. tenants may be NULL (none). O(n log n) and
 * about the segments that are bought. weighing: as goodput_weigh has it. */
struct goodput_outcome goodput_allocate(struct goodput_weighing *weighing,
                                        const struct goodput_options *options,
                                        const struct goodput_request *requests, size_t n,
                                        struct goodput_tenant *tenants, size_t n_tenants,
                                        double budget, struct goodput_target *ret_targets);

/* goodput_fill - the largest configuration after point `at` that costs at most `room` more and is
 * worth more than (1 + gain) times as much; `at` itself when there is none */
int goodput_fill(const struct goodput_curve *curve, const double values[], int at, double room,
                 double gain);
