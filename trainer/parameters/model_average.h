/* SPDX-License-Identifier: Apache-2.0 */
/* model_average.h - the mean of a network's values over its last updates, for tests and saves
 *
 * As in PaddlePaddle the mean is over the last window * updates. max_window bounds their number;
 * without one the updates of the last pass do. At least 10,000 count, or fewer where max_window or
 * the first pass has fewer. When so many are there, they become the older ones, and those before
 * are forgotten. The mean is over both. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct model_average;

#define MODEL_AVERAGE_MIN UINT64_C(10000)

/* model_average_new - sizes[n]: values of each array. max_window 0: none is named */
struct model_average *model_average_new(double window, uint64_t max_window, const size_t *sizes,
                                        size_t n);
/* model_average_free - NULL is fine; returns NULL */
struct model_average *model_average_free(struct model_average *average);

/* model_average_add - the values behind one more update */
void model_average_add(struct model_average *average, float *const *values);

/* model_average_end_pass - bounds the window by the updates of a pass */
void model_average_end_pass(struct model_average *average);

/* model_average_apply - values becomes the mean; without an update it stays */
void model_average_apply(const struct model_average *average, float *const *values);
