/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_reference.c - the ops of kernels/kernels.h written as naively as possible, in f64 */
#include "tests/lib/kernels_reference.h"

#include <math.h>

#include "shared/macro.h"

double reference_sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

double reference_softmax_xent(double *logits, const int32_t *targets, size_t B, size_t K,
                              uint32_t *ret_errors)
{
    double cost = 0.0;

    *ret_errors = 0;
    for (size_t i = 0; i < B; i++) {
        double *row = logits + i * K, sum = 0.0, max;
        size_t argmax = 0;

        for (size_t j = 1; j < K; j++)
            if (row[j] > row[argmax])
                argmax = j;
        *ret_errors += argmax != (size_t)targets[i];
        max = row[argmax];
        for (size_t j = 0; j < K; j++)
            sum += exp(row[j] - max);
        cost -= row[targets[i]] - max - log(sum);
        for (size_t j = 0; j < K; j++)
            row[j] = exp(row[j] - max) / sum;
    }
    return cost;
}

double *reference_widen(const float *x, size_t n)
{
    double *wide = xcalloc(n, sizeof *wide);

    for (size_t i = 0; i < n; i++)
        wide[i] = (double)x[i];
    return wide;
}
