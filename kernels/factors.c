/* SPDX-License-Identifier: Apache-2.0 */
/* factors.c - rows and columns of a matrix times a factor of each; costs of pairs of values */
#include "kernels/cpu_ops.h"

#include "kernels/real.h"

void NAME(multiply_rows)(const void *of_x, const void *of_factors, size_t B, size_t D, void *of_y)
{
    const real *x = of_x, *factors = of_factors;
    real *y = of_y;

    for (size_t b = 0; b < B; b++, x += D, y += D)
        for (size_t d = 0; d < D; d++)
            y[d] = x[d] * factors[b];
}

void NAME(multiply_columns)(const void *of_x, const void *of_factors, size_t B, size_t D,
                            void *of_y)
{
    const real *x = of_x, *factors = of_factors;
    real *y = of_y;

    for (size_t b = 0; b < B; b++, x += D, y += D)
        for (size_t d = 0; d < D; d++)
            y[d] = x[d] * factors[d];
}

void NAME(dot_rows)(const void *of_x, const void *of_y, size_t B, size_t D, void *of_out)
{
    const real *x = of_x, *y = of_y;
    real *out = of_out;

    for (size_t b = 0; b < B; b++, x += D, y += D) {
        real sum = 0;

        for (size_t d = 0; d < D; d++)
            sum += x[d] * y[d];
        out[b] = sum;
    }
}

/* ln(1 + e^x), which overflows for no x */
static double log1p_exp(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

#define LEAST 1e-20 /* of a probability: none is 0, so that costs and slopes are finite */

static double pair_of(enum pair_cost pair, double y, double t)
{
    const double d = fabs(y - t);

    switch (pair) {
    case PAIR_BINARY:
        return -(t * log(fmax(y, LEAST)) + (1 - t) * log(fmax(1 - y, LEAST)));
    case PAIR_RANK:
        return log1p_exp(y) - t * y;
    default:
        return d < 1 ? d * d / 2 : d - 0.5;
    }
}

static double slope_of(enum pair_cost pair, double y, double t)
{
    const double d = y - t;

    switch (pair) {
    case PAIR_BINARY:
        return d / (fmax(y, LEAST) * fmax(1 - y, LEAST));
    case PAIR_RANK:
        return 1 / (1 + exp(-y)) - t;
    default:
        return d >= 1 ? 1 : d <= -1 ? -1 : d;
    }
}

double NAME(pair_forward)(enum pair_cost pair, const void *of_y, const void *of_t, size_t N)
{
    const real *y = of_y, *t = of_t;
    double sum = 0;

    for (size_t i = 0; i < N; i++)
        sum += pair_of(pair, (double)y[i], (double)t[i]);
    return sum;
}

void NAME(pair_backward)(enum pair_cost pair, const void *of_y, const void *of_t, size_t N,
                         void *of_dy)
{
    const real *y = of_y, *t = of_t;
    real *dy = of_dy;

    for (size_t i = 0; i < N; i++)
        dy[i] = (real)slope_of(pair, (double)y[i], (double)t[i]);
}

/* The way from the root of a binary tree to a class, whose leaves are D + 1: inner nodes and turns.
 */
static size_t depth_of(uint32_t code)
{
    return 31 - (size_t)__builtin_clz(code);
}

double NAME(tree_forward)(const void *of_z, const int32_t *targets, size_t B, size_t D)
{
    const real *z = of_z;
    double cost = 0;

    for (size_t b = 0; b < B; b++, z += D) {
        const uint32_t code = (uint32_t)targets[b] + (uint32_t)D + 1;

        for (size_t j = 0; j < depth_of(code); j++)
            cost += pair_of(PAIR_RANK, (double)z[(code >> (j + 1)) - 1], (double)(code >> j & 1));
    }
    return cost;
}

void NAME(tree_backward)(const void *of_z, const int32_t *targets, size_t B, size_t D, void *of_dz)
{
    const real *z = of_z;
    real *dz = of_dz;

    for (size_t b = 0; b < B; b++, z += D, dz += D) {
        const uint32_t code = (uint32_t)targets[b] + (uint32_t)D + 1;

        for (size_t d = 0; d < D; d++)
            dz[d] = 0;
        for (size_t j = 0; j < depth_of(code); j++) {
            const size_t node = (code >> (j + 1)) - 1;

            dz[node] = (real)slope_of(PAIR_RANK, (double)z[node], (double)(code >> j & 1));
        }
    }
}
