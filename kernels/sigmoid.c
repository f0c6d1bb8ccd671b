/* SPDX-License-Identifier: Apache-2.0 */
/* sigmoid.c - the logistic function and its derivative, expressed by the function's own value */
#include "kernels/cpu_ops.h"

#include "kernels/real.h"

EDL_MULTIVERSION
void NAME(sigmoid_forward)(const real *x, size_t N, real *y)
{
#pragma omp simd
    for (size_t i = 0; i < N; i++)
        y[i] = 1 / (1 + REAL_EXP(-x[i]));
}

EDL_MULTIVERSION
void NAME(sigmoid_backward)(const real *y, const real *dy, size_t N, real *dx)
{
#pragma omp simd
    for (size_t i = 0; i < N; i++)
        dx[i] = dy[i] * y[i] * (1 - y[i]);
}
