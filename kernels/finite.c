/* SPDX-License-Identifier: Apache-2.0 */
/* finite.c - whether numbers are numbers */
#include "kernels/cpu_ops.h"

#include "kernels/real.h"

/* The difference of infinity or NaN with itself is NaN, and that of any other number is 0. */
EDL_MULTIVERSION
int NAME(finite)(const void *in, size_t N)
{
    const real *x = in;
    real sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < N; i++)
        sum += x[i] - x[i];
    return sum == 0;
}
