/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - embedding look-up and its transpose
 *
 * Rows are short (32 floats = two cache lines), so both are bound by the latency of finding the
 * row, not by arithmetic. */
#include "kernels/cpu_ops.h"

#include <string.h>

#include "kernels/real.h"

void NAME(gather_rows)(const real *table, const uint32_t *indices, size_t B, size_t D, real *out)
{
    for (size_t i = 0; i < B; i++)
        memcpy(out + i * D, table + (size_t)indices[i] * D, D * sizeof *out);
}

void NAME(scatter_rows)(const real *in, const uint32_t *indices, size_t B, size_t D, real *table)
{
    for (size_t i = 0; i < B; i++)
        memcpy(table + (size_t)indices[i] * D, in + i * D, D * sizeof *in);
}

EDL_MULTIVERSION
void NAME(scatter_add_rows)(const real *in, const uint32_t *indices, size_t B, size_t D,
                            real *table)
{
    for (size_t i = 0; i < B; i++) {
        const real *from = in + i * D;
        real *to = table + (size_t)indices[i] * D;

#pragma omp simd
        for (size_t j = 0; j < D; j++)
            to[j] += from[j];
    }
}
