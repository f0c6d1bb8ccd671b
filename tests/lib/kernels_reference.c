/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_reference.c - the ops of kernels/kernels.h written as naively as possible, in f64 */
#include "tests/lib/kernels_reference.h"

#include <math.h>

#include "shared/macro.h"

void reference_fc_forward(const double *x, const double *w, const double *b, size_t B, size_t D,
                          size_t H, double *out)
{
    for (size_t i = 0; i < B; i++)
        for (size_t j = 0; j < H; j++) {
            out[i * H + j] = b[j];
            for (size_t k = 0; k < D; k++)
                out[i * H + j] += x[i * D + k] * w[k * H + j];
        }
}

void reference_fc_forward_transposed(const double *x, const double *w, const double *b, size_t B,
                                     size_t H, size_t K, double *out)
{
    for (size_t i = 0; i < B; i++)
        for (size_t j = 0; j < K; j++) {
            out[i * K + j] = b[j];
            for (size_t k = 0; k < H; k++)
                out[i * K + j] += x[i * H + k] * w[j * H + k];
        }
}

static void column_sums(const double *in, size_t B, size_t N, double *out)
{
    for (size_t j = 0; j < N; j++) {
        out[j] = 0.0;
        for (size_t i = 0; i < B; i++)
            out[j] += in[i * N + j];
    }
}

void reference_fc_backward(const double *x, const double *w, const double *dy, size_t B, size_t D,
                           size_t H, double *dw, double *db, double *dx)
{
    for (size_t k = 0; k < D; k++)
        for (size_t j = 0; j < H; j++) {
            dw[k * H + j] = 0.0;
            for (size_t i = 0; i < B; i++)
                dw[k * H + j] += x[i * D + k] * dy[i * H + j];
        }
    column_sums(dy, B, H, db);
    for (size_t i = 0; dx != NULL && i < B; i++)
        for (size_t k = 0; k < D; k++) {
            dx[i * D + k] = 0.0;
            for (size_t j = 0; j < H; j++)
                dx[i * D + k] += dy[i * H + j] * w[k * H + j];
        }
}

void reference_fc_backward_transposed(const double *x, const double *w, const double *dy, size_t B,
                                      size_t H, size_t K, double *dw, double *db, double *dx)
{
    for (size_t j = 0; j < K; j++)
        for (size_t k = 0; k < H; k++) {
            dw[j * H + k] = 0.0;
            for (size_t i = 0; i < B; i++)
                dw[j * H + k] += dy[i * K + j] * x[i * H + k];
        }
    column_sums(dy, B, K, db);
    for (size_t i = 0; dx != NULL && i < B; i++)
        for (size_t k = 0; k < H; k++) {
            dx[i * H + k] = 0.0;
            for (size_t j = 0; j < K; j++)
                dx[i * H + k] += dy[i * K + j] * w[j * H + k];
        }
}

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

void reference_adagrad(double *w, double *a, const double *g, size_t N, double lr, double l2,
                       double epsilon)
{
    for (size_t i = 0; i < N; i++) {
        a[i] += g[i] * g[i];
        w[i] -= lr * (g[i] + l2 * w[i]) / sqrt(a[i] + epsilon);
    }
}

double *reference_widen(const float *x, size_t n)
{
    double *wide = xcalloc(n, sizeof *wide);

    for (size_t i = 0; i < n; i++)
        wide[i] = (double)x[i];
    return wide;
}
