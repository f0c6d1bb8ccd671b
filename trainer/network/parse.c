/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - a network from its JSON text: arguments, inputs, settings of training */
#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/layers/layer.h"
#include "trainer/network/json_lines.h"
#include "trainer/network/parser.h"

#define TEXT_MAX (1u << 20)
#define REPEAT_DEPTH_MAX 4

struct heading {
    char name[64], output[LAYER_NAME_BYTES];
};

#define OF(member) offsetof(struct heading, member)
static const struct key heading_keys[] = {
    { "$schema", VALUE_OTHER, 0, 0, 0, NULL },
    { "description", VALUE_OTHER, 0, 0, 0, NULL },
    { "name", VALUE_TEXT, OF(name), 0, 64, NULL },
    { "arguments", VALUE_OTHER, 0, 0, 0, NULL },
    { "inputs", VALUE_OTHER, 0, 0, 0, NULL },
    { "layers", VALUE_OTHER, 0, 0, 0, NULL },
    { "cost", VALUE_OTHER, 0, 0, 0, NULL },
    { "outputs", VALUE_OTHER, 0, 0, 0, NULL },
    { "output", VALUE_TEXT, OF(output), 0, LAYER_NAME_BYTES, NULL },
    { "training", VALUE_OTHER, 0, 0, 0, NULL },
};
#undef OF

#define OF(member) offsetof(struct network_settings, member)
static const struct key training_keys[] = {
    { "method", VALUE_TEXT, OF(method), 0, 32, NULL },
    { "schedule", VALUE_TEXT, OF(schedule), 0, 32, NULL },
    { "schedule_args", VALUE_TEXT, OF(schedule_args), 0, 128, NULL },
    { "schedule_a", VALUE_DOUBLE, OF(schedule_a), -1e9, 1e12, NULL },
    { "schedule_b", VALUE_DOUBLE, OF(schedule_b), -1e9, 1e12, NULL },
    { "batch_size", VALUE_DOUBLE, OF(batch_size), 1, 65536, NULL },
    { "passes", VALUE_DOUBLE, OF(passes), 0, 1e6, NULL },
    { "learning_rate", VALUE_DOUBLE, OF(learning_rate), 0, 1e6, NULL },
    { "momentum", VALUE_DOUBLE, OF(momentum), 0, 1, NULL },
    { "nesterov", VALUE_DOUBLE, OF(nesterov), 0, 1, NULL },
    { "rho", VALUE_DOUBLE, OF(rho), 0, 1, NULL },
    { "epsilon", VALUE_DOUBLE, OF(epsilon), 0, 1, NULL },
    { "beta1", VALUE_DOUBLE, OF(beta1), 0, 1, NULL },
    { "beta2", VALUE_DOUBLE, OF(beta2), 0, 1, NULL },
    { "l1", VALUE_DOUBLE, OF(l1), 0, 1e6, NULL },
    { "l2", VALUE_DOUBLE, OF(l2), 0, 1e6, NULL },
    { "clipping", VALUE_DOUBLE, OF(clipping), 0, FLT_MAX, NULL },
    { "shuffle", VALUE_DOUBLE, OF(shuffle), 0, 1, NULL },
    { "asynchronous", VALUE_DOUBLE, OF(asynchronous), 0, 1, NULL },
    { "average_window", VALUE_DOUBLE, OF(average_window), 0, 1, NULL },
    { "max_average_window", VALUE_DOUBLE, OF(max_average_window), 0, 1e15, NULL },
};
#undef OF

static const struct network_settings unset = { .batch_size = -1,
                                               .learning_rate = -1,
                                               .momentum = -1,
                                               .rho = -1,
                                               .epsilon = -1,
                                               .beta1 = -1,
                                               .beta2 = -1,
                                               .l1 = -1,
                                               .l2 = -1,
                                               .clipping = -1,
                                               .nesterov = -1,
                                               .passes = -1,
                                               .shuffle = -1,
                                               .asynchronous = -1 };

/* The file's defaults, then those that were given; one may refer to those before it. */
static int read_arguments(struct parser *parser, const json_t *root, const struct arguments *given)
{
    struct arguments *arguments = &parser->network->arguments;
    const json_t *object = json_object_get(root, "arguments");
    struct edl_error found;
    const char *name;
    json_t *value;
    int r = 0;

    if (object != NULL && !json_is_object(object))
        return parser_fail(parser, root, NULL, "arguments", "must be an object: {NAME: NUMBER}");
    json_object_foreach((json_t *)object, name, value)
    {
        double number = 0;

        r = parser_number(parser, object, "arguments", name, value, &number);
        for (size_t i = 0; r >= 0 && given != NULL && i < given->n; i++)
            if (streq(given->items[i].name, name))
                number = given->items[i].value;
        if (r >= 0 && arguments_push(arguments, name, number, &found) < 0)
            r = parser_fail(parser, object, "arguments", name, "%s", found.text);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; given != NULL && i < given->n; i++)
        if (json_object_get(object, given->items[i].name) == NULL) {
            (void)edl_error_set(parser->error, -EINVAL, "%s has no argument %s",
                                parser->network->file, given->items[i].name);
            return edl_error_remedy(parser->error, "its arguments stand in it, under arguments");
        }
    return 0;
}

struct input_fields {
    char name[LAYER_NAME_BYTES], type[32];
    uint32_t size, channels, height, width;
};

#define OF(member) offsetof(struct input_fields, member)
static const struct key input_keys[] = {
    { "name", VALUE_TEXT, OF(name), 0, LAYER_NAME_BYTES, NULL },
    { "type", VALUE_TEXT, OF(type), 0, 32, NULL },
    { "size", VALUE_COUNT, OF(size), 1, (double)NETWORK_VALUES_MAX, NULL },
    { "channels", VALUE_COUNT, OF(channels), 1, 65536, NULL },
    { "height", VALUE_COUNT, OF(height), 1, 8192, NULL },
    { "width", VALUE_COUNT, OF(width), 1, 8192, NULL },
};
#undef OF

static const char *const input_types[] = {
    [INPUT_INTEGER] = "integer",
    [INPUT_DENSE] = "dense",
    [INPUT_SEQUENCE] = "integer_sequence",
    [INPUT_DENSE_SEQUENCE] = "dense_sequence",
};

static int check_input(struct parser *parser, const json_t *object, const struct input_fields *f,
                       const char *where, size_t *kind)
{
    const uint64_t pixels = (uint64_t)f->channels * f->height * f->width;

    for (*kind = 0; *kind < ELEMENTS(input_types); ++*kind)
        if (streq(f->type, input_types[*kind]))
            break;
    if (f->name[0] == '\0')
        return parser_fail(parser, object, where, "name", "is missing");
    if (*kind == ELEMENTS(input_types))
        return parser_fail(parser, object, where, "type",
                           "\"%s\" is none of: integer, dense, integer_sequence, dense_sequence",
                           f->type);
    if (f->size == 0)
        return parser_fail(parser, object, where, "size", "is missing");
    if ((f->channels | f->height | f->width) != 0 && pixels != f->size)
        return parser_fail(parser, object, where, "size",
                           "is %u, but channels x height x width is %llu", f->size,
                           (unsigned long long)pixels);
    if (input_is_dense((enum input_kind) * kind) && f->size > NETWORK_ROW_MAX)
        return parser_fail(parser, object, where, "size", "%u is too large for a dense input",
                           f->size);
    return 0;
}

static int add_input(struct parser *parser, const json_t *object, const struct input_fields *f,
                     size_t kind)
{
    struct network *network = parser->network;
    struct network_layer *layer;
    struct input_spec *spec = &network->inputs[network->n_inputs];

    for (uint32_t i = 0; i < network->n_inputs; i++)
        if (streq(network->inputs[i].name, f->name))
            return parser_fail(parser, object, "inputs", "name", "two inputs are called %s",
                               f->name);
    *spec = (struct input_spec){ .kind = (enum input_kind)kind, .size = f->size };
    memcpy(spec->name, f->name, sizeof f->name);
    layer = &parser->drafts[parser->n_drafts++].layer;
    memset(layer, 0, sizeof *layer);
    memcpy(layer->name, f->name, sizeof f->name);
    layer->kind = &layer_input;
    layer->line = json_lines_of(parser->lines, object, NULL);
    layer->slot = network->n_inputs;
    layer->shape = (struct layer_shape){
        .size = f->size,
        .channels = f->channels,
        .height = f->height,
        .width = f->width,
        .sequence = input_is_sequence((enum input_kind)kind) ? 1 + network->n_inputs : 0,
    };
    network->n_inputs++;
    return 0;
}

static int read_input(struct parser *parser, const json_t *object)
{
    struct input_fields fields = { 0 };
    char where[LAYER_NAME_BYTES + 8];
    size_t kind;
    int r =
        parser_object(parser, object, "inputs", input_keys, ELEMENTS(input_keys), NULL, &fields);

    (void)snprintf(where, sizeof where, "input %s", fields.name);
    if (r >= 0)
        r = check_input(parser, object, &fields, where, &kind);
    return r < 0 ? r : add_input(parser, object, &fields, kind);
}

/* One after the other, or in a repetition: {"repeat": N, "input": {...}}. */
static int read_inputs(struct parser *parser, const json_t *root)
{
    static const struct key keys[] = { { "repeat", VALUE_COUNT, 0, 0, INPUTS_MAX, NULL },
                                       { "input", VALUE_OTHER, 0, 0, 0, NULL } };
    const json_t *array = json_object_get(root, "inputs");
    struct arguments *arguments = &parser->network->arguments;
    int r = 0;

    if (!json_is_array(array) || json_array_size(array) == 0)
        return parser_fail(parser, root, NULL, "inputs", "must be an array of at least one input");
    for (size_t i = 0; r >= 0 && i < json_array_size(array); i++) {
        const json_t *object = json_array_get(array, i);
        const bool repeats = json_object_get(object, "repeat") != NULL;
        uint32_t n = 1;

        if (repeats)
            r = parser_object(parser, object, "inputs", keys, ELEMENTS(keys), NULL, &n);
        for (uint32_t k = 0; r >= 0 && k < n; k++) {
            if (parser->network->n_inputs == INPUTS_MAX)
                return parser_fail(parser, object, "inputs", NULL, "more than %d", INPUTS_MAX);
            r = arguments_push(arguments, "i", k, parser->error);
            if (r < 0)
                return r;
            r = read_input(parser, repeats ? json_object_get(object, "input") : object);
            arguments_pop(arguments);
        }
    }
    return r;
}

static int read_training(struct parser *parser, const json_t *root)
{
    const json_t *object = json_object_get(root, "training");

    parser->network->settings = unset;
    return object == NULL
               ? 0
               : parser_object(parser, object, "training", training_keys, ELEMENTS(training_keys),
                               NULL, &parser->network->settings);
}

static int read_root(struct parser *parser, const json_t *root, const struct arguments *given)
{
    struct heading heading = { 0 };
    int r = read_arguments(parser, root, given);

    if (r >= 0)
        r = parser_object(parser, root, NULL, heading_keys, ELEMENTS(heading_keys), NULL, &heading);
    if (r >= 0)
        r = read_training(parser, root);
    if (r >= 0)
        r = read_inputs(parser, root);
    if (r >= 0 && json_object_get(root, "layers") == NULL)
        r = parser_fail(parser, root, NULL, "layers", "is missing");
    if (r >= 0)
        r = parser_layers(parser, json_object_get(root, "layers"), REPEAT_DEPTH_MAX);
    if (r >= 0)
        r = parser_costs(parser, root);
    if (r < 0)
        return r;
    memcpy(parser->network->name, heading.name, sizeof heading.name);
    return parser_order(parser, root, heading.output);
}

int network_parse(const char *text, size_t size, const char *file,
                  const struct arguments *arguments, struct network **ret, struct edl_error *error)
{
    struct parser parser = { .error = error, .room = INPUTS_MAX };
    json_error_t json_error;
    json_t *root;
    int r;

    if (size > TEXT_MAX)
        return edl_error_set(error, -EINVAL, "%s: a network of more than %u bytes", file, TEXT_MAX);
    root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &json_error);
    if (root == NULL)
        return edl_error_set(error, -EINVAL, "%s:%d: %s", file, json_error.line, json_error.text);
    parser.network = xcalloc(1, sizeof *parser.network);
    (void)snprintf(parser.network->file, sizeof parser.network->file, "%s", file);
    parser.drafts = xcalloc(parser.room, sizeof *parser.drafts);
    parser.lines = json_lines_new(text, size, root);
    r = read_root(&parser, root, arguments);
    parser.lines = json_lines_free(parser.lines);
    free(parser.drafts);
    json_decref(root);
    if (r < 0) {
        (void)network_free(parser.network);
        return r;
    }
    *ret = parser.network;
    return 0;
}
