/* SPDX-License-Identifier: Apache-2.0 */
/* test_network_layers.c - what layers give, by hand; test_network_gradients has their derivatives
 */
#include "tests/unit/network_case.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/unit/test.h"
#include "trainer/network/plan.h"

#define VALUES_MAX 32
#define NONE 1e30 /* behind the last value */

/* Dense x of two samples, ids of sequences of two and of one. Weights are 2, biases 1. */
#define WEIGHTS "\"param\":{\"initial_mean\":2,\"initial_std\":0}"
#define BIASES "\"bias_param\":{\"initial_mean\":1,\"initial_std\":0}"

static const struct {
    const char *layer;
    uint32_t size, channels, height, width; /* of x */
    double x[VALUES_MAX], out[VALUES_MAX];
} cases[] = {
    { "\"kind\":\"slope\",\"slope\":-2,\"intercept\":3",
      2,
      0,
      0,
      0,
      { 1, 2, 3, 4 },
      { 1, -1, -3, -5 } },
    { "\"kind\":\"slope\",\"activation\":\"exponential\"",
      2,
      0,
      0,
      0,
      { 0, 1, -1, 2 },
      { 1, 2.718281828459045, 0.36787944117144233, 7.38905609893065 } },
    { "\"kind\":\"slope\",\"activation\":\"log\"", 1, 0, 0, 0, { 1, 7.38905609893065 }, { 0, 2 } },
    { "\"kind\":\"slope\",\"activation\":\"abs\"", 2, 0, 0, 0, { -3, 2, 0, -1 }, { 3, 2, 0, 1 } },
    { "\"kind\":\"slope\",\"activation\":\"square\"",
      2,
      0,
      0,
      0,
      { -3, 2, 0, -1 },
      { 9, 4, 0, 1 } },
    { "\"kind\":\"slope\",\"activation\":\"brelu\"",
      2,
      0,
      0,
      0,
      { -3, 2, 30, 24 },
      { 0, 2, 24, 24 } },
    { "\"kind\":\"slope\",\"activation\":\"softrelu\"",
      2,
      0,
      0,
      0,
      { 0, 1, -100, 100 },
      { 0.6931471805599453, 1.3132616875182228, 0, 40 } },
    { "\"kind\":\"slope\",\"activation\":\"stanh\"",
      1,
      0,
      0,
      0,
      { 0, 1.5 },
      { 0, 1.306819412204497 } },
    { "\"kind\":\"product\",\"inputs\":[\"x\",\"x\"],\"scale\":3",
      2,
      0,
      0,
      0,
      { 1, 2, 3, 4 },
      { 3, 12, 27, 48 } },
    { "\"kind\":\"dotmul\"," WEIGHTS, 2, 0, 0, 0, { 1, 2, 3, 4 }, { 2, 4, 6, 8 } },
    { "\"kind\":\"dotmul\",\"scalar\":true," WEIGHTS, 2, 0, 0, 0, { 1, 2, 3, 4 }, { 2, 4, 6, 8 } },
    { "\"kind\":\"shift\"," BIASES, 2, 0, 0, 0, { 1, 2, 3, 4 }, { 2, 3, 4, 5 } },
    { "\"kind\":\"slice\",\"offset\":1,\"size\":2",
      3,
      0,
      0,
      0,
      { 1, 2, 3, 4, 5, 6 },
      { 2, 3, 5, 6, NONE } },
    { "\"kind\":\"repeat_row\",\"size\":4",
      2,
      0,
      0,
      0,
      { 1, 2, 3, 4 },
      { 1, 2, 1, 2, 3, 4, 3, 4 } },
    { "\"kind\":\"maxid\"", 3, 0, 0, 0, { 1, 5, 5, 9, 8, 7 }, { 1, 0, NONE } },
    /* 1 + 0.5 * (the squares of the channel before, its own and the one behind), to the power of -1
     */
    { "\"kind\":\"map_norm\",\"size\":3,\"scale\":0.5,\"power\":1",
      3,
      3,
      1,
      1,
      { 1, 2, 3, 0, 1, 0 },
      { 1 / 3.5, 2 / 8.0, 3 / 7.5, 0, 1 / 1.5, 0 } },
    { "\"kind\":\"maxout\",\"groups\":2",
      4,
      2,
      1,
      2,
      { 1, 5, 3, 4, 9, 0, 2, 2 },
      { 3, 5, 9, 2, NONE } },
    { "\"kind\":\"pad\",\"pad\":[1,0,0,1,0,1]", 2, 1, 1, 2, { 1, 2, 3, 4 }, { 0, 0, 0, 0, 0, 0,
                                                                              1, 2, 0, 0, 0, 0,
                                                                              0, 0, 0, 0, 0, 0,
                                                                              3, 4, 0, 0, 0, 0 } },
    /* two groups of one channel and one filter each, of two pixels: twice their sum, and 1 */
    { "\"kind\":\"conv\",\"activation\":\"linear\",\"filter\":2,\"filter_y\":1,\"filters\":2,"
      "\"groups\":2," WEIGHTS "," BIASES,
      4,
      2,
      1,
      2,
      { 1, 2, 3, 4, 5, 6, 7, 8 },
      { 7, 15, 23, 31, NONE } },
    /* each of two pixels spreads 2 over two of the three places */
    { "\"kind\":\"deconv\",\"activation\":\"linear\",\"filter\":2,\"filter_y\":1,\"filters\":"
      "1," WEIGHTS "," BIASES,
      2,
      1,
      1,
      2,
      { 1, 2, 3, 4 },
      { 3, 7, 5, 7, 15, 9 } },
    { "\"kind\":\"pool\",\"filter\":1,\"filter_y\":2,\"pooling\":\"average\"",
      4,
      1,
      2,
      2,
      { 1, 2, 3, 4, 5, 6, 7, 8 },
      { 2, 3, 6, 7, NONE } },
    /* rows 10 and 20, then row 30, of a table whose rows are their ids */
    { "\"kind\":\"seqpool\",\"input\":\"t\",\"pooling\":\"first\"",
      1,
      0,
      0,
      0,
      { 0, 0 },
      { 10, 30 } },
    { "\"kind\":\"seqpool\",\"input\":\"t\",\"pooling\":\"last\"",
      1,
      0,
      0,
      0,
      { 0, 0 },
      { 20, 30 } },
    { "\"kind\":\"seqpool\",\"input\":\"t\",\"pooling\":\"square_root\"",
      1,
      0,
      0,
      0,
      { 0, 0 },
      { 30 / 1.4142135623730951, 30 } },
    { "\"kind\":\"expand\",\"inputs\":[\"x\",\"t\"]", 1, 0, 0, 0, { 4, 5 }, { 4, 4, 5, NONE } },
};

static struct network *network_with(size_t i)
{
    char image[96] = "", text[1024];

    if (cases[i].channels > 0)
        (void)snprintf(image, sizeof image, ",\"channels\":%u,\"height\":%u,\"width\":%u",
                       cases[i].channels, cases[i].height, cases[i].width);
    (void)snprintf(text, sizeof text,
                   "{\"inputs\":[{\"name\":\"ids\",\"type\":\"integer_sequence\",\"size\":3},"
                   "{\"name\":\"x\",\"type\":\"dense\",\"size\":%u%s}],\"layers\":[{\"kind\":"
                   "\"table\",\"name\":\"t\",\"input\":\"ids\",\"size\":1},{\"kind\":\"slope\","
                   "\"name\":\"same\",\"input\":\"x\"},{\"name\":\"o\",%s%s}],"
                   "\"outputs\":[\"o\",\"t\",\"same\"]}",
                   cases[i].size, image,
                   strstr(cases[i].layer, "\"input") != NULL ? "" : "\"input\":\"x\",",
                   cases[i].layer);
    return network_of(text);
}

/* Every parameter starts at its mean; row i of the table is 10 (i + 1). */
static void start(const struct network *network, double **ret)
{
    for (uint32_t p = 0; p < network->n_params; p++) {
        const struct param_spec *spec = &network->params[p].spec;
        const size_t n = (size_t)spec->rows * spec->columns;

        ret[p] = xcalloc(n, sizeof **ret);
        for (size_t i = 0; i < n; i++)
            ret[p][i] = p == param_of(network, "_t.w0") ? 10.0 * (double)(i + 1)
                                                        : (double)spec->initial_mean;
    }
}

static void run(size_t i, const struct network *network)
{
    const struct plan_config config = { network, backend_cpu(), tensor_ops_f64(), 2, true };
    const int32_t ids[] = { 0, 1, 2 };
    const uint32_t starts[] = { 0, 2, 3 };
    float x[VALUES_MAX];
    const struct batch batch = { .n = 2,
                                 .n_slots = 2,
                                 .slots = { { .ids = ids, .starts = starts }, { .values = x } } };
    double **params = xcalloc(network->n_params, sizeof *params);
    struct plan_result result;
    struct plan *plan = NULL;
    const double *out;
    size_t rows;

    for (size_t k = 0; k < VALUES_MAX; k++)
        x[k] = (float)cases[i].x[k];
    start(network, params);
    assert_int_equal(plan_new(&config, &plan, NULL), 0);
    assert_int_equal(plan_batch(plan, &batch, NULL), 0);
    plan_forward(plan, (void *const *)params, false, 0, &result);
    out = plan_output(plan, 0, &rows);
    for (size_t k = 0;
         k < rows * network->layers[network->output].shape.size && cases[i].out[k] < NONE; k++)
        if (!(fabs(out[k] - cases[i].out[k]) < 1e-6))
            fail_msg("%s: value %zu is %.9g, not %.9g", cases[i].layer, k, out[k], cases[i].out[k]);
    plan = plan_free(plan);
    for (uint32_t p = 0; p < network->n_params; p++)
        free(params[p]);
    free(params);
}

TEST(test_layers_by_hand)
{
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct network *network = network_with(i);

        run(i, network);
        (void)network_free(network);
    }
}

/* Costs of one sample: y is -2 and 3, t is 1 and 0. */
TEST(test_costs_by_hand)
{
    static const struct {
        const char *cost;
        double value;
    } costs[] = {
        { "\"kind\":\"square_error\",\"label\":\"t\"", 18 },
        { "\"kind\":\"square_error\",\"label\":\"t\",\"coeff\":0.5", 9 },
        { "\"kind\":\"square_error\",\"label\":\"t\",\"weight\":\"w\"", 72 },
        { "\"kind\":\"smooth_l1\",\"label\":\"t\"", 5 },
        { "\"kind\":\"smooth_l1\",\"label\":\"t\",\"weight\":\"w\",\"coeff\":2", 40 },
        { "\"kind\":\"rank\",\"label\":\"t\"", 0.1269280110429726 + 2 + 3.048587351573742 },
        { "\"kind\":\"sum\"", 1 },
        { "\"kind\":\"sum\",\"coeff\":-3", -3 },
    };
    const float y[] = { -2, 3 }, t[] = { 1, 0 }, w[] = { 4 };
    const struct batch batch = { .n = 1,
                                 .n_slots = 3,
                                 .slots = { { .values = y }, { .values = t }, { .values = w } } };

    for (size_t i = 0; i < ELEMENTS(costs); i++) {
        struct network *network;
        struct plan_config config = { NULL, backend_cpu(), tensor_ops_f64(), 1, true };
        struct plan_result result;
        struct plan *plan = NULL;
        char text[512];

        (void)snprintf(
            text, sizeof text,
            "{\"inputs\":[{\"name\":\"y\",\"type\":\"dense\",\"size\":2},{\"name\":\"t\",\"type\":"
            "\"dense\",\"size\":2},{\"name\":\"w\",\"type\":\"dense\",\"size\":1}],\"layers\":["
            "{\"kind\":\"slope\",\"name\":\"o\",\"input\":\"y\"},{\"kind\":\"concat\",\"name\":"
            "\"all\","
            "\"inputs\":[\"t\",\"w\"]}],\"outputs\":[\"all\"],\"cost\":{\"input\":\"o\",%s}}",
            costs[i].cost);
        network = network_of(text);
        config.network = network;
        assert_int_equal(plan_new(&config, &plan, NULL), 0);
        assert_int_equal(plan_batch(plan, &batch, NULL), 0);
        plan_forward(plan, NULL, false, 0, &result);
        if (!(fabs(result.cost - costs[i].value) < 1e-9))
            fail_msg("%s is %.12g, not %.12g", costs[i].cost, result.cost, costs[i].value);
        plan = plan_free(plan);
        (void)network_free(network);
    }
}

/* A sigmoid far out is 0 or 1: right ones cost nothing, wrong ones much, and all slopes are finite.
 */
TEST(test_certain_probabilities)
{
    const double y[] = { 1, 0 }, t[] = { 0, 1 };
    double slopes[] = { NAN, NAN };

    assert_float_equal(tensor_ops_f64()->pair_forward(PAIR_BINARY, y, y, 2), 0, 1e-9);
    tensor_ops_f64()->pair_backward(PAIR_BINARY, y, y, 2, slopes);
    assert_float_equal(slopes[0], 0, 1e-9);
    assert_float_equal(slopes[1], 0, 1e-9);
    assert_true(isfinite(tensor_ops_f64()->pair_forward(PAIR_BINARY, y, t, 2)));
    tensor_ops_f64()->pair_backward(PAIR_BINARY, y, t, 2, slopes);
    assert_true(slopes[0] > 1 && isfinite((float)slopes[0]));
    assert_true(slopes[1] < -1 && isfinite((float)slopes[1]));
}

TEST(test_outputs_without_a_cost)
{
    struct network *network =
        network_of("{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":2}],\"layers\":"
                   "[{\"kind\":\"fc\",\"name\":\"o\",\"input\":\"x\",\"size\":2},"
                   "{\"kind\":\"maxid\",\"name\":\"m\"}],\"outputs\":[\"m\",\"o\"]}");
    struct edl_error error = { 0 };

    assert_int_equal(network->n_outputs, 2);
    assert_int_equal(network_may_train(network, &error), -EINVAL);
    assert_non_null(strstr(error.text, "there is nothing to train"));
    (void)network_free(network);
}

/* Three classes, two nodes: -2 at the root, 3 below it. The way to class 1 turns to 0 at both. */
TEST(test_tree_of_classes)
{
    static const double costs[] = { 0.1269280110429726 + 2, 0.1269280110429726 + 3.048587351573742,
                                    0.1269280110429726 + 0.048587351573742 };
    const float y[] = { -2, 3 };

    for (int32_t class = 0; class < 3; class ++) {
        struct network *network =
            network_of("{\"inputs\":[{\"name\":\"y\",\"type\":\"dense\",\"size\":2},{\"name\":"
                       "\"c\",\"type\":\"integer\",\"size\":3}],\"layers\":[{\"kind\":\"slope\","
                       "\"name\":\"o\",\"input\":\"y\"}],\"cost\":{\"kind\":\"class_tree\","
                       "\"label\":\"c\"}}");
        const struct plan_config config = { network, backend_cpu(), tensor_ops_f64(), 1, true };
        const struct batch batch = { .n = 1,
                                     .n_slots = 2,
                                     .slots = { { .values = y }, { .ids = &class } } };
        struct plan_result result;
        struct plan *plan = NULL;

        assert_int_equal(plan_new(&config, &plan, NULL), 0);
        assert_int_equal(plan_batch(plan, &batch, NULL), 0);
        plan_forward(plan, NULL, false, 0, &result);
        if (!(fabs(result.cost - costs[class]) < 1e-9))
            fail_msg("class %d costs %.12g, not %.12g", class, result.cost, costs[class]);
        plan = plan_free(plan);
        (void)network_free(network);
    }
}
