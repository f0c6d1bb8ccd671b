/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.c - sums and products element by element */
#include "kernels/cpu_ops.h"

#include "kernels/vector.h"

EDL_MULTIVERSION
void cpu_add(const float *x, size_t N, float *sum)
{
#pragma omp simd
    for (size_t i = 0; i < N; i++)
        sum[i] += x[i];
}

EDL_MULTIVERSION
void cpu_scale(const float *x, size_t N, float factor, float *y)
{
#pragma omp simd
    for (size_t i = 0; i < N; i++)
        y[i] = x[i] * factor;
}

EDL_MULTIVERSION
void cpu_multiply(const float *x, const float *y, size_t N, float *z)
{
#pragma omp simd
    for (size_t i = 0; i < N; i++)
        z[i] = x[i] * y[i];
}
