/* SPDX-License-Identifier: Apache-2.0 */
/* model_ngram.c - the word-embedding n-gram language model: forward, backward, evaluation
 *
 * All scratch is allocated once for the largest batch. Distinct words are found through a bitmap
 * of the vocabulary: reading it gives them in ascending order without a sort. */
#include "trainer/learn/model_ngram.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/learn/mirror.h"

#define NGRAM_MAX 64u
#define SCRATCH_MAX (uint64_t) INT32_MAX /* floats in one buffer; a BLAS takes sizes as int */

struct ngram_model {
    struct ngram_config config;
    const struct edl_backend *backend;
    uint32_t batch, n_rows; /* of the batch remembered */
    uint64_t *seen;         /* bit per word: in the batch */
    uint32_t *position;     /* u32[V] index of the word in the batch's rows */
    struct mirror indices;  /* u32[B*C] row of each context word */
    struct mirror targets;  /* i32[B] */
    /* on the device */
    float *x;    /* f32[B, C*D] */
    float *dx;   /* f32[B, C*D] */
    float *y;    /* f32[B, H] sigmoid */
    float *mask; /* f32[B, H] */
    float *h;    /* f32[B, H] after dropout */
    float *dh;   /* f32[B, H] */
    float *p;    /* f32[B, V] logits, probabilities, gradient */
};

void ngram_param_specs(const struct ngram_config *config, struct param_spec ret_specs[NGRAM_PARAMS])
{
    const uint32_t D = config->embedding, H = config->hidden, V = config->vocabulary;
    const uint32_t C = config->ngram - 1;
    const float none = -1.0f, l2 = config->l2_rate > 0.0f ? config->l2_rate : none;
    const float hidden_std = 1.0f / sqrtf((float)D * 8.0f), output_std = 1.0f / sqrtf((float)H);
    const struct param_spec specs[NGRAM_PARAMS] = {
        [NGRAM_EMBEDDING] = { "embedding", V, D, .sparse = 1, .initial_std = 0.001f,
                              .learning_rate = 1.0f, .l2_rate = none },
        [NGRAM_W1] = { "hidden_weight", C * D, H, .initial_std = hidden_std, .learning_rate = 1.0f,
                       .l2_rate = l2 },
        [NGRAM_B1] = { "hidden_bias", H, 1, .learning_rate = 2.0f, .l2_rate = l2 },
        [NGRAM_W2] = { "output_weight", V, H, .initial_std = output_std, .learning_rate = 1.0f,
                       .l2_rate = l2 },
        [NGRAM_B2] = { "output_bias", V, 1, .learning_rate = 2.0f, .l2_rate = l2 },
    };

    memcpy(ret_specs, specs, sizeof specs);
}

static int check_config(const struct ngram_config *c, struct edl_error *error)
{
    const struct {
        const char *name;
        uint64_t value, min, max;
    } bounds[] = {
        { "ngram", c->ngram, 2, NGRAM_MAX },
        { "embedding", c->embedding, 1, 1u << 16 },
        { "hidden", c->hidden, 1, 1u << 16 },
        { "vocabulary", c->vocabulary, 2, INT32_MAX },
        { "batch", c->batch_max, 1, 1u << 20 },
        { "batch x vocabulary", (uint64_t)c->batch_max * c->vocabulary, 1, SCRATCH_MAX },
        { "batch x hidden", (uint64_t)c->batch_max * c->hidden, 1, SCRATCH_MAX },
        { "batch x ngram x embedding", (uint64_t)c->batch_max * c->ngram * c->embedding, 1,
          SCRATCH_MAX },
    };

    for (size_t i = 0; i < ELEMENTS(bounds); i++)
        if (bounds[i].value < bounds[i].min || bounds[i].value > bounds[i].max)
            return edl_error_set(error, -EINVAL,
                                 "the model's %s is %llu, but must be between %llu and %llu",
                                 bounds[i].name, (unsigned long long)bounds[i].value,
                                 (unsigned long long)bounds[i].min,
                                 (unsigned long long)bounds[i].max);
    if (!(c->dropout >= 0.0f && c->dropout < 1.0f))
        return edl_error_set(error, -EINVAL, "the dropout rate %g is not in [0, 1)",
                             (double)c->dropout);
    return 0;
}

static bool allocate(struct ngram_model *m)
{
    const size_t B = m->config.batch_max, C = (size_t)m->config.ngram - 1;
    const size_t V = m->config.vocabulary, H = m->config.hidden, D = m->config.embedding;
    const struct {
        float **buffer;
        size_t n;
    } buffers[] = {
        { &m->x, B * C * D }, { &m->dx, B * C * D }, { &m->y, B * H }, { &m->mask, B * H },
        { &m->h, B * H },     { &m->dh, B * H },     { &m->p, B * V },
    };

    m->seen = calloc((V + 63) / 64, sizeof *m->seen);
    m->position = calloc(V, sizeof *m->position);
    if (m->seen == NULL || m->position == NULL ||
        !mirror_open(&m->indices, m->backend, B * C * sizeof(uint32_t)) ||
        !mirror_open(&m->targets, m->backend, B * sizeof(int32_t)))
        return false;
    for (size_t i = 0; i < ELEMENTS(buffers); i++) {
        *buffers[i].buffer = m->backend->allocate(buffers[i].n * sizeof(float));
        if (*buffers[i].buffer == NULL)
            return false;
    }
    return true;
}

int ngram_model_new(const struct ngram_config *config, const struct edl_backend *backend,
                    struct ngram_model **ret, struct edl_error *error)
{
    struct ngram_model *m;
    int r = check_config(config, error);

    if (r < 0)
        return r;
    m = xcalloc(1, sizeof *m);
    m->config = *config;
    m->backend = backend;
    if (!allocate(m)) {
        ngram_model_free(m);
        return edl_error_set(error, -ENOMEM, "no memory (%s) for a batch of %u over %u word%s",
                             backend->name, config->batch_max, config->vocabulary,
                             PLURAL(config->vocabulary));
    }
    *ret = m;
    return 0;
}

static void release_buffers(struct ngram_model *m)
{
    float *const buffers[] = { m->x, m->dx, m->y, m->mask, m->h, m->dh, m->p };

    for (size_t i = 0; i < ELEMENTS(buffers); i++)
        if (buffers[i] != NULL)
            m->backend->release(buffers[i]);
}

struct ngram_model *ngram_model_free(struct ngram_model *model)
{
    if (model == NULL)
        return NULL;
    release_buffers(model);
    mirror_close(&model->indices, model->backend);
    mirror_close(&model->targets, model->backend);
    free(model->seen);
    free(model->position);
    free(model);
    return NULL;
}

static int check_batch(const struct ngram_model *m, const int32_t *samples, uint32_t batch,
                       struct edl_error *error)
{
    const size_t n = m->config.ngram, total = (size_t)batch * n;

    if (batch == 0 || batch > m->config.batch_max)
        return edl_error_set(error, -EINVAL, "a batch of %u sample%s, but 1 to %u fit", batch,
                             PLURAL(batch), m->config.batch_max);
    for (size_t i = 0; i < total; i++)
        if ((uint32_t)samples[i] >= m->config.vocabulary) /* a negative id is a large one */
            return edl_error_set(error, -EINVAL,
                                 "sample %zu, word %zu: id %d is outside the vocabulary of %u",
                                 i / n, i % n, samples[i], m->config.vocabulary);
    return 0;
}

/* Reads the bitmap in order, numbering the words, and clears it for the next batch. */
static uint32_t collect_rows(struct ngram_model *m, uint32_t *ret_rows)
{
    const size_t words = ((size_t)m->config.vocabulary + 63) / 64;
    uint32_t n = 0;

    for (size_t w = 0; w < words; w++) {
        for (uint64_t bits = m->seen[w]; bits != 0; bits &= bits - 1) {
            uint32_t id = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(bits);

            m->position[id] = n;
            ret_rows[n++] = id;
        }
        m->seen[w] = 0;
    }
    return n;
}

int ngram_batch_rows(struct ngram_model *model, const int32_t *samples, uint32_t batch,
                     uint32_t *ret_rows, uint32_t *ret_n_rows, struct edl_error *error)
{
    const size_t n = model->config.ngram, C = n - 1;
    uint32_t *indices = model->indices.host;
    int32_t *targets = model->targets.host;
    int r = check_batch(model, samples, batch, error);

    if (r < 0)
        return r;
    for (size_t b = 0; b < batch; b++) {
        for (size_t c = 0; c < C; c++) {
            uint32_t id = (uint32_t)samples[b * n + c];

            model->seen[id / 64] |= UINT64_C(1) << (id % 64);
        }
        targets[b] = samples[b * n + C];
    }
    model->n_rows = collect_rows(model, ret_rows);
    for (size_t b = 0; b < batch; b++)
        for (size_t c = 0; c < C; c++)
            indices[b * C + c] = model->position[samples[b * n + c]];
    model->batch = batch;
    *ret_n_rows = model->n_rows;
    return 0;
}

/* x and y = sigmoid(x W1 + b1) of the batch remembered: what training and evaluation share */
static void forward_hidden(struct ngram_model *m, float *const params[NGRAM_PARAMS])
{
    const struct ngram_config *c = &m->config;
    const size_t B = m->batch, C = c->ngram - 1, D = c->embedding, H = c->hidden;

    mirror_upload(&m->indices, m->backend, B * C * sizeof(uint32_t));
    mirror_upload(&m->targets, m->backend, B * sizeof(int32_t));
    m->backend->gather_rows(params[NGRAM_EMBEDDING], m->indices.device, B * C, D, m->x);
    m->backend->fc_forward(m->x, params[NGRAM_W1], params[NGRAM_B1], B, C * D, H, m->y);
    m->backend->sigmoid_forward(m->y, B * H, m->y);
}

/* p = softmax(h W2^T + b2); returns the cost sum */
static double forward_output(struct ngram_model *m, float *const params[NGRAM_PARAMS],
                             uint32_t *ret_errors)
{
    const size_t B = m->batch, H = m->config.hidden, V = m->config.vocabulary;

    m->backend->fc_forward_transposed(m->h, params[NGRAM_W2], params[NGRAM_B2], B, H, V, m->p);
    return m->backend->softmax_xent_forward(m->p, m->targets.device, B, V, ret_errors);
}

static void backward(struct ngram_model *m, float *const params[NGRAM_PARAMS],
                     float *const grads[NGRAM_PARAMS])
{
    const struct ngram_config *c = &m->config;
    const size_t B = m->batch, C = c->ngram - 1, D = c->embedding, H = c->hidden;
    const size_t V = c->vocabulary;

    m->backend->softmax_xent_backward(m->p, m->targets.device, B, V);
    m->backend->fc_backward_transposed(m->h, params[NGRAM_W2], m->p, B, H, V, grads[NGRAM_W2],
                                       grads[NGRAM_B2], m->dh);
    m->backend->multiply(m->dh, m->mask, B * H, m->dh);
    m->backend->sigmoid_backward(m->y, m->dh, B * H, m->dh);
    m->backend->fc_backward(m->x, params[NGRAM_W1], m->dh, B, C * D, H, grads[NGRAM_W1],
                            grads[NGRAM_B1], m->dx);
    m->backend->zero(grads[NGRAM_EMBEDDING], m->n_rows * D * sizeof(float));
    m->backend->scatter_add_rows(m->dx, m->indices.device, B * C, D, grads[NGRAM_EMBEDDING]);
}

void ngram_step(struct ngram_model *model, float *const params[NGRAM_PARAMS], uint64_t seed,
                float *const grads[NGRAM_PARAMS], double *ret_cost, uint32_t *ret_errors)
{
    const size_t BH = (size_t)model->batch * model->config.hidden;

    forward_hidden(model, params);
    model->backend->dropout_forward(model->y, BH, model->config.dropout, seed, model->mask,
                                    model->h);
    *ret_cost = forward_output(model, params, ret_errors) / (double)model->batch;
    backward(model, params, grads);
}

void ngram_evaluate(struct ngram_model *model, float *const params[NGRAM_PARAMS],
                    double *ret_cost_sum, uint32_t *ret_errors)
{
    const size_t BH = (size_t)model->batch * model->config.hidden;
    const float keep = 1.0f - model->config.dropout;

    forward_hidden(model, params);
    model->backend->scale(model->y, BH, keep, model->h);
    *ret_cost_sum = forward_output(model, params, ret_errors);
}
