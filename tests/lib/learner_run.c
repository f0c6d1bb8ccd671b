/* SPDX-License-Identifier: Apache-2.0 */
/* learner_run.c - one small training by a back-end, the same each time: to compare back-ends */
#include "tests/lib/learner_run.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/lib/chain_set.h"
#include "tests/unit/trainer_fixture.h"
#include "trainer/data/sample_set.h"
#include "trainer/network/network.h"
#include "trainer/exchange/table.h"

enum { SAMPLES = 4000, PASSES = 2, BATCH = 24 };

static void on_batch(double cost, uint32_t errors, uint32_t samples, void *userdata)
{
    struct learner_run *run = userdata;

    (void)errors;
    (void)samples;
    assert_true(run->n_costs < LEARNER_RUN_BATCHES_MAX);
    run->costs[run->n_costs++] = cost;
}

static int train(struct network_learner *learner, const struct sample_set *samples,
                 struct learner_run *run, struct edl_error *error)
{
    int r;

    network_learner_start_values(learner, false);
    r = network_learner_evaluate(learner, samples, &run->before, error);
    for (int pass = 0; r >= 0 && pass < PASSES; pass++) {
        size_t position = 0;

        r = network_learner_train(learner, samples, &position, NULL, error);
    }
    if (r >= 0)
        r = network_learner_pull(learner, error);
    if (r >= 0)
        r = network_learner_evaluate(learner, samples, &run->after, error);
    return r;
}

static void keep_params(struct learner_run *run, const struct declaration *declaration,
                        const struct network_learner *learner)
{
    assert_int_equal(declaration->n_params, LEARNER_RUN_PARAMS);
    for (int p = 0; p < LEARNER_RUN_PARAMS; p++) {
        const struct param_spec *spec = &declaration->params[p];

        run->param_bytes[p] = (size_t)spec->rows * spec->columns * sizeof(float);
        run->params[p] = xcalloc(1, run->param_bytes[p]);
        memcpy(run->params[p], network_learner_values(learner)[p], run->param_bytes[p]);
    }
}

/* What an exchange carries is what a server that comes back gets: it must be what was pulled. */
static void check_held(const struct learner_run *run, const struct network_learner *learner)
{
    for (int p = 0; p < LEARNER_RUN_PARAMS; p++)
        assert_memory_equal(network_learner_held(learner)[p], run->params[p], run->param_bytes[p]);
}

void learner_run(const struct edl_backend *backend, uint32_t push_every, struct learner_run *ret)
{
    struct network *network =
        chain_network("embedding=12 hidden=37 dropout=0.2 rate=0.1 hidden_std=0.1");
    struct sample_set *samples = chain_set(network, SAMPLES, 1);
    struct network_learner_config config = { .network = network,
                                             .backend = backend,
                                             .batch = BATCH,
                                             .push_every = push_every,
                                             .dropout_seed = 11,
                                             .exchange = table_exchange,
                                             .on_batch = on_batch,
                                             .batch_userdata = ret };
    struct network_learner *learner = NULL;
    struct edl_error error = { 0 };
    struct table *table = NULL;

    memset(ret, 0, sizeof *ret);
    assert_int_equal(network_declaration(network, 3, &config.declaration, NULL), 0);
    config.declaration.optimizer.l2_rate = 1e-6f;
    assert_int_equal(table_new(&config.declaration, 0, 1, &table, NULL), 0);
    config.exchange_userdata = table;
    ret->result = network_learner_new(&config, &learner, &error);
    if (ret->result >= 0)
        ret->result = train(learner, samples, ret, &error);
    if (ret->result >= 0) {
        keep_params(ret, &config.declaration, learner);
        check_held(ret, learner);
    }
    ret->updates = table_updates(table);
    memcpy(ret->text, error.text, sizeof ret->text);
    (void)network_learner_free(learner);
    (void)table_free(table);
    (void)sample_set_free(samples);
    (void)network_free(network);
}

void learner_run_free(struct learner_run *run)
{
    for (int p = 0; p < LEARNER_RUN_PARAMS; p++)
        free(run->params[p]);
}

double learner_run_bound(void)
{
    int32_t *samples = xcalloc(SAMPLES, CHAIN_NGRAM * sizeof *samples);
    double cost;

    chain_samples(samples, SAMPLES, 1);
    cost = chain_cost(samples, SAMPLES);
    free(samples);
    return cost;
}
