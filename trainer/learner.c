/* SPDX-License-Identifier: Apache-2.0 */
/* learner.c - trains the n-gram model on samples, wherever the parameters are kept */
#include "trainer/learner.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"

struct learner {
    struct learner_config config;
    struct ngram_model *model;
    size_t row_bytes; /* of the embedding */
    uint64_t steps;
    bool dense_valid;
    float *full[NGRAM_PARAMS];  /* the local copy */
    float *batch_rows;          /* f32[B*C, D] embeddings of one batch */
    float *grads[NGRAM_PARAMS]; /* of one batch; the embedding's f32[B*C, D] */
    float
        *sums[NGRAM_PARAMS]; /* of a group, NULL when push_every is 1; the embedding's f32[V, D] */
    float *push_rows;        /* f32[group rows, D] of the sum */
    uint32_t *ids;           /* of one batch */
    uint32_t *group_ids[2];  /* of this group and of the next */
    uint32_t n_group_ids[2];
    uint8_t *in_group; /* [V] while collecting */
};

void learner_declaration(const struct ngram_config *model, uint64_t seed, float learning_rate,
                         float epsilon, struct declaration *ret)
{
    *ret = (struct declaration){
        .seed = seed, .learning_rate = learning_rate, .epsilon = epsilon, .n_params = NGRAM_PARAMS
    };
    ngram_param_specs(model, ret->params);
}

static size_t values_of(const struct learner *learner, int p)
{
    return (size_t)learner->config.declaration.params[p].rows *
           learner->config.declaration.params[p].columns;
}

/* Sizes were checked by ngram_model_new and declaration_check. */
static void allocate(struct learner *learner)
{
    const struct ngram_config *model = &learner->config.model;
    size_t batch_rows = (size_t)learner->config.batch * (model->ngram - 1);
    size_t group_rows = MIN_OF(batch_rows * learner->config.push_every, (size_t)model->vocabulary);

    for (int p = 0; p < NGRAM_PARAMS; p++) {
        size_t n = values_of(learner, p);

        learner->full[p] = xcalloc(n, sizeof(float));
        learner->grads[p] =
            xcalloc(p == NGRAM_EMBEDDING ? batch_rows * model->embedding : n, sizeof(float));
        if (learner->config.push_every > 1)
            learner->sums[p] = xcalloc(n, sizeof(float));
    }
    learner->batch_rows = xcalloc(batch_rows * model->embedding, sizeof(float));
    learner->push_rows = xcalloc(group_rows * model->embedding, sizeof(float));
    learner->ids = xcalloc(batch_rows, sizeof *learner->ids);
    learner->group_ids[0] = xcalloc(group_rows, sizeof(uint32_t));
    learner->group_ids[1] = xcalloc(group_rows, sizeof(uint32_t));
    learner->in_group = xcalloc(model->vocabulary, 1);
}

int learner_new(const struct learner_config *config, struct learner **ret, struct edl_error *error)
{
    struct ngram_config model = config->model;
    struct learner *learner;
    int r = declaration_check(&config->declaration, error);

    if (r < 0)
        return r;
    if (config->push_every == 0 || config->push_every > 1024)
        return edl_error_set(error, -EINVAL, "push-every is %u; 1 to 1024 are possible",
                             config->push_every);
    model.batch_max = config->batch;
    learner = xcalloc(1, sizeof *learner);
    learner->config = *config;
    learner->config.model = model;
    r = ngram_model_new(&model, &learner->model, error);
    if (r < 0) {
        (void)learner_free(learner);
        return r;
    }
    learner->row_bytes = model.embedding * sizeof(float);
    allocate(learner);
    *ret = learner;
    return 0;
}

struct learner *learner_free(struct learner *learner)
{
    if (learner == NULL)
        return NULL;
    for (int p = 0; p < NGRAM_PARAMS; p++) {
        free(learner->full[p]);
        free(learner->grads[p]);
        free(learner->sums[p]);
    }
    free(learner->batch_rows);
    free(learner->push_rows);
    free(learner->ids);
    free(learner->group_ids[0]);
    free(learner->group_ids[1]);
    free(learner->in_group);
    learner->model = ngram_model_free(learner->model);
    free(learner);
    return NULL;
}

float *const *learner_params(const struct learner *learner)
{
    return learner->full;
}

static uint32_t batch_at(const struct learner *learner, size_t position, size_t end)
{
    return (uint32_t)MIN_OF(end - position, (size_t)learner->config.batch);
}

static size_t group_end(const struct learner *learner, size_t position, size_t n_samples)
{
    return MIN_OF(position + (size_t)learner->config.batch * learner->config.push_every, n_samples);
}

/* Distinct embedding rows of a group, into group_ids[which]. */
static int collect_rows(struct learner *learner, const int32_t *samples, size_t position,
                        size_t end, int which, struct edl_error *error)
{
    uint32_t *ids = learner->group_ids[which], n = 0, n_batch;
    int r = 0;

    while (position < end) {
        uint32_t batch = batch_at(learner, position, end);

        r = ngram_batch_rows(learner->model, samples + position * learner->config.model.ngram,
                             batch, learner->ids, &n_batch, error);
        if (r < 0)
            break;
        for (uint32_t i = 0; i < n_batch; i++)
            if (!learner->in_group[learner->ids[i]]) {
                learner->in_group[learner->ids[i]] = 1;
                ids[n++] = learner->ids[i];
            }
        position += batch;
    }
    for (uint32_t i = 0; i < n; i++)
        learner->in_group[ids[i]] = 0;
    learner->n_group_ids[which] = n;
    return r;
}

static float *embedding_row(float *table, const struct learner *learner, uint32_t id)
{
    return table + (size_t)id * learner->config.model.embedding;
}

static void add(float *sum, const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += values[i];
}

static void accumulate(struct learner *learner, uint32_t n_ids)
{
    for (int p = 0; p < NGRAM_PARAMS; p++)
        if (p != NGRAM_EMBEDDING)
            add(learner->sums[p], learner->grads[p], values_of(learner, p));
    for (uint32_t i = 0; i < n_ids; i++)
        add(embedding_row(learner->sums[NGRAM_EMBEDDING], learner, learner->ids[i]),
            embedding_row(learner->grads[NGRAM_EMBEDDING], learner, i),
            learner->config.model.embedding);
}

/* Different for every step of every trainer, the same when a run is repeated. */
static uint64_t step_seed(struct learner *learner)
{
    uint64_t z = learner->config.dropout_seed + ++learner->steps * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ (z >> 31);
}

static int remember_batch(struct learner *learner, const int32_t *samples, size_t position,
                          uint32_t batch, float *params[NGRAM_PARAMS], uint32_t *ret_n_ids,
                          struct edl_error *error)
{
    int r = ngram_batch_rows(learner->model, samples + position * learner->config.model.ngram,
                             batch, learner->ids, ret_n_ids, error);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < *ret_n_ids; i++)
        memcpy(embedding_row(learner->batch_rows, learner, i),
               embedding_row(learner->full[NGRAM_EMBEDDING], learner, learner->ids[i]),
               learner->row_bytes);
    memcpy(params, learner->full, sizeof learner->full);
    params[NGRAM_EMBEDDING] = learner->batch_rows;
    return 0;
}

/* All batches of a group; returns their number. */
static int train_group(struct learner *learner, const int32_t *samples, size_t position, size_t end,
                       struct edl_error *error)
{
    float *params[NGRAM_PARAMS];
    int n_batches = 0;

    while (position < end) {
        uint32_t batch = batch_at(learner, position, end), errors, n_ids;
        double cost;
        int r = remember_batch(learner, samples, position, batch, params, &n_ids, error);

        if (r < 0)
            return r;
        ngram_step(learner->model, params, step_seed(learner), learner->grads, &cost, &errors);
        if (learner->config.push_every > 1)
            accumulate(learner, n_ids);
        if (learner->config.on_batch != NULL)
            learner->config.on_batch(cost, errors, batch, learner->config.batch_userdata);
        position += batch;
        n_batches++;
    }
    return n_batches;
}

static void scale(float *values, size_t n, float factor)
{
    for (size_t i = 0; i < n; i++)
        values[i] *= factor;
}

/* The group's mean gradient: of one batch it is the batch's own, from where the model wrote it. */
static const float *const *group_gradient(struct learner *learner, int n_batches,
                                          const float **ret_rows)
{
    float factor = 1.0f / (float)n_batches;

    if (learner->config.push_every == 1) {
        *ret_rows = learner->grads[NGRAM_EMBEDDING];
        return (const float *const *)learner->grads;
    }
    for (int p = 0; p < NGRAM_PARAMS; p++)
        if (p != NGRAM_EMBEDDING)
            scale(learner->sums[p], values_of(learner, p), factor);
    for (uint32_t i = 0; i < learner->n_group_ids[0]; i++) {
        float *sum =
            embedding_row(learner->sums[NGRAM_EMBEDDING], learner, learner->group_ids[0][i]);

        scale(sum, learner->config.model.embedding, factor);
        memcpy(embedding_row(learner->push_rows, learner, i), sum, learner->row_bytes);
        memset(sum, 0, learner->row_bytes);
    }
    *ret_rows = learner->push_rows;
    return (const float *const *)learner->sums;
}

static void clear_sums(struct learner *learner)
{
    if (learner->config.push_every == 1)
        return;
    for (int p = 0; p < NGRAM_PARAMS; p++)
        if (p != NGRAM_EMBEDDING)
            memset(learner->sums[p], 0, values_of(learner, p) * sizeof(float));
}

/* Pushes the group's mean gradient (n_batches 0: nothing), pulls the dense values and the rows of
 * the next group (group_ids[1]), which becomes this one. */
static int swap_group(struct learner *learner, int n_batches, bool want_dense,
                      struct edl_error *error)
{
    const float *push_rows = NULL, *const *dense = NULL;
    uint32_t n_pull = learner->n_group_ids[1];
    float *pulled = NULL;
    struct exchange_rows rows = { .param = NGRAM_EMBEDDING,
                                  .pull_ids = learner->group_ids[1],
                                  .n_pull = n_pull };
    struct exchange exchange = { .push = n_batches > 0, .rows = &rows, .n_rows = 1 };
    uint32_t *ids = learner->group_ids[0];
    int r;

    if (n_batches > 0) {
        dense = group_gradient(learner, n_batches, &push_rows);
        rows.push_ids = ids;
        rows.push_rows = push_rows;
        rows.n_push = learner->n_group_ids[0];
    }
    exchange.dense_gradients = dense;
    exchange.ret_dense = want_dense ? learner->full : NULL;
    pulled = xcalloc((size_t)n_pull, learner->row_bytes);
    rows.ret_rows = pulled;
    r = learner->config.exchange(learner->config.exchange_userdata, &exchange, error);
    for (uint32_t i = 0; r >= 0 && i < n_pull; i++)
        memcpy(embedding_row(learner->full[NGRAM_EMBEDDING], learner, learner->group_ids[1][i]),
               pulled + (size_t)i * learner->config.model.embedding, learner->row_bytes);
    free(pulled);
    if (n_batches > 0)
        clear_sums(learner);
    learner->dense_valid = r >= 0 && (want_dense || learner->dense_valid);
    learner->group_ids[0] = learner->group_ids[1];
    learner->n_group_ids[0] = n_pull;
    learner->group_ids[1] = ids;
    return r;
}

int learner_train(struct learner *learner, const int32_t *samples, size_t n_samples,
                  size_t *position, const volatile sig_atomic_t *stop, struct edl_error *error)
{
    size_t end = group_end(learner, *position, n_samples);
    int r, n_batches;

    if (*position >= n_samples)
        return 0;
    r = collect_rows(learner, samples, *position, end, 1, error);
    if (r >= 0)
        r = swap_group(learner, 0, !learner->dense_valid, error);
    while (r >= 0 && *position < n_samples) {
        bool stopping;
        size_t next;

        n_batches = train_group(learner, samples, *position, end, error);
        if (n_batches < 0)
            return n_batches;
        stopping = stop != NULL && *stop;
        next = stopping ? end : group_end(learner, end, n_samples);
        r = collect_rows(learner, samples, end, next, 1, error);
        if (r < 0)
            return r;
        *position = end;
        r = swap_group(learner, n_batches, true, error);
        if (r >= 0 && stopping && end < n_samples)
            return -EINTR;
        end = next;
    }
    return r;
}

static int evaluate_full(struct learner *learner, const int32_t *samples, size_t n_samples,
                         struct evaluation *ret, struct edl_error *error)
{
    float *params[NGRAM_PARAMS];
    double cost = 0;
    uint64_t errors = 0;

    for (size_t position = 0; position < n_samples;) {
        uint32_t batch = batch_at(learner, position, n_samples), batch_errors, n_ids;
        double batch_cost;
        int r = remember_batch(learner, samples, position, batch, params, &n_ids, error);

        if (r < 0)
            return r;
        ngram_evaluate(learner->model, params, &batch_cost, &batch_errors);
        cost += batch_cost;
        errors += batch_errors;
        position += batch;
    }
    *ret = (struct evaluation){ .cost = cost / (double)MAX_OF(n_samples, (size_t)1),
                                .error_rate = (double)errors / (double)MAX_OF(n_samples, (size_t)1),
                                .samples = n_samples };
    return 0;
}

int learner_evaluate(struct learner *learner, const int32_t *samples, size_t n_samples,
                     struct evaluation *ret, struct edl_error *error)
{
    uint32_t n = learner->config.model.vocabulary;
    uint32_t *ids = xcalloc(n, sizeof *ids);
    struct exchange_rows rows = { .param = NGRAM_EMBEDDING,
                                  .n_pull = n,
                                  .pull_ids = ids,
                                  .ret_rows = learner->full[NGRAM_EMBEDDING] };
    struct exchange exchange = { .ret_dense = learner->full, .rows = &rows, .n_rows = 1 };
    int r;

    for (uint32_t i = 0; i < n; i++)
        ids[i] = i;
    r = learner->config.exchange(learner->config.exchange_userdata, &exchange, error);
    free(ids);
    learner->dense_valid = r >= 0;
    if (r < 0)
        return r;
    return evaluate_full(learner, samples, n_samples, ret, error);
}

int learner_evaluate_initial(struct learner *learner, const int32_t *samples, size_t n_samples,
                             struct evaluation *ret, struct edl_error *error)
{
    const struct declaration *declaration = &learner->config.declaration;

    for (int p = 0; p < NGRAM_PARAMS; p++) {
        const struct param_spec *spec = &declaration->params[p];
        float *out = learner->full[p];

        for (uint32_t row = 0; row < spec->rows; row++)
            for (uint32_t column = 0; column < spec->columns; column++)
                *out++ = param_init_value(spec, declaration->seed, row, column);
    }
    learner->dense_valid = false;
    return evaluate_full(learner, samples, n_samples, ret, error);
}
