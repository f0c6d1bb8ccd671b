/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - softmax alone, where no cross entropy takes it in (softmax_xent.c) */
#include "kernels/cpu_ops.h"

#include "kernels/real.h"

EDL_MULTIVERSION
void NAME(softmax_forward)(const void *in, size_t B, size_t D, void *out)
{
    const real *x = in;
    real *y = out;

    for (size_t b = 0; b < B; b++, x += D, y += D) {
        real max = x[0], sum = 0;

        for (size_t i = 1; i < D; i++)
            max = x[i] > max ? x[i] : max;
#pragma omp simd reduction(+ : sum)
        for (size_t i = 0; i < D; i++) {
            const real e = REAL_EXP(x[i] - max);

            y[i] = e;
            sum += e;
        }
#pragma omp simd
        for (size_t i = 0; i < D; i++)
            y[i] /= sum;
    }
}

EDL_MULTIVERSION
void NAME(softmax_backward)(const void *of_y, const void *of_dy, size_t B, size_t D, void *of_dx)
{
    const real *y = of_y, *dy = of_dy;
    real *dx = of_dx;

    for (size_t b = 0; b < B; b++, y += D, dy += D, dx += D) {
        real along = 0;

#pragma omp simd reduction(+ : along)
        for (size_t i = 0; i < D; i++)
            along += y[i] * dy[i];
#pragma omp simd
        for (size_t i = 0; i < D; i++)
            dx[i] = y[i] * (dy[i] - along);
    }
}
