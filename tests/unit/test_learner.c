/* SPDX-License-Identifier: Apache-2.0 */
/* test_learner.c - what a learner pushes: the sum of the gradients of a group of batches
 *
 * Against an exchange that never changes the parameters, so that the gradients of single batches
 * are known from a learner that pushes each of them. */
#define TEST_OWN_MAIN

#include "tests/unit/test.h"
#include "trainer/learn/learner.h"

#include <cblas.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/kernels.h"
#include "trainer_fixture.h"

enum { SAMPLES = 150, BATCH = 16, BATCHES = (SAMPLES + BATCH - 1) / BATCH, GROUP = 3 };

static const struct ngram_config model = {
    .ngram = CHAIN_NGRAM, .embedding = 5, .hidden = 7, .vocabulary = CHAIN_WORDS, .dropout = 0.3f
};

/* Gradients of one push, the embedding's by word. */
struct push {
    double *values[NGRAM_PARAMS];
    uint32_t samples, pass;
};

struct recorder {
    struct declaration declaration;
    struct push pushes[BATCHES];
    uint32_t n_pushes;
};

static size_t size_of(const struct recorder *r, uint32_t p)
{
    return (size_t)r->declaration.params[p].rows * r->declaration.params[p].columns;
}

static void record(struct recorder *r, const struct exchange *exchange)
{
    const struct exchange_rows *rows = &exchange->rows[0];
    const size_t D = model.embedding;
    struct push *push = &r->pushes[r->n_pushes++];
    bool seen[CHAIN_WORDS] = { 0 };

    assert_true(r->n_pushes <= BATCHES);
    push->samples = exchange->samples;
    push->pass = exchange->pass;
    for (uint32_t p = 0; p < NGRAM_PARAMS; p++) {
        push->values[p] = xcalloc(size_of(r, p), sizeof *push->values[p]);
        for (size_t i = 0; p != NGRAM_EMBEDDING && i < size_of(r, p); i++)
            push->values[p][i] = (double)exchange->dense_gradients[p][i];
    }
    for (uint32_t i = 0; i < rows->n_push; i++) {
        assert_false(seen[rows->push_ids[i]]); /* each word once */
        seen[rows->push_ids[i]] = true;
        for (size_t c = 0; c < D; c++)
            push->values[NGRAM_EMBEDDING][rows->push_ids[i] * D + c] =
                (double)rows->push_rows[i * D + c];
    }
}

static int exchange_start_values(void *userdata, const struct exchange *exchange,
                                 struct edl_error *error)
{
    struct recorder *r = userdata;
    const struct exchange_rows *rows = &exchange->rows[0];
    const struct param_spec *params = r->declaration.params;

    (void)error;
    if (exchange->push)
        record(r, exchange);
    for (uint32_t p = 0; exchange->ret_dense != NULL && p < NGRAM_PARAMS; p++)
        for (size_t i = 0; p != NGRAM_EMBEDDING && i < size_of(r, p); i++)
            exchange->ret_dense[p][i] =
                param_init_value(&params[p], 1, (uint32_t)(i / params[p].columns),
                                 (uint32_t)(i % params[p].columns));
    for (uint32_t i = 0; i < rows->n_pull; i++)
        for (uint32_t c = 0; c < model.embedding; c++)
            rows->ret_rows[i * model.embedding + c] =
                param_init_value(&params[NGRAM_EMBEDDING], 1, rows->pull_ids[i], c);
    return 0;
}

static void push_all(uint32_t push_every, struct recorder *ret)
{
    struct learner_config config = { .model = model,
                                     .backend = backend_cpu(),
                                     .batch = BATCH,
                                     .push_every = push_every,
                                     .dropout_seed = 5,
                                     .exchange = exchange_start_values,
                                     .exchange_userdata = ret };
    int32_t samples[SAMPLES * CHAIN_NGRAM];
    struct learner *learner = NULL;
    size_t position = 0;

    memset(ret, 0, sizeof *ret);
    learner_declaration(&model, 1, 0.1f, 1e-6f, &ret->declaration);
    ret->declaration.params[NGRAM_EMBEDDING].initial_std = 0.5f; /* else all words are alike */
    config.declaration = ret->declaration;
    chain_samples(samples, SAMPLES, 2);
    assert_int_equal(learner_new(&config, &learner, NULL), 0);
    learner_set_pass(learner, 3);
    assert_int_equal(learner_train(learner, samples, SAMPLES, &position, NULL, NULL), 0);
    assert_int_equal(position, SAMPLES);
    (void)learner_free(learner);
}

static void forget(struct recorder *r)
{
    for (uint32_t i = 0; i < r->n_pushes; i++)
        for (uint32_t p = 0; p < NGRAM_PARAMS; p++)
            free(r->pushes[i].values[p]);
}

/* Ten batches in groups of three, the last group of one. */
TEST(test_sum_of_a_group)
{
    struct recorder each, groups;

    push_all(1, &each);
    push_all(GROUP, &groups);
    assert_int_equal(each.n_pushes, BATCHES);
    assert_int_equal(each.pushes[0].samples, BATCH);
    assert_int_equal(each.pushes[BATCHES - 1].samples, SAMPLES - (BATCHES - 1) * BATCH);
    assert_int_equal(groups.n_pushes, (BATCHES + GROUP - 1) / GROUP);
    for (uint32_t g = 0; g < groups.n_pushes; g++) {
        const uint32_t first = g * GROUP, n = MIN_OF((uint32_t)BATCHES - first, (uint32_t)GROUP);
        uint32_t samples = 0;

        for (uint32_t b = 0; b < n; b++)
            samples += each.pushes[first + b].samples;
        assert_int_equal(groups.pushes[g].samples, samples);
        assert_int_equal(groups.pushes[g].pass, 3);

        for (uint32_t p = 0; p < NGRAM_PARAMS; p++)
            for (size_t i = 0; i < size_of(&each, p); i++) {
                const double got = groups.pushes[g].values[p][i];
                double want = 0.0;

                for (uint32_t b = 0; b < n; b++)
                    want += each.pushes[first + b].values[p][i];
                if (!(fabs(got - want) <= 3e-6))
                    fail_msg("group %u, %s[%zu]: %.9g, not %.9g", g,
                             each.declaration.params[p].name, i, got, want);
            }
    }
    forget(&each);
    forget(&groups);
}

int main(int argc, char **argv)
{
    openblas_set_num_threads(1);
    return tests_main(argc, argv);
}
