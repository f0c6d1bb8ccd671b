/* SPDX-License-Identifier: Apache-2.0 */
/* test_network_learner.c - any network trained against a table: groups, sparse rows, evaluation,
 * and who is named when it diverges */
#include "tests/unit/network_case.h"

#include <cblas.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/kernels.h"
#include "trainer/data/sample.h"
#include "trainer/data/sample_set.h"
#include "trainer/network/random_batch.h"
#include "trainer/network_learner.h"
#include "trainer/table.h"

struct school {
    struct network *network;
    struct sample_set *samples;
    struct declaration declaration;
    struct table *table;
    struct network_learner *learner;
};

/* Samples whose target a network of this kind can learn: the rating follows user and movie ids. */
static struct sample_set *ratings(const struct network *network, size_t n, uint64_t seed)
{
    struct sample_set *set = sample_set_new(network->inputs, network->n_inputs);
    struct sample_record record = { 0 };

    for (size_t i = 0; i < n; i++) {
        struct batch *one = random_batch_new(network, 1, 6, random_next(&seed));
        struct sample_value values[INPUTS_MAX] = { 0 };
        const int32_t movie = one->slots[0].ids[0], user = one->slots[3].ids[0];
        const float rating = (movie % 2 == user % 2) ? 3.0f : -2.0f;

        for (uint32_t k = 0; k < network->n_inputs; k++) {
            values[k].ids = one->slots[k].ids;
            values[k].values = one->slots[k].values;
            if (one->slots[k].starts != NULL)
                values[k].n_ids = one->slots[k].starts[1];
        }
        values[7].values = &rating;
        assert_int_equal(sample_encode(network->inputs, network->n_inputs, values, &record, NULL),
                         0);
        assert_int_equal(sample_set_add(set, record.bytes, record.size, NULL), 0);
        (void)random_batch_free(one);
    }
    free(record.bytes);
    return set;
}

static void school_open(struct school *s, uint32_t batch, uint32_t push_every, float rate)
{
    struct network_learner_config config = { .backend = backend_cpu(),
                                             .batch = batch,
                                             .push_every = push_every,
                                             .dropout_seed = 1,
                                             .exchange = table_exchange };

    memset(s, 0, sizeof *s);
    s->network =
        network_shipped("recommendation", "movie_ids=30 user_ids=40 title_chars=20 width=16");
    s->samples = ratings(s->network, 640, 5);
    assert_int_equal(network_declaration(s->network, 1, &s->declaration, NULL), 0);
    assert_int_equal(s->declaration.optimizer.method, OPTIMIZER_RMSPROP);
    if (rate > 0)
        s->declaration.optimizer.learning_rate = rate;
    assert_int_equal(table_new(&s->declaration, 0, 1, &s->table, NULL), 0);
    config.network = s->network;
    config.declaration = s->declaration;
    config.exchange_userdata = s->table;
    assert_int_equal(network_learner_new(&config, &s->learner, NULL), 0);
}

static void school_close(struct school *s)
{
    s->learner = network_learner_free(s->learner);
    s->table = table_free(s->table);
    s->samples = sample_set_free(s->samples);
    s->network = network_free(s->network);
}

static void train(struct school *s, int passes)
{
    struct edl_error error = { 0 };

    for (int pass = 0; pass < passes; pass++) {
        size_t position = 0;

        network_learner_set_pass(s->learner, (uint32_t)pass);
        if (network_learner_train(s->learner, s->samples, &position, NULL, &error) < 0)
            fail_msg("%s", error.text);
        assert_int_equal(position, sample_set_n(s->samples));
    }
}

static double cost_of(struct school *s)
{
    struct evaluation evaluation;

    assert_int_equal(network_learner_pull(s->learner, NULL), 0);
    assert_int_equal(network_learner_evaluate(s->learner, s->samples, &evaluation, NULL), 0);
    assert_int_equal(evaluation.samples, sample_set_n(s->samples));
    return evaluation.cost;
}

/* The mean rating alone costs 6.25: what lies below was learnt of ids, most of it in sparse rows.
 */
static void test_learns(void **unused)
{
    struct school s;
    double before;

    (void)unused;
    school_open(&s, 32, 1, 0);
    before = cost_of(&s);
    assert_true(before > 6.0);
    train(&s, 60);
    if (!(cost_of(&s) < 0.5))
        fail_msg("cost %g, before training %g", cost_of(&s), before);
    school_close(&s);
}

/* Two batches of 16 behind one push are one batch of 32, but for the order of the sums. */
static void test_groups(void **unused)
{
    struct school one, two;
    double a, b;

    (void)unused;
    school_open(&one, 32, 1, 0);
    school_open(&two, 16, 2, 0);
    train(&one, 1);
    train(&two, 1);
    assert_int_equal(table_updates(one.table), 20);
    assert_int_equal(table_updates(two.table), 20);
    assert_int_equal(table_samples(two.table), 640);
    a = cost_of(&one);
    b = cost_of(&two);
    if (!(fabs(a - b) <= 1e-3 * a))
        fail_msg("cost %g by single batches, %g by groups", a, b);
    school_close(&one);
    school_close(&two);
}

/* The table's values are where the learner evaluates: a second learner on it says the same. */
static void test_pull(void **unused)
{
    struct network_learner_config config = {
        .backend = backend_cpu(), .batch = 7, .push_every = 1, .exchange = table_exchange
    };
    struct evaluation evaluation;
    struct network_learner *other;
    struct school s;

    (void)unused;
    school_open(&s, 32, 1, 0);
    config.network = s.network;
    config.declaration = s.declaration;
    config.exchange_userdata = s.table;
    assert_int_equal(network_learner_new(&config, &other, NULL), 0);
    network_learner_start_values(other);
    assert_int_equal(network_learner_evaluate(other, s.samples, &evaluation, NULL), 0);
    assert_float_equal(evaluation.cost, cost_of(&s), 1e-5 * evaluation.cost);
    train(&s, 2);
    assert_int_equal(network_learner_pull(other, NULL), 0);
    assert_int_equal(network_learner_evaluate(other, s.samples, &evaluation, NULL), 0);
    assert_float_equal(evaluation.cost, cost_of(&s), 1e-5 * evaluation.cost);
    other = network_learner_free(other);
    school_close(&s);
}

/* A rate without measure: training stops, and batch and culprit are named. */
static void test_divergence(void **unused)
{
    struct edl_error error = { 0 };
    struct school s;
    int r = 0;

    (void)unused;
    school_open(&s, 32, 1, 3e38f);
    for (int pass = 0; r >= 0 && pass < 5; pass++) {
        size_t position = 0;

        r = network_learner_train(s.learner, s.samples, &position, NULL, &error);
    }
    assert_int_equal(r, -EDOM);
    if (strstr(error.text, "batch ") == NULL || strstr(error.text, "is not finite") == NULL ||
        strstr(error.remedy, "learning rate") == NULL)
        fail_msg("\"%s\" (%s)", error.text, error.remedy);
    school_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learns),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_pull),
        cmocka_unit_test(test_divergence),
    };

    openblas_set_num_threads(1);
    return cmocka_run_group_tests_name("network: learner", tests, NULL, NULL);
}
