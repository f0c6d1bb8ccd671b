/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_ops.h - the ops that the layers of a network are made of, for one element type
 *
 * A layer is written once and runs in both: f32 trains, f64 checks gradients. The arrays are of the
 * table's own element type; the rules for ops in kernels.h hold here too.
 *
 * Legend: B rows, D columns, N elements, n samples, C channels, P pixels of a channel. A sequence
 * has starts[n + 1]: sample i is the rows from starts[i] to starts[i + 1]. Outputs are overwritten
 * (=) except where a line says (+=). No aliasing unless said. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* FIRST, LAST and SQUARE_ROOT (the sum over the root of the rows) are of sequences alone. */
enum pooling { POOL_SUM, POOL_AVERAGE, POOL_MAX, POOL_FIRST, POOL_LAST, POOL_SQUARE_ROOT };

/* Functions of one value. */
enum curve {
    CURVE_EXPONENTIAL,
    CURVE_LOG,
    CURVE_ABS,
    CURVE_SQUARE,
    CURVE_BRELU,    /* between 0 and 24 */
    CURVE_SOFTRELU, /* ln(1 + e^x) */
    CURVE_STANH     /* 1.7159 tanh(2/3 x) */
};

/* Costs of one value y beside another one, t. */
enum pair_cost {
    PAIR_BINARY,   /* -(t ln y + (1 - t) ln(1 - y)) */
    PAIR_RANK,     /* ln(1 + e^y) - t y */
    PAIR_SMOOTH_L1 /* d^2 / 2 where d = |y - t| is below 1, else d - 1/2 */
};

/* The functions inside of recurrent layers. */
enum unit { UNIT_LINEAR, UNIT_SIGMOID, UNIT_TANH, UNIT_RELU };

/* Arrays of all rows of a batch, [rows, H] where nothing is said; the d arrays are gradients. */
struct lstm_cell {
    size_t H;
    enum unit cell, gate, shown_by;
    const void *peepholes; /* [3, H] from the state to the gates in, forget and out; NULL: none */
    void *gates;           /* [rows, 4H]: cell, in, forget, out; before the step what enters them */
    void *state, *shown, *out; /* shown: of the state by its unit */
    const void *dout;
    void *dstate;     /* (+=) of later steps; zeros at first */
    void *dgates;     /* [rows, 4H] of what enters them */
    void *dpeepholes; /* (+=), NULL: none */
};

struct gru_cell {
    size_t H;
    enum unit cell, gate;
    void *gates; /* [rows, 2H]: update, reset; before the step what enters them */
    void *fresh; /* the candidate; before the step what enters it */
    void *kept;  /* the row before times reset */
    void *out;
    void *dout; /* (+=) of the rows before */
    void *dgates, *dfresh;
};

/* A window that moves over images of C channels. */
struct window {
    uint32_t channels, height, width;     /* of what it moves over */
    uint32_t size, stride, padding;       /* along a line */
    uint32_t size_y, stride_y, padding_y; /* along a column */
    uint32_t out_height, out_width;
};

struct tensor_ops {
    const char *name; /* "f32" */
    size_t element_bytes;

    /* ---- moving ---- */
    /* from and to the program's memory, whatever memory the others are in */
    void (*from_float)(const float *host_in, size_t N, void *out);
    void (*to_float)(const void *in, size_t N, float *host_out);
    void (*copy)(const void *in, size_t N, void *out);
    void (*zero)(void *out, size_t N);
    /* columns of rows: out[b, 0..D) = in[b, 0..D), the rows in_width and out_width apart */
    void (*copy_columns)(const void *in, size_t in_width, size_t B, size_t D, void *out,
                         size_t out_width);
    /* out[B, D] = rows of table[*, D] at indices[B], each within the table */
    void (*gather_rows)(const void *table, const uint32_t *indices, size_t B, size_t D, void *out);
    /* table[*, D] = in[B, D] at indices[B], which are distinct */
    void (*scatter_rows)(const void *in, const uint32_t *indices, size_t B, size_t D, void *table);
    /* the same index may come several times */
    void (*scatter_add_rows)(const void *in, const uint32_t *indices, size_t B, size_t D,
                             void *table); /* (+=) */
    /* each row = b[D], or zeros for b NULL */
    void (*fill_rows)(const void *b, size_t B, size_t D, void *out);
    /* out[n, C, P] = b[C], or zeros for b NULL */
    void (*fill_channels)(const void *b, size_t n, size_t C, size_t P, void *out);

    /* ---- element by element ---- */
    void (*add)(const void *x, size_t N, void *sum);                   /* (+=) */
    void (*scale)(const void *x, size_t N, double factor, void *y);    /* in place allowed */
    void (*multiply)(const void *x, const void *y, size_t N, void *z); /* in place allowed */
    int (*finite)(const void *x, size_t N);                            /* 1: all are */
    double (*dot)(const void *x, const void *y, size_t N);             /* summed in f64 */
    void (*sigmoid_forward)(const void *x, size_t N, void *y);         /* in place allowed */
    void (*sigmoid_backward)(const void *y, const void *dy, size_t N, void *dx);
    void (*tanh_forward)(const void *x, size_t N, void *y); /* in place allowed */
    void (*tanh_backward)(const void *y, const void *dy, size_t N, void *dx);
    void (*relu_forward)(const void *x, size_t N, void *y); /* in place allowed */
    void (*relu_backward)(const void *y, const void *dy, size_t N, void *dx);
    /* backward by y, but for CURVE_ABS and CURVE_SQUARE by x; in place allowed */
    void (*curve_forward)(enum curve curve, const void *x, size_t N, void *y);
    void (*curve_backward)(enum curve curve, const void *of, const void *dy, size_t N, void *dx);
    /* y = slope * x + intercept */
    void (*affine)(const void *x, size_t N, double slope, double intercept, void *y);
    /* y = x*mask; P(mask = 0) = rate, drawn from (seed, element) */
    void (*dropout_forward)(const void *x, size_t N, float rate, uint64_t seed, void *mask,
                            void *y);

    /* ---- sums and products ---- */
    /* out[D] = sums of the columns of in[B, D] */
    void (*column_sums)(const void *in, size_t B, size_t D, void *out);
    /* out[C] (+=) sums over in[n, C, P] */
    void (*channel_sums)(const void *in, size_t n, size_t C, size_t P, void *out);
    /* c[M, N] = op(a) op(b), or (+=) where accumulate; op transposes what is named so */
    void (*gemm)(int transpose_a, int transpose_b, size_t M, size_t N, size_t K, const void *a,
                 const void *b, int accumulate, void *c);

    /* ---- rows ---- */
    /* y[b, d] = x[b, d] * factors[b]; in place allowed */
    void (*multiply_rows)(const void *x, const void *factors, size_t B, size_t D, void *y);
    /* y[b, d] = x[b, d] * factors[d]; in place allowed */
    void (*multiply_columns)(const void *x, const void *factors, size_t B, size_t D, void *y);
    /* out[b] = the sum over d of x[b, d] * y[b, d] */
    void (*dot_rows)(const void *x, const void *y, size_t B, size_t D, void *out);
    /* the sum over N values; dy. */
    double (*pair_forward)(enum pair_cost pair, const void *y, const void *t, size_t N);
    void (*pair_backward)(enum pair_cost pair, const void *y, const void *t, size_t N, void *dy);
    void (*softmax_forward)(const void *x, size_t B, size_t D, void *y); /* in place allowed */
    void (*softmax_backward)(const void *y, const void *dy, size_t B, size_t D, void *dx);
    /* logits -> probabilities in place; the sum of the costs in nats, *host_errors as kernels.h */
    double (*softmax_xent_forward)(void *logits, const int32_t *targets, size_t B, size_t D,
                                   uint32_t *host_errors);
    /* probabilities -> gradient of the SUM of the costs, in place */
    void (*softmax_xent_backward)(void *probabilities, const int32_t *targets, size_t B, size_t D);
    /* sum of (y - t)^2; dy = 2(y - t) */
    double (*square_error_forward)(const void *y, const void *t, size_t N);
    void (*square_error_backward)(const void *y, const void *t, size_t N, void *dy);
    /* out[B] = scale * cos(x[b], y[b]); of a zero vector NaN. Backward: dx or dy may be NULL */
    void (*cosine_forward)(const void *x, const void *y, size_t B, size_t D, double scale,
                           void *out);
    void (*cosine_backward)(const void *x, const void *y, const void *dout, size_t B, size_t D,
                            double scale, void *dx, void *dy);

    /* costs of turns in a binary tree of D + 1 classes: of class t, the nodes are the bits of
     * t + D + 1 from the second on; PAIR_RANK at each. dz[B, D] */
    double (*tree_forward)(const void *z, const int32_t *targets, size_t B, size_t D);
    void (*tree_backward)(const void *z, const int32_t *targets, size_t B, size_t D, void *dz);

    /* ---- sequences ---- */
    /* out[n, D]; at u32[n, D]: of POOL_MAX the row of the maximum, the first of equals */
    void (*sequence_pool_forward)(enum pooling pooling, const void *in, const uint32_t *starts,
                                  size_t n, size_t D, uint32_t *at, void *out);
    void (*sequence_pool_backward)(enum pooling pooling, const void *dout, const uint32_t *starts,
                                   size_t n, size_t D, const uint32_t *at, void *din);
    /* out[row, D] = the row of in[n, D] that its sequence has */
    void (*expand_rows)(const void *in, const uint32_t *starts, size_t n, size_t D, void *out);
    /* out[row, length * D] = the rows from row + first on, zeros outside the row's own sequence */
    void (*context_forward)(const void *in, const uint32_t *starts, size_t n, size_t D,
                            int32_t first, uint32_t length, void *out);
    void (*context_backward)(const void *dout, const uint32_t *starts, size_t n, size_t D,
                             int32_t first, uint32_t length, void *din);

    /* ---- one step of recurrent layers: B rows, and the row before each (NULL: the first step) */
    void (*lstm_forward)(const struct lstm_cell *cell, const uint32_t *rows, const uint32_t *prev,
                         size_t B);
    void (*lstm_backward)(const struct lstm_cell *cell, const uint32_t *rows, const uint32_t *prev,
                          size_t B);
    /* the gates, and kept; then, with what kept brings to fresh, the candidate and out */
    void (*gru_reset)(const struct gru_cell *cell, const uint32_t *rows, const uint32_t *prev,
                      size_t B);
    void (*gru_forward)(const struct gru_cell *cell, const uint32_t *rows, const uint32_t *prev,
                        size_t B);
    /* the same backwards: dkept is [B, H] */
    void (*gru_backward)(const struct gru_cell *cell, const uint32_t *rows, const uint32_t *prev,
                         size_t B);
    void (*gru_reset_backward)(const struct gru_cell *cell, const void *dkept, const uint32_t *rows,
                               const uint32_t *prev, size_t B);
    /* some rows in place: values; gradients by the values */
    void (*unit_forward)(enum unit unit, const uint32_t *rows, size_t B, size_t H, void *out);
    void (*unit_backward)(enum unit unit, const void *out, const uint32_t *rows, size_t B, size_t H,
                          void *dout);

    /* ---- a chain of labels: x[rows, S], w[S + 2, S] of first, last and next; alpha and beta
     * [rows, S] go from forward to backward, and within it. The cost; dx (NULL: skipped), dw (+=),
     * both times factor */
    double (*crf_forward)(const void *x, const void *w, const int32_t *labels,
                          const uint32_t *starts, size_t n, size_t S, void *alpha);
    void (*crf_backward)(const void *x, const void *w, const int32_t *labels,
                         const uint32_t *starts, size_t n, size_t S, const void *alpha, void *beta,
                         double factor, void *dx, void *dw);

    /* ---- images ---- */
    /* columns[C * size * size, out pixels] of one image, zeros for the padding */
    void (*im2col)(const void *image, const struct window *window, void *columns);
    void (*col2im)(const void *columns, const struct window *window, void *image);
    /* out[n, C, out pixels]; an average divides by the pixels inside; at u32 as above */
    void (*pool_forward)(enum pooling pooling, const void *in, const struct window *window,
                         size_t n, uint32_t *at, void *out);
    void (*pool_backward)(enum pooling pooling, const void *dout, const struct window *window,
                          size_t n, const uint32_t *at, void *din);
    /* base = 1 + scale * the squares of the size channels around; y = x * base^-power */
    void (*map_norm_forward)(const void *x, size_t n, size_t C, size_t P, uint32_t size,
                             double scale, double power, void *base, void *y);
    void (*map_norm_backward)(const void *x, const void *base, const void *dy, size_t n, size_t C,
                              size_t P, uint32_t size, double scale, double power, void *dx);
    /* out[n, C / groups, P]: the largest of groups channels side by side; at u32: which */
    void (*maxout_forward)(const void *in, size_t n, size_t C, size_t P, uint32_t groups,
                           uint32_t *at, void *out);
    void (*maxout_backward)(const void *dout, size_t n, size_t C, size_t P, uint32_t groups,
                            const uint32_t *at, void *din);
    /* image is channels, height and width; pad zeros before and behind each of them */
    void (*pad_forward)(const void *in, size_t n, const uint32_t *image, const uint32_t *pad,
                        void *out);
    void (*pad_backward)(const void *dout, size_t n, const uint32_t *image, const uint32_t *pad,
                         void *din);
    /* y = (x - mean) / sqrt(variance + epsilon) * gain + shift over [n, C, P], mean and variance
     * [C]. statistics: mean and biased variance of a batch. backward: also through those. */
    void (*norm_statistics)(const void *x, size_t n, size_t C, size_t P, void *mean,
                            void *variance);
    void (*norm_forward)(const void *x, const void *mean, const void *variance, const void *gain,
                         const void *shift, double epsilon, size_t n, size_t C, size_t P, void *y);
    void (*norm_backward)(const void *x, const void *mean, const void *variance, const void *gain,
                          const void *dy, double epsilon, size_t n, size_t C, size_t P, void *dgain,
                          void *dshift, void *dx);
    /* moving = moving * keep + x * (1 - keep) */
    void (*move_towards)(const void *x, size_t N, double keep, void *moving);
};

/* tensor_ops_f32, tensor_ops_f64 - the CPU's, on the program's memory; static */
const struct tensor_ops *tensor_ops_f32(void);
const struct tensor_ops *tensor_ops_f64(void);
