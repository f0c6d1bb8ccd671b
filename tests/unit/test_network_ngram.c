/* SPDX-License-Identifier: Apache-2.0 */
/* test_network_ngram.c - the n-gram model as a network computes every bit as the one written by
 * hand */
#define TEST_OWN_MAIN

#include "tests/unit/network_case.h"

#include <cblas.h>
#include <stdio.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/unit/test.h"
#include "trainer/learn/model_ngram.h"
#include "trainer/network/plan.h"
#include "trainer/network/random_batch.h"

enum { BATCH = 32, NGRAM = 5, ROWS_MAX = BATCH * (NGRAM - 1) };

struct sizes {
    uint32_t vocabulary, embedding, hidden;
};

/* Both machines with the same values, gradients apart. */
struct pair {
    struct network *network;
    struct plan *plan;
    struct ngram_model *model;
    struct ngram_config config;
    float *whole[NGRAM_PARAMS];  /* by the order of the model */
    float *params[NGRAM_PARAMS]; /* as whole, but the embedding: the batch's rows */
    float *by_hand[NGRAM_PARAMS], *by_network[NGRAM_PARAMS];
    int32_t samples[BATCH * NGRAM], columns[NGRAM][BATCH];
    struct batch batch;
};

static size_t elements(const struct network *network, uint32_t p)
{
    return (size_t)network->params[p].spec.rows * network->params[p].spec.columns;
}

static void pair_open(struct pair *p, const struct sizes *sizes, float dropout)
{
    static const char *const names[] = { "embedding", "hidden_weight", "hidden_bias",
                                         "output_weight", "output_bias" };
    struct param_spec specs[NGRAM_PARAMS];
    char arguments[160];
    struct plan_config plan = { .backend = backend_cpu(),
                                .ops = tensor_ops_f32(),
                                .batch_max = BATCH };
    uint64_t state = 11;

    memset(p, 0, sizeof *p);
    (void)snprintf(arguments, sizeof arguments, "vocabulary=%u embedding=%u hidden=%u dropout=%g",
                   sizes->vocabulary, sizes->embedding, sizes->hidden, (double)dropout);
    p->network = network_shipped("ngram_lm", arguments);
    p->config = (struct ngram_config){
        NGRAM, sizes->embedding, sizes->hidden, sizes->vocabulary, dropout, 8e-4f, BATCH
    };
    plan.network = p->network;
    assert_int_equal(plan_new(&plan, &p->plan, NULL), 0);
    assert_int_equal(ngram_model_new(&p->config, backend_cpu(), &p->model, NULL), 0);
    ngram_param_specs(&p->config, specs);
    assert_int_equal(p->network->n_params, NGRAM_PARAMS);
    for (uint32_t i = 0; i < NGRAM_PARAMS; i++) {
        const struct param_spec *spec = &p->network->params[i].spec;
        const size_t n = elements(p->network, i);

        assert_string_equal(spec->name, names[i]);
        assert_string_equal(spec->name, specs[i].name);
        assert_int_equal(spec->rows, specs[i].rows);
        assert_int_equal(spec->columns, specs[i].columns);
        p->whole[i] = xcalloc(n, sizeof(float));
        p->by_hand[i] = xcalloc(n, sizeof(float));
        p->by_network[i] = xcalloc(n, sizeof(float));
        p->params[i] = p->whole[i];
        for (size_t k = 0; k < n; k++)
            p->whole[i][k] = 0.2f * (float)random_normal(&state);
    }
    p->params[NGRAM_EMBEDDING] = xcalloc((size_t)ROWS_MAX * sizes->embedding, sizeof(float));
}

static void pair_close(struct pair *p)
{
    free(p->params[NGRAM_EMBEDDING]);
    for (int i = 0; i < NGRAM_PARAMS; i++) {
        free(p->whole[i]);
        free(p->by_hand[i]);
        free(p->by_network[i]);
    }
    p->plan = plan_free(p->plan);
    p->model = ngram_model_free(p->model);
    p->network = network_free(p->network);
}

static void draw(struct pair *p, uint32_t n, uint64_t seed)
{
    p->batch = (struct batch){ .n = n, .n_slots = NGRAM };
    for (int w = 0; w < NGRAM; w++)
        p->batch.slots[w].ids = p->columns[w];
    for (uint32_t b = 0; b < n; b++)
        for (int w = 0; w < NGRAM; w++) {
            p->samples[b * NGRAM + w] = (int32_t)(random_next(&seed) % p->config.vocabulary);
            p->columns[w][b] = p->samples[b * NGRAM + w];
        }
}

static void same_step(struct pair *p, uint32_t n, uint64_t seed)
{
    uint32_t rows[ROWS_MAX], n_rows, n_network, errors;
    struct plan_result result;
    const uint32_t *ids;
    double cost;

    draw(p, n, seed + 100);
    assert_int_equal(ngram_batch_rows(p->model, p->samples, n, rows, &n_rows, NULL), 0);
    assert_int_equal(plan_batch(p->plan, &p->batch, NULL), 0);
    ids = plan_rows(p->plan, NGRAM_EMBEDDING, &n_network);
    assert_int_equal(n_network, n_rows);
    assert_memory_equal(ids, rows, n_rows * sizeof *rows);
    backend_cpu()->gather_rows(p->whole[NGRAM_EMBEDDING], rows, n_rows, p->config.embedding,
                               p->params[NGRAM_EMBEDDING]);
    ngram_step(p->model, p->params, seed, p->by_hand, &cost, &errors);
    plan_step(p->plan, (void *const *)p->params, seed, (void *const *)p->by_network, &result);
    assert_true(cost == result.cost / n);
    assert_int_equal(errors, result.errors);
    assert_int_equal(result.counted, n);
    for (uint32_t i = 0; i < NGRAM_PARAMS; i++)
        assert_memory_equal(p->by_hand[i], p->by_network[i],
                            (i == NGRAM_EMBEDDING ? (size_t)n_rows * p->config.embedding
                                                  : elements(p->network, i)) *
                                sizeof(float));
    ngram_evaluate(p->model, p->params, &cost, &errors);
    plan_forward(p->plan, (void *const *)p->params, false, 0, &result);
    assert_true(cost == result.cost);
    assert_int_equal(errors, result.errors);
}

TEST(test_every_bit)
{
    static const struct sizes sizes[] = { { 2073, 32, 256 }, { 63, 8, 33 }, { 130, 5, 7 } };
    static const float dropouts[] = { 0.5f, 0.0f, 0.25f };

    for (size_t i = 0; i < ELEMENTS(sizes); i++) {
        struct pair p;

        pair_open(&p, &sizes[i], dropouts[i]);
        same_step(&p, BATCH, 7);
        same_step(&p, 17, 8); /* smaller than the room */
        same_step(&p, 1, 9);
        pair_close(&p);
    }
}

int main(int argc, char **argv)
{
    openblas_set_num_threads(1);
    return tests_main(argc, argv);
}
