/* SPDX-License-Identifier: Apache-2.0 */
/* distance.c - square error, cosine and inner product of rows
 *
 * Sums of costs are taken in f64; the cosine's in the element type. */
#include "kernels/cpu_ops.h"

#include "kernels/real.h"

double NAME(square_error_forward)(const void *of_y, const void *of_t, size_t N)
{
    const real *y = of_y, *t = of_t;
    double sum = 0;

    for (size_t i = 0; i < N; i++) {
        const double difference = (double)y[i] - (double)t[i];

        sum += difference * difference;
    }
    return sum;
}

EDL_MULTIVERSION
void NAME(square_error_backward)(const void *of_y, const void *of_t, size_t N, void *of_dy)
{
    const real *y = of_y, *t = of_t;
    real *dy = of_dy;

#pragma omp simd
    for (size_t i = 0; i < N; i++)
        dy[i] = 2 * (y[i] - t[i]);
}

double NAME(dot)(const void *of_x, const void *of_y, size_t N)
{
    const real *x = of_x, *y = of_y;
    double sum = 0;

    for (size_t i = 0; i < N; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

/* What a cosine is made of: xy, xx and yy. */
EDL_INLINE void products(const real *x, const real *y, size_t D, real *xy, real *xx, real *yy)
{
    real a = 0, b = 0, c = 0;

#pragma omp simd reduction(+ : a, b, c)
    for (size_t i = 0; i < D; i++) {
        a += x[i] * y[i];
        b += x[i] * x[i];
        c += y[i] * y[i];
    }
    *xy = a;
    *xx = b;
    *yy = c;
}

EDL_MULTIVERSION
void NAME(cosine_forward)(const void *of_x, const void *of_y, size_t B, size_t D, double scale,
                          void *of_out)
{
    const real *x = of_x, *y = of_y;
    real *out = of_out;

    for (size_t b = 0; b < B; b++, x += D, y += D) {
        real xy, xx, yy;

        products(x, y, D, &xy, &xx, &yy);
        out[b] = (real)scale * xy / (REAL_SQRT(xx) * REAL_SQRT(yy));
    }
}

/* dx (=) of one row: dout * scale * (y / (|x||y|) - x * xy / (|x|^3 |y|)) */
EDL_INLINE void cosine_row(const real *x, const real *y, size_t D, real factor, real along,
                           real *dx)
{
#pragma omp simd
    for (size_t i = 0; i < D; i++)
        dx[i] = factor * (y[i] - along * x[i]);
}

EDL_MULTIVERSION
void NAME(cosine_backward)(const void *of_x, const void *of_y, const void *of_dout, size_t B,
                           size_t D, double scale, void *of_dx, void *of_dy)
{
    const real *x = of_x, *y = of_y, *dout = of_dout;
    real *dx = of_dx, *dy = of_dy;

    for (size_t b = 0; b < B; b++) {
        const size_t at = b * D;
        real xy, xx, yy, factor;

        products(x + at, y + at, D, &xy, &xx, &yy);
        factor = dout[b] * (real)scale / (REAL_SQRT(xx) * REAL_SQRT(yy));
        if (dx != NULL)
            cosine_row(x + at, y + at, D, factor, xy / xx, dx + at);
        if (dy != NULL)
            cosine_row(y + at, x + at, D, factor, xy / yy, dy + at);
    }
}
