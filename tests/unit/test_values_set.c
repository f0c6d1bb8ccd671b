/* SPDX-License-Identifier: Apache-2.0 */
/* test_values_set.c - servers whose values trainer 0 sets: nothing is trained before, the bits are
 * those that were set, and another trainer cannot set them */
#include "tests/unit/network_case.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "shared/clock.h"
#include "tests/unit/test.h"
#include "tests/unit/trainer_fixture.h"
#include "trainer/exchange/local_sgd.h"
#include "trainer/learn/network_begin.h"
#include "trainer/learn/network_learner.h"
#include "trainer/exchange/table.h"

#define SERVERS 3
#define SMALL "movie_ids=30 user_ids=40 title_chars=20 width=16"

struct course {
    struct network *network;
    struct declaration declaration;
    struct test_server servers[SERVERS];
    char folder[64], checkpoint[SERVERS][96];
};

static void course_open(struct course *c, bool all_dense)
{
    struct declaration own;

    *c = (struct course){ .network = network_shipped("recommendation", SMALL) };
    assert_int_equal(network_declaration(c->network, 1, &own, NULL), 0);
    own.awaits_values = 1;
    c->declaration = own;
    if (all_dense)
        local_sgd_center(&own, &c->declaration);
    folder_make(c->folder, sizeof c->folder);
    for (uint32_t s = 0; s < SERVERS; s++) {
        (void)snprintf(c->checkpoint[s], sizeof c->checkpoint[s], "%s/checkpoint/pserver-%u.ckpt",
                       c->folder, s);
        server_start(&c->servers[s], s, 1, c->checkpoint[s], 60 * USEC_PER_SEC);
    }
}

static void course_close(struct course *c)
{
    for (uint32_t s = 0; s < SERVERS; s++)
        assert_int_equal(server_stop(&c->servers[s]), 0);
    folder_remove(c->folder);
    (void)network_free(c->network);
}

static struct ps_client *client_of(const struct course *c, uint32_t trainer)
{
    const struct ps_client_config config = { .job_id = TEST_JOB,
                                             .trainer = trainer,
                                             .incarnation = 1,
                                             .secret = TEST_SECRET,
                                             .declaration = c->declaration,
                                             .n_servers = SERVERS,
                                             .timeout_us = 120 * USEC_PER_SEC };
    struct ps_client *client = NULL;
    struct ps_host hosts[SERVERS];

    hosts_of(c->servers, SERVERS, hosts);
    assert_int_equal(ps_client_new(&config, &client, NULL), 0);
    assert_int_equal(ps_client_connect(client, hosts, NULL), 0);
    return client;
}

/* reconnect - after a refusal, which ends the connections */
static void reconnect(const struct course *c, struct ps_client *client)
{
    struct ps_host hosts[SERVERS];

    hosts_of(c->servers, SERVERS, hosts);
    assert_int_equal(ps_client_connect(client, hosts, NULL), 0);
}

static struct network_learner *learner_of(const struct course *c, exchange_fn exchange,
                                          void *userdata)
{
    struct network_learner_config config = { .network = c->network,
                                             .backend = backend_cpu(),
                                             .batch = 8,
                                             .push_every = 1,
                                             .exchange = exchange,
                                             .exchange_userdata = userdata };
    struct network_learner *learner = NULL;

    assert_int_equal(network_declaration(c->network, 1, &config.declaration, NULL), 0);
    assert_int_equal(network_learner_new(&config, &learner, NULL), 0);
    return learner;
}

/* Values that no seed gives. */
static void fill(const struct course *c, const struct network_learner *learner)
{
    float next = 0.5f;

    for (uint32_t p = 0; p < c->network->n_params; p++)
        for (size_t i = 0;
             i < (size_t)c->network->params[p].spec.rows * c->network->params[p].spec.columns;
             i++, next += 0.25f)
            network_learner_values(learner)[p][i] = next;
}

static void assert_same(const struct course *c, const struct network_learner *a,
                        const struct network_learner *b)
{
    for (uint32_t p = 0; p < c->network->n_params; p++)
        assert_memory_equal(network_learner_values(a)[p], network_learner_values(b)[p],
                            (size_t)c->network->params[p].spec.rows *
                                c->network->params[p].spec.columns * sizeof(float));
}

static void push_one(struct ps_client *client, int expected)
{
    const struct exchange push = { .push = true, .samples = 1 };
    struct edl_error error = { 0 };

    assert_int_equal(ps_client_exchange(client, &push, &error), expected);
}

/* Trainer 1 connects first; its calls are refused until trainer 0 has set the values. */
TEST(test_values_come_first)
{
    struct course c;
    struct ps_client *clients[2];
    struct network_learner *learners[2];
    struct network_begin begin = { 0 };
    struct edl_error error = { 0 };

    course_open(&c, false);
    for (uint32_t i = 2; i-- > 0;) {
        clients[i] = client_of(&c, i);
        learners[i] = learner_of(&c, ps_client_exchange, clients[i]);
        assert_true(ps_client_awaits(clients[i]));
    }
    push_one(clients[1], -EINVAL);
    reconnect(&c, clients[1]);
    assert_int_equal(network_learner_pull(learners[1], &error), -EINVAL);
    assert_non_null(strstr(error.text, "has not set the values yet"));
    reconnect(&c, clients[1]);
    begin = (struct network_begin){ .network = c.network, .learner = learners[1] };
    assert_int_equal(network_begin_set(&begin, ps_client_exchange, clients[1], &error), -EINVAL);
    assert_non_null(strstr(error.text, "trainer 0 sets the values, not trainer-1"));
    reconnect(&c, clients[1]);

    fill(&c, learners[0]);
    begin.learner = learners[0];
    assert_int_equal(network_begin_set(&begin, ps_client_exchange, clients[0], &error), 0);
    assert_false(ps_client_awaits(clients[0]));
    assert_true(ps_client_awaits(clients[1])); /* as of its last look */
    assert_int_equal(ps_client_look(clients[1], &error), 0);
    assert_false(ps_client_awaits(clients[1]));
    assert_int_equal(network_learner_pull(learners[1], &error), 0);
    assert_same(&c, learners[0], learners[1]);

    push_one(clients[1], 0);
    assert_int_equal(network_begin_set(&begin, ps_client_exchange, clients[0], &error), -EALREADY);
    assert_non_null(strstr(error.text, "values come before the first push"));
    for (uint32_t i = 0; i < 2; i++) {
        (void)network_learner_free(learners[i]);
        (void)ps_client_free(clients[i]);
    }
    course_close(&c);
}

/* Trainers of local SGD share values without sparse parameters. */
TEST(test_all_dense)
{
    struct course c;
    struct ps_client *client;
    struct network_learner *from, *to;
    struct network_begin begin = { .all_dense = true };
    struct local_sgd_config config = { .batches = 2, .rate = 1, .center = ps_client_exchange };
    struct local_sgd *local = NULL;
    struct declaration own;

    course_open(&c, true);
    client = client_of(&c, 0);
    from = learner_of(&c, ps_client_exchange, client);
    fill(&c, from);
    begin.network = c.network;
    begin.learner = from;
    assert_int_equal(network_begin_set(&begin, ps_client_exchange, client, NULL), 0);
    assert_int_equal(network_declaration(c.network, 1, &own, NULL), 0);
    config.center_userdata = client;
    assert_int_equal(local_sgd_new(&config, &own, &local, NULL), 0);
    assert_int_equal(local_sgd_meet(local, NULL), 0);
    to = learner_of(&c, local_sgd_exchange, local);
    assert_int_equal(network_learner_pull(to, NULL), 0);
    assert_same(&c, from, to);
    (void)network_learner_free(from);
    (void)network_learner_free(to);
    (void)local_sgd_free(local);
    (void)ps_client_free(client);
    course_close(&c);
}

/* A checkpoint never has start values in the place of those that were to be set. */
TEST(test_no_checkpoint_before)
{
    struct course c;
    struct ps_client *client;
    struct network_learner *from, *to;
    struct network_begin begin = { 0 };

    course_open(&c, false);
    client = client_of(&c, 0);
    for (uint32_t s = 0; s < SERVERS; s++) {
        assert_int_equal(server_stop(&c.servers[s]), 0);
        assert_int_equal(access(c.checkpoint[s], F_OK), -1);
        server_start(&c.servers[s], s, 2, c.checkpoint[s], 60 * USEC_PER_SEC);
    }
    reconnect(&c, client);
    assert_true(ps_client_awaits(client));
    from = learner_of(&c, ps_client_exchange, client);
    fill(&c, from);
    begin.network = c.network;
    begin.learner = from;
    assert_int_equal(network_begin_set(&begin, ps_client_exchange, client, NULL), 0);
    for (uint32_t s = 0; s < SERVERS; s++) {
        assert_int_equal(server_stop(&c.servers[s]), 0);
        server_start(&c.servers[s], s, 3, c.checkpoint[s], 60 * USEC_PER_SEC);
    }
    reconnect(&c, client);
    assert_false(ps_client_awaits(client));
    to = learner_of(&c, ps_client_exchange, client);
    assert_int_equal(network_learner_pull(to, NULL), 0);
    assert_same(&c, from, to);
    (void)network_learner_free(from);
    (void)network_learner_free(to);
    (void)ps_client_free(client);
    course_close(&c);
}

/* The same way with the parameters in this process. */
TEST(test_in_a_table)
{
    struct course c = { .network = network_shipped("recommendation", SMALL) };
    struct network_learner *from, *to;
    struct network_begin begin = { .network = c.network };
    struct table *table = NULL;

    assert_int_equal(network_declaration(c.network, 1, &c.declaration, NULL), 0);
    assert_int_equal(table_new(&c.declaration, 0, 1, &table, NULL), 0);
    from = learner_of(&c, table_exchange, table);
    to = learner_of(&c, table_exchange, table);
    fill(&c, from);
    begin.learner = from;
    assert_int_equal(network_begin_set(&begin, table_exchange, table, NULL), 0);
    assert_int_equal(network_learner_pull(to, NULL), 0);
    assert_same(&c, from, to);
    (void)network_learner_free(from);
    (void)network_learner_free(to);
    (void)table_free(table);
    (void)network_free(c.network);
}
