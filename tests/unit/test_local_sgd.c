/* SPDX-License-Identifier: Apache-2.0 */
/* test_local_sgd.c - trainers that meet now and then: when, and with which result, against the
 * formulas */
#include "trainer_fixture.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "tests/unit/test.h"
#include "trainer/exchange/local_sgd.h"
#include "trainer/exchange/table.h"

#define VALUES 3

/* One dense parameter of three values that start at 2, under SGD of rate 1; one sparse of two rows.
 */
static struct declaration declare(void)
{
    struct declaration d = { .seed = 5, .n_params = 2 };

    d.optimizer = optimizer_default(OPTIMIZER_MOMENTUM);
    d.optimizer.learning_rate = 1;
    d.params[0] = (struct param_spec){
        "rows", 2, 1, .sparse = 1, .initial = PARAM_CONSTANT, .learning_rate = 1
    };
    d.params[1] = (struct param_spec){
        "weight", VALUES, 1, .initial = PARAM_CONSTANT, .initial_mean = 2, .learning_rate = 1
    };
    return d;
}

struct center {
    struct table *table;
    unsigned calls, fail;
};

static int center_exchange(void *userdata, const struct exchange *exchange, struct edl_error *error)
{
    struct center *center = userdata;

    center->calls++;
    if (center->fail > 0) {
        center->fail--;
        return edl_error_set(error, EDL_EUNREACHABLE, "gone");
    }
    return table_exchange(center->table, exchange, error);
}

static struct center center_new(void)
{
    struct declaration own = declare(), d;
    struct center center = { 0 };

    local_sgd_center(&own, &d);
    assert_int_equal(table_new(&d, 0, 1, &center.table, NULL), 0);
    return center;
}

static struct local_sgd *trainer_new(struct center *center, uint64_t batches,
                                     enum local_sgd_method method, float rate)
{
    const struct local_sgd_config config = { .batches = batches,
                                             .method = method,
                                             .rate = rate,
                                             .center = center_exchange,
                                             .center_userdata = center };
    struct declaration d = declare();
    struct local_sgd *local = NULL;

    assert_int_equal(local_sgd_new(&config, &d, &local, NULL), 0);
    assert_int_equal(local_sgd_meet(local, NULL), 0);
    return local;
}

/* A push of the same gradient for all dense values; what the trainer has then. */
static int push(struct local_sgd *local, float gradient, float *ret)
{
    static const uint32_t ids[2] = { 0, 1 };
    float gradients[VALUES] = { gradient, gradient, gradient }, values[VALUES], rows[2];
    const float *dense[2] = { NULL, gradients };
    float *to[2] = { NULL, values };
    const struct exchange_rows sparse = { .param = 0,
                                          .n_push = 1,
                                          .push_ids = ids,
                                          .push_rows = gradients,
                                          .n_pull = 2,
                                          .pull_ids = ids,
                                          .ret_rows = rows };
    const struct exchange exchange = { .push = true,
                                       .samples = 1,
                                       .dense_gradients = dense,
                                       .ret_dense = to,
                                       .rows = &sparse,
                                       .n_rows = 1 };
    int r = local_sgd_exchange(local, &exchange, NULL);

    *ret = values[0];
    if (r >= 0) {
        assert_true(values[0] == values[2]);
        assert_true(fabsf(rows[0] - (values[0] - 2)) < 1e-5f); /* the same gradients, from 0 on */
        assert_true(rows[1] == 0);
    }
    return r;
}

static float center_value(const struct center *center)
{
    return table_values(center->table)[table_shape(center->table)->params[1].offset];
}

#define CHECK(value_, wanted_) assert_true(fabsf((value_) - (wanted_)) < 1e-5f)

/* Nothing is sent between meetings, and a trainer that is alone moves the center all the way. */
TEST(test_meets_each_n_batches)
{
    struct center center = center_new();
    struct local_sgd *local = trainer_new(&center, 3, LOCAL_SGD_AVERAGE, 1);
    float value;

    for (int i = 1; i <= 6; i++) {
        assert_int_equal(push(local, 0.5f, &value), 0);
        CHECK(value, 2 - 0.5f * (float)i);
        assert_int_equal(center.calls, 1 + 2 * (i / 3));
        CHECK(center_value(&center), 2 - 1.5f * (float)(i / 3));
    }
    (void)local_sgd_free(local);
    (void)table_free(center.table);
}

/* Two trainers, rate 1/2: each adds half of its distance and takes what is there then. */
TEST(test_average)
{
    struct center center = center_new();
    struct local_sgd *a = trainer_new(&center, 1, LOCAL_SGD_AVERAGE, 0.5f);
    struct local_sgd *b = trainer_new(&center, 1, LOCAL_SGD_AVERAGE, 0.5f);
    float value;

    assert_int_equal(push(a, 1, &value), 0); /* 2 - 1 = 1; the center 2 + (1 - 2) / 2 */
    CHECK(value, 1.5f);
    CHECK(center_value(&center), 1.5f);
    assert_int_equal(push(b, -1, &value), 0); /* 2 + 1 = 3; the center 1.5 + (3 - 1.5) / 2 */
    CHECK(value, 2.25f);
    CHECK(center_value(&center), 2.25f);
    (void)local_sgd_free(a);
    (void)local_sgd_free(b);
    (void)table_free(center.table);
}

/* Center and trainer go towards each other by the same part of their distance. */
TEST(test_elastic_average)
{
    struct center center = center_new();
    struct local_sgd *local = trainer_new(&center, 1, LOCAL_SGD_ELASTIC, 0.25f);
    float value;

    assert_int_equal(push(local, 1, &value), 0); /* 1 and 2: a distance of 1 */
    CHECK(value, 1.25f);
    CHECK(center_value(&center), 1.75f);
    assert_int_equal(push(local, 1, &value), 0); /* 0.25 and 1.75 */
    CHECK(value, 0.625f);
    CHECK(center_value(&center), 1.375f);
    assert_int_equal(local_sgd_meet(local, NULL), 0); /* the end of a pass: it takes the center */
    CHECK(center_value(&center), 1.1875f);
    assert_int_equal(push(local, 0, &value), 0); /* at no distance: nothing moves */
    CHECK(value, 1.1875f);
    CHECK(center_value(&center), 1.1875f);
    (void)local_sgd_free(local);
    (void)table_free(center.table);
}

/* A trainer that starts when others have trained begins with their values, and leaves them as they
 * are. */
TEST(test_a_late_trainer)
{
    struct center center = center_new();
    struct local_sgd *early = trainer_new(&center, 1, LOCAL_SGD_AVERAGE, 1), *late;
    float value;

    assert_int_equal(push(early, 0.5f, &value), 0);
    CHECK(center_value(&center), 1.5f);
    late = trainer_new(&center, 1, LOCAL_SGD_AVERAGE, 0.5f);
    CHECK(center_value(&center), 1.5f);
    assert_int_equal(table_updates(center.table), 1);
    assert_int_equal(push(late, 1, &value), 0); /* 1.5 - 1 = 0.5: a distance of 1 */
    CHECK(value, 1);
    CHECK(center_value(&center), 1);
    (void)local_sgd_free(early);
    (void)local_sgd_free(late);
    (void)table_free(center.table);
}

/* What was trained stays when servers are away, and is brought with the next push. */
TEST(test_a_meeting_that_fails)
{
    struct center center = center_new();
    struct local_sgd *local = trainer_new(&center, 2, LOCAL_SGD_AVERAGE, 1);
    float value;

    assert_int_equal(push(local, 1, &value), 0);
    center.fail = 1;
    assert_int_equal(push(local, 1, &value), EDL_EUNREACHABLE);
    CHECK(center_value(&center), 2);
    assert_int_equal(push(local, 1, &value), 0);
    CHECK(value, -1);
    CHECK(center_value(&center), -1);
    (void)local_sgd_free(local);
    (void)table_free(center.table);
}

static struct ps_client *client_new(const struct test_server *server, uint32_t trainer)
{
    struct ps_client_config config = { .job_id = TEST_JOB,
                                       .trainer = trainer,
                                       .incarnation = 1,
                                       .secret = TEST_SECRET,
                                       .n_servers = 1 };
    struct declaration own = declare();
    struct ps_client *client = NULL;
    struct ps_host host;

    local_sgd_center(&own, &config.declaration);
    hosts_of(server, 1, &host);
    assert_int_equal(ps_client_new(&config, &client, NULL), 0);
    assert_int_equal(ps_client_connect(client, &host, NULL), 0);
    return client;
}

/* A server that drops what comes too late takes each meeting: it brings many batches. */
TEST(test_no_meeting_is_dropped)
{
    const struct exchange push = { .push = true, .samples = 1 };
    struct ps_client *fast, *slow;
    struct test_server server;

    server_start_with(&server, (struct pserver_config){
                                   .job_id = TEST_JOB, .incarnation = 1, .lag_threshold = 3 });
    fast = client_new(&server, 0);
    slow = client_new(&server, 1);
    assert_int_equal(ps_client_exchange(slow, &push, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ps_client_exchange(fast, &push, NULL), 0);
    assert_int_equal(ps_client_exchange(slow, &push, NULL), 0);
    assert_int_equal(ps_client_updates(slow), 5);
    (void)ps_client_free(fast);
    (void)ps_client_free(slow);
    assert_int_equal(server_stop(&server), 0);
}
