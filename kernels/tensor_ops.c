/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_ops.c - the table of the layers' ops, one for each element type */
#include "kernels/tensor_ops.h"

#include <string.h>

#include "kernels/cpu_ops.h"
#include "kernels/real.h"

static void from_float(const float *in, size_t N, void *out)
{
    real *to = out;

    for (size_t i = 0; i < N; i++)
        to[i] = (real)in[i];
}

static void to_float(const void *in, size_t N, float *out)
{
    const real *from = in;

    for (size_t i = 0; i < N; i++)
        out[i] = (float)from[i];
}

static void copy(const void *in, size_t N, void *out)
{
    memcpy(out, in, N * sizeof(real));
}

static void zero(void *out, size_t N)
{
    memset(out, 0, N * sizeof(real));
}

/* ---- the typed ops with untyped arrays ---- */

static void gather_rows(const void *table, const uint32_t *indices, size_t B, size_t D, void *out)
{
    NAME(gather_rows)(table, indices, B, D, out);
}

static void scatter_rows(const void *in, const uint32_t *indices, size_t B, size_t D, void *table)
{
    NAME(scatter_rows)(in, indices, B, D, table);
}

static void scatter_add_rows(const void *in, const uint32_t *indices, size_t B, size_t D,
                             void *table)
{
    NAME(scatter_add_rows)(in, indices, B, D, table);
}

static void add(const void *x, size_t N, void *sum)
{
    NAME(add)(x, N, sum);
}

static void scale(const void *x, size_t N, double factor, void *y)
{
    NAME(scale)(x, N, (real)factor, y);
}

static void multiply(const void *x, const void *y, size_t N, void *z)
{
    NAME(multiply)(x, y, N, z);
}

static void column_sums(const void *in, size_t B, size_t D, void *out)
{
    NAME(column_sums)(in, B, D, out);
}

static void sigmoid_forward(const void *x, size_t N, void *y)
{
    NAME(sigmoid_forward)(x, N, y);
}

static void sigmoid_backward(const void *y, const void *dy, size_t N, void *dx)
{
    NAME(sigmoid_backward)(y, dy, N, dx);
}

static void dropout_forward(const void *x, size_t N, float rate, uint64_t seed, void *mask, void *y)
{
    NAME(dropout_forward)(x, N, rate, seed, mask, y);
}

static double softmax_xent_forward(void *logits, const int32_t *targets, size_t B, size_t D,
                                   uint32_t *host_errors)
{
    return NAME(softmax_xent_forward)(logits, targets, B, D, host_errors);
}

static void softmax_xent_backward(void *probabilities, const int32_t *targets, size_t B, size_t D)
{
    NAME(softmax_xent_backward)(probabilities, targets, B, D);
}

static const struct tensor_ops ops = {
#ifdef EDL_REAL_F64
    .name = "f64",
#else
    .name = "f32",
#endif
    .element_bytes = sizeof(real),
    .from_float = from_float,
    .to_float = to_float,
    .copy = copy,
    .zero = zero,
    .copy_columns = NAME(copy_columns),
    .gather_rows = gather_rows,
    .scatter_rows = scatter_rows,
    .scatter_add_rows = scatter_add_rows,
    .fill_rows = NAME(fill_rows),
    .fill_channels = NAME(fill_channels),
    .add = add,
    .scale = scale,
    .multiply = multiply,
    .finite = NAME(finite),
    .dot = NAME(dot),
    .sigmoid_forward = sigmoid_forward,
    .sigmoid_backward = sigmoid_backward,
    .tanh_forward = NAME(tanh_forward),
    .tanh_backward = NAME(tanh_backward),
    .relu_forward = NAME(relu_forward),
    .relu_backward = NAME(relu_backward),
    .dropout_forward = dropout_forward,
    .column_sums = column_sums,
    .channel_sums = NAME(channel_sums),
    .gemm = NAME(gemm),
    .softmax_forward = NAME(softmax_forward),
    .softmax_backward = NAME(softmax_backward),
    .softmax_xent_forward = softmax_xent_forward,
    .softmax_xent_backward = softmax_xent_backward,
    .square_error_forward = NAME(square_error_forward),
    .square_error_backward = NAME(square_error_backward),
    .cosine_forward = NAME(cosine_forward),
    .cosine_backward = NAME(cosine_backward),
    .sequence_pool_forward = NAME(sequence_pool_forward),
    .sequence_pool_backward = NAME(sequence_pool_backward),
    .context_forward = NAME(context_forward),
    .context_backward = NAME(context_backward),
    .curve_forward = NAME(curve_forward),
    .curve_backward = NAME(curve_backward),
    .affine = NAME(affine),
    .multiply_rows = NAME(multiply_rows),
    .multiply_columns = NAME(multiply_columns),
    .dot_rows = NAME(dot_rows),
    .pair_forward = NAME(pair_forward),
    .pair_backward = NAME(pair_backward),
    .expand_rows = NAME(expand_rows),
    .map_norm_forward = NAME(map_norm_forward),
    .map_norm_backward = NAME(map_norm_backward),
    .maxout_forward = NAME(maxout_forward),
    .maxout_backward = NAME(maxout_backward),
    .pad_forward = NAME(pad_forward),
    .pad_backward = NAME(pad_backward),
    .lstm_forward = NAME(lstm_forward),
    .lstm_backward = NAME(lstm_backward),
    .gru_reset = NAME(gru_reset),
    .gru_forward = NAME(gru_forward),
    .gru_backward = NAME(gru_backward),
    .gru_reset_backward = NAME(gru_reset_backward),
    .unit_forward = NAME(unit_forward),
    .unit_backward = NAME(unit_backward),
    .crf_forward = NAME(crf_forward),
    .crf_backward = NAME(crf_backward),
    .tree_forward = NAME(tree_forward),
    .tree_backward = NAME(tree_backward),
    .im2col = NAME(im2col),
    .col2im = NAME(col2im),
    .pool_forward = NAME(pool_forward),
    .pool_backward = NAME(pool_backward),
    .norm_statistics = NAME(norm_statistics),
    .norm_forward = NAME(norm_forward),
    .norm_backward = NAME(norm_backward),
    .move_towards = NAME(move_towards),
};

#ifdef EDL_REAL_F64
const struct tensor_ops *tensor_ops_f64(void)
#else
const struct tensor_ops *tensor_ops_f32(void)
#endif
{
    return &ops;
}
