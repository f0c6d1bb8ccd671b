/* SPDX-License-Identifier: Apache-2.0 */
/* deadline_share.h - what a deadline needs, and whether one more can be promised
 *
 * Minimum satisfactory share: the smallest constant configuration with which a job ends in time,
 * in the room that those with earlier deadlines leave free; where less is free for a while it runs
 * with that. A set of jobs is feasible when, filled in the order of their deadlines, each has such
 * a share. Source: ElasticFlow (ASPLOS 2023), sections 4.1 and 4.2.
 *
 * Beyond that: a job that holds its smallest size keeps it, also from those with earlier deadlines,
 * until it is over with it alone, or at its deadline.
 *
 * It never promises what cannot be kept. For linear speed it refuses nothing that could be kept;
 * for curves that bend it may refuse a set that only shares which change over time would serve. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/speed/curve.h"

struct goodput_due {
    uint64_t id;                       /* of two with one deadline the lower one is first */
    const struct goodput_curve *curve; /* borrowed; speeds and costs do not fall */
    double remaining_s;                /* on one bundle */
    double deadline_s;                 /* from now on */
    bool holds;     /* it has its first size from now on until it is over, against all others */
    bool feasible;  /* result */
    int share;      /* result: the constant configuration; or GOODPUT_NO_POINT */
    int point_now;  /* result: the size that it is to hold at once, at most its share; or
                       GOODPUT_NO_POINT */
    double end_s;   /* result: from now on; of one that is not feasible: with all that is left */
    bool displaced; /* result of goodput_due_admits: only without the candidates is it feasible */
};

/* goodput_due_plan - shares of all; the number of those that cannot be kept (0: all can). Those
 * are left out and take nothing from the others. Allocates what it needs. O(n^2 x log points). */
size_t goodput_due_plan(struct goodput_due *jobs, size_t n, double budget);
/* goodput_due_admits - whether the candidates can be promised beside those that were (n of them):
 * all must still be feasible, those that were not before aside. Results of all are written. */
bool goodput_due_admits(struct goodput_due *promised, size_t n, struct goodput_due *candidates,
                        size_t n_candidates, double budget);
