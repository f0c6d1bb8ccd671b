/* SPDX-License-Identifier: Apache-2.0 */
/* learner_run.c - one small training by a back-end, the same each time: to compare back-ends */
#include "tests/lib/learner_run.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/unit/trainer_fixture.h"
#include "trainer/exchange/table.h"

enum { SAMPLES = 4000, PASSES = 2, BATCH = 24 };

static const struct ngram_config model = { .ngram = CHAIN_NGRAM,
                                           .embedding = 12,
                                           .hidden = 37,
                                           .vocabulary = CHAIN_WORDS,
                                           .dropout = 0.2f,
                                           .l2_rate = 1e-6f };

static int32_t *samples_new(void)
{
    int32_t *samples = xcalloc(SAMPLES, CHAIN_NGRAM * sizeof *samples);

    chain_samples(samples, SAMPLES, 1);
    return samples;
}

static void on_batch(double cost, uint32_t errors, uint32_t samples, void *userdata)
{
    struct learner_run *run = userdata;

    (void)errors;
    (void)samples;
    assert_true(run->n_costs < LEARNER_RUN_BATCHES_MAX);
    run->costs[run->n_costs++] = cost;
}

static int train(struct learner *learner, struct learner_run *run, struct edl_error *error)
{
    int32_t *samples = samples_new();
    int r = learner_evaluate_initial(learner, samples, SAMPLES, &run->before, error);

    for (int pass = 0; r >= 0 && pass < PASSES; pass++) {
        size_t position = 0;

        r = learner_train(learner, samples, SAMPLES, &position, NULL, error);
    }
    if (r >= 0)
        r = learner_evaluate(learner, samples, SAMPLES, &run->after, error);
    free(samples);
    return r;
}

static void keep_params(struct learner_run *run, const struct declaration *declaration,
                        const struct learner *learner)
{
    for (int p = 0; p < NGRAM_PARAMS; p++) {
        const struct param_spec *spec = &declaration->params[p];

        run->param_bytes[p] = (size_t)spec->rows * spec->columns * sizeof(float);
        run->params[p] = xcalloc(1, run->param_bytes[p]);
        memcpy(run->params[p], learner_params(learner)[p], run->param_bytes[p]);
    }
}

void learner_run(const struct edl_backend *backend, uint32_t push_every, struct learner_run *ret)
{
    struct learner_config config = { .model = model,
                                     .backend = backend,
                                     .batch = BATCH,
                                     .push_every = push_every,
                                     .dropout_seed = 11,
                                     .exchange = table_exchange,
                                     .on_batch = on_batch,
                                     .batch_userdata = ret };
    struct learner *learner = NULL;
    struct edl_error error = { 0 };
    struct table *table = NULL;

    memset(ret, 0, sizeof *ret);
    learner_declaration(&model, 3, 0.1f, 1e-6f, &config.declaration);
    assert_int_equal(table_new(&config.declaration, 0, 1, &table, NULL), 0);
    config.exchange_userdata = table;
    ret->result = learner_new(&config, &learner, &error);
    if (ret->result >= 0)
        ret->result = train(learner, ret, &error);
    if (ret->result >= 0)
        keep_params(ret, &config.declaration, learner);
    ret->updates = table_updates(table);
    memcpy(ret->text, error.text, sizeof ret->text);
    (void)learner_free(learner);
    (void)table_free(table);
}

void learner_run_free(struct learner_run *run)
{
    for (int p = 0; p < NGRAM_PARAMS; p++)
        free(run->params[p]);
}

double learner_run_bound(void)
{
    int32_t *samples = samples_new();
    double cost = chain_cost(samples, SAMPLES);

    free(samples);
    return cost;
}
