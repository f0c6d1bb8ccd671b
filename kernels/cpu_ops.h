/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_ops.h - the CPU ops by name, for backend_cpu.c's table only; kernels.h says what they do */
#pragma once

#include <stddef.h>
#include <stdint.h>

int cpu_start(int device, char *ret_text, size_t size);
void cpu_stop(void);
const char *cpu_failure(void);
void *cpu_allocate(size_t bytes);
void cpu_release(void *memory);
void cpu_upload(const void *host, size_t bytes, void *memory);
void cpu_download(const void *memory, size_t bytes, void *host);
void cpu_zero(void *memory, size_t bytes);
void cpu_gather_rows(const float *table, const uint32_t *indices, size_t B, size_t D, float *out);
void cpu_scatter_rows(const float *in, const uint32_t *indices, size_t B, size_t D, float *table);
void cpu_scatter_add_rows(const float *in, const uint32_t *indices, size_t B, size_t D,
                          float *table);
void cpu_add(const float *x, size_t N, float *sum);
void cpu_scale(const float *x, size_t N, float factor, float *y);
void cpu_multiply(const float *x, const float *y, size_t N, float *z);
void cpu_fc_forward(const float *x, const float *w, const float *b, size_t B, size_t D, size_t H,
                    float *out);
void cpu_fc_forward_transposed(const float *x, const float *w, const float *b, size_t B, size_t H,
                               size_t K, float *out);
void cpu_fc_backward(const float *x, const float *w, const float *dy, size_t B, size_t D, size_t H,
                     float *dw, float *db, float *dx);
void cpu_fc_backward_transposed(const float *x, const float *w, const float *dy, size_t B, size_t H,
                                size_t K, float *dw, float *db, float *dx);
void cpu_column_sums(const float *in, size_t B, size_t N, float *out);
void cpu_sigmoid_forward(const float *x, size_t N, float *y);
void cpu_sigmoid_backward(const float *y, const float *dy, size_t N, float *dx);
void cpu_dropout_forward(const float *x, size_t N, float rate, uint64_t seed, float *mask,
                         float *y);
double cpu_softmax_xent_forward(float *logits, const int32_t *targets, size_t B, size_t K,
                                uint32_t *ret_errors);
void cpu_softmax_xent_backward(float *probabilities, const int32_t *targets, size_t B, size_t K);
void cpu_adagrad(float *w, float *a, const float *g, size_t N, float lr, float l2, float epsilon);
