/* SPDX-License-Identifier: Apache-2.0 */
/* permutation.h - an order of n things that follows from a seed and an epoch; no table
 *
 * Nothing is remembered, so all who have the numbers work out the same order. It is the order of
 * edl_sample (libedl/sampler.c) and of edl.sampler in Python.
 *
 * Pure. Used by: scheduler/core/base/task_queue.c, libedl/sampler.c. Tests:
 * tests/unit/test_task_order.c. */
#pragma once

#include <stdint.h>

#define PERMUTATION_ROUNDS 8 /* even; few digits need more rounds than many do */

struct permutation {
    uint64_t n, a, b;
    uint64_t keys[PERMUTATION_ROUNDS];
};

/* permutation_of - of n things, at most INT64_MAX */
struct permutation permutation_of(uint64_t n, uint64_t seed, uint64_t epoch);

/* permutation_at - which one comes at a place: both from 0 to n - 1, each once */
uint64_t permutation_at(const struct permutation *permutation, uint64_t place);
