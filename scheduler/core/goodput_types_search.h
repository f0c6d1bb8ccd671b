/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_types_search.h - the best division among several types, by branch and bound
 *
 * Prices of an auction say of every part of a choice what the rest can add at most, which rules out
 * nearly all choices when the best one so far is good. Used by goodput_types.c alone. */
#pragma once

#include <stdbool.h>

#include "scheduler/core/goodput_types.h"

struct goodput_search {
    struct goodput_chooser *const *choosers; /* borrowed, sorted by id */
    size_t n;
    const struct goodput_type *types; /* borrowed: budgets, and prices >= 0 */
    size_t n_types;
    double least_gain; /* what is better by no more than that is not looked for */
    int *best;         /* borrowed: an option of each chooser that fit; a better choice goes here */
    double best_value; /* of that */
    uint64_t tries, tries_max;
};

/* goodput_types_search - true: no choice is better than the one that is in `best` now. False: it
 * was given up after tries_max options; `best` is the best that was seen. */
bool goodput_types_search(struct goodput_search *search);
