/* SPDX-License-Identifier: Apache-2.0 */
/* model_ngram.h - the word-embedding n-gram language model: forward, backward, evaluation
 *
 * C = ngram - 1 context words, D embedding columns, H hidden units, V words, B samples.
 *   x = concat(E[w_1..w_C])            f32[B, C*D]   E: f32[V, D], one shared table
 *   h = dropout(sigmoid(x W1 + b1))    f32[B, H]     W1: f32[C*D, H], b1: f32[H]
 *   p = softmax(h W2^T + b2)           f32[B, V]     W2: f32[V, H], b2: f32[V]
 *                                                    (row = word: both shard by rows)
 *   cost = mean over B of -log p[target], in nats
 * Dropout: inverted scaling is NOT used; as in PaddlePaddle v2, training keeps h*mask and
 * evaluation multiplies h by (1 - rate). Parameters are described by a table, so that the server
 * needs to know nothing of the model. */
#pragma once

#include "trainer/parameters/param_spec.h"

#include <stddef.h>
#include <stdint.h>

struct edl_backend;
struct edl_error;

enum ngram_param { NGRAM_EMBEDDING, NGRAM_W1, NGRAM_B1, NGRAM_W2, NGRAM_B2, NGRAM_PARAMS };

struct ngram_config {
    uint32_t ngram;     /* 5 */
    uint32_t embedding; /* 32 */
    uint32_t hidden;    /* 256 */
    uint32_t vocabulary;
    float dropout; /* 0.5 */
    float l2_rate; /* 8e-4 */
    uint32_t batch_max;
};

/* ngram_param_specs - the parameters, set as in PaddlePaddle's word2vec example: bias
 * rate 2, embedding std 0.001 and no L2, hidden std 1/sqrt(D*8), output std 1/sqrt(H), biases zero
 */
void ngram_param_specs(const struct ngram_config *config,
                       struct param_spec ret_specs[NGRAM_PARAMS]);

struct ngram_model; /* scratch for one batch; parameters and gradients are the caller's */

/* ngram_model_new - scratch for batches up to config->batch_max; *ret is the caller's
 * -EINVAL: a size out of bounds. -ENOMEM: the scratch does not fit. */
int ngram_model_new(const struct ngram_config *config, const struct edl_backend *backend,
                    struct ngram_model **ret, struct edl_error *error);
/* ngram_model_free - NULL is fine; returns NULL */
struct ngram_model *ngram_model_free(struct ngram_model *model);

/* Parameters and gradients are in the back-end's memory: params[p] is f32[rows, columns], but
 * params[NGRAM_EMBEDDING] holds only the batch's distinct rows, f32[n_rows, D] in the order of
 * ngram_batch_rows. Gradients have the same shapes and are overwritten (=). Samples, rows and costs
 * are in the program's. After a failure of the back-end costs are NaN. */

/* ngram_batch_rows - distinct context word ids of a batch, ascending
 * samples: i32[B, ngram]. ret_rows: room for B*(ngram-1). Remembers the batch for the step or the
 * evaluation that follows. -EINVAL with error: a word id outside [0, V), or B outside
 * [1, batch_max]. */
int ngram_batch_rows(struct ngram_model *model, const int32_t *samples, uint32_t batch,
                     uint32_t *ret_rows, uint32_t *ret_n_rows, struct edl_error *error);

/* ngram_step - forward with dropout (same seed, same mask) and backward
 * *ret_cost nats (mean), *ret_errors top-1 errors in the batch. Gradients are of the sum
 * of the batch's costs, without L2 (the server adds it). */
void ngram_step(struct ngram_model *model, float *const params[NGRAM_PARAMS], uint64_t seed,
                float *const grads[NGRAM_PARAMS], double *ret_cost, uint32_t *ret_errors);

/* ngram_evaluate - forward only, no dropout; sums (not means) */
void ngram_evaluate(struct ngram_model *model, float *const params[NGRAM_PARAMS],
                    double *ret_cost_sum, uint32_t *ret_errors);
