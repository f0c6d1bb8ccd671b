/* SPDX-License-Identifier: Apache-2.0 */
/* dropout.c - y = x * mask with a counter-based mask (dropout_hash.h)
 *
 * The counter is split into blocks of 2^32 elements: within a block only 32-bit arithmetic is
 * needed, and each block has keys of its own. */
#include "kernels/cpu_ops.h"

#include "kernels/dropout_hash.h"
#include "kernels/real.h"

EDL_MULTIVERSION
void NAME(dropout_forward)(const real *x, size_t N, float rate, uint64_t seed, real *mask, real *y)
{
    const int32_t threshold = dropout_threshold(rate);

    for (uint64_t high = 0; high << 32 < N; high++) {
        const uint64_t key = dropout_key(seed, high);
        const uint32_t low = (uint32_t)key, top = (uint32_t)(key >> 32);
        const size_t base = (size_t)(high << 32);
        const size_t n = N - base > UINT32_MAX ? (size_t)UINT32_MAX + 1 : N - base;

#pragma omp simd
        for (size_t i = 0; i < n; i++) {
            real keep = dropout_draw((uint32_t)i, low, top) < threshold ? 0 : 1;

            mask[base + i] = keep;
            y[base + i] = x[base + i] * keep;
        }
    }
}
