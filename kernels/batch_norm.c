/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm.c - each channel brought to mean 0 and variance 1 over a batch
 *
 * Two passes for mean and variance: the short form E[x^2] - E[x]^2 loses all digits where the mean
 * is large. */
#include "kernels/cpu_ops.h"

#include <string.h>

#include "kernels/real.h"

EDL_MULTIVERSION
void NAME(norm_statistics)(const void *in, size_t n, size_t C, size_t P, void *of_mean,
                           void *of_variance)
{
    const real *x = in;
    real *mean = of_mean, *variance = of_variance;

    for (size_t c = 0; c < C; c++) {
        real sum = 0, squares = 0, middle;

        for (size_t i = 0; i < n; i++) {
            const real *plane = x + (i * C + c) * P;

#pragma omp simd reduction(+ : sum)
            for (size_t p = 0; p < P; p++)
                sum += plane[p];
        }
        middle = sum / (real)(n * P);
        for (size_t i = 0; i < n; i++) {
            const real *plane = x + (i * C + c) * P;

#pragma omp simd reduction(+ : squares)
            for (size_t p = 0; p < P; p++)
                squares += (plane[p] - middle) * (plane[p] - middle);
        }
        mean[c] = middle;
        variance[c] = squares / (real)(n * P);
    }
}

EDL_MULTIVERSION
void NAME(norm_forward)(const void *in, const void *of_mean, const void *of_variance,
                        const void *of_gain, const void *of_shift, double epsilon, size_t n,
                        size_t C, size_t P, void *out)
{
    const real *x = in, *mean = of_mean, *variance = of_variance, *gain = of_gain,
               *shift = of_shift;
    real *y = out;

    for (size_t i = 0; i < n * C; i++, x += P, y += P) {
        const size_t c = i % C;
        const real factor = gain[c] / REAL_SQRT(variance[c] + (real)epsilon);
        const real offset = shift[c] - mean[c] * factor;

#pragma omp simd
        for (size_t p = 0; p < P; p++)
            y[p] = x[p] * factor + offset;
    }
}

/* Sums of dy and of dy * (x - mean) over one channel. */
EDL_INLINE void sums_of(const real *x, const real *dy, size_t n, size_t step, size_t P, real mean,
                        real *ret_sum, real *ret_along)
{
    real sum = 0, along = 0;

    for (size_t i = 0; i < n; i++, x += step, dy += step) {
#pragma omp simd reduction(+ : sum, along)
        for (size_t p = 0; p < P; p++) {
            sum += dy[p];
            along += dy[p] * (x[p] - mean);
        }
    }
    *ret_sum = sum;
    *ret_along = along;
}

EDL_MULTIVERSION
void NAME(norm_backward)(const void *in, const void *of_mean, const void *of_variance,
                         const void *of_gain, const void *of_dy, double epsilon, size_t n, size_t C,
                         size_t P, void *of_dgain, void *of_dshift, void *of_dx)
{
    const real *x = in, *mean = of_mean, *variance = of_variance, *gain = of_gain, *dy = of_dy;
    const real count = (real)(n * P);
    real *dgain = of_dgain, *dshift = of_dshift, *dx = of_dx;

    for (size_t c = 0; c < C; c++) {
        const real inverse = 1 / REAL_SQRT(variance[c] + (real)epsilon);
        real sum, along;

        sums_of(x + c * P, dy + c * P, n, C * P, P, mean[c], &sum, &along);
        dshift[c] = sum;
        dgain[c] = along * inverse;
        for (size_t i = 0; dx != NULL && i < n; i++) {
            const size_t at = (i * C + c) * P;
            const real factor = gain[c] * inverse, slope = along * inverse * inverse / count;

#pragma omp simd
            for (size_t p = 0; p < P; p++)
                dx[at + p] = factor * (dy[at + p] - sum / count - (x[at + p] - mean[c]) * slope);
        }
    }
}

void NAME(move_towards)(const void *in, size_t N, double keep, void *of_moving)
{
    const real *x = in;
    real *moving = of_moving;

    for (size_t i = 0; i < N; i++)
        moving[i] = (real)(keep * (double)moving[i] + (1 - keep) * (double)x[i]);
}
