/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_ranks.h - the jobs from the longest to the shortest, and how much weight is before each
 *
 * An ordered set whose subtrees know their sums: adding, removing and asking are O(log n). */
#pragma once

#include <stdint.h>

#include "scheduler/core/tree.h"

struct goodput_rank {
    struct tree_node tree; /* first: a tree's node is its rank */
    double length;         /* goodput_length; must not change while it is in */
    uint64_t id;           /* of equal lengths the lower one is before */
    double weight;         /* of priority, > 0 */
    double sum;            /* of the subtree */
    uint32_t count;        /* of the subtree */
};

struct goodput_ranks {
    struct tree tree;
};

struct goodput_before {
    double weight;  /* of those that are longer */
    uint32_t count; /* of them */
};

void goodput_ranks_init(struct goodput_ranks *ranks);
void goodput_ranks_add(struct goodput_ranks *ranks, struct goodput_rank *rank);
/* goodput_ranks_remove - nothing when it is not in */
void goodput_ranks_remove(struct goodput_ranks *ranks, struct goodput_rank *rank);
/* goodput_ranks_before - what is before it, which must be in */
struct goodput_before goodput_ranks_before(const struct goodput_ranks *ranks,
                                           const struct goodput_rank *rank);
