/* SPDX-License-Identifier: Apache-2.0 */
/* activation.c - tanh and relu, their derivatives expressed by the functions' own values */
#include "kernels/cpu_ops.h"

#include "kernels/real.h"

/* tanh - by e^-2|x|, which cannot overflow; small x by the odd series, where the difference 1 - e
 * would lose what matters */
EDL_INLINE real tanh_of(real x)
{
#ifdef EDL_REAL_F64
    return tanh(x);
#else
    const real size = x < 0 ? -x : x, square = x * x;
    const real e = REAL_EXP(-2 * size), far = (1 - e) / (1 + e);
    const real near =
        size * (1 + square * (-0.333333333f + square * (0.133333333f + square * -0.0539682540f)));
    const real y = size < 0.15f ? near : far; /* NaN: far, which is NaN */

    return x < 0 ? -y : y;
#endif
}

EDL_MULTIVERSION
void NAME(tanh_forward)(const void *in, size_t N, void *out)
{
    const real *x = in;
    real *y = out;

#pragma omp simd
    for (size_t i = 0; i < N; i++)
        y[i] = tanh_of(x[i]);
}

EDL_MULTIVERSION
void NAME(tanh_backward)(const void *of_y, const void *of_dy, size_t N, void *of_dx)
{
    const real *y = of_y, *dy = of_dy;
    real *dx = of_dx;

#pragma omp simd
    for (size_t i = 0; i < N; i++)
        dx[i] = dy[i] * (1 - y[i] * y[i]);
}

EDL_MULTIVERSION
void NAME(relu_forward)(const void *in, size_t N, void *out)
{
    const real *x = in;
    real *y = out;

#pragma omp simd
    for (size_t i = 0; i < N; i++)
        y[i] = x[i] < 0 ? 0 : x[i]; /* NaN stays */
}

EDL_MULTIVERSION
void NAME(relu_backward)(const void *of_y, const void *of_dy, size_t N, void *of_dx)
{
    const real *y = of_y, *dy = of_dy;
    real *dx = of_dx;

#pragma omp simd
    for (size_t i = 0; i < N; i++)
        dx[i] = y[i] == 0 ? 0 : dy[i];
}
