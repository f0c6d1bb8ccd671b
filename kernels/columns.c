/* SPDX-License-Identifier: Apache-2.0 */
/* columns.c - rows and channels filled, and columns taken out of rows */
#include "kernels/cpu_ops.h"

#include <string.h>

#include "kernels/real.h"

void NAME(copy_columns)(const void *in, size_t in_width, size_t B, size_t D, void *out,
                        size_t out_width)
{
    const real *from = in;
    real *to = out;

    for (size_t b = 0; b < B; b++)
        memcpy(to + b * out_width, from + b * in_width, D * sizeof(real));
}

void NAME(fill_rows)(const void *bias, size_t B, size_t D, void *out)
{
    real *to = out;

    if (bias == NULL)
        memset(to, 0, B * D * sizeof(real));
    else
        for (size_t b = 0; b < B; b++)
            memcpy(to + b * D, bias, D * sizeof(real));
}

void NAME(fill_channels)(const void *bias, size_t n, size_t C, size_t P, void *out)
{
    const real *b = bias;
    real *to = out;

    for (size_t channel = 0; channel < n * C; channel++)
        for (size_t p = 0; p < P; p++)
            *to++ = b != NULL ? b[channel % C] : 0;
}

EDL_MULTIVERSION
void NAME(channel_sums)(const void *in, size_t n, size_t C, size_t P, void *out)
{
    const real *from = in;
    real *to = out;

    for (size_t channel = 0; channel < n * C; channel++, from += P) {
        real sum = 0;

#pragma omp simd reduction(+ : sum)
        for (size_t p = 0; p < P; p++)
            sum += from[p];
        to[channel % C] += sum;
    }
}
