/* SPDX-License-Identifier: Apache-2.0 */
/* column_sums.c - the gradient of a bias */
#include "kernels/cpu_ops.h"

#include <string.h>

#include "kernels/real.h"

EDL_MULTIVERSION
void NAME(column_sums)(const real *in, size_t B, size_t N, real *out)
{
    memset(out, 0, N * sizeof *out);
    for (size_t i = 0; i < B; i++) {
        const real *row = in + i * N;

#pragma omp simd
        for (size_t j = 0; j < N; j++)
            out[j] += row[j];
    }
}
