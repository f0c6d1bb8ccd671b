/* SPDX-License-Identifier: Apache-2.0 */
/* test_network_plan.c - networks that run: f32 beside f64, sums, dropout, batch norm by hand, room
 * that grows, blame, and that a line is found */
#include "tests/unit/network_case.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/unit/test.h"
#include "trainer/network/arena.h"
#include "trainer/network/plan.h"
#include "trainer/network/random_batch.h"

/* A network with its parameters in one element type. */
struct machine {
    const struct network *network;
    const struct tensor_ops *ops;
    struct plan *plan;
    void **params, **gradients;
};

static size_t elements(const struct network *network, uint32_t p)
{
    return (size_t)network->params[p].spec.rows * network->params[p].spec.columns;
}

static void machine_open(struct machine *m, const struct network *network,
                         const struct tensor_ops *ops, uint32_t batch_max, uint64_t seed)
{
    const struct plan_config config = { .network = network,
                                        .backend = backend_cpu(),
                                        .ops = ops,
                                        .batch_max = batch_max,
                                        .whole_tables = true };

    *m = (struct machine){ .network = network, .ops = ops };
    m->params = xcalloc(network->n_params, sizeof *m->params);
    m->gradients = xcalloc(network->n_params, sizeof *m->gradients);
    assert_int_equal(plan_new(&config, &m->plan, NULL), 0);
    for (uint32_t p = 0; p < network->n_params; p++) {
        const struct param_spec *spec = &network->params[p].spec;

        m->params[p] = xcalloc(elements(network, p), ops->element_bytes);
        m->gradients[p] = xcalloc(elements(network, p), ops->element_bytes);
        for (size_t i = 0; i < elements(network, p); i++) {
            const float value =
                spec->initial_mean + spec->initial_std * (float)random_normal(&seed);

            ops->from_float(&value, 1, (char *)m->params[p] + i * ops->element_bytes);
        }
    }
}

static void machine_close(struct machine *m)
{
    for (uint32_t p = 0; p < m->network->n_params; p++) {
        free(m->params[p]);
        free(m->gradients[p]);
    }
    free(m->params);
    free(m->gradients);
    m->plan = plan_free(m->plan);
}

static struct plan_result step(struct machine *m, const struct batch *batch, uint64_t seed)
{
    struct edl_error error = { 0 };
    struct plan_result result;

    if (plan_batch(m->plan, batch, &error) < 0)
        fail_msg("%s", error.text);
    plan_step(m->plan, m->params, seed, m->gradients, &result);
    return result;
}

static double largest(const struct machine *m, uint32_t p)
{
    float *values = xcalloc(elements(m->network, p), sizeof *values);
    double most = 0;

    m->ops->to_float(m->gradients[p], elements(m->network, p), values);
    for (size_t i = 0; i < elements(m->network, p); i++)
        most = fmax(most, fabs((double)values[i]));
    free(values);
    return most;
}

static void compare_gradients(const struct machine *a, const struct machine *b, uint32_t p,
                              double allowed)
{
    const size_t n = elements(a->network, p);
    const double most = largest(b, p);
    float *x = xcalloc(n, sizeof *x), *y = xcalloc(n, sizeof *y);

    a->ops->to_float(a->gradients[p], n, x);
    b->ops->to_float(b->gradients[p], n, y);
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)x[i] - (double)y[i]) <= allowed * fmax(most, 1e-6)))
            fail_msg("%s: gradient of %s[%zu]: %.8g in f32, %.8g in f64", a->network->name,
                     a->network->params[p].spec.name, i, (double)x[i], (double)y[i]);
    free(x);
    free(y);
}

/* What trains does what was checked. */
TEST(test_f32_as_f64)
{
    static const struct {
        const char *name, *arguments;
    } shipped[] = {
        { "ngram_lm", "vocabulary=310 hidden=70" },
        { "digits_conv", NULL },
        { "recommendation", "movie_ids=40 user_ids=60 width=40" },
        { "resnet_cifar", "depth=8" },
        { "digits_mlp", NULL },
    };

    for (size_t i = 0; i < ELEMENTS(shipped); i++) {
        struct network *network = network_shipped(shipped[i].name, shipped[i].arguments);
        struct batch *batch = random_batch_new(network, 8, 9, 1);
        struct plan_result one, two;
        struct machine a, b;

        machine_open(&a, network, tensor_ops_f32(), 8, 77);
        machine_open(&b, network, tensor_ops_f64(), 8, 77);
        one = step(&a, batch, 5);
        two = step(&b, batch, 5);
        if (!(fabs(one.cost - two.cost) <= 1e-5 * fabs(two.cost)))
            fail_msg("%s: cost %.9g in f32, %.9g in f64", network->name, one.cost, two.cost);
        assert_int_equal(one.errors, two.errors);
        assert_int_equal(one.counted, two.counted);
        for (uint32_t p = 0; p < network->n_params; p++)
            compare_gradients(&a, &b, p, 2e-3);
        machine_close(&a);
        machine_close(&b);
        (void)random_batch_free(batch);
        (void)network_free(network);
    }
}

/* A batch of 32 equal samples has 32 times the gradient of one. */
TEST(test_sum_rule)
{
    struct network *network = network_shipped("digits_mlp", NULL);
    struct batch *one = random_batch_new(network, 1, 1, 4), all = *one;
    float *pixels = xcalloc(32 * 784, sizeof *pixels);
    int32_t labels[32];
    struct machine a, b;

    for (int i = 0; i < 32; i++) {
        memcpy(pixels + i * 784, one->slots[0].values, 784 * sizeof *pixels);
        labels[i] = one->slots[1].ids[0];
    }
    all.n = 32;
    all.slots[0].values = pixels;
    all.slots[1].ids = labels;
    machine_open(&a, network, tensor_ops_f64(), 32, 7);
    machine_open(&b, network, tensor_ops_f64(), 32, 7);
    assert_float_equal(step(&a, one, 1).cost * 32, step(&b, &all, 1).cost, 1e-9);
    for (uint32_t p = 0; p < network->n_params; p++)
        for (size_t i = 0; i < elements(network, p); i++)
            assert_float_equal(((double *)a.gradients[p])[i] * 32, ((double *)b.gradients[p])[i],
                               1e-9);
    machine_close(&a);
    machine_close(&b);
    free(pixels);
    (void)random_batch_free(one);
    (void)network_free(network);
}

/* Training keeps or drops and does not scale; testing scales and does not drop. */
TEST(test_dropout)
{
    struct network *network =
        network_of("{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":64},{\"name\":\"y\","
                   "\"type\":\"dense\",\"size\":64}],\"layers\":[{\"kind\":\"dropout\",\"name\":"
                   "\"d\",\"input\":\"x\",\"dropout\":0.25},{\"kind\":\"fc\",\"name\":\"o\","
                   "\"size\":64}],\"cost\":{\"kind\":\"square_error\",\"label\":\"y\"},"
                   "\"output\":\"d\"}");
    struct batch *batch = random_batch_new(network, 4, 1, 9);
    const float *x = batch->slots[0].values;
    struct plan_result result;
    struct machine m;
    const double *out;
    size_t rows, dropped = 0;

    machine_open(&m, network, tensor_ops_f64(), 4, 7);
    assert_int_equal(plan_batch(m.plan, batch, NULL), 0);
    plan_forward(m.plan, m.params, true, 3, &result);
    out = plan_output(m.plan, 0, &rows);
    assert_int_equal(rows, 4);
    for (size_t i = 0; i < 256; i++) {
        assert_true(out[i] == 0 || out[i] == (double)x[i]);
        dropped += out[i] == 0;
    }
    assert_in_range(dropped, 40, 90); /* of 256 a quarter, four deviations */
    plan_forward(m.plan, m.params, false, 3, &result);
    for (size_t i = 0; i < 256; i++)
        assert_true(out[i] == (double)x[i] * 0.75);
    machine_close(&m);
    (void)random_batch_free(batch);
    (void)network_free(network);
}

/* 1, 2, 3, 6: mean 3, variance 14/4. Testing takes the moving figures: 0.9 * 0 + 0.1 * these. */
TEST(test_batch_norm)
{
    struct network *network =
        network_of("{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":1}],\"layers\":["
                   "{\"kind\":\"batch_norm\",\"name\":\"o\",\"input\":\"x\",\"activation\":"
                   "\"linear\"}],\"cost\":{\"kind\":\"square_error\",\"label\":\"x\"}}");
    const float x[] = { 1, 2, 3, 6 };
    const struct batch batch = { .n = 4, .n_slots = 1, .slots = { { .values = x } } };
    struct plan_result result;
    struct machine m;
    const double *out;
    size_t rows;

    machine_open(&m, network, tensor_ops_f64(), 4, 7);
    assert_true(*(double *)m.params[param_of(network, "_o.w0")] == 1);
    assert_int_equal(plan_batch(m.plan, &batch, NULL), 0);
    plan_forward(m.plan, m.params, true, 0, &result);
    out = plan_output(m.plan, 0, &rows);
    for (size_t i = 0; i < 4; i++)
        assert_float_equal(out[i], ((double)x[i] - 3) / sqrt(3.5 + 1e-5), 1e-12);
    assert_float_equal(*(double *)m.params[param_of(network, "_o.w1")], 0.3, 1e-6);
    assert_float_equal(*(double *)m.params[param_of(network, "_o.w2")], 0.35, 1e-6);
    plan_forward(m.plan, m.params, false, 0, &result);
    for (size_t i = 0; i < 4; i++)
        assert_float_equal(out[i], ((double)x[i] - 0.3) / sqrt(0.35 + 1e-5), 1e-6);
    machine_close(&m);
    (void)network_free(network);
}

/* Before training the similarity is small, so that ratings are far from it by their own size. */
TEST(test_start_of_recommendation)
{
    struct network *network = network_shipped("recommendation", "width=64");
    struct batch *batch = random_batch_new(network, 64, 20, 9);
    struct plan_result result;
    double squares = 0;
    const float *out;
    struct machine m;
    size_t rows;

    machine_open(&m, network, tensor_ops_f32(), 64, 7);
    assert_int_equal(plan_batch(m.plan, batch, NULL), 0);
    plan_forward(m.plan, m.params, false, 0, &result);
    out = plan_output(m.plan, 0, &rows);
    for (size_t i = 0; i < rows; i++) {
        assert_true(fabsf(out[i]) <= 5.0f);
        squares += pow((double)batch->slots[7].values[i] - (double)out[i], 2);
    }
    assert_float_equal(result.cost, squares, 1e-3 * squares);
    machine_close(&m);
    (void)random_batch_free(batch);
    (void)network_free(network);
}

/* Sequences longer than any before: the arena grows, and the results are as if it had been so. */
TEST(test_room_grows)
{
    struct network *network =
        network_shipped("recommendation", "movie_ids=40 user_ids=60 width=16");
    struct batch *small = random_batch_new(network, 4, 3, 1);
    struct batch *large = random_batch_new(network, 4, 400, 2);
    struct machine grown, fresh;
    size_t before;

    machine_open(&grown, network, tensor_ops_f32(), 4, 7);
    machine_open(&fresh, network, tensor_ops_f32(), 4, 7);
    (void)step(&grown, small, 1);
    before = plan_bytes(grown.plan);
    (void)step(&grown, large, 1);
    assert_true(plan_bytes(grown.plan) > before);
    assert_true(step(&grown, small, 1).cost == step(&fresh, small, 1).cost);
    assert_true(plan_bytes(fresh.plan) == before);
    for (uint32_t p = 0; p < network->n_params; p++)
        assert_memory_equal(grown.gradients[p], fresh.gradients[p],
                            elements(network, p) * sizeof(float));
    machine_close(&grown);
    machine_close(&fresh);
    (void)random_batch_free(small);
    (void)random_batch_free(large);
    (void)network_free(network);
}

static void refuses(struct machine *m, const struct batch *batch, const char *text)
{
    struct edl_error error = { 0 };

    assert_int_equal(plan_batch(m->plan, batch, &error), -EINVAL);
    if (strstr(error.text, text) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.text, text);
}

TEST(test_bad_batches)
{
    struct network *network = network_shipped("recommendation", "width=4");
    struct batch *good = random_batch_new(network, 3, 3, 1), bad;
    const int32_t ids[] = { 1, 3952, -1 };
    const uint32_t starts[] = { 0, 1, 1, 2 };
    const float nan[] = { 1, NAN, 3 };
    struct machine m;

    machine_open(&m, network, tensor_ops_f32(), 3, 7);
    bad = *good;
    bad.slots[0].ids = ids;
    refuses(&m, &bad, "input movie_id, id 1 of the batch: 3952 is not in 0..3951");
    bad = *good;
    bad.slots[1].starts = starts;
    refuses(&m, &bad, "input title, sample 1 of the batch: an empty sequence");
    bad = *good;
    bad.slots[7].values = nan;
    refuses(&m, &bad, "input rating, sample 1 of the batch, value 0: it is not finite");
    bad = *good;
    bad.n = 4;
    refuses(&m, &bad, "a batch of 4 samples, but 1 to 3 fit");
    bad.n = 0;
    refuses(&m, &bad, "a batch of 0 samples");
    bad = *good;
    bad.n_slots = 7;
    refuses(&m, &bad, "samples of 7 inputs, but the network has 8");
    machine_close(&m);
    (void)random_batch_free(good);
    (void)network_free(network);
}

/* A number that is none is traced to the layer or the parameter that it comes from. */
TEST(test_blame)
{
    struct network *network = network_shipped("digits_mlp", NULL);
    struct batch *batch = random_batch_new(network, 4, 1, 9);
    char text[200];
    struct machine m;
    float kept;

    machine_open(&m, network, tensor_ops_f32(), 4, 7);
    (void)step(&m, batch, 1);
    assert_false(plan_blame(m.plan, m.params, 1, m.gradients, text, sizeof text));
    kept = ((float *)m.params[2])[5];
    ((float *)m.params[2])[5] = NAN;
    assert_true(plan_blame(m.plan, m.params, 1, m.gradients, text, sizeof text));
    assert_string_equal(text, "the parameter ___fc_layer_1__.w0");
    ((float *)m.params[2])[5] = kept;
    for (size_t i = 0; i < elements(network, 0); i++)
        ((float *)m.params[0])[i] = 3e38f;
    assert_true(plan_blame(m.plan, m.params, 1, m.gradients, text, sizeof text));
    assert_string_equal(text, "the layer __fc_layer_0__");
    machine_close(&m);
    (void)random_batch_free(batch);
    (void)network_free(network);
}

/* y = 3 x0 - 2 x1 + 1 without noise: plain descent comes to it. */
TEST(test_finds_a_line)
{
    struct network *network = network_shipped("fit_a_line", "features=2");
    struct batch *batch = random_batch_new(network, 64, 1, 9);
    float *y = (float *)batch->slots[1].values;
    const float *x = batch->slots[0].values;
    double cost = INFINITY;
    struct machine m;
    float *w, *b;

    for (size_t i = 0; i < 64; i++)
        y[i] = 3 * x[2 * i] - 2 * x[2 * i + 1] + 1;
    machine_open(&m, network, tensor_ops_f32(), 64, 7);
    w = m.params[param_of(network, "___fc_layer_0__.w0")];
    b = m.params[param_of(network, "___fc_layer_0__.wbias")];
    for (int round = 0; round < 400; round++) {
        cost = step(&m, batch, 0).cost;
        for (uint32_t p = 0; p < network->n_params; p++)
            for (size_t i = 0; i < elements(network, p); i++)
                ((float *)m.params[p])[i] -= 2e-3f * ((float *)m.gradients[p])[i];
    }
    assert_true(cost < 1e-6);
    assert_float_equal(w[0], 3, 1e-3);
    assert_float_equal(w[1], -2, 1e-3);
    assert_float_equal(b[0], 1, 1e-3);
    machine_close(&m);
    (void)random_batch_free(batch);
    (void)network_free(network);
}

/* Pieces that live at the same time never share a byte, and those that do not share their place. */
TEST(test_arena)
{
    struct arena_piece pieces[60];
    uint64_t rng = 1;

    for (int round = 0; round < 50; round++) {
        size_t total, sum = 0;

        for (size_t i = 0; i < ELEMENTS(pieces); i++) {
            const uint32_t born = (uint32_t)(random_next(&rng) % 40);

            pieces[i] = (struct arena_piece){ .bytes = random_next(&rng) % 5000,
                                              .born = born,
                                              .dead = born + (uint32_t)(random_next(&rng) % 9) };
            sum += (pieces[i].bytes + 63) / 64 * 64;
        }
        total = arena_lay(pieces, ELEMENTS(pieces));
        assert_true(total < sum / 2);
        for (size_t i = 0; i < ELEMENTS(pieces); i++)
            for (size_t k = 0; k < i; k++)
                if (pieces[i].bytes > 0 && pieces[k].bytes > 0 &&
                    pieces[i].born <= pieces[k].dead && pieces[k].born <= pieces[i].dead)
                    assert_true(pieces[i].offset + pieces[i].bytes <= pieces[k].offset ||
                                pieces[k].offset + pieces[k].bytes <= pieces[i].offset);
    }
}
