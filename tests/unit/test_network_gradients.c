/* SPDX-License-Identifier: Apache-2.0 */
/* test_network_gradients.c - each kind of layer, and each network that ships, against differences
 * of its cost in f64 */
#include "tests/unit/network_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"
#include "trainer/network/check_gradients.h"
#include "trainer/network/random_batch.h"

#define DENSE(name, size) "{\"name\":\"" name "\",\"type\":\"dense\",\"size\":" #size "}"
#define IMAGE(name, c, h, w, size)                                                                 \
    "{\"name\":\"" name "\",\"type\":\"dense\",\"size\":" #size ",\"channels\":" #c                \
    ",\"height\":" #h ",\"width\":" #w "}"
#define ID(name, size) "{\"name\":\"" name "\",\"type\":\"integer\",\"size\":" #size "}"
#define SEQUENCE(name, size)                                                                       \
    "{\"name\":\"" name "\",\"type\":\"integer_sequence\",\"size\":" #size "}"
#define NETWORK(inputs, layers, cost)                                                              \
    "{\"inputs\":[" inputs "],\"layers\":[" layers "],\"cost\":" cost "}"
#define ERROR_OF(layer) "{\"kind\":\"square_error\",\"input\":\"" layer "\",\"label\":\"y\"}"
#define CLASS_OF(layer) "{\"kind\":\"cross_entropy\",\"input\":\"" layer "\",\"label\":\"c\"}"
#define COST(kind, layer, more)                                                                    \
    "{\"kind\":\"" kind "\",\"input\":\"" layer "\",\"label\":\"y\"" more "}"
#define CURVE(word, intercept)                                                                     \
    NETWORK(DENSE("in", 5) "," DENSE("y", 6),                                                      \
            BEFORE(                                                                                \
                6) ",{\"kind\":\"slope\",\"name\":\"o\",\"slope\":-0.7,\"intercept\":" intercept   \
                   ",\"activation\":\"" word "\",\"dropout\":0.2}",                                \
            ERROR_OF("o"))
/* a layer in front, so that the one in question has a gradient to its input */
#define BEFORE(size) "{\"kind\":\"fc\",\"name\":\"x\",\"input\":\"in\",\"size\":" #size "}"

static const struct {
    const char *name, *text;
} cases[] = {
    { "fc linear", NETWORK(DENSE("in", 5) "," DENSE("y", 3),
                           "{\"kind\":\"fc\",\"name\":\"o\",\"input\":\"in\",\"size\":3,"
                           "\"activation\":\"linear\"}",
                           ERROR_OF("o")) },
    { "fc several inputs, no bias",
      NETWORK(DENSE("in", 5) "," DENSE("in2", 4) "," DENSE("y", 3),
              BEFORE(6) ",{\"kind\":\"fc\",\"name\":\"o\",\"inputs\":[\"x\",\"in2\",\"x\"],"
                        "\"size\":3,\"bias\":false,\"activation\":\"sigmoid\"}",
              ERROR_OF("o")) },
    { "fc transposed", NETWORK(DENSE("in", 5) "," ID("c", 4),
                               BEFORE(6) ",{\"kind\":\"fc\",\"name\":\"o\",\"input\":\"x\","
                                         "\"size\":4,\"transposed\":true,\"activation\":"
                                         "\"softmax\"}",
                               CLASS_OF("o")) },
    { "fc shared weight and bias",
      NETWORK(DENSE("in", 4) "," DENSE("y", 4),
              "{\"kind\":\"fc\",\"name\":\"a\",\"input\":\"in\",\"size\":4,\"param\":{\"name\":"
              "\"w\"},\"bias_param\":{\"name\":\"b\"}},{\"kind\":\"fc\",\"name\":\"o\",\"size\":4,"
              "\"param\":{\"name\":\"w\"},\"bias_param\":{\"name\":\"b\"}}",
              ERROR_OF("o")) },
    { "activation relu, dropout",
      NETWORK(DENSE("in", 5) "," DENSE("y", 2),
              "{\"kind\":\"fc\",\"input\":\"in\",\"size\":9,\"activation\":\"relu\",\"dropout\":"
              "0.4},{\"kind\":\"fc\",\"size\":7,\"dropout\":0.5},{\"kind\":\"fc\",\"name\":\"o\","
              "\"size\":2}",
              ERROR_OF("o")) },
    { "activation softmax alone",
      NETWORK(DENSE("in", 5) "," DENSE("y", 2),
              "{\"kind\":\"fc\",\"input\":\"in\",\"size\":6,\"activation\":\"softmax\"},{\"kind\":"
              "\"fc\",\"name\":\"o\",\"size\":2}",
              ERROR_OF("o")) },
    { "table", NETWORK(ID("in", 7) "," ID("in2", 7) "," DENSE("y", 8),
                       "{\"kind\":\"table\",\"name\":\"o\",\"inputs\":[\"in\",\"in2\"],\"size\":4,"
                       "\"param\":{\"sparse\":true}}",
                       ERROR_OF("o")) },
    { "two tables of one parameter",
      NETWORK(
          ID("in", 7) "," SEQUENCE("in2", 7) "," DENSE("y", 8),
          "{\"kind\":\"table\",\"name\":\"a\",\"input\":\"in\",\"size\":4,\"param\":{\"name\":"
          "\"t\"}},{\"kind\":\"table\",\"input\":\"in2\",\"size\":4,\"param\":{\"name\":\"t\"}},"
          "{\"kind\":\"seqpool\",\"name\":\"s\",\"pooling\":\"sum\"},{\"kind\":\"concat\","
          "\"name\":\"o\",\"inputs\":[\"a\",\"s\"]}",
          ERROR_OF("o")) },
    { "seqpool average", NETWORK(SEQUENCE("in", 7) "," DENSE("y", 4),
                                 "{\"kind\":\"table\",\"input\":\"in\",\"size\":4},{\"kind\":"
                                 "\"seqpool\",\"name\":\"o\",\"pooling\":\"average\"}",
                                 ERROR_OF("o")) },
    { "seqpool max", NETWORK(SEQUENCE("in", 7) "," DENSE("y", 4),
                             "{\"kind\":\"table\",\"input\":\"in\",\"size\":4},{\"kind\":"
                             "\"seqpool\",\"name\":\"o\",\"pooling\":\"max\"}",
                             ERROR_OF("o")) },
    { "context", NETWORK(SEQUENCE("in", 7) "," DENSE("y", 12),
                         "{\"kind\":\"table\",\"input\":\"in\",\"size\":3},{\"kind\":\"context\","
                         "\"context\":4},{\"kind\":\"seqpool\",\"name\":\"o\",\"pooling\":\"sum\"}",
                         ERROR_OF("o")) },
    { "context all before", NETWORK(SEQUENCE("in", 7) "," DENSE("y", 6),
                                    "{\"kind\":\"table\",\"input\":\"in\",\"size\":3},{\"kind\":"
                                    "\"context\",\"context\":2,\"context_start\":-9},{\"kind\":"
                                    "\"seqpool\",\"name\":\"o\",\"pooling\":\"sum\"}",
                                    ERROR_OF("o")) },
    { "text_conv_pool",
      NETWORK(SEQUENCE("in", 7) "," DENSE("y", 5),
              "{\"kind\":\"table\",\"input\":\"in\",\"size\":3},{\"kind\":\"text_conv_pool\","
              "\"name\":\"o\",\"size\":5,\"context\":5}",
              ERROR_OF("o")) },
    { "concat", NETWORK(DENSE("in", 5) "," DENSE("y", 11),
                        BEFORE(6) ",{\"kind\":\"concat\",\"name\":\"o\",\"inputs\":[\"x\",\"in\"],"
                                  "\"activation\":\"tanh\"}",
                        ERROR_OF("o")) },
    { "addition, three readers of one layer",
      NETWORK(DENSE("in", 5) "," DENSE("y", 6),
              BEFORE(6) ",{\"kind\":\"fc\",\"name\":\"z\",\"size\":6},{\"kind\":\"addition\","
                        "\"name\":\"o\",\"inputs\":[\"x\",\"z\",\"x\"],\"activation\":\"relu\"}",
              ERROR_OF("o")) },
    { "dropout",
      NETWORK(DENSE("in", 5) "," DENSE("y", 6),
              BEFORE(6) ",{\"kind\":\"dropout\",\"name\":\"o\",\"dropout\":0.3}", ERROR_OF("o")) },
    { "cos_sim", NETWORK(DENSE("in", 5) "," DENSE("y", 1),
                         BEFORE(6) ",{\"kind\":\"fc\",\"name\":\"z\",\"input\":\"in\",\"size\":6},"
                                   "{\"kind\":\"cos_sim\",\"name\":\"o\",\"inputs\":[\"x\",\"z\"],"
                                   "\"scale\":5}",
                         ERROR_OF("o")) },
    { "conv",
      NETWORK(IMAGE("in", 2, 5, 6, 60) "," DENSE("y", 27),
              "{\"kind\":\"conv\",\"input\":\"in\",\"filter\":2,\"filters\":2,\"padding\":1,"
              "\"activation\":\"tanh\"},{\"kind\":\"conv\",\"name\":\"o\",\"filter\":3,"
              "\"stride\":2,\"filters\":3,\"padding\":1,\"activation\":\"linear\"},"
              "{\"kind\":\"fc\",\"name\":\"p\",\"size\":27}",
              ERROR_OF("p")) },
    { "pool max, ceil, padding",
      NETWORK(IMAGE("in", 1, 6, 6, 36) "," DENSE("y", 2),
              "{\"kind\":\"conv\",\"input\":\"in\",\"filter\":3,\"filters\":2,\"padding\":1,"
              "\"activation\":\"linear\"},{\"kind\":\"pool\",\"filter\":3,\"stride\":2,\"padding\":"
              "1},{\"kind\":\"fc\",\"name\":\"o\",\"size\":2}",
              ERROR_OF("o")) },
    { "pool average, floor",
      NETWORK(IMAGE("in", 1, 6, 6, 36) "," DENSE("y", 2),
              "{\"kind\":\"conv\",\"input\":\"in\",\"filter\":3,\"filters\":2,\"padding\":1,"
              "\"activation\":\"linear\"},{\"kind\":\"pool\",\"filter\":3,\"stride\":2,\"padding\":"
              "1,\"pooling\":\"average\",\"ceil\":false},{\"kind\":\"fc\",\"name\":\"o\",\"size\":"
              "2}",
              ERROR_OF("o")) },
    { "batch_norm of an image",
      NETWORK(IMAGE("in", 1, 4, 4, 16) "," DENSE("y", 32),
              "{\"kind\":\"conv\",\"input\":\"in\",\"filter\":3,\"filters\":2,\"padding\":1,"
              "\"activation\":\"linear\"},{\"kind\":\"batch_norm\",\"name\":\"o\",\"activation\":"
              "\"tanh\"}",
              ERROR_OF("o")) },
    { "batch_norm of values, of the input itself",
      NETWORK(DENSE("in", 5) "," DENSE("y", 5),
              "{\"kind\":\"batch_norm\",\"input\":\"in\"},{\"kind\":\"fc\",\"size\":5},{\"kind\":"
              "\"batch_norm\",\"name\":\"o\",\"activation\":\"linear\"}",
              ERROR_OF("o")) },
    { "activation exponential", CURVE("exponential", "0") },
    { "activation log", CURVE("log", "2") },
    { "activation abs", CURVE("abs", "0") },
    { "activation square", CURVE("square", "0") },
    { "activation stanh", CURVE("stanh", "0") },
    { "activation softrelu", CURVE("softrelu", "0") },
    { "activation brelu", CURVE("brelu", "0.1") },
    { "product, of rows with a factor too",
      NETWORK(DENSE("in", 5) "," DENSE("y", 6),
              BEFORE(6) ",{\"kind\":\"fc\",\"name\":\"z\",\"input\":\"in\",\"size\":6},"
                        "{\"kind\":\"product\",\"name\":\"p\",\"inputs\":[\"x\",\"z\"],"
                        "\"scale\":3},{\"kind\":\"fc\",\"name\":\"w\",\"input\":\"in\","
                        "\"size\":1},{\"kind\":\"product\",\"name\":\"o\",\"inputs\":[\"w\","
                        "\"p\"],\"scale\":2}",
              ERROR_OF("o")) },
    { "dotmul, and of one weight",
      NETWORK(DENSE("in", 5) "," DENSE("y", 6),
              BEFORE(6) ",{\"kind\":\"dotmul\",\"name\":\"d\"},{\"kind\":\"dotmul\",\"name\":"
                        "\"e\",\"scalar\":true},{\"kind\":\"dotmul\",\"name\":\"o\",\"scalar\":"
                        "true,\"param\":{\"name\":\"_e.w0\"}}",
              ERROR_OF("o")) },
    { "shift, and of channels",
      NETWORK(IMAGE("in", 2, 2, 2, 8) "," DENSE("y", 8),
              BEFORE(8) ",{\"kind\":\"shift\",\"name\":\"s\"},{\"kind\":\"shift\",\"name\":\"o\","
                        "\"channels\":2,\"activation\":\"tanh\"}",
              ERROR_OF("o")) },
    { "slice and repeat_row",
      NETWORK(DENSE("in", 5) "," DENSE("y", 9),
              BEFORE(6) ",{\"kind\":\"slice\",\"offset\":2,\"size\":3},{\"kind\":\"repeat_row\","
                        "\"name\":\"o\",\"size\":9}",
              ERROR_OF("o")) },
    { "expand, and seqpool first, last and square_root",
      NETWORK(SEQUENCE("ids", 7) "," DENSE("in", 5) "," DENSE("y", 6),
              "{\"kind\":\"fc\",\"name\":\"x\",\"input\":\"in\",\"size\":2},{\"kind\":\"table\","
              "\"name\":\"t\",\"input\":\"ids\",\"size\":2},{\"kind\":\"expand\",\"name\":\"e\","
              "\"inputs\":[\"x\",\"t\"]},{\"kind\":\"product\",\"name\":\"p\",\"inputs\":[\"e\","
              "\"t\"]},{\"kind\":\"seqpool\",\"name\":\"f\",\"input\":\"p\",\"pooling\":\"first\"},"
              "{\"kind\":\"seqpool\",\"name\":\"l\",\"input\":\"p\",\"pooling\":\"last\"},"
              "{\"kind\":\"seqpool\",\"name\":\"r\",\"input\":\"p\",\"pooling\":"
              "\"square_root\"},{\"kind\":\"concat\",\"name\":\"o\",\"inputs\":[\"f\",\"l\","
              "\"r\"]}",
              ERROR_OF("o")) },
    { "expand by ids",
      NETWORK(SEQUENCE("ids", 7) "," DENSE("in", 5) "," DENSE("y", 2),
              "{\"kind\":\"fc\",\"name\":\"x\",\"input\":\"in\",\"size\":2},{\"kind\":"
              "\"expand\",\"inputs\":[\"x\",\"ids\"]},{\"kind\":\"seqpool\",\"name\":\"o\","
              "\"pooling\":\"sum\"}",
              ERROR_OF("o")) },
    { "conv in groups, with other sides",
      NETWORK(IMAGE("in", 4, 5, 6, 120) "," DENSE("y", 5),
              "{\"kind\":\"conv\",\"input\":\"in\",\"filter\":2,\"filter_y\":3,\"filters\":4,"
              "\"padding\":1,\"padding_y\":0,\"stride\":2,\"stride_y\":1,\"groups\":2,"
              "\"activation\":\"tanh\"},{\"kind\":\"conv\",\"filter\":1,\"filter_y\":2,"
              "\"filters\":6,\"groups\":2,\"activation\":\"linear\"},{\"kind\":\"pool\","
              "\"filter\":2,\"filter_y\":1,\"stride\":2,\"stride_y\":1},{\"kind\":\"fc\","
              "\"name\":\"o\",\"size\":5}",
              ERROR_OF("o")) },
    { "deconv",
      NETWORK(IMAGE("in", 2, 2, 3, 12) "," DENSE("y", 5),
              "{\"kind\":\"deconv\",\"input\":\"in\",\"filter\":3,\"stride\":2,\"padding\":1,"
              "\"filters\":3,\"activation\":\"tanh\"},{\"kind\":\"deconv\",\"filter\":2,"
              "\"filter_y\":1,\"filters\":2,\"bias\":false,\"activation\":\"linear\"},{\"kind\":"
              "\"fc\",\"name\":\"o\",\"size\":5}",
              ERROR_OF("o")) },
    { "map_norm, maxout, pad",
      NETWORK(IMAGE("in", 1, 4, 4, 16) "," DENSE("y", 5),
              "{\"kind\":\"conv\",\"input\":\"in\",\"filter\":3,\"filters\":6,\"activation\":"
              "\"linear\"},{\"kind\":\"map_norm\",\"size\":3,\"scale\":0.5,\"power\":0.75},"
              "{\"kind\":\"pad\",\"pad\":[0,2,1,0,0,1]},{\"kind\":\"maxout\",\"groups\":2},"
              "{\"kind\":\"fc\",\"name\":\"o\",\"size\":5}",
              ERROR_OF("o")) },
    { "batch_norm without a bias",
      NETWORK(IMAGE("in", 1, 4, 4, 16) "," DENSE("y", 32),
              "{\"kind\":\"conv\",\"input\":\"in\",\"filter\":3,\"filters\":2,\"padding\":1,"
              "\"activation\":\"linear\"},{\"kind\":\"batch_norm\",\"name\":\"o\",\"bias\":false,"
              "\"batch_statistics\":true,\"activation\":\"tanh\"}",
              ERROR_OF("o")) },
    { "costs of pairs, with weights",
      NETWORK(
          DENSE("in", 5) "," DENSE("y", 6) "," DENSE("w", 1),
          BEFORE(6) ",{\"kind\":\"slope\",\"name\":\"s\",\"activation\":\"sigmoid\"},{\"kind\":"
                    "\"slope\",\"name\":\"l\",\"input\":\"x\",\"slope\":3},{\"kind\":\"slope\","
                    "\"name\":\"r\",\"input\":\"x\"}",
          "[" COST("binary_cross_entropy", "s", "") "," COST(
              "smooth_l1", "l",
              ",\"weight\":\"w\"") "," COST("rank", "r",
                                            ",\"weight\":\"w\",\"coeff\":0.5") ","
                                                                               "{\"kind\":\"sum\","
                                                                               "\"input\":\"x\","
                                                                               "\"coeff\":2}]") },
    { "weights of square error and cross entropy",
      NETWORK(
          DENSE("in", 5) "," DENSE("y", 6) "," DENSE("w", 1) "," ID("c", 3),
          BEFORE(6) ",{\"kind\":\"fc\",\"name\":\"o\",\"size\":3,\"activation\":\"softmax\"}",
          "[" COST("square_error", "x",
                   ",\"weight\":\"w\",\"coeff\":3") ",{\"kind\":"
                                                    "\"cross_entropy\",\"input\":\"o\",\"label\":"
                                                    "\"c\",\"weight\":\"w\",\"coeff\":"
                                                    "0.5}]") },
    { "lstm", NETWORK(SEQUENCE("in", 7) "," DENSE("y", 3),
                      "{\"kind\":\"table\",\"input\":\"in\",\"size\":12,\"param\":{\"initial_std\":"
                      "1}},{\"kind\":\"lstm\",\"name\":\"r\""
                      ",\"bias_param\":{\"initial_std\":0.5}},{\"kind\":\"lstm\",\"name\":\"q\","
                      "\"input\":\"__embedding_0__\",\"reverse\":true,"
                      "\"dropout\":0.2,\"bias\":false},{\"kind\":\"addition\",\"inputs\":[\"r\","
                      "\"q\"]},{\"kind\":"
                      "\"seqpool\",\"name\":\"o\",\"pooling\":\"sum\"}",
                      ERROR_OF("o")) },
    { "lstm of other units",
      NETWORK(SEQUENCE("in", 7) "," DENSE("y", 3),
              "{\"kind\":\"table\",\"input\":\"in\",\"size\":12,\"param\":{\"initial_std\":1}},{"
              "\"kind\":\"lstm\",\"name\":\"r\""
              ",\"bias_param\":{\"initial_std\":0.5},\"cell_activation\":\"relu\",\"gate_"
              "activation\":\"tanh\",\"state_activation\":\"sigmoid\"},{\"kind\":\"lstm\",\"name\":"
              "\"q\",\"input\":\"__embedding_0__\",\"reverse\":true,"
              "\"dropout\":0.2,\"bias\":false},{\"kind\":\"addition\",\"inputs\":[\"r\",\"q\"]},{"
              "\"kind\":"
              "\"seqpool\",\"name\":\"o\",\"pooling\":\"sum\"}",
              ERROR_OF("o")) },
    { "gru", NETWORK(SEQUENCE("in", 7) "," DENSE("y", 3),
                     "{\"kind\":\"table\",\"input\":\"in\",\"size\":9,\"param\":{\"initial_std\":1}"
                     "},{\"kind\":\"gru\",\"name\":\"r\""
                     ",\"bias_param\":{\"initial_std\":0.5}},{\"kind\":\"gru\",\"name\":\"q\","
                     "\"input\":\"__embedding_0__\",\"reverse\":true,"
                     "\"dropout\":0.2,\"bias\":false},{\"kind\":\"addition\",\"inputs\":[\"r\","
                     "\"q\"]},{\"kind\":"
                     "\"seqpool\",\"name\":\"o\",\"pooling\":\"sum\"}",
                     ERROR_OF("o")) },
    { "gru, linear",
      NETWORK(SEQUENCE("in", 7) "," DENSE("y", 3),
              "{\"kind\":\"table\",\"input\":\"in\",\"size\":9,\"param\":{\"initial_std\":1}},{"
              "\"kind\":\"gru\",\"name\":\"r\""
              ",\"bias_param\":{\"initial_std\":0.5},\"cell_activation\":\"linear\"},{\"kind\":"
              "\"gru\",\"name\":\"q\",\"input\":\"__embedding_0__\",\"reverse\":true,"
              "\"dropout\":0.2,\"bias\":false},{\"kind\":\"addition\",\"inputs\":[\"r\",\"q\"]},{"
              "\"kind\":"
              "\"seqpool\",\"name\":\"o\",\"pooling\":\"sum\"}",
              ERROR_OF("o")) },
    { "recurrent", NETWORK(SEQUENCE("in", 7) "," DENSE("y", 3),
                           "{\"kind\":\"table\",\"input\":\"in\",\"size\":3,\"param\":{\"initial_"
                           "std\":1}},{\"kind\":\"recurrent\",\"name\":\"r\""
                           ",\"bias_param\":{\"initial_std\":0.5}},{\"kind\":\"recurrent\","
                           "\"name\":\"q\",\"input\":\"__embedding_0__\",\"reverse\":true,"
                           "\"dropout\":0.2,\"bias\":false},{\"kind\":\"addition\",\"inputs\":["
                           "\"r\",\"q\"]},{\"kind\":"
                           "\"seqpool\",\"name\":\"o\",\"pooling\":\"sum\"}",
                           ERROR_OF("o")) },
    { "a sequence of values",
      NETWORK("{\"name\":\"in\",\"type\":\"dense_sequence\",\"size\":3}," DENSE("y", 2),
              "{\"kind\":\"fc\",\"input\":\"in\",\"size\":8},{\"kind\":\"lstm\"},{\"kind\":"
              "\"seqpool\",\"name\":\"o\",\"pooling\":\"last\"}",
              ERROR_OF("o")) },
    { "sequences side by side, a class at each place",
      NETWORK(SEQUENCE("in", 7) "," SEQUENCE("in2", 5) "," SEQUENCE("c", 3),
              "{\"kind\":\"table\",\"name\":\"a\",\"input\":\"in\",\"size\":4},{\"kind\":\"table\","
              "\"name\":\"b\",\"input\":\"in2\",\"size\":4},{\"kind\":\"fc\",\"name\":\"o\","
              "\"inputs\":[\"a\",\"b\"],\"size\":3,\"activation\":\"softmax\"}",
              CLASS_OF("o")) },
    { "an error at each place",
      NETWORK(SEQUENCE("in", 7) ",{\"name\":\"y\",\"type\":\"dense_sequence\",\"size\":2}",
              "{\"kind\":\"table\",\"input\":\"in\",\"size\":4},{\"kind\":\"fc\",\"name\":\"o\","
              "\"size\":2}",
              "[" ERROR_OF("o") "," COST("smooth_l1", "o", "") "]") },
    { "the sum of a sequence",
      NETWORK(SEQUENCE("in", 7),
              "{\"kind\":\"table\",\"input\":\"in\",\"size\":4},{\"kind\":\"fc\",\"name\":\"o\","
              "\"size\":2,\"activation\":\"tanh\"}",
              "{\"kind\":\"sum\",\"input\":\"o\",\"coeff\":2}") },
    { "batch_norm of the channels that it names",
      NETWORK(DENSE("in", 5) "," DENSE("y", 6),
              BEFORE(6) ",{\"kind\":\"batch_norm\",\"name\":\"o\",\"channels\":2,\"activation\":"
                        "\"tanh\"}",
              ERROR_OF("o")) },
    { "crf",
      NETWORK(SEQUENCE("in", 7) "," SEQUENCE("c", 4),
              "{\"kind\":\"table\",\"input\":\"in\",\"size\":4},{\"kind\":\"fc\",\"name\":\"o\","
              "\"size\":4,\"activation\":\"linear\"}",
              "{\"kind\":\"crf\",\"input\":\"o\",\"label\":\"c\",\"coeff\":2}") },
    { "class_tree",
      NETWORK(DENSE("in", 5) "," ID("c", 7),
              BEFORE(6) ",{\"kind\":\"fc\",\"name\":\"o\",\"size\":6,\"transposed\":true,"
                        "\"activation\":\"linear\"}",
              "{\"kind\":\"class_tree\",\"input\":\"o\",\"label\":\"c\",\"coeff\":2}") },
    { "two costs", NETWORK(DENSE("in", 5) "," DENSE("y", 6) "," ID("c", 3),
                           BEFORE(6) ",{\"kind\":\"fc\",\"name\":\"o\",\"size\":3,\"activation\":"
                                     "\"softmax\"}",
                           "[" ERROR_OF("x") "," CLASS_OF("o") "]") },
};

static void show(const struct gradient_check *check, void *userdata)
{
    if (!check->holds)
        print_message("%s: %s (%s): by differences %.12g, computed %.12g (step %g, cost %g)\n",
                      (const char *)userdata, check->param,
                      check->one_element ? "one element" : "all", check->measured, check->computed,
                      check->step, check->cost);
}

static uint32_t checks_that_fail(const struct network *network, const char *name, uint32_t samples)
{
    struct batch *batch = random_batch_new(network, samples, 6, 3);
    const struct gradient_check_config config = { .network = network,
                                                  .batch = batch,
                                                  .seed = 5,
                                                  .n_elements = 4,
                                                  .on_check = show,
                                                  .userdata = (void *)name };
    struct edl_error error = { 0 };
    uint32_t failed = 0;

    if (check_gradients(&config, &failed, &error) < 0)
        fail_msg("%s: %s", name, error.text);
    (void)random_batch_free(batch);
    return failed;
}

TEST(test_layers)
{
    uint32_t failed = 0;

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct network *network = network_of(cases[i].text);

        failed += checks_that_fail(network, cases[i].name, 7);
        (void)network_free(network);
    }
    assert_int_equal(failed, 0);
}

TEST(test_shipped)
{
    static const struct {
        const char *name, *arguments;
        uint32_t samples;
    } shipped[] = {
        { "ngram_lm", "vocabulary=31 hidden=17 embedding=5", 9 },
        { "recommendation", "movie_ids=40 user_ids=60 title_chars=20 width=12", 6 },
        { "fit_a_line", NULL, 5 },
        { "digits_softmax", NULL, 3 },
        { "digits_mlp", NULL, 3 },
        { "digits_conv", NULL, 2 },
        { "resnet_cifar", "depth=8", 2 },
    };
    uint32_t failed = 0;

    for (size_t i = 0; i < ELEMENTS(shipped); i++) {
        struct network *network = network_shipped(shipped[i].name, shipped[i].arguments);

        failed += checks_that_fail(network, shipped[i].name, shipped[i].samples);
        (void)network_free(network);
    }
    assert_int_equal(failed, 0);
}
