/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - the ops of training behind one table, so that a back-end is chosen once at start
 *
 * A back-end has a memory of its own: every pointer that an op takes leads into what allocate()
 * gave, but for those named host_*. Where host_memory is set that memory is the program's, and any
 * pointer will do. Ops may still run when they have returned: download() and softmax_xent_forward()
 * wait for the calls before them. One thread at a time.
 *
 * Legend: B batch, D input features, H hidden features, K classes, N elements. All f32 row-major
 * unless said. Accumulation: outputs are overwritten (=) except where a line says (+=). No aliasing
 * unless said. Ops never allocate, never exit and know nothing of the rest (they may not
 * include shared/). README.md holds the conventions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define EDL_KERNELS_ABI 2 /* of this struct and of what its members mean: any change raises it */

struct edl_backend {
    uint32_t abi;         /* EDL_KERNELS_ABI; the first member for ever */
    uint32_t host_memory; /* 1: ops work on the program's memory, and nothing must be copied */
    const char *name;

    /* start - 0 with the device's name in ret_text[size]; or -ENODEV, and there which call failed
     * how. Nothing else but failure() may be called before. */
    int (*start)(int device, char *ret_text, size_t size);
    /* stop - all that was allocated must have been released */
    void (*stop)(void);
    /* failure - the first failure since start, NULL when there was none
     *
     * Ops return nothing, so after a failed one all do nothing, and whatever they bring to the host
     * is NaN: a failure can be noticed late but never be taken for a result. */
    const char *(*failure)(void);
    /* allocate - zeroed, for release; NULL: there is not so much */
    void *(*allocate)(size_t bytes);
    void (*release)(void *memory);
    void (*upload)(const void *host, size_t bytes, void *memory);
    void (*download)(const void *memory, size_t bytes, void *host);
    void (*zero)(void *memory, size_t bytes);

    /* out[B,D] (=) rows of table[*,D] at indices[B], each within the table */
    void (*gather_rows)(const float *table, const uint32_t *indices, size_t B, size_t D,
                        float *out);
    /* table[*,D] (=) in[B,D] at indices[B], which are distinct */
    void (*scatter_rows)(const float *in, const uint32_t *indices, size_t B, size_t D,
                         float *table);
    /* table[*,D] (+=) in[B,D] at indices[B]; the same index may come several times */
    void (*scatter_add_rows)(const float *in, const uint32_t *indices, size_t B, size_t D,
                             float *table);
    /* sum (+=) x */
    void (*add)(const float *x, size_t N, float *sum);
    /* y = x*factor, in place allowed */
    void (*scale)(const float *x, size_t N, float factor, float *y);
    /* z = x*y, in place allowed */
    void (*multiply)(const float *x, const float *y, size_t N, float *z);
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
     * *host_errors = rows whose argmax (the first of equals) is not the target */
    double (*softmax_xent_forward)(float *logits, const int32_t *targets, size_t B, size_t K,
                                   uint32_t *host_errors);
    /* probabilities[B,K] -> gradient of the SUM of costs, in place: p - onehot */
    void (*softmax_xent_backward)(float *probabilities, const int32_t *targets, size_t B, size_t K);
    /* AdaGrad on N elements: a += g^2; w -= lr*(g + l2*w)/sqrt(a+epsilon).
     * w, a in and out; g read */
    void (*adagrad)(float *w, float *a, const float *g, size_t N, float lr, float l2,
                    float epsilon);
};

/* backend_cpu - OpenBLAS for the dense products, vectorised loops for the rest; always there */
const struct edl_backend *backend_cpu(void);
