/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_types.h - a division when there are several kinds of bundles (types of GPU)
 *
 * Each type has its own budget and its own price; each job takes at most one of its options: a
 * configuration of one type with its cost and what it is worth. Prices are found by auction: every
 * job takes what leaves it most after paying, types that are asked for too much become dearer, the
 * others cheaper; a few rounds from the last prices are enough when little has changed. Then the
 * demand is made to fit, and improved by moves of one job, of two, and by forcing one job to take
 * another option and mending the rest.
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
    double bound; /* no choice is worth more */
    uint64_t tries;
};

struct goodput_effort {
    int rounds;     /* of the auction, >= 1: 40 from nothing, 6 from the last prices */
    uint64_t tries; /* of moves, about 10 ns each: what many jobs lose without them is little,
                       because at most one job a type is cut */
};

/* goodput_types_divide - -EINVAL: an option is out of range, no rounds, no types or more than
 * GOODPUT_TYPES_MAX. Choosers keep their places. O(rounds x options) and the tries. */
int goodput_types_divide(struct goodput_chooser *choosers, size_t n, struct goodput_type *types,
                         size_t n_types, const struct goodput_effort *effort,
                         struct goodput_auction *ret_auction);
