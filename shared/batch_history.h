/* SPDX-License-Identifier: Apache-2.0 */
/* batch_history.h - the batches of a training: from which step on it had how many micro-batches;
 * pure
 *
 * A line each in a text: "1 4", "241 8". With exact sums it is all that the bits of an elastic
 * training follow from beside its options: another one that takes the same batches makes them. */
#pragma once

#include <stdint.h>

struct edl_error;

enum { BATCH_CHANGES_MAX = 512 };

struct batch_change {
    uint64_t step; /* the first one, from 1 */
    uint64_t micro_batches;
};

/* A part of the state: it goes from rank to rank as it lies. Zeros: nothing is trained yet. */
struct batch_history {
    uint64_t n; /* changes in all; those beyond BATCH_CHANGES_MAX are not kept */
    struct batch_change changes[BATCH_CHANGES_MAX];
};

/* batch_history_note - the step that is taken now, in ascending order */
void batch_history_note(struct batch_history *history, uint64_t step, uint64_t micro_batches);

/* batch_history_at - micro-batches of that step; 0: the history begins behind it */
uint64_t batch_history_at(const struct batch_history *history, uint64_t step);

/* batch_history_to_text - the caller's; NULL: it has changes that are not kept */
char *batch_history_to_text(const struct batch_history *history);

/* batch_history_of_text - -EINVAL names the line; most: micro-batches of a step */
int batch_history_of_text(const char *text, uint64_t most, struct batch_history *ret,
                          struct edl_error *error);
