/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_xent.c - softmax and cross-entropy of integer targets, fused
 *
 * Three passes over a row that stays in the L1 cache: maximum, exponentials with their sum, scale.
 * The cost is taken from the logits (log of the sum minus the target's), not from the probability.
 * So a target of probability 1e-40 costs 92 nats and not infinity. A NaN anywhere in a row makes
 * that row's cost NaN. */
#include "kernels/cpu_ops.h"

#include <math.h>

#include "kernels/real.h"

EDL_INLINE real row_max(const real *x, size_t K)
{
    real max = -INFINITY;

#pragma omp simd reduction(max : max)
    for (size_t i = 0; i < K; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

EDL_INLINE real exp_and_sum(real *x, size_t K, real max)
{
    real sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < K; i++) {
        real e = REAL_EXP(x[i] - max);

        x[i] = e;
        sum += e;
    }
    return sum;
}

EDL_INLINE void scale_row(real *x, size_t K, real factor)
{
#pragma omp simd
    for (size_t i = 0; i < K; i++)
        x[i] *= factor;
}

/* The first of equal maxima wins, so the target must not have an equal before it. */
EDL_INLINE int is_argmax(const real *x, size_t target, real max)
{
    if (!(x[target] == max))
        return 0;
    for (size_t i = 0; i < target; i++)
        if (x[i] == max)
            return 0;
    return 1;
}

EDL_MULTIVERSION
double NAME(softmax_xent_forward)(real *logits, const int32_t *targets, size_t B, size_t K,
                                  uint32_t *ret_errors)
{
    double cost = 0.0;
    uint32_t errors = 0;

    for (size_t b = 0; b < B; b++) {
        real *row = logits + b * K;
        const size_t target = (size_t)targets[b];
        const real max = row_max(row, K), of_target = row[target];
        real sum;

        errors += !is_argmax(row, target, max);
        sum = exp_and_sum(row, K, max);
        cost += log((double)sum) - ((double)of_target - (double)max);
        scale_row(row, K, 1 / sum);
    }
    *ret_errors = errors;
    return cost;
}

void NAME(softmax_xent_backward)(real *probabilities, const int32_t *targets, size_t B, size_t K)
{
    for (size_t b = 0; b < B; b++)
        probabilities[b * K + (size_t)targets[b]] -= 1;
}
