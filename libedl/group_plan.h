/* SPDX-License-Identifier: Apache-2.0 */
/* group_plan.h - the first acts of the ranks of a new generation, a pure function of their hellos
 *
 * A group trains step by step. A global batch is cut into micro-batches, so many in each step
 * however many ranks there are. Each rank sums the gradients of some of them. The sum over all
 * ranks, which holds each micro-batch once, moves the values.
 *
 * Ranks come and go. A rank that misses a peer closes all its links and meets the others in the
 * next generation. There each tells its state and its kept gradient in a hello. group_plan_make
 * gives each of them the same plan: the donor of the newest state, the ranks that take it, and the
 * micro-batches of each rank in the step that comes next. Nobody votes.
 * tests/sim/group_histories.c has the histories that break simpler rules.
 *
 * No I/O, no clock, no allocation. Used by: libedl/group.c, the simulator of groups. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    GROUP_RANKS_MAX = 64,
    GROUP_MICRO_BATCHES_MAX = 128,
    GROUP_COVER_BYTES = GROUP_MICRO_BATCHES_MAX / 8
};

/* A set of micro-batches: those that some sum of gradients holds. */
struct group_cover {
    uint8_t bits[GROUP_COVER_BYTES];
};

static inline bool group_cover_has(const struct group_cover *cover, unsigned micro_batch)
{
    return cover->bits[micro_batch / 8] >> micro_batch % 8 & 1;
}

static inline void group_cover_add(struct group_cover *cover, unsigned micro_batch)
{
    cover->bits[micro_batch / 8] |= (uint8_t)(1 << micro_batch % 8);
}

/* group_cover_count - how many micro-batches it holds */
unsigned group_cover_count(const struct group_cover *cover);

/* What a rank has when a generation begins.
 * The identity of a step is the generation that computed it: two generations may compute the same
 * step, and only with exact sums do they get the same bits. A state that was read from a
 * checkpoint, or begun, has the identity 0. */
struct group_hello {
    uint64_t identity; /* of the state's last step */
    uint64_t applied;  /* the state's last step; 0: none */
    /* A gradient that it kept of a step which was not completed, computed from this state. */
    uint64_t gradient_step;   /* 0: it kept none */
    unsigned micro_batches;   /* of that step in all */
    struct group_cover cover; /* those that the gradient holds */
    unsigned chosen;          /* micro-batches of the next step, as a rank with this state has it */
};

struct group_plan {
    uint64_t identity, applied;   /* of the newest state */
    unsigned donor;               /* the rank that gives it */
    bool behind[GROUP_RANKS_MAX]; /* takes the whole state from the donor, and drops its gradient */
    bool keeps[GROUP_RANKS_MAX];  /* goes on from its kept gradient; others begin a new one */
    struct group_cover take[GROUP_RANKS_MAX]; /* of the step applied + 1; what it kept is in it */
};

/* group_plan_micro_batches - of the next step, as the donor of the newest state chose: a choice may
 * follow from a state, and those that are behind have another one. Taken as it is by all */
unsigned group_plan_micro_batches(const struct group_hello *hellos, unsigned n);

/* group_plan_make - what n ranks do that said these hellos, in the order of ranks; the next step
 * has micro_batches. n: 1 to GROUP_RANKS_MAX; micro_batches: 1 to GROUP_MICRO_BATCHES_MAX.
 * Each micro-batch is in take[] of exactly one rank. */
void group_plan_make(const struct group_hello *hellos, unsigned n, unsigned micro_batches,
                     struct group_plan *ret);

/* group_share - the micro-batches of a rank in each step behind the first of a generation */
struct group_cover group_share(unsigned rank, unsigned n, unsigned micro_batches);
