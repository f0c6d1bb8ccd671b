/* SPDX-License-Identifier: Apache-2.0 */
/* test_network_servers.c - shipped networks trained by one trainer: on 1, 2 and 4 servers, however
 * blocks and rows lie on them, the bits are those of training alone */
#define TEST_OWN_MAIN

#include "tests/unit/network_case.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/test.h"
#include "tests/unit/trainer_fixture.h"
#include "trainer/data/sample.h"
#include "trainer/data/sample_set.h"
#include "trainer/network/random_batch.h"
#include "trainer/learn/network_learner.h"
#include "trainer/exchange/table.h"

#define SAMPLES 44 /* batches of 8, and a shorter one */
#define BATCH 8
#define LENGTH_MAX 6
#define SERVERS_MAX 4

static struct sample_set *random_samples(const struct network *network)
{
    struct sample_set *set = sample_set_new(network->inputs, network->n_inputs);
    struct sample_record record = { 0 };

    for (uint64_t i = 0; i < SAMPLES; i++) {
        struct batch *one = random_batch_new(network, 1, LENGTH_MAX, i + 1);
        struct sample_value values[INPUTS_MAX] = { 0 };

        for (uint32_t k = 0; k < network->n_inputs; k++) {
            values[k].ids = one->slots[k].ids;
            values[k].values = one->slots[k].values;
            if (one->slots[k].starts != NULL)
                values[k].n_ids = one->slots[k].starts[1];
        }
        assert_int_equal(sample_encode(network->inputs, network->n_inputs, values, &record, NULL),
                         0);
        assert_int_equal(sample_set_add(set, record.bytes, record.size, NULL), 0);
        (void)random_batch_free(one);
    }
    free(record.bytes);
    return set;
}

struct course {
    struct network *network;
    struct sample_set *samples;
    struct declaration declaration;
    uint32_t push_every;
};

/* Two passes, then all parameters as they are kept. */
static struct network_learner *learn(const struct course *course, exchange_fn exchange,
                                     void *userdata)
{
    const struct network_learner_config config = { .network = course->network,
                                                   .backend = backend_cpu(),
                                                   .declaration = course->declaration,
                                                   .batch = BATCH,
                                                   .push_every = course->push_every,
                                                   .dropout_seed = 1,
                                                   .exchange = exchange,
                                                   .exchange_userdata = userdata };
    struct network_learner *learner = NULL;

    assert_int_equal(network_learner_new(&config, &learner, NULL), 0);
    for (uint32_t pass = 0; pass < 2; pass++) {
        struct edl_error error = { 0 };
        size_t position = 0;

        network_learner_set_lesson(learner, pass, 0);
        if (network_learner_train(learner, course->samples, &position, NULL, &error) < 0)
            fail_msg("%s", error.text);
    }
    assert_int_equal(network_learner_pull(learner, NULL), 0);
    return learner;
}

static struct network_learner *learn_on_servers(const struct course *course, uint32_t n,
                                                struct block_placement placement)
{
    struct ps_client_config config = { .job_id = TEST_JOB,
                                       .incarnation = 1,
                                       .secret = TEST_SECRET,
                                       .declaration = course->declaration,
                                       .n_servers = n,
                                       .timeout_us = 120 * USEC_PER_SEC };
    struct test_server servers[SERVERS_MAX];
    struct ps_host hosts[SERVERS_MAX];
    struct network_learner *learner;
    struct ps_client *client = NULL;

    config.declaration.placement = placement;
    for (uint32_t s = 0; s < n; s++)
        server_start(&servers[s], s, 1, NULL, 0);
    hosts_of(servers, n, hosts);
    assert_int_equal(ps_client_new(&config, &client, NULL), 0);
    assert_int_equal(ps_client_connect(client, hosts, NULL), 0);
    learner = learn(course, ps_client_exchange, client);
    (void)ps_client_free(client);
    for (uint32_t s = 0; s < n; s++)
        assert_int_equal(server_stop(&servers[s]), 0);
    return learner;
}

/* Averages of batches as well: they are the learner's own. */
static void assert_same_bits(const struct course *course, const struct network_learner *a,
                             const struct network_learner *b, uint32_t n)
{
    for (uint32_t p = 0; p < course->network->n_params; p++) {
        const struct param_spec *spec = &course->network->params[p].spec;
        const size_t values = (size_t)spec->rows * spec->columns;

        if (memcmp(network_learner_values(a)[p], network_learner_values(b)[p],
                   values * sizeof(float)) != 0)
            fail_msg("%s of %s differs on %u servers", spec->name, course->network->file, n);
    }
}

/* What was compared is finite, and training has moved each parameter. */
static void assert_moved(const struct course *course, const struct network_learner *learner)
{
    for (uint32_t p = 0; p < course->network->n_params; p++) {
        const struct param_spec *spec = &course->network->params[p].spec;
        const float *values = network_learner_values(learner)[p];
        bool moved = false;

        for (uint32_t row = 0; row < spec->rows; row++)
            for (uint32_t column = 0; column < spec->columns; column++) {
                const float value = values[(size_t)row * spec->columns + column];

                assert_true(isfinite(value));
                moved |= value != param_init_value(spec, course->declaration.seed, row, column);
            }
        if (!moved)
            fail_msg("training has not moved %s", spec->name);
    }
}

/* Ranges; blocks with the rows beside them; ports of their own for rows, on one host and on two. */
static const struct {
    uint32_t servers;
    struct block_placement placement;
} worlds[] = {
    { 1, { 0, 0 } }, { 2, { 0, 0 } }, { 4, { 0, 0 } }, { 1, { 1, 0 } },
    { 2, { 1, 0 } }, { 4, { 2, 0 } }, { 4, { 3, 1 } }, { 4, { 1, 1 } },
};

static void same_on_servers(const char *name, const char *arguments, uint32_t push_every)
{
    struct course course = { .network = network_shipped(name, arguments),
                             .push_every = push_every };
    struct table *table = NULL;
    struct network_learner *alone;

    course.samples = random_samples(course.network);
    assert_int_equal(network_declaration(course.network, 1, &course.declaration, NULL), 0);
    assert_int_equal(table_new(&course.declaration, 0, 1, &table, NULL), 0);
    alone = learn(&course, table_exchange, table);
    assert_moved(&course, alone);
    for (size_t i = 0; i < ELEMENTS(worlds); i++) {
        struct network_learner *learner =
            learn_on_servers(&course, worlds[i].servers, worlds[i].placement);

        assert_same_bits(&course, alone, learner, worlds[i].servers);
        (void)network_learner_free(learner);
    }
    (void)network_learner_free(alone);
    (void)table_free(table);
    (void)sample_set_free(course.samples);
    (void)network_free(course.network);
}

#define SMALL "movie_ids=30 user_ids=40 title_chars=20 width=16"

/* Sparse tables with RMSProp, single batches and groups. */
TEST(test_recommendation)
{
    same_on_servers("recommendation", SMALL, 1);
    same_on_servers("recommendation", SMALL, 3);
}

/* A table that four inputs share, dropout, AdaGrad. */
TEST(test_ngram_lm)
{
    same_on_servers("ngram_lm", "vocabulary=50 embedding=5 hidden=20", 1);
}

/* Convolutions, momentum, L2. */
TEST(test_digits_conv)
{
    same_on_servers("digits_conv", NULL, 1);
}

/* Additions, batch_norm, a rate schedule. */
TEST(test_resnet_cifar)
{
    same_on_servers("resnet_cifar", "depth=8", 1);
}

int main(int argc, char **argv)
{
    openblas_set_num_threads(1);
    return tests_main(argc, argv);
}
