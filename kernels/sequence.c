/* SPDX-License-Identifier: Apache-2.0 */
/* sequence.c - pooling over a sequence's rows, and the window of rows around each
 *
 * Every sequence has at least one row: the maker of the batch sees to it. */
#include "kernels/cpu_ops.h"

#include <string.h>

#include "kernels/real.h"

static void pool_max(const real *in, size_t from, size_t to, size_t D, uint32_t *at, real *out)
{
    for (size_t d = 0; d < D; d++) {
        uint32_t best = (uint32_t)from;

        for (size_t row = from + 1; row < to; row++)
            if (!(in[row * D + d] <= in[best * D + d])) /* NaN wins */
                best = (uint32_t)row;
        at[d] = best;
        out[d] = in[best * D + d];
    }
}

static void pool_sum(const real *in, size_t from, size_t to, size_t D, real factor, real *out)
{
    memset(out, 0, D * sizeof *out);
    for (size_t row = from; row < to; row++)
        for (size_t d = 0; d < D; d++)
            out[d] += in[row * D + d];
    for (size_t d = 0; d < D; d++)
        out[d] *= factor;
}

static real share(enum pooling pooling, size_t from, size_t to)
{
    const real rows = (real)(to - from);

    return pooling == POOL_AVERAGE       ? 1 / rows
           : pooling == POOL_SQUARE_ROOT ? 1 / REAL_SQRT(rows)
                                         : 1;
}

/* The rows that count: [*from, *to). */
static void rows_of(enum pooling pooling, const uint32_t *starts, size_t i, size_t *from,
                    size_t *to)
{
    *from = pooling == POOL_LAST ? starts[i + 1] - 1 : starts[i];
    *to = pooling == POOL_FIRST ? starts[i] + 1 : starts[i + 1];
}

void NAME(sequence_pool_forward)(enum pooling pooling, const void *in, const uint32_t *starts,
                                 size_t n, size_t D, uint32_t *at, void *of_out)
{
    real *out = of_out;
    size_t from, to;

    for (size_t i = 0; i < n; i++) {
        rows_of(pooling, starts, i, &from, &to);
        if (pooling == POOL_MAX)
            pool_max(in, from, to, D, at + i * D, out + i * D);
        else
            pool_sum(in, from, to, D, share(pooling, from, to), out + i * D);
    }
}

void NAME(sequence_pool_backward)(enum pooling pooling, const void *of_dout, const uint32_t *starts,
                                  size_t n, size_t D, const uint32_t *at, void *of_din)
{
    const real *dout = of_dout;
    real *din = of_din;
    size_t from, to;

    if (pooling == POOL_MAX || pooling == POOL_FIRST || pooling == POOL_LAST)
        memset(din, 0, (size_t)starts[n] * D * sizeof *din);
    for (size_t i = 0; i < n; i++, dout += D) {
        const real factor = share(pooling, starts[i], starts[i + 1]);

        rows_of(pooling, starts, i, &from, &to);
        if (pooling == POOL_MAX)
            for (size_t d = 0; d < D; d++)
                din[(size_t)at[i * D + d] * D + d] = dout[d];
        else
            for (size_t row = from; row < to; row++)
                for (size_t d = 0; d < D; d++)
                    din[row * D + d] = factor * dout[d];
    }
}

void NAME(expand_rows)(const void *of_in, const uint32_t *starts, size_t n, size_t D, void *of_out)
{
    const real *in = of_in;
    real *out = of_out;

    for (size_t i = 0; i < n; i++, in += D)
        for (size_t row = starts[i]; row < starts[i + 1]; row++, out += D)
            memcpy(out, in, D * sizeof *out);
}

/* The place in the sequence that offset k of a row's window looks at; false: outside. */
EDL_INLINE int looks_at(const uint32_t *starts, size_t i, size_t row, int64_t offset, size_t *ret)
{
    const int64_t at = (int64_t)row + offset;

    *ret = (size_t)at;
    return at >= (int64_t)starts[i] && at < (int64_t)starts[i + 1];
}

void NAME(context_forward)(const void *of_in, const uint32_t *starts, size_t n, size_t D,
                           int32_t first, uint32_t length, void *of_out)
{
    const real *in = of_in;
    real *out = of_out;
    size_t from;

    for (size_t i = 0; i < n; i++)
        for (size_t row = starts[i]; row < starts[i + 1]; row++)
            for (uint32_t k = 0; k < length; k++, out += D) {
                if (looks_at(starts, i, row, (int64_t)first + k, &from))
                    memcpy(out, in + from * D, D * sizeof *out);
                else
                    memset(out, 0, D * sizeof *out);
            }
}

void NAME(context_backward)(const void *of_dout, const uint32_t *starts, size_t n, size_t D,
                            int32_t first, uint32_t length, void *of_din)
{
    const real *dout = of_dout;
    real *din = of_din;
    size_t to;

    memset(din, 0, (size_t)starts[n] * D * sizeof *din);
    for (size_t i = 0; i < n; i++)
        for (size_t row = starts[i]; row < starts[i + 1]; row++)
            for (uint32_t k = 0; k < length; k++, dout += D)
                if (looks_at(starts, i, row, (int64_t)first + k, &to))
                    for (size_t d = 0; d < D; d++)
                        din[to * D + d] += dout[d];
}
