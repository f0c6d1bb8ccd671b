/* SPDX-License-Identifier: Apache-2.0 */
/* bitset.h - a set of numbers below a bound, that finds the next and the last one quickly
 *
 * A bit for each number, a bit for each 64 of these, and so on: each operation takes a step for
 * each factor of 64 of the bound. */
#pragma once

#include <stdint.h>

#define BITSET_LEVELS 6 /* 64^6 is more than a uint32_t holds */

struct bitset {
    uint64_t *words[BITSET_LEVELS]; /* owned; the last one in use has one word */
    uint32_t n_words[BITSET_LEVELS];
    uint32_t n_levels, n; /* n: the bound */
};

/* bitset_init - empty, for numbers below n >= 1 */
void bitset_init(struct bitset *set, uint32_t n);
void bitset_done(struct bitset *set);

void bitset_add(struct bitset *set, uint32_t number);
void bitset_remove(struct bitset *set, uint32_t number);

/* bitset_next - the least one from a number on; bitset_last - the largest one. The bound: none */
uint32_t bitset_next(const struct bitset *set, uint32_t from);
uint32_t bitset_last(const struct bitset *set);
