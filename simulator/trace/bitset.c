/* SPDX-License-Identifier: Apache-2.0 */
/* bitset.c - a set of numbers as bits, with bits for the words that are not empty */
#include "simulator/trace/bitset.h"

#include <stdlib.h>

#include "shared/macro.h"

#define SHIFT 6 /* bits of a word as a power of two */
#define MASK 63U

void bitset_init(struct bitset *set, uint32_t n)
{
    uint32_t left = n;

    *set = (struct bitset){ .n = n };
    do {
        left = (left + MASK) >> SHIFT;
        set->n_words[set->n_levels] = left;
        set->words[set->n_levels++] = xcalloc(left, sizeof(uint64_t));
    } while (left > 1);
}

void bitset_done(struct bitset *set)
{
    for (uint32_t level = 0; level < set->n_levels; level++)
        free(set->words[level]);
}

void bitset_add(struct bitset *set, uint32_t number)
{
    for (uint32_t level = 0; level < set->n_levels; level++, number >>= SHIFT)
        set->words[level][number >> SHIFT] |= UINT64_C(1) << (number & MASK);
}

void bitset_remove(struct bitset *set, uint32_t number)
{
    for (uint32_t level = 0; level < set->n_levels; level++, number >>= SHIFT) {
        uint64_t *word = &set->words[level][number >> SHIFT];

        *word &= ~(UINT64_C(1) << (number & MASK));
        if (*word != 0)
            return;
    }
}

uint32_t bitset_next(const struct bitset *set, uint32_t from)
{
    for (uint32_t level = 0; level < set->n_levels; level++) {
        uint32_t at = from >> SHIFT;
        uint64_t bits;

        if (at >= set->n_words[level])
            break;
        bits = set->words[level][at] & (UINT64_MAX << (from & MASK));
        if (bits == 0) { /* the next words are looked for one level up */
            from = at + 1;
            continue;
        }
        for (;;) {
            at = (at << SHIFT) + (uint32_t)__builtin_ctzll(bits);
            if (level == 0)
                return at;
            bits = set->words[--level][at];
        }
    }
    return set->n;
}

uint32_t bitset_last(const struct bitset *set)
{
    uint32_t at = 0;

    if (set->words[set->n_levels - 1][0] == 0)
        return set->n;
    for (uint32_t level = set->n_levels; level-- > 0;)
        at = (at << SHIFT) + MASK - (uint32_t)__builtin_clzll(set->words[level][at]);
    return at;
}
