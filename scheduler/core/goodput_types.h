/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_types.h - a division when there are several kinds of bundles (types of GPU)
 *
 * Each type has its own budget and its own price; each job takes at most one of its options: a
 * configuration of one type with its cost and what it is worth. Prices are found by auction: every
 * job takes what leaves it most after paying, types that are asked for too much become dearer, the
 * others cheaper; a few rounds from the last prices are enough when little has changed. Then the
 * demand is made to fit, improved by moves of one job and of two, and what these did not find is
 * searched for under the bound that the prices prove.
 *
 * Any prices bound what an optimal division is worth from above (Lagrange's dual), so the answer
 * says how far from it it can be at most. Source: reference policy, section 6. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GOODPUT_TYPES_MAX 8
#define GOODPUT_NO_OPTION (-1)

struct goodput_option {
    uint32_t type; /* below n_types */
    double cost;   /* bundles of that type, > 0 */
    double value;  /* weight included, > 0 */
};

struct goodput_chooser {
    uint64_t id;                          /* breaks ties */
    const struct goodput_option *options; /* borrowed */
    int n_options;
    int chosen; /* result, or GOODPUT_NO_OPTION; before: what is held, which ties go to */
};

struct goodput_type {
    double budget;
    double price; /* in: where the auction begins, 0: unknown; result */
    double used;  /* result */
};

struct goodput_auction {
    double value; /* of what was chosen */
    double bound; /* no choice is worth more; that of the choice itself when that was proven */
    uint64_t tries;
};

struct goodput_effort {
    int rounds;     /* of the auction, >= 1: 40 from nothing, 6 from the last prices */
    uint64_t tries; /* of moves and in the search, 10 ns to 20 ns each; 3,000,000 prove the best
                       division of 24 jobs. With few jobs they decide: a dozen loses 5 % to 15 %
                       without any on average; 1,000 jobs lose 1.5 %. */
};

/* goodput_types_divide - -EINVAL: an option is out of range, no rounds, no types or more than
 * GOODPUT_TYPES_MAX. Choosers keep their places. O(rounds x options) and the tries. With
 * enough tries the division is exact, and ret_auction->bound is what it is worth. */
int goodput_types_divide(struct goodput_chooser *choosers, size_t n, struct goodput_type *types,
                         size_t n_types, const struct goodput_effort *effort,
                         struct goodput_auction *ret_auction);
