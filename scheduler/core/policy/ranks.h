/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.h - the jobs from the longest to the shortest, and how much weight is before each
 *
 * Sums of weights lie on a geometric grid: a job that comes moves all that are shorter by one, and
 * only the few at a corner of the grid have another sum by it. Jobs of one length share one rank:
 * when nothing tells which of two is shorter both weigh the same (for lengths of which only the
 * mean is known equal shares are optimal: Berg, Dorsman, Harchol-Balter, SIGMETRICS 2018). The sums
 * depend on the jobs that are there, not on the order in which they came. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/base/tree.h"

struct goodput_tier; /* private: those of one length */

/* Embedded in a job; all zero: in no set. */
struct goodput_rank {
    struct goodput_rank *prev, *next; /* in its tier */
    struct goodput_tier *tier;
    double weight; /* of its priority; a power of two, so that sums are exact */
};

struct goodput_ranks {
    struct tree tiers; /* owned */
    bool changed;      /* since the last settlement */
};

void goodput_ranks_init(struct goodput_ranks *ranks);
/* goodput_ranks_done - nobody is in it any more */
void goodput_ranks_done(struct goodput_ranks *ranks);
/* goodput_ranks_put - it is in the set now, with another length or weight than before perhaps */
void goodput_ranks_put(struct goodput_ranks *ranks, struct goodput_rank *rank, double length,
                       double weight);
/* goodput_ranks_remove - nothing when it is not in */
void goodput_ranks_remove(struct goodput_ranks *ranks, struct goodput_rank *rank);
/* goodput_ranks_settle - calls each for all that may have another sum than at the last
 * settlement; it must not change the set. O(those x log n). */
void goodput_ranks_settle(struct goodput_ranks *ranks,
                          void (*each)(struct goodput_rank *rank, void *userdata), void *userdata);
/* goodput_ranks_before - the weights of those that are longer than one that is in, and half of
 * those that are as long, as of the last settlement; 0: it is new, and so is its length */
double goodput_ranks_before(const struct goodput_rank *rank);
