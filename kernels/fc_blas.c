/* SPDX-License-Identifier: Apache-2.0 */
/* fc_blas.c - fully connected layers on a BLAS
 *
 * The bias travels inside the product: out is filled with b first and sgemm accumulates onto it
 * (beta 1), which saves a pass over out. Sizes fit a BLAS int: the callers bound them. */
#include "kernels/cpu_ops.h"

#include <cblas.h>
#include <string.h>

#include "kernels/vector.h"

static void fill_rows(const float *b, size_t B, size_t N, float *out)
{
    for (size_t i = 0; i < B; i++)
        memcpy(out + i * N, b, N * sizeof *out);
}

void cpu_fc_forward(const float *x, const float *w, const float *b, size_t B, size_t D, size_t H,
                    float *out)
{
    fill_rows(b, B, H, out);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)B, (int)H, (int)D, 1.0f, x, (int)D,
                w, (int)H, 1.0f, out, (int)H);
}

void cpu_fc_forward_transposed(const float *x, const float *w, const float *b, size_t B, size_t H,
                               size_t K, float *out)
{
    fill_rows(b, B, K, out);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)B, (int)K, (int)H, 1.0f, x, (int)H, w,
                (int)H, 1.0f, out, (int)K);
}

void cpu_fc_backward(const float *x, const float *w, const float *dy, size_t B, size_t D, size_t H,
                     float *dw, float *db, float *dx)
{
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)D, (int)H, (int)B, 1.0f, x, (int)D,
                dy, (int)H, 0.0f, dw, (int)H);
    cpu_column_sums(dy, B, H, db);
    if (dx != NULL)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)B, (int)D, (int)H, 1.0f, dy,
                    (int)H, w, (int)H, 0.0f, dx, (int)D);
}

void cpu_fc_backward_transposed(const float *x, const float *w, const float *dy, size_t B, size_t H,
                                size_t K, float *dw, float *db, float *dx)
{
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)K, (int)H, (int)B, 1.0f, dy, (int)K,
                x, (int)H, 0.0f, dw, (int)H);
    cpu_column_sums(dy, B, K, db);
    if (dx != NULL)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)B, (int)H, (int)K, 1.0f, dy,
                    (int)K, w, (int)H, 0.0f, dx, (int)H);
}
