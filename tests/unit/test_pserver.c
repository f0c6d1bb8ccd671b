/* SPDX-License-Identifier: Apache-2.0 */
/* test_pserver.c - real servers in child processes: equal results, refusals, hostile bytes, deaths
 * and checkpoints */
#include "trainer_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "tests/lib/chain_set.h"
#include "tests/unit/test.h"
#include "trainer/server/checkpoint.h"
#include "trainer/data/sample_set.h"
#include "trainer/learn/network_learner.h"
#include "trainer/exchange/table.h"

#define CLIENT_TIMEOUT_US (120 * USEC_PER_SEC)

/* embedding, hidden_weight, hidden_bias, output_weight, output_bias */
enum { PARAMS = 5, OUTPUT_WEIGHT = 3 };

static struct network *model(void)
{
    return chain_network("embedding=9 hidden=21 dropout=0.3 rate=0.05");
}

static struct declaration declare_model(void)
{
    struct network *network = model();
    struct declaration d;

    assert_int_equal(network_declaration(network, 3, &d, NULL), 0);
    assert_int_equal(d.n_params, PARAMS);
    (void)network_free(network);
    return d;
}

static struct ps_client *client_new(uint32_t n, uint32_t trainer, uint64_t incarnation)
{
    struct ps_client_config config = { .job_id = TEST_JOB,
                                       .trainer = trainer,
                                       .incarnation = incarnation,
                                       .secret = TEST_SECRET,
                                       .declaration = declare_model(),
                                       .n_servers = n,
                                       .timeout_us = CLIENT_TIMEOUT_US };
    struct ps_client *client = NULL;

    assert_int_equal(ps_client_new(&config, &client, NULL), 0);
    return client;
}

static int client_connect(struct ps_client *client, const struct test_server *servers, uint32_t n,
                          struct edl_error *error)
{
    struct ps_host hosts[8];

    hosts_of(servers, n, hosts);
    return ps_client_connect(client, hosts, error);
}

static struct network_learner *learner_on(const struct network *network, exchange_fn exchange,
                                          void *userdata, uint32_t push_every)
{
    struct network_learner_config config = { .network = network,
                                             .backend = backend_cpu(),
                                             .declaration = declare_model(),
                                             .batch = 16,
                                             .push_every = push_every,
                                             .dropout_seed = 11,
                                             .exchange = exchange,
                                             .exchange_userdata = userdata };
    struct network_learner *learner = NULL;

    assert_int_equal(network_learner_new(&config, &learner, NULL), 0);
    return learner;
}

/* Trains on the same 1,000 samples twice over: 62 whole batches, one of 8. Pulls all. */
static void train_on(const struct network *network, struct network_learner *learner)
{
    struct sample_set *samples = chain_set(network, 1000, 1);

    for (int pass = 0; pass < 2; pass++) {
        size_t position = 0;

        assert_int_equal(network_learner_train(learner, samples, &position, NULL, NULL), 0);
        assert_int_equal(position, 1000);
    }
    assert_int_equal(network_learner_pull(learner, NULL), 0);
    (void)sample_set_free(samples);
}

static void assert_params_equal(const struct network_learner *a, const struct network_learner *b)
{
    struct declaration d = declare_model();

    for (uint32_t p = 0; p < d.n_params; p++)
        assert_memory_equal(network_learner_values(a)[p], network_learner_values(b)[p],
                            (size_t)d.params[p].rows * d.params[p].columns * sizeof(float));
}

/* The promise that sharding changes nothing: bit for bit the result of one table in this process.
 */
static void equal_to_local(uint32_t n, uint32_t push_every)
{
    struct test_server servers[4];
    struct declaration d = declare_model();
    struct ps_client *client = client_new(n, 0, 1);
    struct table *table = NULL;
    struct network *network = model();
    struct network_learner *near, *far;

    for (uint32_t s = 0; s < n; s++)
        server_start(&servers[s], s, 1, NULL, 0);
    assert_int_equal(client_connect(client, servers, n, NULL), 0);
    assert_int_equal(table_new(&d, 0, 1, &table, NULL), 0);
    near = learner_on(network, table_exchange, table, push_every);
    far = learner_on(network, ps_client_exchange, client, push_every);
    train_on(network, near);
    train_on(network, far);
    assert_params_equal(near, far);
    assert_int_equal(ps_client_updates(client), table_updates(table));
    assert_int_equal(table_updates(table), push_every == 1 ? 126 : 2 * ((63 + 3) / 4));
    (void)network_learner_free(near);
    (void)network_learner_free(far);
    (void)network_free(network);
    (void)ps_client_free(client);
    (void)table_free(table);
    for (uint32_t s = 0; s < n; s++)
        assert_int_equal(server_stop(&servers[s]), 0);
}

TEST(test_shards_equal_one_table)
{
    for (uint32_t n = 1; n <= 4; n++)
        equal_to_local(n, 1);
    equal_to_local(3, 4);
}

/* A sparse parameter where the method can update one, and two dense ones. */
#define METHOD_PARAMS 3
static struct declaration declare_method(uint32_t method)
{
    const uint32_t abilities = optimizer_kind(method)->abilities;
    struct declaration d = { .seed = 4,
                             .optimizer = optimizer_default(method),
                             .n_params = METHOD_PARAMS };

    if (abilities & OPTIMIZER_SCHEDULE) {
        d.optimizer.schedule = RATE_POLY;
        d.optimizer.schedule_a = 0.01f;
        d.optimizer.schedule_b = 0.5f;
    }
    d.optimizer.learning_rate = 0.02f;
    d.optimizer.l2_rate = abilities & OPTIMIZER_DECAY ? 0.01f : 0;
    d.optimizer.clipping = 0.8f;
    d.params[0] = (struct param_spec){ "rows", 11, 3, .initial_std = 0.5f, .learning_rate = 1.0f };
    d.params[1] =
        (struct param_spec){ "weight", 13, 5, .initial_std = 0.5f, .learning_rate = 1.0f };
    if (abilities & OPTIMIZER_VELOCITY)
        d.params[1].momentum = 0.9f;
    d.params[2] = (struct param_spec){ "bias", 7, 1, .learning_rate = 2.0f };
    d.params[0].sparse = (abilities & OPTIMIZER_SPARSE) != 0;
    return d;
}

#define METHOD_VALUES_MAX 65 /* of the largest parameter */
#define METHOD_PUSHES 20

/* Gradients that depend on the values, so that a difference in one place spreads. */
static void follow(float (*values)[METHOD_VALUES_MAX], int t, float (*ret)[METHOD_VALUES_MAX])
{
    for (int p = 0; p < METHOD_PARAMS; p++)
        for (int i = 0; i < METHOD_VALUES_MAX; i++)
            ret[p][i] = (float)sin(i * 3 + t) + values[p][(i + 7) % 7];
}

/* Pushes through an exchange, every row now and then only, and pulls all at the end. */
static void push_through(exchange_fn exchange_with, void *userdata, const struct declaration *d,
                         float (*values)[METHOD_VALUES_MAX])
{
    float gradients[METHOD_PARAMS][METHOD_VALUES_MAX];
    const float *pushed[METHOD_PARAMS];
    float *pulled[METHOD_PARAMS];
    uint32_t ids[11], n;
    const bool sparse = d->params[0].sparse;

    memset(values, 0, METHOD_PARAMS * sizeof *values);
    for (int p = 0; p < METHOD_PARAMS; p++) {
        pushed[p] = gradients[p];
        pulled[p] = values[p];
    }
    for (int t = 0; t < METHOD_PUSHES; t++) {
        struct exchange_rows rows = {
            .push_ids = ids, .push_rows = gradients[0], .pull_ids = ids, .ret_rows = values[0]
        };
        struct exchange exchange = { .push = true,
                                     .samples = 32,
                                     .dense_gradients = pushed,
                                     .ret_dense = pulled,
                                     .rows = &rows,
                                     .n_rows = sparse };

        follow(values, t, gradients);
        n = 0;
        for (uint32_t row = 0; row < 11; row++)
            if (t == METHOD_PUSHES - 1 || (row * 5 + (uint32_t)t) % 4 == 0)
                ids[n++] = row;
        rows.n_push = rows.n_pull = n;
        assert_int_equal(exchange_with(userdata, &exchange, NULL), 0);
    }
}

static void method_equal(uint32_t method, uint32_t n)
{
    struct declaration d = declare_method(method);
    struct ps_client_config config = { .job_id = TEST_JOB,
                                       .incarnation = 1,
                                       .secret = TEST_SECRET,
                                       .declaration = d,
                                       .n_servers = n,
                                       .timeout_us = CLIENT_TIMEOUT_US };
    float near[METHOD_PARAMS][METHOD_VALUES_MAX], far[METHOD_PARAMS][METHOD_VALUES_MAX];
    struct test_server servers[4];
    struct ps_client *client = NULL;
    struct table *table = NULL;

    for (uint32_t s = 0; s < n; s++)
        server_start(&servers[s], s, 1, NULL, 0);
    assert_int_equal(ps_client_new(&config, &client, NULL), 0);
    assert_int_equal(client_connect(client, servers, n, NULL), 0);
    assert_int_equal(table_new(&d, 0, 1, &table, NULL), 0);
    push_through(table_exchange, table, &d, near);
    push_through(ps_client_exchange, client, &d, far);
    assert_memory_equal(near, far, sizeof near);
    assert_true(near[1][0] != 0.0f && near[0][0] != 0.0f && isfinite(near[1][64]));
    (void)ps_client_free(client);
    (void)table_free(table);
    for (uint32_t s = 0; s < n; s++)
        assert_int_equal(server_stop(&servers[s]), 0);
}

TEST(test_every_method_on_servers)
{
    for (uint32_t method = 0; method < OPTIMIZER_METHODS; method++)
        for (uint32_t n = 1; n <= 4; n *= 2)
            method_equal(method, n);
}

TEST(test_refusals)
{
    struct test_server server;
    struct ps_client *first = client_new(1, 5, 2), *stale = client_new(1, 5, 1);
    struct ps_client *newer = client_new(1, 5, 3), *two = client_new(2, 0, 1);
    struct test_server twice[2];
    struct exchange nothing = { .n_rows = 0 };
    struct edl_error error;

    server_start(&server, 0, 4, NULL, 0);
    assert_int_equal(client_connect(first, &server, 1, &error), 0);
    assert_int_equal(client_connect(stale, &server, 1, &error), EDL_ESTALE);
    assert_non_null(strstr(error.text, "replaced"));
    assert_int_equal(ps_client_exchange(first, &nothing, &error), 0);
    /* the next life of trainer 5 ends what is left of the one before */
    assert_int_equal(client_connect(newer, &server, 1, &error), 0);
    assert_int_equal(ps_client_exchange(first, &nothing, &error), EDL_EUNREACHABLE);
    assert_int_equal(client_connect(first, &server, 1, &error), EDL_ESTALE);
    /* one server in two roles, another number of servers, and a server that is another life */
    twice[0] = twice[1] = server;
    assert_int_equal(client_connect(two, twice, 2, &error), EDL_ESTALE);
    server_start(&twice[1], 1, 4, NULL, 0);
    assert_int_equal(client_connect(two, twice, 2, &error), -EINVAL);
    assert_non_null(strstr(error.text, "the parameters lie on 1 server, not 2"));
    assert_int_equal(server_stop(&twice[1]), 0);
    server.incarnation = 5;
    assert_int_equal(client_connect(newer, &server, 1, &error), EDL_ESTALE);
    (void)ps_client_free(first);
    (void)ps_client_free(stale);
    (void)ps_client_free(newer);
    (void)ps_client_free(two);
    assert_int_equal(server_stop(&server), 0);
}

/* Servers that nobody has numbered are numbered by the first trainer that declares. */
TEST(test_first_trainer_numbers_servers)
{
    struct test_server servers[2], swapped[2];
    struct ps_client *first = client_new(2, 0, 1), *second = client_new(2, 1, 1);
    struct exchange nothing = { .n_rows = 0 };
    struct edl_error error;

    for (int i = 0; i < 2; i++)
        server_start(&servers[i], PSERVER_ANY, 0, NULL, 0);
    assert_int_equal(client_connect(first, servers, 2, &error), 0);
    swapped[0] = servers[1];
    swapped[1] = servers[0];
    assert_int_equal(client_connect(second, swapped, 2, &error), EDL_ESTALE);
    assert_non_null(strstr(error.text, "this is server"));
    assert_int_equal(client_connect(second, servers, 2, &error), 0);
    assert_int_equal(ps_client_exchange(first, &nothing, &error), 0);
    assert_int_equal(ps_client_exchange(second, &nothing, &error), 0);
    (void)ps_client_free(first);
    (void)ps_client_free(second);
    for (int i = 0; i < 2; i++)
        assert_int_equal(server_stop(&servers[i]), 0);
}

/* Three pushes of another are too many for a lag of 3: the late one counts as none, and answers
 * with values of now, so that the next one is in time. */
TEST(test_late_pushes_are_dropped)
{
    struct ps_client *fast = client_new(1, 0, 1), *slow = client_new(1, 1, 1);
    struct exchange push = { .push = true, .samples = 1 };
    struct test_server server;

    server_start_with(&server, (struct pserver_config){
                                   .job_id = TEST_JOB, .incarnation = 1, .lag_threshold = 3 });
    assert_int_equal(client_connect(fast, &server, 1, NULL), 0);
    assert_int_equal(client_connect(slow, &server, 1, NULL), 0);
    assert_int_equal(ps_client_exchange(slow, &push, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ps_client_exchange(fast, &push, NULL), 0);
    assert_int_equal(ps_client_updates(fast), 4);
    assert_int_equal(ps_client_exchange(slow, &push, NULL), 0);
    assert_int_equal(ps_client_updates(slow), 4);
    assert_int_equal(ps_client_exchange(slow, &push, NULL), 0);
    assert_int_equal(ps_client_updates(slow), 5);
    (void)ps_client_free(fast);
    (void)ps_client_free(slow);
    assert_int_equal(server_stop(&server), 0);
}

TEST(test_declarations_must_agree)
{
    struct ps_client_config config = { .job_id = TEST_JOB,
                                       .trainer = 1,
                                       .incarnation = 1,
                                       .secret = TEST_SECRET,
                                       .declaration = declare_model(),
                                       .n_servers = 1 };
    struct ps_client *first = client_new(1, 0, 1), *other = NULL;
    struct test_server server;
    struct edl_error error;

    server_start(&server, 0, 1, NULL, 0);
    assert_int_equal(client_connect(first, &server, 1, &error), 0);
    config.declaration.seed++;
    assert_int_equal(ps_client_new(&config, &other, NULL), 0);
    assert_int_equal(client_connect(other, &server, 1, &error), -EINVAL);
    assert_non_null(strstr(error.text, "for another training, restart the parameter servers"));
    (void)ps_client_free(other);
    config.declaration.seed--;
    config.job_id++;
    assert_int_equal(ps_client_new(&config, &other, NULL), 0);
    assert_int_equal(client_connect(other, &server, 1, &error), -EINVAL);
    assert_non_null(strstr(error.text, "of job 7"));
    (void)ps_client_free(other);
    (void)ps_client_free(first);
    assert_int_equal(server_stop(&server), 0);
}

/* Sends bytes; the server must hang up (after a refusal perhaps). Returns the type it answered, or
 * 0. */
static unsigned hang_up_after(const struct test_server *server, const void *bytes, size_t size)
{
    int fd = raw_connect(server);
    struct pollfd polled = { .fd = fd, .events = POLLIN };
    uint8_t answer[4096];
    size_t got = 0;
    ssize_t n;

    assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
    do {
        assert_int_equal(poll(&polled, 1, 120000), 1); /* before a greeting is due */
        n = recv(fd, answer + got, sizeof answer - got, 0);
        got += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    (void)safe_close(fd);
    return got >= 8 ? answer[4] : 0;
}

TEST(test_hostile_bytes)
{
    struct wire_header header = { .type = WIRE_PUSH_PULL, .sequence = 1, .body_bytes = 0 };
    struct ps_client *client = client_new(1, 0, 1);
    uint8_t bytes[WIRE_HEADER_BYTES + WIRE_HELLO_BYTES] = { 0 };
    struct test_server server;
    uint64_t seed = 1;

    server_start(&server, 0, 1, NULL, 0);
    assert_int_equal(hang_up_after(&server, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27), 0);
    (void)wire_header_encode(&header, bytes);
    assert_int_equal(hang_up_after(&server, bytes, WIRE_HEADER_BYTES),
                     WIRE_REFUSED); /* before HELLO */
    header.type = WIRE_HELLO_OK;
    (void)wire_header_encode(&header, bytes);
    assert_int_equal(hang_up_after(&server, bytes, WIRE_HEADER_BYTES), WIRE_REFUSED);
    header.type = WIRE_PUSH_PULL;
    header.body_bytes = 1u << 30; /* nobody gets a gigabyte before the parameters are declared */
    (void)wire_header_encode(&header, bytes);
    assert_int_equal(hang_up_after(&server, bytes, WIRE_HEADER_BYTES), 0);
    header = (struct wire_header){ .type = WIRE_HELLO, .body_bytes = WIRE_HELLO_BYTES };
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 56);
        (void)wire_header_encode(&header, bytes);
        (void)hang_up_after(&server, bytes, sizeof bytes);
    }
    assert_int_equal(client_connect(client, &server, 1, NULL), 0); /* still well */
    (void)ps_client_free(client);
    assert_int_equal(server_stop(&server), 0);
}

TEST(test_bad_gradient)
{
    struct declaration d = declare_model();
    struct ps_client *client = client_new(1, 0, 1);
    float *gradients[PARAMS], *values[PARAMS];
    struct exchange exchange = { .push = true, .dense_gradients = (const float *const *)gradients };
    struct exchange pull = { .ret_dense = values };
    struct test_server server;
    struct edl_error error;

    server_start(&server, 0, 1, NULL, 0);
    assert_int_equal(client_connect(client, &server, 1, NULL), 0);
    for (uint32_t p = 0; p < PARAMS; p++) {
        gradients[p] = xcalloc((size_t)d.params[p].rows * d.params[p].columns, sizeof(float));
        values[p] = xcalloc((size_t)d.params[p].rows * d.params[p].columns, sizeof(float));
        gradients[p][0] = 1.0f;
    }
    gradients[OUTPUT_WEIGHT][5] = NAN;
    assert_int_equal(ps_client_exchange(client, &exchange, &error), -EINVAL);
    assert_non_null(strstr(error.text, "not a number"));
    assert_int_equal(client_connect(client, &server, 1, NULL), 0);
    assert_int_equal(ps_client_exchange(client, &pull, &error), 0);
    for (uint32_t p = 1; p < PARAMS; p++) /* nothing of it was applied */
        assert_true(values[p][0] == param_init_value(&d.params[p], 3, 0, 0));
    assert_int_equal(ps_client_updates(client), 0);
    for (uint32_t p = 0; p < PARAMS; p++) {
        free(gradients[p]);
        free(values[p]);
    }
    (void)ps_client_free(client);
    assert_int_equal(server_stop(&server), 0);
}

TEST(test_server_dies)
{
    struct test_server servers[2];
    struct ps_client *client = client_new(2, 0, 1);
    struct exchange nothing = { .push = true };
    uint64_t start_us;

    for (uint32_t s = 0; s < 2; s++)
        server_start(&servers[s], s, 1, NULL, 0);
    assert_int_equal(client_connect(client, servers, 2, NULL), 0);
    assert_int_equal(ps_client_exchange(client, &nothing, NULL), 0);
    server_kill(&servers[1]);
    start_us = clock_read_us(CLOCK_BOOTTIME);
    assert_int_equal(ps_client_exchange(client, &nothing, NULL), EDL_EUNREACHABLE);
    assert_int_equal(client_connect(client, servers, 2, NULL), EDL_EUNREACHABLE);
    assert_true(clock_read_us(CLOCK_BOOTTIME) - start_us < CLIENT_TIMEOUT_US); /* not by it */
    server_start(&servers[1], 1, 2, NULL, 0);
    assert_int_equal(client_connect(client, servers, 2, NULL), 0);
    assert_int_equal(ps_client_exchange(client, &nothing, NULL), 0);
    (void)ps_client_free(client);
    for (uint32_t s = 0; s < 2; s++)
        assert_int_equal(server_stop(&servers[s]), 0);
}

TEST(test_checkpoint_at_end)
{
    char folder[64], path[128];
    struct test_server server;
    struct ps_client *client = client_new(1, 0, 1);
    struct network *network = model();
    struct network_learner *learner, *again;

    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/checkpoint/pserver-0.ckpt", folder);
    server_start(&server, 0, 1, path, 60 * USEC_PER_SEC);
    assert_int_equal(client_connect(client, &server, 1, NULL), 0);
    learner = learner_on(network, ps_client_exchange, client, 1);
    train_on(network, learner);
    assert_int_equal(server_stop(&server), 0);
    server_start(&server, 0, 2, path, 60 * USEC_PER_SEC);
    assert_int_equal(client_connect(client, &server, 1, NULL), 0);
    assert_int_equal(ps_client_updates(client), 126);
    again = learner_on(network, ps_client_exchange, client, 1);
    assert_int_equal(network_learner_pull(again, NULL), 0);
    assert_params_equal(learner, again);

    (void)network_learner_free(learner);
    (void)network_learner_free(again);
    (void)network_free(network);
    (void)ps_client_free(client);
    assert_int_equal(server_stop(&server), 0);
    folder_remove(folder);
}

/* Killed without warning while it trains and saves every 20 ms: what lies there is whole, whenever
 * that was. */
TEST(test_checkpoint_survives_kill)
{
    char folder[64], path[128];
    struct test_server server;
    struct ps_client *client = client_new(1, 0, 1);
    struct exchange push = { .push = true };
    struct table *table = NULL;
    uint64_t deadline_us = clock_read_us(CLOCK_BOOTTIME) + 120 * USEC_PER_SEC, at_first = 0;

    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/checkpoint/pserver-0.ckpt", folder);
    server_start(&server, 0, 1, path, 20 * USEC_PER_MSEC);
    assert_int_equal(client_connect(client, &server, 1, NULL), 0);
    /* pushes until two different checkpoints were seen, so that one replaced another */
    for (;;) {
        assert_int_equal(ps_client_exchange(client, &push, NULL), 0);
        if (checkpoint_read(path, TEST_JOB, 0, &table, NULL, NULL) == 0) {
            uint64_t updates = table_updates(table);

            table = table_free(table);
            if (at_first != 0 && updates > at_first)
                break;
            at_first = at_first == 0 ? updates : at_first;
        }
        assert_true(clock_read_us(CLOCK_BOOTTIME) < deadline_us);
    }
    server_kill(&server);
    assert_int_equal(checkpoint_read(path, TEST_JOB, 0, &table, NULL, NULL), 0);
    assert_true(table_updates(table) > at_first);
    (void)table_free(table);
    (void)ps_client_free(client);
    folder_remove(folder);
}

/* The second one is of the same job, or of another: it would write over the first one's. */
TEST(test_a_second_server_of_one_checkpoint)
{
    char folder[64], path[128];
    struct pserver_config config = {
        .job_id = TEST_JOB, .listen_fd = -1, .secret = TEST_SECRET, .checkpoint_path = path
    };
    struct test_server server;
    struct ps_client *client = client_new(1, 0, 1);
    struct pserver *second = NULL;
    sd_event *event = NULL;
    struct edl_error error = { 0 };

    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/checkpoint/pserver-0.ckpt", folder);
    server_start(&server, 0, 1, path, 20 * USEC_PER_MSEC);
    assert_int_equal(client_connect(client, &server, 1, NULL), 0); /* it has begun */
    assert_int_equal(sd_event_new(&event), 0);
    assert_int_equal(pserver_new(event, &config, &second, &error), -EBUSY);
    assert_non_null(strstr(error.text, "process "));
    assert_non_null(strstr(error.text, "writes to"));
    (void)ps_client_free(client);
    assert_int_equal(server_stop(&server), 0);
    (void)sd_event_unref(event);
    folder_remove(folder);
}

TEST(test_damaged_checkpoint_is_named)
{
    char folder[64], path[128];
    struct pserver_config config = {
        .job_id = TEST_JOB, .listen_fd = -1, .secret = TEST_SECRET, .checkpoint_path = path
    };
    struct pserver *server = NULL;
    struct edl_error error;
    sd_event *event = NULL;
    FILE *file;

    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/pserver-0.ckpt", folder);
    file = fopen(path, "w");
    fprintf(file, "not a checkpoint at all, but longer than its header would be: %60s\n", "");
    (void)fclose(file);
    assert_int_equal(sd_event_new(&event), 0);
    assert_int_equal(pserver_new(event, &config, &server, &error), EDL_ECORRUPT);
    assert_non_null(strstr(error.text, path));
    assert_true(error.remedy[0] != '\0');
    (void)sd_event_unref(event);
    folder_remove(folder);
}

TEST(test_port_taken)
{
    uint16_t port = 0;
    struct edl_error error;
    int fd = pserver_listen("127.0.0.1", 0, &port, &error);

    assert_true(fd >= 0 && port > 0);
    assert_int_equal(pserver_listen("127.0.0.1", port, &port, &error), -EADDRINUSE);
    (void)safe_close(fd);
}

/* A trainer that asks for everything and does not read, while another pushes: what the first one
 * reads at last is the state it asked for, not a mixture. 24 MiB are more than the sockets take at
 * once. */
#define BIG (6u << 20)

static struct ps_client *big_client(const struct test_server *server, uint32_t trainer)
{
    struct ps_client_config config = { .job_id = TEST_JOB,
                                       .trainer = trainer,
                                       .incarnation = 1,
                                       .secret = TEST_SECRET,
                                       .n_servers = 1 };
    struct ps_client *client = NULL;

    config.declaration =
        (struct declaration){ .optimizer = optimizer_default(OPTIMIZER_ADAGRAD), .n_params = 1 };
    config.declaration.params[0] = (struct param_spec){ "big", BIG, 1, .learning_rate = 1.0f };
    assert_int_equal(ps_client_new(&config, &client, NULL), 0);
    assert_int_equal(client_connect(client, server, 1, NULL), 0);
    return client;
}

TEST(test_slow_reader)
{
    struct wire_hello hello = { .job_id = TEST_JOB, .incarnation = 1, .trainer = 9, .n_shards = 1 };
    struct wire_push_pull all = { .flags = WIRE_PULL_DENSE };
    struct declaration d = { .optimizer = optimizer_default(OPTIMIZER_ADAGRAD), .n_params = 1 };
    float *gradients = xcalloc(BIG, sizeof *gradients), *seen = xcalloc(BIG, sizeof *seen);
    const float *pushed[1] = { gradients };
    struct exchange push = { .push = true, .dense_gradients = pushed };
    uint8_t bytes[WIRE_HEADER_BYTES + WIRE_DECLARE_MAX];
    struct ps_client *writer;
    struct test_server server;
    int fd;

    d.params[0] = (struct param_spec){ "big", BIG, 1, .learning_rate = 1.0f };
    server_start(&server, 0, 1, NULL, 0);
    writer = big_client(&server, 0);
    fd = raw_connect(&server);
    raw_greet(fd, &hello);
    (void)send(fd, bytes, frame(bytes, WIRE_DECLARE, wire_declare_encode(&d, bytes + 24)), 0);
    receive_exactly(fd, bytes, WIRE_HEADER_BYTES + WIRE_DECLARE_OK_BYTES);
    (void)send(fd, bytes,
               frame(bytes, WIRE_PUSH_PULL, wire_push_pull_head_encode(&all, bytes + 24)), 0);
    receive_exactly(fd, bytes, WIRE_HEADER_BYTES + WIRE_PUSH_PULL_OK_HEAD_BYTES); /* it has begun */
    for (size_t i = 0; i < BIG; i++)
        gradients[i] = 1.0f;
    for (int i = 0; i < 3; i++)
        assert_int_equal(ps_client_exchange(writer, &push, NULL), 0);
    receive_exactly(fd, seen, BIG * sizeof *seen);
    for (size_t i = 0; i < BIG; i++)
        if (seen[i] != 0.0f)
            fail_msg("value %zu is %f: an update shone through", i, (double)seen[i]);
    (void)safe_close(fd);
    (void)ps_client_free(writer);
    free(gradients);
    free(seen);
    assert_int_equal(server_stop(&server), 0);
}

/* Whoever says nothing is dropped in time, whenever the next checkpoint is due; who is of the job
 * may be silent for as long as it computes. */
TEST(test_who_says_nothing_is_dropped)
{
    const struct pserver_config config = { .job_id = TEST_JOB,
                                           .incarnation = 1,
                                           .checkpoint_period_us = 3600 * USEC_PER_SEC,
                                           .greeting_us = 300 * USEC_PER_MSEC };
    struct ps_client *trainer = client_new(1, 3, 1);
    struct pollfd silent[3];
    struct test_server server;
    char byte;

    server_start_with(&server, config);
    while (client_connect(trainer, &server, 1, NULL) == EDL_EUNREACHABLE)
        continue; /* again where the machine was too slow for a greeting */
    for (size_t round = 0; round < 2; round++) { /* also when nobody was there for a while */
        for (size_t i = 0; i < ELEMENTS(silent); i++)
            silent[i] = (struct pollfd){ .fd = raw_connect(&server), .events = POLLIN };
        for (size_t i = 0; i < ELEMENTS(silent); i++) {
            assert_int_equal(poll(&silent[i], 1, 120000), 1);
            assert_int_equal(recv(silent[i].fd, &byte, 1, 0), 0);
            (void)safe_close(silent[i].fd);
        }
    }
    assert_int_equal(ps_client_exchange(trainer, &(struct exchange){ .push = true }, NULL), 0);
    (void)ps_client_free(trainer);
    assert_int_equal(server_stop(&server), 0);
}
