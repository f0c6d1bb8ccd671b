/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_ops.h - the CPU ops by name, for backend_cpu.c's table only; kernels.h says what they do */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/real.h"
#include "kernels/tensor_ops.h"

int cpu_start(int device, char *ret_text, size_t size);
void cpu_stop(void);
const char *cpu_failure(void);
void *cpu_allocate(size_t bytes);
void cpu_release(void *memory);
void cpu_upload(const void *host, size_t bytes, void *memory);
void cpu_download(const void *memory, size_t bytes, void *host);
void cpu_zero(void *memory, size_t bytes);

/* of both element types (real.h): cpu_ in f32, f64_ in f64 */
void NAME(gather_rows)(const real *table, const uint32_t *indices, size_t B, size_t D, real *out);
void NAME(scatter_rows)(const real *in, const uint32_t *indices, size_t B, size_t D, real *table);
void NAME(scatter_add_rows)(const real *in, const uint32_t *indices, size_t B, size_t D,
                            real *table);
void NAME(add)(const real *x, size_t N, real *sum);
void NAME(scale)(const real *x, size_t N, real factor, real *y);
void NAME(multiply)(const real *x, const real *y, size_t N, real *z);
int NAME(finite)(const void *in, size_t N);
void NAME(column_sums)(const real *in, size_t B, size_t N, real *out);
void NAME(sigmoid_forward)(const real *x, size_t N, real *y);
void NAME(sigmoid_backward)(const real *y, const real *dy, size_t N, real *dx);
void NAME(dropout_forward)(const real *x, size_t N, float rate, uint64_t seed, real *mask, real *y);
double NAME(softmax_xent_forward)(real *logits, const int32_t *targets, size_t B, size_t K,
                                  uint32_t *ret_errors);
void NAME(softmax_xent_backward)(real *probabilities, const int32_t *targets, size_t B, size_t K);
/* and those of tensor_ops.h */
void NAME(copy_columns)(const void *in, size_t in_width, size_t B, size_t D, void *out,
                        size_t out_width);
void NAME(fill_rows)(const void *b, size_t B, size_t D, void *out);
void NAME(fill_channels)(const void *b, size_t n, size_t C, size_t P, void *out);
double NAME(dot)(const void *x, const void *y, size_t N);
void NAME(tanh_forward)(const void *x, size_t N, void *y);
void NAME(tanh_backward)(const void *y, const void *dy, size_t N, void *dx);
void NAME(relu_forward)(const void *x, size_t N, void *y);
void NAME(relu_backward)(const void *y, const void *dy, size_t N, void *dx);
void NAME(channel_sums)(const void *in, size_t n, size_t C, size_t P, void *out);
void NAME(gemm)(int transpose_a, int transpose_b, size_t M, size_t N, size_t K, const void *a,
                const void *b, int accumulate, void *c);
void NAME(softmax_forward)(const void *x, size_t B, size_t D, void *y);
void NAME(softmax_backward)(const void *y, const void *dy, size_t B, size_t D, void *dx);
double NAME(square_error_forward)(const void *y, const void *t, size_t N);
void NAME(square_error_backward)(const void *y, const void *t, size_t N, void *dy);
void NAME(cosine_forward)(const void *x, const void *y, size_t B, size_t D, double scale,
                          void *out);
void NAME(cosine_backward)(const void *x, const void *y, const void *dout, size_t B, size_t D,
                           double scale, void *dx, void *dy);
void NAME(sequence_pool_forward)(enum pooling pooling, const void *in, const uint32_t *starts,
                                 size_t n, size_t D, uint32_t *at, void *out);
void NAME(sequence_pool_backward)(enum pooling pooling, const void *dout, const uint32_t *starts,
                                  size_t n, size_t D, const uint32_t *at, void *din);
void NAME(context_forward)(const void *in, const uint32_t *starts, size_t n, size_t D,
                           int32_t first, uint32_t length, void *out);
void NAME(context_backward)(const void *dout, const uint32_t *starts, size_t n, size_t D,
                            int32_t first, uint32_t length, void *din);
void NAME(curve_forward)(enum curve curve, const void *x, size_t N, void *y);
void NAME(curve_backward)(enum curve curve, const void *of, const void *dy, size_t N, void *dx);
void NAME(affine)(const void *x, size_t N, double slope, double intercept, void *y);
void NAME(multiply_rows)(const void *x, const void *factors, size_t B, size_t D, void *y);
void NAME(multiply_columns)(const void *x, const void *factors, size_t B, size_t D, void *y);
void NAME(dot_rows)(const void *x, const void *y, size_t B, size_t D, void *out);
double NAME(pair_forward)(enum pair_cost pair, const void *y, const void *t, size_t N);
void NAME(pair_backward)(enum pair_cost pair, const void *y, const void *t, size_t N, void *dy);
void NAME(expand_rows)(const void *in, const uint32_t *starts, size_t n, size_t D, void *out);
void NAME(map_norm_forward)(const void *x, size_t n, size_t C, size_t P, uint32_t size,
                            double scale, double power, void *base, void *y);
void NAME(map_norm_backward)(const void *x, const void *base, const void *dy, size_t n, size_t C,
                             size_t P, uint32_t size, double scale, double power, void *dx);
void NAME(maxout_forward)(const void *in, size_t n, size_t C, size_t P, uint32_t groups,
                          uint32_t *at, void *out);
void NAME(maxout_backward)(const void *dout, size_t n, size_t C, size_t P, uint32_t groups,
                           const uint32_t *at, void *din);
void NAME(pad_forward)(const void *in, size_t n, const uint32_t *image, const uint32_t *pad,
                       void *out);
void NAME(pad_backward)(const void *dout, size_t n, const uint32_t *image, const uint32_t *pad,
                        void *din);
void NAME(lstm_forward)(const struct lstm_cell *cell, const uint32_t *rows, const uint32_t *prev,
                        size_t B);
void NAME(lstm_backward)(const struct lstm_cell *cell, const uint32_t *rows, const uint32_t *prev,
                         size_t B);
void NAME(gru_reset)(const struct gru_cell *cell, const uint32_t *rows, const uint32_t *prev,
                     size_t B);
void NAME(gru_forward)(const struct gru_cell *cell, const uint32_t *rows, const uint32_t *prev,
                       size_t B);
void NAME(gru_backward)(const struct gru_cell *cell, const uint32_t *rows, const uint32_t *prev,
                        size_t B);
void NAME(gru_reset_backward)(const struct gru_cell *cell, const void *dkept, const uint32_t *rows,
                              const uint32_t *prev, size_t B);
void NAME(unit_forward)(enum unit unit, const uint32_t *rows, size_t B, size_t H, void *out);
void NAME(unit_backward)(enum unit unit, const void *out, const uint32_t *rows, size_t B, size_t H,
                         void *dout);
double NAME(crf_forward)(const void *x, const void *w, const int32_t *labels,
                         const uint32_t *starts, size_t n, size_t S, void *alpha);
void NAME(crf_backward)(const void *x, const void *w, const int32_t *labels, const uint32_t *starts,
                        size_t n, size_t S, const void *alpha, void *beta, double factor, void *dx,
                        void *dw);
double NAME(tree_forward)(const void *z, const int32_t *targets, size_t B, size_t D);
void NAME(tree_backward)(const void *z, const int32_t *targets, size_t B, size_t D, void *dz);
void NAME(im2col)(const void *image, const struct window *window, void *columns);
void NAME(col2im)(const void *columns, const struct window *window, void *image);
void NAME(pool_forward)(enum pooling pooling, const void *in, const struct window *window, size_t n,
                        uint32_t *at, void *out);
void NAME(pool_backward)(enum pooling pooling, const void *dout, const struct window *window,
                         size_t n, const uint32_t *at, void *din);
void NAME(norm_statistics)(const void *x, size_t n, size_t C, size_t P, void *mean, void *variance);
void NAME(norm_forward)(const void *x, const void *mean, const void *variance, const void *gain,
                        const void *shift, double epsilon, size_t n, size_t C, size_t P, void *y);
void NAME(norm_backward)(const void *x, const void *mean, const void *variance, const void *gain,
                         const void *dy, double epsilon, size_t n, size_t C, size_t P, void *dgain,
                         void *dshift, void *dx);
void NAME(move_towards)(const void *x, size_t N, double keep, void *moving);
