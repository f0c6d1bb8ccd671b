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
#include "trainer/exchange/table.h"
#include "trainer/learn/network_learner.h"
#include "trainer/learn/step_seed.h"

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

/* Its gradients are the same in a group of any size: masks follow from the place in a group. */
static struct network *model_without_dropout(void)
{
    return chain_network("embedding=5 hidden=7 dropout=0");
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

static void push_all(struct network *take_network, uint32_t push_every, struct recorder *ret)
{
    struct network *network = take_network;
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
    network_learner_set_lesson(learner, 3, 0);
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

    push_all(model_without_dropout(), 1, &each);
    push_all(model_without_dropout(), GROUP, &groups);
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

/* ---- it does not matter who trains ---- */

static struct network_learner *learner_of(const struct network *network, struct table *table,
                                          const struct declaration *declaration, bool all_dense)
{
    struct network_learner_config config = { .network = network,
                                             .backend = backend_cpu(),
                                             .declaration = *declaration,
                                             .batch = BATCH,
                                             .push_every = 2,
                                             .dropout_seed = 5,
                                             .all_dense = all_dense,
                                             .exchange = table_exchange,
                                             .exchange_userdata = table };
    struct network_learner *learner = NULL;

    assert_int_equal(network_learner_new(&config, &learner, NULL), 0);
    return learner;
}

/* So many trainers have a lesson each in turn, in two passes over four lessons; ret: the values of
 * all parameters. */
static void train_in_turns(uint32_t n_learners, float **ret)
{
    enum { LESSONS = 4, PASSES = 2 };
    struct network *network = model();
    struct network_learner *learners[3];
    struct declaration declaration;
    struct table *table = NULL;
    uint32_t turn = 0;

    assert_int_equal(network_declaration(network, 1, &declaration, NULL), 0);
    assert_int_equal(table_new(&declaration, 0, 1, &table, NULL), 0);
    for (uint32_t i = 0; i < n_learners; i++)
        learners[i] = learner_of(network, table, &declaration, false);
    for (uint32_t pass = 0; pass < PASSES; pass++)
        for (uint64_t lesson = 0; lesson < LESSONS; lesson++) {
            struct network_learner *learner = learners[turn++ % n_learners];
            struct sample_set *samples = chain_set(network, SAMPLES, lesson);
            size_t position = 0;

            assert_int_equal(network_learner_pull(learner, NULL), 0); /* others have trained */
            network_learner_set_lesson(learner, pass, lesson);
            assert_int_equal(network_learner_train(learner, samples, &position, NULL, NULL), 0);
            (void)sample_set_free(samples);
        }
    assert_int_equal(network_learner_pull(learners[0], NULL), 0);
    for (uint32_t p = 0; p < PARAMS; p++) {
        const size_t n = (size_t)declaration.params[p].rows * declaration.params[p].columns;

        ret[p] = xcalloc(n + 1, sizeof *ret[p]);
        ret[p][0] = (float)n;
        memcpy(ret[p] + 1, network_learner_values(learners[0])[p], n * sizeof *ret[p]);
    }
    for (uint32_t i = 0; i < n_learners; i++)
        (void)network_learner_free(learners[i]);
    (void)table_free(table);
    (void)network_free(network);
}

TEST(test_trainers_in_turns_are_one)
{
    float *alone[PARAMS], *others[PARAMS];

    train_in_turns(1, alone);
    for (uint32_t n = 2; n <= 3; n++) {
        train_in_turns(n, others);
        for (uint32_t p = 0; p < PARAMS; p++) {
            assert_memory_equal(others[p], alone[p], ((size_t)alone[p][0] + 1) * sizeof(float));
            free(others[p]);
        }
    }
    for (uint32_t p = 0; p < PARAMS; p++)
        free(alone[p]);
}

/* gradient_of - of micro-batch m of step 4, alone; before: others are computed first */
static void gradient_of(uint64_t m, bool before, float *ret, size_t *ret_n)
{
    struct network *network = model();
    struct sample_set *samples = chain_set(network, SAMPLES, 2);
    struct declaration declaration;
    struct network_learner *learner;
    struct table *table = NULL;
    float *const *sums;

    assert_int_equal(network_declaration(network, 1, &declaration, NULL), 0);
    network_declare_dense(&declaration);
    assert_int_equal(table_new(&declaration, 0, 1, &table, NULL), 0);
    learner = learner_of(network, table, &declaration, true);
    assert_int_equal(network_learner_pull(learner, NULL), 0);
    for (uint64_t k = before ? 0 : m; k <= m; k++) {
        const struct step_place place = { .step = 4, .micro_batch = k };
        uint64_t indices[BATCH];

        for (uint64_t i = 0; i < BATCH; i++) /* not side by side */
            indices[i] = (k * BATCH + i) * 7 % SAMPLES;
        network_learner_clear(learner);
        assert_int_equal(network_learner_gradient(learner, samples, indices, BATCH,
                                                  step_seed(5, &place), NULL),
                         0);
    }
    assert_int_equal(network_learner_sums(learner, &sums, NULL), 0);
    *ret_n = 0;
    for (uint32_t p = 0; p < PARAMS; p++)
        for (size_t i = 0; i < (size_t)declaration.params[p].rows * declaration.params[p].columns;
             i++)
            ret[(*ret_n)++] = sums[p][i];
    (void)network_learner_free(learner);
    (void)table_free(table);
    (void)sample_set_free(samples);
    (void)network_free(network);
}

/* The gradient of a micro-batch is a function of the values, the step and its number, and of
 * nothing that its process did before. */
TEST(test_gradient_of_a_micro_batch)
{
    static float fresh[4096], later[4096], other[4096];
    size_t n;

    gradient_of(3, false, fresh, &n);
    assert_true(n <= ELEMENTS(fresh));
    gradient_of(3, true, later, &n);
    assert_memory_equal(fresh, later, n * sizeof *fresh);
    gradient_of(2, false, other, &n);
    assert_memory_not_equal(fresh, other, n * sizeof *fresh);
}

/* Sums of micro-batches are those of a group that walks over the same samples, whole embeddings
 * among them. */
TEST(test_sums_are_those_of_a_walk)
{
    struct recorder each;
    struct network *network = model();
    struct sample_set *samples = chain_set(network, SAMPLES, 2);
    struct declaration declaration;
    struct network_learner *learner;
    struct table *table = NULL;
    float *const *sums;

    push_all(model(), GROUP, &each);
    assert_int_equal(network_declaration(network, 1, &declaration, NULL), 0);
    declaration.params[EMBEDDING].initial_std = 0.5f;
    network_declare_dense(&declaration);
    assert_int_equal(table_new(&declaration, 0, 1, &table, NULL), 0);
    learner = learner_of(network, table, &declaration, true);
    assert_int_equal(network_learner_pull(learner, NULL), 0);
    network_learner_clear(learner);
    for (uint64_t m = 0; m < GROUP; m++) {
        const struct step_place place = { .epoch = 3, .micro_batch = m };
        uint64_t indices[BATCH];

        for (uint64_t i = 0; i < BATCH; i++)
            indices[i] = m * BATCH + i;
        assert_int_equal(network_learner_gradient(learner, samples, indices, BATCH,
                                                  step_seed(5, &place), NULL),
                         0);
    }
    assert_int_equal(network_learner_sums(learner, &sums, NULL), 0);
    for (uint32_t p = 0; p < PARAMS; p++)
        for (size_t i = 0; i < size_of(&each, p); i++)
            assert_true((double)sums[p][i] == each.pushes[0].values[p][i]);
    forget(&each);
    (void)network_learner_free(learner);
    (void)table_free(table);
    (void)sample_set_free(samples);
    (void)network_free(network);
}

int main(int argc, char **argv)
{
    openblas_set_num_threads(1);
    return tests_main(argc, argv);
}
