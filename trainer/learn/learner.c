/* SPDX-License-Identifier: Apache-2.0 */
/* learner.c - trains the n-gram model on samples, wherever the parameters are kept */
#include "trainer/learn/learner.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/kernels.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/learn/mirror.h"

/* One array per parameter, with the pointers as the model and an exchange take them. */
struct arrays {
    struct mirror mirrors[NGRAM_PARAMS];
    float *host[NGRAM_PARAMS];
    float *device[NGRAM_PARAMS];
};

struct learner {
    struct learner_config config;
    const struct edl_backend *backend;
    struct ngram_model *model;
    size_t row_bytes; /* of the embedding */
    uint64_t steps;
    uint32_t pass;
    bool dense_valid;
    struct arrays values; /* the local copy */
    struct arrays grads;  /* of one batch; the embedding's f32[B*C, D] */
    struct arrays sums;   /* of a group, none when push_every is 1; the embedding's f32[group, D] */
    float *batch_rows;    /* f32[B*C, D] embeddings of one batch, on the device */
    struct mirror ids;    /* u32[B*C] of one batch */
    struct mirror places; /* u32[B*C] of these ids, in the group */
    struct mirror group[2]; /* u32[group] ids of this group and of the next */
    uint32_t n_group[2];
    struct mirror pulled; /* f32[group, D] rows of the next group */
    uint32_t *place;      /* [V] in the group collected last, of the ids that are in it */
};

void learner_declaration(const struct ngram_config *model, uint64_t seed, float learning_rate,
                         float epsilon, struct declaration *ret)
{
    *ret = (struct declaration){ .seed = seed,
                                 .optimizer = optimizer_default(OPTIMIZER_ADAGRAD),
                                 .n_params = NGRAM_PARAMS };
    ret->optimizer.learning_rate = learning_rate;
    ret->optimizer.epsilon = epsilon;
    ngram_param_specs(model, ret->params);
}

static size_t values_of(const struct learner *learner, int p)
{
    return (size_t)learner->config.declaration.params[p].rows *
           learner->config.declaration.params[p].columns;
}

static bool arrays_open(struct arrays *arrays, const struct learner *learner, size_t n_rows)
{
    for (int p = 0; p < NGRAM_PARAMS; p++) {
        size_t n =
            p == NGRAM_EMBEDDING ? n_rows * learner->config.model.embedding : values_of(learner, p);

        if (!mirror_open(&arrays->mirrors[p], learner->backend, n * sizeof(float)))
            return false;
        arrays->host[p] = arrays->mirrors[p].host;
        arrays->device[p] = arrays->mirrors[p].device;
    }
    return true;
}

static void arrays_close(struct arrays *arrays, const struct edl_backend *backend)
{
    for (int p = 0; p < NGRAM_PARAMS; p++)
        mirror_close(&arrays->mirrors[p], backend);
}

/* Sizes were checked by ngram_model_new and declaration_check. */
static bool allocate(struct learner *learner)
{
    const struct edl_backend *backend = learner->backend;
    const struct ngram_config *model = &learner->config.model;
    size_t batch_rows = (size_t)learner->config.batch * (model->ngram - 1);
    size_t group_rows = MIN_OF(batch_rows * learner->config.push_every, (size_t)model->vocabulary);

    learner->place = xcalloc(model->vocabulary, sizeof *learner->place);
    learner->batch_rows = backend->allocate(batch_rows * learner->row_bytes);
    return learner->batch_rows != NULL &&
           arrays_open(&learner->values, learner, model->vocabulary) &&
           arrays_open(&learner->grads, learner, batch_rows) &&
           (learner->config.push_every == 1 || arrays_open(&learner->sums, learner, group_rows)) &&
           mirror_open(&learner->ids, backend, batch_rows * sizeof(uint32_t)) &&
           mirror_open(&learner->places, backend, batch_rows * sizeof(uint32_t)) &&
           mirror_open(&learner->group[0], backend, group_rows * sizeof(uint32_t)) &&
           mirror_open(&learner->group[1], backend, group_rows * sizeof(uint32_t)) &&
           mirror_open(&learner->pulled, backend, group_rows * learner->row_bytes);
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
    learner->backend = config->backend;
    learner->row_bytes = model.embedding * sizeof(float);
    r = ngram_model_new(&model, learner->backend, &learner->model, error);
    if (r >= 0 && !allocate(learner))
        r = edl_error_set(error, -ENOMEM, "no memory (%s) for the parameters of %u word%s",
                          learner->backend->name, model.vocabulary, PLURAL(model.vocabulary));
    if (r < 0) {
        (void)learner_free(learner);
        return r;
    }
    *ret = learner;
    return 0;
}

struct learner *learner_free(struct learner *learner)
{
    const struct edl_backend *backend;

    if (learner == NULL)
        return NULL;
    backend = learner->backend;
    arrays_close(&learner->values, backend);
    arrays_close(&learner->grads, backend);
    arrays_close(&learner->sums, backend);
    if (learner->batch_rows != NULL)
        backend->release(learner->batch_rows);
    mirror_close(&learner->ids, backend);
    mirror_close(&learner->places, backend);
    mirror_close(&learner->group[0], backend);
    mirror_close(&learner->group[1], backend);
    mirror_close(&learner->pulled, backend);
    free(learner->place);
    learner->model = ngram_model_free(learner->model);
    free(learner);
    return NULL;
}

void learner_set_pass(struct learner *learner, uint32_t pass)
{
    learner->pass = pass;
}

float *const *learner_params(const struct learner *learner)
{
    return learner->values.host;
}

float *const *learner_held(struct learner *learner)
{
    mirror_download(&learner->values.mirrors[NGRAM_EMBEDDING], learner->backend,
                    values_of(learner, NGRAM_EMBEDDING) * sizeof(float));
    return learner->values.host;
}

/* A device that has failed stays so, and what came from it is nothing. */
static int check_backend(const struct learner *learner, struct edl_error *error)
{
    const char *failure = learner->backend->failure();

    if (failure == NULL)
        return 0;
    return edl_error_set(error, -EIO, "the device (%s) has failed: %s", learner->backend->name,
                         failure);
}

static void upload_values(const struct learner *learner, bool with_embedding)
{
    for (int p = 0; p < NGRAM_PARAMS; p++)
        if (p != NGRAM_EMBEDDING || with_embedding)
            mirror_upload(&learner->values.mirrors[p], learner->backend,
                          values_of(learner, p) * sizeof(float));
}

static uint32_t batch_at(const struct learner *learner, size_t position, size_t end)
{
    return (uint32_t)MIN_OF(end - position, (size_t)learner->config.batch);
}

static size_t group_end(const struct learner *learner, size_t position, size_t n_samples)
{
    return MIN_OF(position + (size_t)learner->config.batch * learner->config.push_every, n_samples);
}

/* Distinct embedding rows of a group, into group[which]. An id is in it when its place has it; of
 * other ids the place says nothing, so that nothing must be cleared. */
static int collect_rows(struct learner *learner, const int32_t *samples, size_t position,
                        size_t end, int which, struct edl_error *error)
{
    uint32_t *group = learner->group[which].host, *ids = learner->ids.host, n = 0, n_batch;
    uint32_t *place = learner->place;
    int r = 0;

    while (position < end) {
        uint32_t batch = batch_at(learner, position, end);

        r = ngram_batch_rows(learner->model, samples + position * learner->config.model.ngram,
                             batch, ids, &n_batch, error);
        if (r < 0)
            break;
        for (uint32_t i = 0; i < n_batch; i++)
            if (place[ids[i]] >= n || group[place[ids[i]]] != ids[i]) {
                place[ids[i]] = n;
                group[n++] = ids[i];
            }
        position += batch;
    }
    learner->n_group[which] = n;
    return r;
}

static void clear_sums(struct learner *learner)
{
    for (int p = 0; p < NGRAM_PARAMS; p++)
        learner->backend->zero(learner->sums.device[p],
                               p == NGRAM_EMBEDDING ? learner->n_group[0] * learner->row_bytes
                                                    : values_of(learner, p) * sizeof(float));
}

/* The batch's gradient onto the group's; its rows go to their places in the group. */
static void accumulate(struct learner *learner, uint32_t n_ids)
{
    const uint32_t *ids = learner->ids.host;
    uint32_t *places = learner->places.host;

    for (uint32_t i = 0; i < n_ids; i++)
        places[i] = learner->place[ids[i]];
    mirror_upload(&learner->places, learner->backend, n_ids * sizeof *places);
    for (int p = 0; p < NGRAM_PARAMS; p++)
        if (p != NGRAM_EMBEDDING)
            learner->backend->add(learner->grads.device[p], values_of(learner, p),
                                  learner->sums.device[p]);
    learner->backend->scatter_add_rows(learner->grads.device[NGRAM_EMBEDDING],
                                       learner->places.device, n_ids,
                                       learner->config.model.embedding,
                                       learner->sums.device[NGRAM_EMBEDDING]);
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
                             batch, learner->ids.host, ret_n_ids, error);

    if (r < 0)
        return r;
    mirror_upload(&learner->ids, learner->backend, *ret_n_ids * sizeof(uint32_t));
    learner->backend->gather_rows(learner->values.device[NGRAM_EMBEDDING], learner->ids.device,
                                  *ret_n_ids, learner->config.model.embedding, learner->batch_rows);
    memcpy(params, learner->values.device, sizeof learner->values.device);
    params[NGRAM_EMBEDDING] = learner->batch_rows;
    return 0;
}

/* All batches of a group. */
static int train_group(struct learner *learner, const int32_t *samples, size_t position, size_t end,
                       struct edl_error *error)
{
    float *params[NGRAM_PARAMS];

    if (learner->config.push_every > 1)
        clear_sums(learner);
    while (position < end) {
        uint32_t batch = batch_at(learner, position, end), errors, n_ids;
        double cost;
        int r = remember_batch(learner, samples, position, batch, params, &n_ids, error);

        if (r < 0)
            return r;
        ngram_step(learner->model, params, step_seed(learner), learner->grads.device, &cost,
                   &errors);
        if (learner->config.push_every > 1)
            accumulate(learner, n_ids);
        r = check_backend(learner, error);
        if (r < 0)
            return r;
        if (learner->config.on_batch != NULL)
            learner->config.on_batch(cost, errors, batch, learner->config.batch_userdata);
        position += batch;
    }
    return 0;
}

/* The group's gradient, brought to the host: of one batch it is the batch's own, from where the
 * model wrote it. */
static int group_gradient(struct learner *learner, const struct arrays **ret,
                          struct edl_error *error)
{
    const struct edl_backend *backend = learner->backend;
    const size_t row_values = learner->config.model.embedding;
    const struct arrays *gradient =
        learner->config.push_every == 1 ? &learner->grads : &learner->sums;

    for (int p = 0; p < NGRAM_PARAMS; p++) {
        size_t n = p == NGRAM_EMBEDDING ? learner->n_group[0] * row_values : values_of(learner, p);

        mirror_download(&gradient->mirrors[p], backend, n * sizeof(float));
    }
    *ret = gradient;
    return check_backend(learner, error);
}

/* What an exchange brought, to the device. */
static void take_values(struct learner *learner, bool have_dense, uint32_t n_pulled)
{
    if (have_dense)
        upload_values(learner, false);
    mirror_upload(&learner->pulled, learner->backend, n_pulled * learner->row_bytes);
    mirror_upload(&learner->group[1], learner->backend, n_pulled * sizeof(uint32_t));
    learner->backend->scatter_rows(learner->pulled.device, learner->group[1].device, n_pulled,
                                   learner->config.model.embedding,
                                   learner->values.device[NGRAM_EMBEDDING]);
}

static void next_group(struct learner *learner)
{
    struct mirror ids = learner->group[0];

    learner->group[0] = learner->group[1];
    learner->n_group[0] = learner->n_group[1];
    learner->group[1] = ids;
}

/* Pushes the gradient of the group's n_samples (0: nothing), pulls the dense values and the rows of
 * the next group (group[1]), which becomes this one. */
static int swap_group(struct learner *learner, size_t n_samples, bool want_dense,
                      struct edl_error *error)
{
    const struct arrays *gradient = NULL;
    struct exchange_rows rows = { .param = NGRAM_EMBEDDING,
                                  .pull_ids = learner->group[1].host,
                                  .n_pull = learner->n_group[1],
                                  .ret_rows = learner->pulled.host };
    struct exchange exchange = { .push = n_samples > 0,
                                 .samples = (uint32_t)n_samples,
                                 .pass = learner->pass,
                                 .rows = &rows,
                                 .n_rows = 1 };
    int r = n_samples > 0 ? group_gradient(learner, &gradient, error) : 0;

    if (r < 0)
        return r;
    if (gradient != NULL) {
        exchange.dense_gradients = (const float *const *)gradient->host;
        rows.push_ids = learner->group[0].host;
        rows.push_rows = gradient->host[NGRAM_EMBEDDING];
        rows.n_push = learner->n_group[0];
    }
    exchange.ret_dense = want_dense ? learner->values.host : NULL;
    r = learner->config.exchange(learner->config.exchange_userdata, &exchange, error);
    if (r >= 0)
        take_values(learner, want_dense, rows.n_pull);
    learner->dense_valid = r >= 0 && (want_dense || learner->dense_valid);
    next_group(learner);
    return r;
}

int learner_train(struct learner *learner, const int32_t *samples, size_t n_samples,
                  size_t *position, const volatile sig_atomic_t *stop, struct edl_error *error)
{
    size_t end = group_end(learner, *position, n_samples), n_pushed;
    int r;

    if (*position >= n_samples)
        return 0;
    r = collect_rows(learner, samples, *position, end, 1, error);
    if (r >= 0)
        r = swap_group(learner, 0, !learner->dense_valid, error);
    while (r >= 0 && *position < n_samples) {
        bool stopping;
        size_t next;

        r = train_group(learner, samples, *position, end, error);
        if (r < 0)
            return r;
        stopping = stop != NULL && *stop;
        next = stopping ? end : group_end(learner, end, n_samples);
        r = collect_rows(learner, samples, end, next, 1, error);
        if (r < 0)
            return r;
        n_pushed = end - *position;
        *position = end;
        r = swap_group(learner, n_pushed, true, error);
        if (r >= 0 && stopping && end < n_samples)
            return -EINTR;
        end = next;
    }
    return r;
}

/* With the values that lie in the program's memory, of all parameters. */
static int evaluate_full(struct learner *learner, const int32_t *samples, size_t n_samples,
                         struct evaluation *ret, struct edl_error *error)
{
    float *params[NGRAM_PARAMS];
    double cost = 0;
    uint64_t errors = 0;
    int r;

    upload_values(learner, true);
    for (size_t position = 0; position < n_samples;) {
        uint32_t batch = batch_at(learner, position, n_samples), batch_errors, n_ids;
        double batch_cost;

        r = remember_batch(learner, samples, position, batch, params, &n_ids, error);
        if (r < 0)
            return r;
        ngram_evaluate(learner->model, params, &batch_cost, &batch_errors);
        cost += batch_cost;
        errors += batch_errors;
        position += batch;
    }
    r = check_backend(learner, error);
    if (r < 0)
        return r;
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
                                  .ret_rows = learner->values.host[NGRAM_EMBEDDING] };
    struct exchange exchange = { .ret_dense = learner->values.host, .rows = &rows, .n_rows = 1 };
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
        float *out = learner->values.host[p];

        for (uint32_t row = 0; row < spec->rows; row++)
            for (uint32_t column = 0; column < spec->columns; column++)
                *out++ = param_init_value(spec, declaration->seed, row, column);
    }
    learner->dense_valid = false;
    return evaluate_full(learner, samples, n_samples, ret, error);
}
