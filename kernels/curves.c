/* SPDX-License-Identifier: Apache-2.0 */
/* curves.c - functions of one value, a straight line among them */
#include "kernels/cpu_ops.h"

#include "kernels/real.h"

#define BRELU_TOP 24
#define SOFTRELU_LARGE 40 /* behind it the exponential counts for nothing */
#define STANH_HEIGHT 1.7159
#define STANH_SLOPE (2.0 / 3.0)

#ifdef EDL_REAL_F64
#define REAL_LOG(x) log(x)
#else
#define REAL_LOG(x) logf(x)
#endif

static real softrelu(real x)
{
    x = x > SOFTRELU_LARGE ? SOFTRELU_LARGE : x < -SOFTRELU_LARGE ? -SOFTRELU_LARGE : x;
    return REAL_LOG(1 + REAL_EXP(x));
}

static real curve_of(enum curve curve, real x)
{
    switch (curve) {
    case CURVE_EXPONENTIAL:
        return REAL_EXP(x);
    case CURVE_LOG:
        return REAL_LOG(x);
    case CURVE_ABS:
        return x < 0 ? -x : x;
    case CURVE_SQUARE:
        return x * x;
    case CURVE_BRELU:
        return x < 0 ? 0 : x > BRELU_TOP ? BRELU_TOP : x;
    case CURVE_SOFTRELU:
        return softrelu(x);
    default:
        return (real)(STANH_HEIGHT * tanh(STANH_SLOPE * (double)x));
    }
}

/* The derivative, by y or by x as tensor_ops.h says. */
static real slope_of(enum curve curve, real of)
{
    switch (curve) {
    case CURVE_EXPONENTIAL:
        return of;
    case CURVE_LOG:
        return REAL_EXP(-of);
    case CURVE_ABS:
        return of < 0 ? -1 : of > 0;
    case CURVE_SQUARE:
        return 2 * of;
    case CURVE_BRELU:
        return of > 0 && of < BRELU_TOP;
    case CURVE_SOFTRELU:
        return 1 - REAL_EXP(-of);
    default:
        return (real)(STANH_SLOPE * (STANH_HEIGHT - (double)of * (double)of / STANH_HEIGHT));
    }
}

void NAME(curve_forward)(enum curve curve, const void *of_x, size_t N, void *of_y)
{
    const real *x = of_x;
    real *y = of_y;

    for (size_t i = 0; i < N; i++)
        y[i] = curve_of(curve, x[i]);
}

void NAME(curve_backward)(enum curve curve, const void *of, const void *of_dy, size_t N,
                          void *of_dx)
{
    const real *by = of, *dy = of_dy;
    real *dx = of_dx;

    for (size_t i = 0; i < N; i++)
        dx[i] = dy[i] * slope_of(curve, by[i]);
}

EDL_MULTIVERSION
void NAME(affine)(const void *of_x, size_t N, double slope, double intercept, void *of_y)
{
    const real *x = of_x, by = (real)slope, from = (real)intercept;
    real *y = of_y;

#pragma omp simd
    for (size_t i = 0; i < N; i++)
        y[i] = by * x[i] + from;
}
