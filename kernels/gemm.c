/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - the product of two matrices that lie densely, on a BLAS
 *
 * Sizes fit a BLAS int: the callers bound them. */
#include "kernels/cpu_ops.h"

#include <cblas.h>

#include "kernels/real.h"

#ifdef EDL_REAL_F64
#define REAL_GEMM cblas_dgemm
#else
#define REAL_GEMM cblas_sgemm
#endif

void NAME(gemm)(int transpose_a, int transpose_b, size_t M, size_t N, size_t K, const void *a,
                const void *b, int accumulate, void *c)
{
    REAL_GEMM(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
              transpose_b ? CblasTrans : CblasNoTrans, (int)M, (int)N, (int)K, 1, a,
              (int)(transpose_a ? M : K), b, (int)(transpose_b ? K : N), accumulate ? 1 : 0, c,
              (int)N);
}
