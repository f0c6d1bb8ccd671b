/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.c - sums and products element by element */
#include "kernels/cpu_ops.h"

#include "kernels/real.h"

EDL_MULTIVERSION
void NAME(add)(const real *x, size_t N, real *sum)
{
#pragma omp simd
    for (size_t i = 0; i < N; i++)
        sum[i] += x[i];
}

EDL_MULTIVERSION
void NAME(scale)(const real *x, size_t N, real factor, real *y)
{
#pragma omp simd
    for (size_t i = 0; i < N; i++)
        y[i] = x[i] * factor;
}

EDL_MULTIVERSION
void NAME(multiply)(const real *x, const real *y, size_t N, real *z)
{
#pragma omp simd
    for (size_t i = 0; i < N; i++)
        z[i] = x[i] * y[i];
}
