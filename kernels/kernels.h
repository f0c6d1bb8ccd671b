/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - the ops of training behind one table, so that a back-end is chosen once at start
 *
 * Legend: B batch, D input features, H hidden features, K classes, N elements. All f32 row-major
 * unless said. Accumulation: outputs are overwritten (=) except where a line says (+=). No aliasing
 * unless said. Kernels never allocate, never exit and know nothing of the rest (they may not
 * include shared/). README.md holds the conventions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_backend {
    const char *name;
    /* out[B,D] (=) rows of table[*,D] at indices[B], each within the table */
    void (*gather_rows)(const float *table, const uint32_t *indices, size_t B, size_t D,
                        float *out);
    /* table[*,D] (+=) in[B,D] at indices[B]; the same index may come several times */
    void (*scatter_add_rows)(const float *in, const uint32_t *indices, size_t B, size_t D,
                             float *table);
    /* out[B,H] = x[B,D] w[D,H] + b[H] */
    void (*fc_forward)(const float *x, const float *w, const float *b, size_t B, size_t D, size_t H,
                       float *out);
    /* out[B,K] = x[B,H] w[K,H]^T + b[K] */
    void (*fc_forward_transposed)(const float *x, const float *w, const float *b, size_t B,
                                  size_t H, size_t K, float *out);
    /* dw[D,H] = x^T dy; db[H] = column sums of dy; dx[B,D] = dy w^T (dx NULL: skipped) */
    void (*fc_backward)(const float *x, const float *w, const float *dy, size_t B, size_t D,
                        size_t H, float *dw, float *db, float *dx);
    /* dw[K,H] = dy^T x; db[K] = column sums of dy[B,K]; dx[B,H] = dy w (dx NULL: skipped) */
    void (*fc_backward_transposed)(const float *x, const float *w, const float *dy, size_t B,
                                   size_t H, size_t K, float *dw, float *db, float *dx);
    /* y = 1/(1+exp(-x)), in place allowed */
    void (*sigmoid_forward)(const float *x, size_t N, float *y);
    /* dx = dy*y*(1-y), in place allowed */
    void (*sigmoid_backward)(const float *y, const float *dy, size_t N, float *dx);
    /* y = x*mask, mask[i] in {0,1}, drawn from (seed, i): P(0) = rate; in place allowed */
    void (*dropout_forward)(const float *x, size_t N, float rate, uint64_t seed, float *mask,
                            float *y);
    /* logits[B,K] -> probabilities in place; returns the cost sum in nats (f64),
     * *ret_errors = rows whose argmax (the first of equals) is not the target */
    double (*softmax_xent_forward)(float *logits, const int32_t *targets, size_t B, size_t K,
                                   uint32_t *ret_errors);
    /* probabilities[B,K] -> gradient of the MEAN cost, in place: (p - onehot)/B */
    void (*softmax_xent_backward)(float *probabilities, const int32_t *targets, size_t B, size_t K);
    /* AdaGrad on N elements: g += l2*w; a += g^2; w -= lr*g/(sqrt(a)+epsilon).
     * w, a in and out; g read */
    void (*adagrad)(float *w, float *a, const float *g, size_t N, float lr, float l2,
                    float epsilon);
};

/* backend_cpu - OpenBLAS for the dense products, vectorised loops for the rest; always there */
const struct edl_backend *backend_cpu(void);
