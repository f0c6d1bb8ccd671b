/* SPDX-License-Identifier: Apache-2.0 */
/* layer_keys.c - layers and costs as the file has them: their keys, names, repetitions and the
 * compositions that are several layers */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"
#include "trainer/layers/layer.h"
#include "trainer/network/json_lines.h"
#include "trainer/network/parser.h"

#define WINDOWS " conv deconv pool "
#define COSTS " cross_entropy square_error binary_cross_entropy rank smooth_l1 sum crf class_tree "
#define COMPOSED "text_conv_pool"
#define ACTIVE                                                                                     \
    " fc concat addition dropout seqpool conv deconv pool batch_norm slope product dotmul shift "  \
    "slice repeat_row expand map_norm maxout pad " COMPOSED " " /* has_activation */
#define RECURRENT " lstm gru recurrent "
#define OF(member) offsetof(struct layer_options, member)
#define SIZE_MAX_OF_LAYER (1 << 26)

static const struct key layer_keys[] = {
    { "kind", VALUE_OTHER, 0, 0, 0, NULL },
    { "name", VALUE_OTHER, 0, 0, 0, NULL },
    { "input", VALUE_OTHER, 0, 0, 0, NULL },
    { "inputs", VALUE_OTHER, 0, 0, 0, NULL },
    { "label", VALUE_OTHER, 0, 0, 0,
      " cross_entropy square_error binary_cross_entropy rank smooth_l1 crf class_tree " },
    { "weight", VALUE_OTHER, 0, 0, 0,
      " cross_entropy square_error binary_cross_entropy rank smooth_l1 " },
    { "coeff", VALUE_REAL, OF(coeff), -1e6, 1e6, COSTS },
    { "param", VALUE_OTHER, 0, 0, 0,
      " fc table conv deconv batch_norm dotmul crf " RECURRENT COMPOSED " " },
    { "params", VALUE_OTHER, 0, 0, 0, " fc " },
    { "bias_param", VALUE_OTHER, 0, 0, 0,
      " fc conv deconv batch_norm shift " RECURRENT COMPOSED " " },
    { "bias", VALUE_FLAG, OF(bias), 0, 0, " fc conv deconv batch_norm " RECURRENT COMPOSED " " },
    { "activation", VALUE_ACTIVATION, OF(activation), 0, 0, ACTIVE },
    { "dropout", VALUE_REAL, OF(dropout), 0, 0.9999, ACTIVE RECURRENT },
    { "cell_activation", VALUE_ACTIVATION, OF(cell_activation), 0, 0, RECURRENT },
    { "gate_activation", VALUE_ACTIVATION, OF(gate_activation), 0, 0, " lstm gru " },
    { "state_activation", VALUE_ACTIVATION, OF(state_activation), 0, 0, " lstm " },
    { "reverse", VALUE_FLAG, OF(reverse), 0, 0, RECURRENT },
    { "size", VALUE_COUNT, OF(size), 1, SIZE_MAX_OF_LAYER,
      " fc table slice repeat_row map_norm " COMPOSED " " },
    { "offset", VALUE_COUNT, OF(offset), 0, SIZE_MAX_OF_LAYER, " slice " },
    { "scalar", VALUE_FLAG, OF(scalar), 0, 0, " dotmul " },
    { "transposed", VALUE_FLAG, OF(transposed), 0, 0, " fc " },
    { "filter", VALUE_COUNT, OF(filter), 1, 1024, WINDOWS },
    { "filter_y", VALUE_COUNT, OF(filter_y), 1, 1024, WINDOWS },
    { "filters", VALUE_COUNT, OF(filters), 1, 65536, " conv deconv " },
    { "groups", VALUE_COUNT, OF(groups), 1, 65536, " conv maxout " },
    { "channels", VALUE_COUNT, OF(channels), 1, SIZE_MAX_OF_LAYER,
      WINDOWS " shift map_norm maxout pad batch_norm " },
    { "stride", VALUE_COUNT, OF(stride), 1, 1024, WINDOWS },
    { "stride_y", VALUE_COUNT, OF(stride_y), 1, 1024, WINDOWS },
    { "padding", VALUE_COUNT, OF(padding), 0, 1023, WINDOWS },
    { "padding_y", VALUE_COUNT, OF(padding_y), 0, 1023, WINDOWS },
    { "pad", VALUE_OTHER, 0, 0, 0, " pad " },
    { "ceil", VALUE_FLAG, OF(ceil), 0, 0, " pool " },
    { "pooling", VALUE_POOLING, OF(pooling), 0, 0, " pool seqpool " COMPOSED " " },
    { "context", VALUE_COUNT, OF(context), 1, 1024, " context " COMPOSED " " },
    { "context_start", VALUE_PLACE, OF(context_start), -1024, 1024, " context " COMPOSED " " },
    { "scale", VALUE_REAL, OF(scale), -1e6, 1e6, " cos_sim product map_norm " },
    { "power", VALUE_REAL, OF(power), -1e3, 1e3, " map_norm " },
    { "slope", VALUE_REAL, OF(slope), -1e6, 1e6, " slope " },
    { "intercept", VALUE_REAL, OF(intercept), -1e9, 1e9, " slope " },
    { "moving_average", VALUE_REAL, OF(moving_average), 0, 1, " batch_norm " },
    { "batch_statistics", VALUE_FLAG, OF(batch_statistics), 0, 0, " batch_norm " },
};

#undef OF
#define OF(member) offsetof(struct param_options, member)

static const struct key param_keys[] = {
    { "name", VALUE_TEXT, OF(name), 0, PARAM_NAME_SIZE, NULL },
    { "initial_std", VALUE_OTHER, 0, 0, 0, NULL },
    { "initial_mean", VALUE_OTHER, 0, 0, 0, NULL },
    { "initial_min", VALUE_OTHER, 0, 0, 0, NULL },
    { "initial_max", VALUE_OTHER, 0, 0, 0, NULL },
    { "learning_rate", VALUE_REAL, OF(learning_rate), 0, 1e6, NULL },
    { "momentum", VALUE_RATE, OF(momentum), 0, 1, NULL },
    { "l1", VALUE_RATE, OF(l1_rate), 0, 1e6, NULL },
    { "l2", VALUE_RATE, OF(l2_rate), 0, 1e6, NULL },
    { "clipping", VALUE_RATE, OF(clipping), 0, FLT_MAX, NULL },
    { "sparse", VALUE_FLAG, OF(sparse), 0, 0, NULL },
};

/* initial_mean and initial_std, or initial_min and initial_max: uniform between */
static int read_initial(struct parser *parser, const json_t *object, const char *where,
                        struct param_options *ret)
{
    static const char *const names[] = { "initial_mean", "initial_std", "initial_min",
                                         "initial_max" };
    double value[4] = { 0, 0.01, 0, 0 };
    bool given[4] = { 0 };

    for (size_t i = 0; i < ELEMENTS(names); i++) {
        const json_t *item = json_object_get(object, names[i]);
        int r = item == NULL ? 0 : parser_number(parser, object, where, names[i], item, &value[i]);

        if (r < 0)
            return r;
        given[i] = item != NULL;
        if (!(fabs(value[i]) <= 1e6) || (i == 1 && value[i] < 0))
            return parser_fail(parser, object, where, names[i], "%g is out of bounds", value[i]);
    }
    if (given[2] != given[3] || ((given[2] || given[3]) && (given[0] || given[1])))
        return parser_fail(parser, object, where, given[2] ? "initial_min" : "initial_max",
                           "initial_min and initial_max go together, and not with initial_mean or "
                           "initial_std");
    if (value[2] > value[3])
        return parser_fail(parser, object, where, "initial_min", "is above initial_max");
    ret->has_initial = given[0] || given[1] || given[2];
    ret->initial = given[2] ? PARAM_UNIFORM : PARAM_NORMAL;
    ret->initial_mean = (float)(given[2] ? (value[2] + value[3]) / 2 : value[0]);
    ret->initial_std = (float)(given[2] ? (value[3] - value[2]) / 2 : value[1]);
    return 0;
}

static int read_param(struct parser *parser, const json_t *object, const char *layer,
                      const char *key, struct param_options *ret)
{
    char where[LAYER_NAME_BYTES + 32];
    int r;

    (void)snprintf(where, sizeof where, "%s, %s", layer, key);
    *ret = (struct param_options){ .given = true, .learning_rate = 1.0f };
    r = parser_object(parser, object, where, param_keys, ELEMENTS(param_keys), NULL, ret);
    if (r >= 0 && ret->name[0] != '\0' &&
        (ret->name[0] == '.' || strspn(ret->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrs"
                                                  "tuvwxyz0123456789_.-") != strlen(ret->name)))
        return parser_fail(parser, object, where, "name",
                           "letters, digits, _, . and - are possible, and no . in front: it "
                           "becomes a file");
    return r < 0 ? r : read_initial(parser, object, where, ret);
}

static int read_params(struct parser *parser, const json_t *object, const char *where,
                       struct draft *draft)
{
    const json_t *one = json_object_get(object, "param"), *all = json_object_get(object, "params");
    const json_t *bias = json_object_get(object, "bias_param");
    struct layer_options *o = &draft->layer.options;
    int r = 0;

    if (one != NULL && all != NULL)
        return parser_fail(parser, object, where, "params", "and param exclude each other");
    if (all != NULL && json_array_size(all) != draft->layer.n_inputs)
        return parser_fail(parser, object, where, "params",
                           "must be an array with one for each "
                           "input: %u",
                           draft->layer.n_inputs);
    for (uint32_t i = 0; r >= 0 && i < draft->layer.n_inputs; i++)
        if (all != NULL || one != NULL)
            r = read_param(parser, all != NULL ? json_array_get(all, i) : one, where,
                           all != NULL ? "params" : "param", &o->weights[i]);
    if (r >= 0 && one != NULL && draft->layer.n_inputs > 1 && o->weights[0].name[0] != '\0' &&
        draft->layer.kind == &layer_fc)
        return parser_fail(parser, object, where, "param",
                           "one name for several inputs; write params: [...]");
    if (r >= 0 && bias != NULL)
        r = read_param(parser, bias, where, "bias_param", &o->bias_param);
    return r;
}

/* ---- names ---- */

static uint32_t find_draft(const struct parser *parser, const char *name)
{
    for (uint32_t i = 0; i < parser->n_drafts; i++)
        if (streq(parser->drafts[i].layer.name, name))
            return i;
    return UINT32_MAX;
}

static int check_name(struct parser *parser, const json_t *object, const char *name)
{
    const uint32_t there = find_draft(parser, name);

    if (name[0] == '\0' || strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                        "0123456789_.-") != strlen(name))
        return parser_fail(parser, object, NULL, "name",
                           "\"%s\": letters, digits, _, . and - are possible", name);
    if (there != UINT32_MAX)
        return parser_fail(parser, object, NULL, "name", "%s is also the name at line %u", name,
                           parser->drafts[there].layer.line);
    return 0;
}

/* How many of the file's layers stand before; *ret: the one that is so many back. */
static uint32_t layers_before(const struct parser *parser, unsigned long back,
                              const struct draft **ret)
{
    uint32_t n = 0;

    for (uint32_t i = parser->n_drafts; i > parser->network->n_inputs; i--) {
        n += !parser->drafts[i - 1].inner;
        if (ret != NULL && n == back && !parser->drafts[i - 1].inner)
            *ret = &parser->drafts[i - 1];
    }
    return n;
}

/* "@-2": the layer two before; else a name. */
static int read_input(struct parser *parser, const json_t *object, const char *where,
                      const char *key, const json_t *value, char *ret)
{
    int r = parser_text(parser, object, where, key, value, ret, LAYER_NAME_BYTES);
    const struct draft *found = NULL;
    unsigned long back;
    uint32_t n;
    char *end;

    if (r < 0 || ret[0] != '@')
        return r;
    back = ret[1] == '-' ? strtoul(ret + 2, &end, 10) : 0;
    if (back == 0 || *end != '\0')
        return parser_fail(parser, object, where, key,
                           "\"%s\" must be @-1 for the layer before, "
                           "@-2 for the one before that",
                           ret);
    n = layers_before(parser, back, &found);
    if (found == NULL)
        return parser_fail(parser, object, where, key, "%s: there are only %u layers before", ret,
                           n);
    memcpy(ret, found->layer.name, LAYER_NAME_BYTES);
    return 0;
}

static int add_one_input(struct parser *parser, const json_t *object, const char *where,
                         const json_t *value, struct draft *draft)
{
    int r;

    if (draft->layer.n_inputs == LAYER_INPUTS_MAX)
        return parser_fail(parser, object, where, "inputs", "more than %d", LAYER_INPUTS_MAX);
    r = read_input(parser, object, where, "inputs", value, draft->inputs[draft->layer.n_inputs]);
    draft->layer.n_inputs += r >= 0;
    return r;
}

/* Names, and repetitions of one: {"repeat": N, "input": "word{i}"}. */
static int read_all_inputs(struct parser *parser, const json_t *object, const char *where,
                           const json_t *all, struct draft *draft)
{
    static const struct key keys[] = { { "repeat", VALUE_COUNT, 0, 1, LAYER_INPUTS_MAX, NULL },
                                       { "input", VALUE_OTHER, 0, 0, 0, NULL } };
    int r = 0;

    if (!json_is_array(all) || json_array_size(all) == 0)
        return parser_fail(parser, object, where, "inputs", "must be an array of at least 1 name");
    for (size_t i = 0; r >= 0 && i < json_array_size(all); i++) {
        const json_t *item = json_array_get(all, i);
        uint32_t n = 1;

        if (!json_is_object(item)) {
            r = add_one_input(parser, object, where, item, draft);
            continue;
        }
        r = parser_object(parser, item, where, keys, ELEMENTS(keys), NULL, &n);
        for (uint32_t k = 0; r >= 0 && k < n; k++) {
            r = arguments_push(&parser->network->arguments, "i", k, parser->error);
            if (r < 0)
                return r;
            r = add_one_input(parser, item, where, json_object_get(item, "input"), draft);
            arguments_pop(&parser->network->arguments);
        }
    }
    return r;
}

static int read_inputs(struct parser *parser, const json_t *object, const char *where,
                       struct draft *draft)
{
    const json_t *one = json_object_get(object, "input");
    const json_t *all = json_object_get(object, "inputs");
    uint32_t *n = &draft->layer.n_inputs;
    int r = 0;

    if (one != NULL && all != NULL)
        return parser_fail(parser, object, where, "inputs", "and input exclude each other");
    if (all != NULL)
        return read_all_inputs(parser, object, where, all, draft);
    if (one == NULL && layers_before(parser, 1, NULL) == 0)
        return parser_fail(parser, object, where, "input", "there is no layer before this one");
    if (one != NULL)
        r = read_input(parser, object, where, "input", one, draft->inputs[0]);
    else
        memcpy(draft->inputs[0], parser->drafts[parser->n_drafts - 1].layer.name, LAYER_NAME_BYTES);
    *n = 1;
    return r;
}

static int add_draft(struct parser *parser, const struct draft *draft)
{
    int r = check_name(parser, draft->object, draft->layer.name);

    if (r < 0)
        return r;
    if (parser->n_drafts == NETWORK_LAYERS_MAX)
        return parser_fail(parser, draft->object, NULL, NULL, "more than %u layers",
                           NETWORK_LAYERS_MAX);
    if (parser->n_drafts == parser->room) {
        parser->room = parser->room * 2 + 32;
        parser->drafts = xreallocarray(parser->drafts, parser->room, sizeof *parser->drafts);
    }
    parser->drafts[parser->n_drafts++] = *draft;
    return 0;
}

/* ---- one layer ---- */

static int take_name(struct parser *parser, const json_t *object, const char *unnamed, size_t which,
                     char *ret)
{
    const json_t *name = json_object_get(object, "name");

    if (name != NULL)
        return parser_text(parser, object, NULL, "name", name, ret, LAYER_NAME_BYTES);
    (void)snprintf(ret, LAYER_NAME_BYTES, unnamed, parser->unnamed[which]++);
    return 0;
}

static struct layer_options default_options(const struct layer_kind *kind)
{
    return (struct layer_options){ .scale = 1.0f,
                                   .cell_activation = ACTIVATION_TANH,
                                   .gate_activation = ACTIVATION_SIGMOID,
                                   .state_activation = ACTIVATION_TANH,
                                   .slope = 1.0f,
                                   .power = 0.75f,
                                   .coeff = 1.0f,
                                   .groups = 1,
                                   .moving_average = 0.9f,
                                   .pooling = POOL_MAX,
                                   .bias = kind->has_bias,
                                   .ceil = true,
                                   .activation = kind->activation };
}

static void add_suffix(struct draft *draft, const char *suffix)
{
    const size_t used = strlen(draft->layer.name);

    (void)snprintf(draft->layer.name + used, LAYER_NAME_BYTES - used, "%s", suffix);
}

/* text_conv_pool: a window of rows, a fully connected layer on it, and a pooling over time */
static int add_text_conv_pool(struct parser *parser, struct draft *draft)
{
    struct draft context = *draft, fc = *draft, pool = *draft;
    const char *name = draft->layer.name;
    int r;

    if (strlen(name) + sizeof "_conv_proj" > LAYER_NAME_BYTES)
        return parser_fail(parser, draft->object, NULL, "name", "is too long for the layers in it");
    context.inner = fc.inner = true;
    context.layer.kind = &layer_context;
    fc.layer.kind = &layer_fc;
    pool.layer.kind = &layer_seqpool;
    add_suffix(&context, "_conv_proj");
    add_suffix(&fc, "_conv_fc");
    memcpy(fc.inputs[0], context.layer.name, LAYER_NAME_BYTES);
    memcpy(pool.inputs[0], fc.layer.name, LAYER_NAME_BYTES);
    context.layer.options.activation = ACTIVATION_LINEAR;
    context.layer.options.dropout = 0;
    fc.layer.options.dropout = 0;
    pool.layer.options.activation = ACTIVATION_LINEAR;
    r = add_draft(parser, &context);
    if (r >= 0)
        r = add_draft(parser, &fc);
    return r < 0 ? r : add_draft(parser, &pool);
}

/* The number of a kind among the others; those of compositions come behind. */
static const struct layer_kind *find_kind(const char *name, size_t *ret)
{
    const bool composed = streq(name, COMPOSED);

    for (*ret = 0; layer_kind_at(*ret) != NULL; ++*ret)
        if (!composed && streq(layer_kind_at(*ret)->name, name))
            return layer_kind_at(*ret);
    return composed ? &layer_fc : NULL;
}

static int unknown_kind(struct parser *parser, const json_t *object, const char *name)
{
    const char *known[64] = { COMPOSED, "repeat" }, *near;
    size_t n = 1;

    for (size_t i = 0; layer_kind_at(i) != NULL; i++)
        known[n++] = layer_kind_at(i)->name;
    near = nearest_word(name, known, n);
    (void)parser_fail(parser, object, NULL, "kind", "there is no kind of layer \"%.40s\"", name);
    if (near != NULL)
        return edl_error_remedy(parser->error, "did you mean \"%s\"?", near);
    return edl_error_remedy(parser->error, "the kinds stand in edl-network(5)");
}

static int check_inputs(struct parser *parser, const json_t *object, const char *where,
                        const struct draft *draft, bool composed)
{
    const uint32_t min = draft->layer.kind->inputs_min;
    const uint32_t max = composed ? 1 : draft->layer.kind->inputs_max;

    if (draft->layer.n_inputs >= min && draft->layer.n_inputs <= max)
        return 0;
    return parser_fail(parser, object, where, "inputs",
                       min == max ? "there are %u, not %u"
                                  : "there are %u; at least %u and at most %u are possible",
                       draft->layer.n_inputs, min, max);
}

/* Of a pad: before and behind channels, rows and columns. */
static int read_pad(struct parser *parser, const json_t *object, const char *where, uint32_t *ret)
{
    const json_t *all = json_object_get(object, "pad");
    int r = 0;

    if (all == NULL)
        return 0;
    if (json_array_size(all) != 6)
        return parser_fail(parser, object, where, "pad",
                           "must be an array of 6 numbers: zeros before and behind the channels, "
                           "the rows and the columns");
    for (size_t i = 0; r >= 0 && i < 6; i++) {
        double number = 0;

        r = parser_number(parser, object, where, "pad", json_array_get(all, i), &number);
        if (r >= 0 && !(number >= 0 && number <= 8192 && number == floor(number)))
            r = parser_fail(parser, object, where, "pad", "%g is no whole number from 0 to 8192",
                            number);
        ret[i] = (uint32_t)number;
    }
    return r;
}

static int read_layer(struct parser *parser, const json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "kind"));
    char where[LAYER_NAME_BYTES + 8];
    struct draft draft = { .object = object };
    struct network_layer *layer = &draft.layer;
    bool composed;
    size_t which;
    int r;

    if (!json_is_object(object))
        return parser_fail(parser, object, "layers", NULL, "every layer is an object: {...}");
    if (name == NULL)
        return parser_fail(parser, object, "a layer", "kind", "is missing, or no text");
    layer->kind = find_kind(name, &which);
    if (layer->kind == NULL)
        return unknown_kind(parser, object, name);
    if (layer->kind->is_cost)
        return parser_fail(parser, object, "a layer", "kind", "%s is a cost: it goes under cost",
                           name);
    composed = streq(name, COMPOSED);
    layer->line = json_lines_of(parser->lines, object, NULL);
    layer->options = default_options(layer->kind);
    r = take_name(parser, object, composed ? "__sequence_conv_pooling_%u__" : layer->kind->unnamed,
                  which, layer->name);
    if (r < 0)
        return r;
    (void)snprintf(where, sizeof where, "layer %s", layer->name);
    r = parser_object(parser, object, where, layer_keys, ELEMENTS(layer_keys), name,
                      &layer->options);
    layer->options.has_context_start = json_object_get(object, "context_start") != NULL;
    layer->options.has_padding_y = json_object_get(object, "padding_y") != NULL;
    if (r >= 0)
        r = read_pad(parser, object, where, layer->options.pad);
    if (r >= 0)
        r = read_inputs(parser, object, where, &draft);
    if (r >= 0)
        r = check_inputs(parser, object, where, &draft, composed);
    if (r >= 0)
        r = read_params(parser, object, where, &draft);
    if (r >= 0 && layer->options.activation == ACTIVATION_SOFTMAX && layer->options.dropout > 0)
        r = parser_fail(parser, object, where, "dropout",
                        "a softmax and a dropout cannot be on one layer");
    if (r < 0)
        return r;
    return composed ? add_text_conv_pool(parser, &draft) : add_draft(parser, &draft);
}

/* {"repeat": N, "index": "i", "layers": [...]}: N times, with i from 0 */
static int read_repeat(struct parser *parser, const json_t *object, unsigned depth)
{
    static const struct key keys[] = { { "repeat", VALUE_COUNT, 0, 0, 1000, NULL },
                                       { "index", VALUE_OTHER, 0, 0, 0, NULL },
                                       { "layers", VALUE_OTHER, 0, 0, 0, NULL } };
    const char *index = json_string_value(json_object_get(object, "index"));
    struct edl_error found;
    uint32_t n = 0;
    int r = parser_object(parser, object, "repeat", keys, ELEMENTS(keys), NULL, &n);

    if (r >= 0 && depth == 0)
        r = parser_fail(parser, object, "repeat", NULL, "is nested too deep");
    for (uint32_t i = 0; r >= 0 && i < n; i++) {
        if (++parser->rounds > NETWORK_LAYERS_MAX)
            return parser_fail(parser, object, "repeat", NULL, "more than %u rounds",
                               NETWORK_LAYERS_MAX);
        if (arguments_push(&parser->network->arguments, index != NULL ? index : "i", i, &found) < 0)
            return parser_fail(parser, object, "repeat", "index", "%s", found.text);
        r = parser_layers(parser, json_object_get(object, "layers"), depth - 1);
        arguments_pop(&parser->network->arguments);
    }
    return r;
}

int parser_layers(struct parser *parser, const json_t *array, unsigned depth)
{
    int r = 0;

    if (!json_is_array(array))
        return parser_fail(parser, array, "layers", NULL, "must be an array: [...]");
    for (size_t i = 0; r >= 0 && i < json_array_size(array); i++) {
        const json_t *object = json_array_get(array, i);

        r = json_object_get(object, "repeat") != NULL ? read_repeat(parser, object, depth)
                                                      : read_layer(parser, object);
    }
    return r;
}

static int read_cost_inputs(struct parser *parser, const json_t *object, struct draft *draft)
{
    const json_t *label = json_object_get(object, "label");
    const json_t *weight = json_object_get(object, "weight");
    int r = read_inputs(parser, object, "cost", draft);

    if (r >= 0 && draft->layer.n_inputs != 1)
        r = parser_fail(parser, object, "cost", "inputs", "one layer, and a label beside it");
    if (r < 0 || draft->layer.kind->inputs_max == 1)
        return r;
    if (label == NULL)
        return parser_fail(parser, object, "cost", "label",
                           "is missing: the input that it is to come near to");
    r = read_input(parser, object, "cost", "label", label, draft->inputs[1]);
    if (r >= 0 && weight != NULL)
        r = read_input(parser, object, "cost", "weight", weight, draft->inputs[2]);
    draft->layer.n_inputs = weight != NULL ? 3 : 2;
    return r;
}

static int read_cost(struct parser *parser, const json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "kind"));
    struct draft draft = { .object = object };
    size_t which;
    int r;

    if (!json_is_object(object))
        return parser_fail(parser, object, "cost", NULL, "must be an object or an array of them");
    draft.layer.kind = name != NULL ? find_kind(name, &which) : NULL;
    if (draft.layer.kind == NULL || !draft.layer.kind->is_cost)
        return parser_fail(parser, object, "cost", "kind",
                           "there is no such cost; there are:" COSTS);
    draft.layer.line = json_lines_of(parser->lines, object, NULL);
    draft.layer.options = default_options(draft.layer.kind);
    r = take_name(parser, object, draft.layer.kind->unnamed, which, draft.layer.name);
    if (r >= 0)
        r = parser_object(parser, object, "cost", layer_keys, ELEMENTS(layer_keys), name,
                          &draft.layer.options);
    if (r >= 0 && json_object_get(object, "param") != NULL)
        r = read_param(parser, json_object_get(object, "param"), "cost", "param",
                       &draft.layer.options.weights[0]);
    if (r >= 0)
        r = read_cost_inputs(parser, object, &draft);
    return r < 0 ? r : add_draft(parser, &draft);
}

int parser_costs(struct parser *parser, const json_t *root)
{
    const json_t *cost = json_object_get(root, "cost");
    int r = 0;

    if (cost == NULL && json_object_get(root, "outputs") != NULL)
        return 0;
    parser->network->has_cost = true;
    if (cost == NULL)
        return parser_fail(parser, root, NULL, "cost",
                           "is missing: {\"kind\": \"cross_entropy\", \"input\": LAYER, \"label\": "
                           "INPUT} or square_error");
    if (!json_is_array(cost))
        return read_cost(parser, cost);
    if (json_array_size(cost) == 0)
        return parser_fail(parser, root, NULL, "cost", "there must be at least one");
    for (size_t i = 0; r >= 0 && i < json_array_size(cost); i++)
        r = read_cost(parser, json_array_get(cost, i));
    return r;
}
