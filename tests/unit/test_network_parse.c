/* SPDX-License-Identifier: Apache-2.0 */
/* test_network_parse.c - networks from their text: the refusals, names, counts, shapes */
#include "tests/unit/network_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/test.h"
#include "trainer/layers/layer.h"

#define IN                                                                                         \
    "\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":4},\n"                                \
    "{\"name\":\"y\",\"type\":\"dense\",\"size\":1},{\"name\":\"c\",\"type\":\"integer\","         \
    "\"size\":3},{\"name\":\"s\",\"type\":\"integer_sequence\",\"size\":9}],\n"
#define COST "\n\"cost\":{\"kind\":\"square_error\",\"label\":\"y\"}"
#define ONE "{\"kind\":\"fc\",\"name\":\"o\",\"input\":\"x\",\"size\":1}"

/* Two layers of one parameter. */
#define TWICE(a, b)                                                                                \
    "{\"kind\":\"fc\",\"input\":\"x\",\"size\":4,\"param\":{\"name\":\"w\"," a                     \
    "}},{\"kind\":\"fc\",\"size\":4,\"param\":{\"name\":\"w\"," b                                  \
    "}},{\"kind\":\"fc\",\"size\":1}"

/* Each text, and what its refusal must name: line, layer, key, and the remedy. */
static const struct {
    const char *text, *error, *remedy;
} refused[] = {
    { "{", "test.json:1:", NULL },
    { "[]", "must be an object", NULL },
    { "{" IN "\"layers\":[" ONE "]," COST ",\"layes\":1}",
      "test.json:4: layes: there is no such "
      "key",
      "\"layers\"" },
    { "{\"layers\":[]}", "inputs: must be an array", NULL },
    { "{\"inputs\":[{\"name\":\"x\",\"type\":\"dens\",\"size\":4}]}",
      "input x, type: \"dens\" is none of", NULL },
    { "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\"}]}", "input x, size: is missing", NULL },
    { "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":5,\"channels\":2,\"height\":2,"
      "\"width\":1}]}",
      "channels x height x width is 4", NULL },
    { "{" IN "\"layers\":[\n{\"kind\":\"fcc\",\"size\":1}]," COST "}",
      "test.json:4: kind: there is no kind of layer \"fcc\"", "\"fc\"" },
    { "{" IN "\"layers\":[\n{\"kind\":\"fc\",\"name\":\"o\",\n\"siz\":1}]," COST "}",
      "test.json:5: layer o, siz: there is no such key in the kind fc", "\"size\"" },
    { "{" IN "\"layers\":[{\"kind\":\"fc\",\"input\":\"x\",\"size\":1,\"scale\":5}]," COST "}",
      "layer __fc_layer_0__, scale: there is no such key", NULL },
    { "{" IN "\"layers\":[{\"kind\":\"fc\",\"input\":\"x\",\n\"size\":0}]," COST "}",
      "test.json:4: layer __fc_layer_0__, size: 0 is out of bounds: 1 to", NULL },
    { "{" IN "\"layers\":[{\"kind\":\"fc\",\"input\":\"x\",\"size\":1.5}]," COST "}",
      "1.5 is no whole number", NULL },
    { "{" IN "\"layers\":[{\"kind\":\"fc\",\"input\":\"x\",\"size\":\"=9*\"}]," COST "}",
      "\"9*\" cannot be read", NULL },
    { "{" IN "\"layers\":[{\"kind\":\"fc\",\"input\":\"x\",\"size\":\"=width\"}]," COST "}",
      "there is no argument width", NULL },
    { "{" IN "\"layers\":[{\"kind\":\"fc\",\"input\":\"x\"}]," COST "}",
      "layer __fc_layer_0__, size: fc needs this key", NULL },
    { "{" IN "\"layers\":[{\"kind\":\"fc\",\"size\":1}]," COST "}",
      "input: there is no layer before this one", NULL },
    { "{" IN "\"layers\":[{\"kind\":\"fc\",\"input\":\"@-2\",\"size\":1}]," COST "}",
      "@-2: there are only 0 layers before", NULL },
    { "{" IN "\"layers\":[{\"kind\":\"fc\",\"input\":\"z\",\"size\":1}]," COST "}",
      "layer __fc_layer_0__, input: there is no layer or input \"z\"", NULL },
    { "{" IN "\"layers\":[" ONE "," ONE "]," COST "}", "name: o is also the name at line 3", NULL },
    { "{" IN "\"layers\":[{\"kind\":\"fc\",\"name\":\"a\",\"input\":\"b\",\"size\":1},\n{\"kind\":"
      "\"fc\",\"name\":\"b\",\"input\":\"a\",\"size\":1}]," COST "}",
      "the layers go round in a circle: a takes b takes a", NULL },
    { "{" IN "\"layers\":[" ONE ",\n{\"kind\":\"fc\",\"name\":\"p\",\"input\":\"x\",\"size\":1}],"
      "\"cost\":{\"kind\":\"square_error\",\"input\":\"p\",\"label\":\"y\"}}",
      "no cost and no output depends on it", NULL },
    { "{" IN "\"layers\":[" ONE "]}", "cost: is missing", NULL },
    { "{" IN "\"layers\":[" ONE "],\"cost\":[]}", "there must be at least one", NULL },
    { "{" IN "\"layers\":[" ONE "],\"cost\":{\"kind\":\"fc\",\"label\":\"y\"}}",
      "there is no such cost; there are: cross_entropy square_error", NULL },
    { "{" IN "\"layers\":[" ONE "],\"cost\":{\"kind\":\"square_error\"}}", "label: is missing",
      NULL },
    { "{\"inputs\":[{\"name\":\"c\",\"type\":\"integer\",\"size\":3}],\"layers\":[{\"kind\":\"fc\","
      "\"input\":\"c\",\"size\":3}],\"cost\":{\"kind\":\"square_error\",\"label\":\"c\"}}",
      "c has ids, but fc takes values; put a table between them", NULL },
    { "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":3}],\"layers\":[{\"kind\":"
      "\"table\",\"input\":\"x\",\"size\":3}],\"cost\":{\"kind\":\"square_error\",\"label\":"
      "\"x\"}}",
      "x has values, but a table takes ids", NULL },
    { "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":3}],\"layers\":[{\"kind\":\"fc\","
      "\"input\":\"x\",\"size\":2}],\"cost\":{\"kind\":\"square_error\",\"label\":\"x\"}}",
      "x has 3 values a row, but __fc_layer_0__ has 2", NULL },
    { "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":3},{\"name\":\"c\",\"type\":"
      "\"integer\",\"size\":3}],\"layers\":[{\"kind\":\"fc\",\"name\":\"o\",\"input\":\"x\","
      "\"size\":3}],\"cost\":{\"kind\":\"cross_entropy\",\"label\":\"c\"}}",
      "o has no \"activation\": \"softmax\"", NULL },
    { "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":3},{\"name\":\"c\",\"type\":"
      "\"integer\",\"size\":4}],\"layers\":[{\"kind\":\"fc\",\"name\":\"o\",\"input\":\"x\","
      "\"size\":3,\"activation\":\"softmax\"}],\"cost\":{\"kind\":\"cross_entropy\",\"label\":"
      "\"c\"}}",
      "c has 4 classes, but o only 3 outputs", NULL },
    { "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":3}],\"layers\":[{\"kind\":\"fc\","
      "\"input\":\"x\",\"size\":3,\"activation\":\"tahn\"}],\"cost\":{\"kind\":\"square_error\","
      "\"label\":\"x\"}}",
      "\"tahn\" is none of: linear, sigmoid, tanh, relu, softmax", "\"tanh\"" },
    { "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":3}],\"layers\":[{\"kind\":\"fc\","
      "\"input\":\"x\",\"size\":3,\"activation\":\"softmax\",\"dropout\":0.5}],\"cost\":{\"kind\":"
      "\"square_error\",\"label\":\"x\"}}",
      "a softmax and a dropout cannot be on one layer", NULL },
    { "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":3}],\"layers\":[{\"kind\":\"conv\","
      "\"input\":\"x\",\"filter\":2,\"filters\":1}],\"cost\":{\"kind\":\"square_error\",\"label\":"
      "\"x\"}}",
      "x has 3 values, no whole number of square images (1)", NULL },
    { "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":4}],\"layers\":[{\"kind\":\"conv\","
      "\"input\":\"x\",\"filter\":3,\"filters\":1}],\"cost\":{\"kind\":\"square_error\",\"label\":"
      "\"x\"}}",
      "a window of 3 x 3 is larger than the image of 2 x 2", NULL },
    { "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":4}],\"layers\":[{\"kind\":\"fc\","
      "\"input\":\"x\",\"size\":4,\"param\":{\"name\":\"../w\"}}],\"cost\":{\"kind\":"
      "\"square_error\",\"label\":\"x\"}}",
      "it becomes a file", NULL },
    { "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":4}],\"layers\":[{\"kind\":\"fc\","
      "\"input\":\"x\",\"size\":5,\"param\":{\"name\":\"w\"}},{\"kind\":\"fc\",\"size\":4,"
      "\"param\":"
      "{\"name\":\"w\"}}],\"cost\":{\"kind\":\"square_error\",\"label\":\"x\"}}",
      "the parameter w is 4 x 5 in another layer, but 5 x 4 here", NULL },
    { "{" IN "\"layers\":[{\"kind\":\"fc\",\"input\":\"x\",\"size\":1,\n\"param\":"
      "{\"sparse\":true}}]," COST "}",
      "test.json:3: layer __fc_layer_0__, sparse: is for a table", "sparse_update" },
    { "{" IN "\"layers\":[{\"kind\":\"fc\",\"input\":\"x\",\"size\":1,\"bias_param\":"
      "{\"sparse\":true}}]," COST "}",
      "sparse: is for a table", NULL },
    { "{" IN "\"layers\":[{\"kind\":\"batch_norm\",\"input\":\"x\",\"param\":{\"sparse\":true}}"
      ",{\"kind\":\"fc\",\"size\":1}]," COST "}",
      "sparse: is for a table", NULL },
    { "{" IN "\"layers\":[{\"kind\":\"table\",\"input\":\"c\",\"size\":1,\"param\":{\"name\":\"w\","
      "\"sparse\":true}},{\"kind\":\"fc\",\"size\":3,\"transposed\":true,\"param\":{\"name\":"
      "\"w\"}},{\"kind\":\"fc\",\"size\":1}]," COST "}",
      "the parameter w is sparse in one layer, but not in another", NULL },
    { "{" IN "\"layers\":[" TWICE("\"l2\":1", "\"l2\":2") "]," COST "}",
      "l2 of the parameter w is another one in the layer that comes first", "in both the same" },
    { "{" IN "\"layers\":[" TWICE("\"learning_rate\":1", "\"learning_rate\":2") "]," COST "}",
      "learning_rate of the parameter w is another one", NULL },
    { "{" IN "\"layers\":[" TWICE("\"initial_std\":1", "\"initial_std\":0.5") "]," COST "}",
      "initial of the parameter w is another one", NULL },
    { "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":4}],\"layers\":[{\"repeat\":2000,"
      "\"layers\":[]}],\"cost\":{\"kind\":\"square_error\",\"label\":\"x\"}}",
      "2000 is out of bounds", NULL },
    { "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":4}],\"layers\":[{\"repeat\":1000,"
      "\"layers\":[{\"repeat\":1000,\"layers\":[{\"repeat\":1000,\"layers\":[]}]}]}],\"cost\":"
      "{\"kind\":\"square_error\",\"label\":\"x\"}}",
      "more than 2048 rounds", NULL },
};

TEST(test_refused)
{
    struct edl_error error;

    for (size_t i = 0; i < ELEMENTS(refused); i++) {
        const char *text = network_refusal(refused[i].text, &error);

        if (strstr(text, refused[i].error) == NULL)
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, text, refused[i].error);
        if (refused[i].remedy != NULL && strstr(error.remedy, refused[i].remedy) == NULL)
            fail_msg("case %zu: the remedy \"%s\" does not say \"%s\"", i, error.remedy,
                     refused[i].remedy);
    }
}

/* The listing of the old recommendation demo: name and floats of each file. */
static const struct {
    const char *name;
    unsigned values;
} listing[] = {
    { "___embedding_0__.w0", 3952 * 256 },
    { "___embedding_1__.w0", 98 * 256 },
    { "___embedding_2__.w0", 6040 * 256 },
    { "___embedding_3__.w0", 2 * 256 },
    { "___embedding_4__.w0", 7 * 256 },
    { "___embedding_5__.w0", 21 * 256 },
    { "___fc_layer_0__.w0", 65536 },
    { "___fc_layer_0__.wbias", 256 },
    { "___sequence_conv_pooling_0___conv_fc.w0", 1280 * 256 },
    { "___sequence_conv_pooling_0___conv_fc.wbias", 256 },
    { "___fc_layer_1__.w0", 18 * 256 },
    { "___fc_layer_1__.wbias", 256 },
    { "___fc_layer_2__.w0", 65536 },
    { "___fc_layer_2__.wbias", 256 },
    { "___fc_layer_3__.w0", 65536 },
    { "___fc_layer_3__.wbias", 256 },
    { "___fc_layer_4__.w0", 65536 },
    { "___fc_layer_4__.wbias", 256 },
    { "___fc_layer_5__.w0", 65536 },
    { "___fc_layer_5__.wbias", 256 },
    { "___fc_layer_6__.w0", 65536 },
    { "___fc_layer_6__.wbias", 256 },
    { "_movie_fusion.w0", 65536 },
    { "_movie_fusion.w1", 65536 },
    { "_movie_fusion.w2", 65536 },
    { "_movie_fusion.wbias", 256 },
    { "_user_fusion.w0", 65536 },
    { "_user_fusion.w1", 65536 },
    { "_user_fusion.w2", 65536 },
    { "_user_fusion.w3", 65536 },
    { "_user_fusion.wbias", 256 },
};

TEST(test_recommendation)
{
    static const char *const order[] = { "movie_id", "title", "genres",     "user_id",
                                         "gender",   "age",   "occupation", "rating" };
    struct network *network = network_shipped("recommendation", NULL);
    uint64_t bytes = 4096; /* the folder */

    assert_int_equal(network->n_inputs, ELEMENTS(order));
    for (size_t i = 0; i < ELEMENTS(order); i++)
        assert_string_equal(network->inputs[i].name, order[i]);
    assert_int_equal(network->n_params, ELEMENTS(listing));
    assert_int_equal(network_values(network), 3777536);
    for (size_t i = 0; i < ELEMENTS(listing); i++) {
        const struct param_spec *spec = &network->params[param_of(network, listing[i].name)].spec;

        assert_int_equal(spec->rows * spec->columns, listing[i].values);
        bytes += ((uint64_t)listing[i].values * 4 + 16 + 4095) / 4096 * 4096;
    }
    /* with done, path.txt and a copy of the configuration, a block of 4 KiB each */
    assert_int_equal(bytes / 1024 + 3 * 4, 14876);
    (void)network_free(network);
}

static float std_of(const struct network *network, const char *name)
{
    return network->params[param_of(network, name)].spec.initial_std;
}

TEST(test_start_values)
{
    struct network *network = network_shipped("recommendation", NULL);

    assert_float_equal(std_of(network, "___embedding_0__.w0"), 1 / sqrt(3952), 1e-7);
    assert_float_equal(std_of(network, "___fc_layer_0__.w0"), 0.0625, 1e-7);
    assert_float_equal(std_of(network, "___fc_layer_1__.w0"), 1 / sqrt(18), 1e-7);
    assert_float_equal(std_of(network, "___sequence_conv_pooling_0___conv_fc.w0"), 1 / sqrt(1280),
                       1e-7);
    assert_float_equal(std_of(network, "___fc_layer_0__.wbias"), 0, 0);
    (void)network_free(network);
    /* a bias of which the file says something, but not how it starts, is N(0, 1) */
    network = network_of("{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":4}],\"layers\":["
                         "{\"kind\":\"fc\",\"name\":\"o\",\"input\":\"x\",\"size\":4,"
                         "\"bias_param\":{\"learning_rate\":2}}],\"cost\":{\"kind\":"
                         "\"square_error\",\"label\":\"x\"}}");
    assert_float_equal(std_of(network, "_o.wbias"), 1, 0);
    assert_float_equal(network->params[param_of(network, "_o.wbias")].spec.learning_rate, 2, 0);
    (void)network_free(network);
}

TEST(test_resnet_counts)
{
    static const struct {
        const char *depth;
        unsigned values, kept;
    } counts[] = { { "depth=8", 78042, 672 },    { "depth=14", 175258, 1120 },
                   { "depth=20", 272474, 1568 }, { "depth=32", 466906, 2464 },
                   { "depth=56", 855770, 4256 }, { "depth=110", 1730714, 8288 } };

    for (size_t i = 0; i < ELEMENTS(counts); i++) {
        struct network *network = network_shipped("resnet_cifar", counts[i].depth);
        uint64_t all = 0;

        for (uint32_t p = 0; p < network->n_params; p++)
            all += (uint64_t)network->params[p].spec.rows * network->params[p].spec.columns;
        assert_int_equal(network_values(network), counts[i].values);
        assert_int_equal(all - network_values(network), counts[i].kept);
        (void)network_free(network);
    }
}

/* 28 - 24 - 12 - 8 - 4: the last layer takes 50 images of 4 x 4 */
TEST(test_image_sizes)
{
    static const uint32_t sides[] = { 24, 12, 8, 4 };
    struct network *network = network_shipped("digits_conv", NULL);
    size_t at = 0;

    for (uint32_t i = 0; i < network->n_layers; i++)
        if (network->layers[i].kind == &layer_conv || network->layers[i].kind == &layer_pool)
            assert_int_equal(network->layers[i].shape.height, sides[at++]);
    assert_int_equal(at, ELEMENTS(sides));
    assert_int_equal(network->params[param_of(network, "___fc_layer_0__.w0")].spec.rows, 800);
    (void)network_free(network);
    /* a pool of 3 by steps of 2 over 32 gives 16 (rounded up), such a convolution 15 */
    network = network_of(
        "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":1024},{\"name\":\"y\",\"type\":"
        "\"dense\",\"size\":1}],\"layers\":[{\"kind\":\"pool\",\"name\":\"p\",\"input\":\"x\","
        "\"filter\":3,\"stride\":2},{\"kind\":\"conv\",\"name\":\"c\",\"input\":\"x\",\"filter\":3,"
        "\"stride\":2,\"filters\":1},{\"kind\":\"fc\",\"inputs\":[\"p\",\"c\"],\"size\":1}],"
        "\"cost\":{\"kind\":\"square_error\",\"label\":\"y\"}}");
    assert_int_equal(network->layers[2].shape.height, 16);
    assert_int_equal(network->layers[3].shape.height, 15);
    (void)network_free(network);
}

/* A layer may be used before it is given. */
TEST(test_order)
{
    struct network *network =
        network_of("{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":4}],\"layers\":["
                   "{\"kind\":\"fc\",\"name\":\"o\",\"input\":\"a\",\"size\":4},{\"kind\":\"fc\","
                   "\"name\":\"a\",\"input\":\"x\",\"size\":2}],\"cost\":{\"kind\":"
                   "\"square_error\",\"input\":\"o\",\"label\":\"x\"},\"output\":\"a\"}");

    assert_string_equal(network->layers[1].name, "a");
    assert_string_equal(network->layers[2].name, "o");
    assert_int_equal(network->output, 1);
    (void)network_free(network);
}

TEST(test_arguments)
{
    static const struct {
        const char *expression;
        double value;
    } right[] = { { "1+2*3", 7 },       { "(1+2)*3", 9 },   { "-depth/2", -10 },
                  { "(depth-2)/6", 3 }, { "1e-3*2", 2e-3 }, { " 4 - 1 - 1 ", 2 } };
    static const char *const wrong[] = { "", "1+", "(1", "1)", "depht", "1/0", "2 3", "1..2" };
    struct arguments arguments = { 0 };
    struct edl_error error;
    char text[16];
    double value;

    assert_int_equal(arguments_set(&arguments, "depth", 20, NULL), 0);
    for (size_t i = 0; i < ELEMENTS(right); i++) {
        assert_int_equal(arguments_evaluate(&arguments, right[i].expression, &value, &error), 0);
        assert_float_equal(value, right[i].value, 1e-12);
    }
    for (size_t i = 0; i < ELEMENTS(wrong); i++)
        if (arguments_evaluate(&arguments, wrong[i], &value, &error) >= 0)
            fail_msg("\"%s\" came to %g", wrong[i], value);
    assert_int_equal(arguments_fill(&arguments, "a{depth-1}b", text, sizeof text, &error), 0);
    assert_string_equal(text, "a19b");
    assert_true(arguments_fill(&arguments, "a{depth/3}", text, sizeof text, &error) < 0);
    assert_true(arguments_fill(&arguments, "0123456789abcdef", text, sizeof text, &error) < 0);
    assert_true(arguments_set(&arguments, "1a", 1, &error) < 0);
}
