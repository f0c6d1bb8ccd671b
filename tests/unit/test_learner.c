/* SPDX-License-Identifier: Apache-2.0 */
/* test_learner.c - what a learner pushes: the sum of the gradients of a group of batches
 *
 * Against an exchange that never changes the parameters, so that the gradients of single batches
 * are known from a learner that pushes each of them. */
#define TEST_OWN_MAIN

#include "tests/lib/chain_set.h"
#include "tests/unit/network_case.h"
#include "tests/unit/test.h"
#include "trainer/data/sample_set.h"
#include "trainer/learn/network_learner.h"

#include <cblas.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/kernels.h"
#include "trainer_fixture.h"

enum { SAMPLES = 150, BATCH = 16, BATCHES = (SAMPLES + BATCH - 1) / BATCH, GROUP = 3 };

/* The first of five parameters is sparse, with so many columns. */
enum { EMBEDDING, PARAMS = 5, COLUMNS = 5 };

static struct network *model(void)
{
    return chain_network("embedding=5 hidden=7 dropout=0.3");
}

/* Gradients of one push, the embedding's by word. */
struct push {
    double *values[PARAMS];
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
    const size_t D = COLUMNS;
    struct push *push = &r->pushes[r->n_pushes++];
    bool seen[CHAIN_WORDS] = { 0 };

    assert_true(r->n_pushes <= BATCHES);
    push->samples = exchange->samples;
    push->pass = exchange->pass;
    for (uint32_t p = 0; p < PARAMS; p++) {
        push->values[p] = xcalloc(size_of(r, p), sizeof *push->values[p]);
        for (size_t i = 0; p != EMBEDDING && i < size_of(r, p); i++)
            push->values[p][i] = (double)exchange->dense_gradients[p][i];
    }
    for (uint32_t i = 0; i < rows->n_push; i++) {
        assert_false(seen[rows->push_ids[i]]); /* each word once */
        seen[rows->push_ids[i]] = true;
        for (size_t c = 0; c < D; c++)
            push->values[EMBEDDING][rows->push_ids[i] * D + c] = (double)rows->push_rows[i * D + c];
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
    for (uint32_t p = 0; exchange->ret_dense != NULL && p < PARAMS; p++)
        for (size_t i = 0; p != EMBEDDING && i < size_of(r, p); i++)
            exchange->ret_dense[p][i] =
                param_init_value(&params[p], 1, (uint32_t)(i / params[p].columns),
                                 (uint32_t)(i % params[p].columns));
    for (uint32_t i = 0; i < rows->n_pull; i++)
        for (uint32_t c = 0; c < (uint32_t)COLUMNS; c++)
            rows->ret_rows[i * (uint32_t)COLUMNS + c] =
                param_init_value(&params[EMBEDDING], 1, rows->pull_ids[i], c);
    return 0;
}

static void push_all(uint32_t push_every, struct recorder *ret)
{
    struct network *network = model();
    struct sample_set *samples = chain_set(network, SAMPLES, 2);
    struct network_learner_config config = { .network = network,
                                             .backend = backend_cpu(),
                                             .batch = BATCH,
                                             .push_every = push_every,
                                             .dropout_seed = 5,
                                             .exchange = exchange_start_values,
                                             .exchange_userdata = ret };
    struct network_learner *learner = NULL;
    size_t position = 0;

    memset(ret, 0, sizeof *ret);
    assert_int_equal(network_declaration(network, 1, &ret->declaration, NULL), 0);
    assert_int_equal(ret->declaration.n_params, PARAMS);
    ret->declaration.params[EMBEDDING].initial_std = 0.5f; /* else all words are alike */
    config.declaration = ret->declaration;
    assert_int_equal(network_learner_new(&config, &learner, NULL), 0);
    network_learner_set_pass(learner, 3);
    assert_int_equal(network_learner_train(learner, samples, &position, NULL, NULL), 0);
    assert_int_equal(position, SAMPLES);
    (void)network_learner_free(learner);
    (void)sample_set_free(samples);
    (void)network_free(network);
}

static void forget(struct recorder *r)
{
    for (uint32_t i = 0; i < r->n_pushes; i++)
        for (uint32_t p = 0; p < PARAMS; p++)
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

        for (uint32_t p = 0; p < PARAMS; p++)
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
