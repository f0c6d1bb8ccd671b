/* SPDX-License-Identifier: Apache-2.0 */
/* ladder.h - F(b): the most that a budget buys of many segments, as they come
 *
 * A concave piecewise linear function, kept as its segments in the order of their slopes, and no
 * more of them than the budget holds: a segment that falls off the end never comes back, because
 * segments are only added. The weights need the other end: the value of the last bundles.
 *
 * Sorted chunks of segments with their sums: an insertion moves within one chunk, a look from the
 * cheap end passes by whole chunks. */
#pragma once

#include <stddef.h>

#define GOODPUT_CHUNK 32

struct goodput_chunk; /* private */

struct goodput_ladder {
    struct goodput_chunk **chunks; /* owned; the first one holds the lowest slopes */
    double *lows; /* owned: slope that a chunk began with when it came; it is looked for by that */
    size_t n, cap;
    struct goodput_chunk *spare; /* owned list */
    double budget;
    double width; /* bundles in it, at most the budget */
    double value; /* of all of them: F(budget) */
};

void goodput_ladder_init(struct goodput_ladder *ladder, double budget);
void goodput_ladder_done(struct goodput_ladder *ladder);
/* goodput_ladder_copy - `to`, one that was begun, becomes equal to `from`, to the last bit; its
 * memory is used again */
void goodput_ladder_copy(struct goodput_ladder *to, const struct goodput_ladder *from);
/* goodput_ladder_add - a segment of so many bundles, each worth `slope`; segments that no longer
 * fit go, the lowest slopes first */
void goodput_ladder_add(struct goodput_ladder *ladder, double slope, double width);
/* goodput_ladder_floor - the slope that a further segment has to be above to count: that of the
 * last bundle of a full budget, 0 while there is room */
double goodput_ladder_floor(const struct goodput_ladder *ladder);

/* A look from the cheap end on: F(budget) - F(budget - cost) for costs that ascend. */
struct goodput_look {
    const struct goodput_ladder *ladder; /* borrowed; must not change meanwhile */
    size_t chunk, at;
    double passed_width, passed_value; /* of the segments before that place */
};

struct goodput_look goodput_ladder_look(const struct goodput_ladder *ladder);
/* goodput_look_loss - what the last `cost` bundles are worth; INFINITY above the budget */
double goodput_look_loss(struct goodput_look *look, double cost);
