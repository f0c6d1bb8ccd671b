/* SPDX-License-Identifier: Apache-2.0 */
/* group_exact.h - sums of f32 that have the same bits in any order; pure
 *
 * A value counts as a whole number of units of 2^-36 (1.5e-11), rounded to the nearest. Whole
 * numbers add up exactly, so a sum depends on the micro-batches alone, and not on the ranks that
 * computed them. The owner of a slice rounds its sum to f32, once.
 *
 * Values lie within +-32,768. So the sum of 128 micro-batches stays below 2^58, and nothing
 * overflows. A value beyond, or no number, must be found before it is added: group_exact_find. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GROUP_EXACT_BITS 36
#define GROUP_EXACT_MOST 32768.0f /* excluded */

/* group_exact_find - the first value that is no number or not within +-most; n: there is none */
size_t group_exact_find(const float *values, size_t n, float most);

/* group_exact_add - sums[i] += units of values[i] */
void group_exact_add(int64_t *sums, const float *values, size_t n);

/* group_exact_put - sums[i] = units of values[i] */
void group_exact_put(int64_t *sums, const float *values, size_t n);

void group_exact_add_sums(int64_t *sums, const int64_t *more, size_t n);

/* group_exact_round - values[i] = sums[i] as f32, rounded to the nearest */
void group_exact_round(float *values, const int64_t *sums, size_t n);

/* group_f32_add - as floats add up, in the order in which they come: not exact */
void group_f32_add(float *sums, const float *values, size_t n);
