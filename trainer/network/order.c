/* SPDX-License-Identifier: Apache-2.0 */
/* order.c - the layers of a file in the order they are computed, with their shapes
 *
 * Names may be used before they are given, so cycles are possible and are found here. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"
#include "trainer/layers/layer.h"
#include "trainer/network/parser.h"

enum mark { UNSEEN, UNDER_WAY, DONE };

struct ordering {
    struct parser *parser;
    struct network *network;
    uint32_t (*from)[LAYER_INPUTS_MAX]; /* of each draft, drafts */
    uint8_t *mark;
    uint32_t *place; /* of a draft among the network's layers */
    uint32_t *path, depth;
};

static uint32_t find(const struct parser *parser, const char *name)
{
    for (uint32_t i = 0; i < parser->n_drafts; i++)
        if (streq(parser->drafts[i].layer.name, name))
            return i;
    return UINT32_MAX;
}

static int unknown_name(const struct ordering *o, const struct network_layer *layer,
                        const char *key, const char *name)
{
    const char **names = xcalloc(o->parser->n_drafts, sizeof *names);
    const char *near;

    for (uint32_t i = 0; i < o->parser->n_drafts; i++)
        names[i] = o->parser->drafts[i].layer.name;
    near = nearest_word(name, names, o->parser->n_drafts);
    (void)network_error(o->network, layer, key, o->parser->error,
                        "there is no layer or input \"%s\"", name);
    if (near != NULL)
        (void)edl_error_remedy(o->parser->error, "did you mean \"%s\"?", near);
    free(names);
    return -EINVAL;
}

static const char *input_key(const struct network_layer *layer, uint32_t i)
{
    if (layer->kind->is_cost && i > 0)
        return i == 1 ? "label" : "weight";
    return layer->n_inputs > 1 ? "inputs" : "input";
}

static int resolve(struct ordering *o)
{
    for (uint32_t d = 0; d < o->parser->n_drafts; d++) {
        const struct draft *draft = &o->parser->drafts[d];

        for (uint32_t i = 0; i < draft->layer.n_inputs; i++) {
            o->from[d][i] = find(o->parser, draft->inputs[i]);
            if (o->from[d][i] == UINT32_MAX)
                return unknown_name(o, &draft->layer, input_key(&draft->layer, i),
                                    draft->inputs[i]);
            if (o->parser->drafts[o->from[d][i]].layer.kind->is_cost)
                return network_error(o->network, &draft->layer, input_key(&draft->layer, i),
                                     o->parser->error, "%s is a cost, which nothing can take",
                                     draft->inputs[i]);
        }
    }
    return 0;
}

static int cycle(const struct ordering *o, uint32_t draft)
{
    const struct draft *drafts = o->parser->drafts;
    char text[200] = "";
    uint32_t i = 0;

    while (o->path[i] != draft)
        i++;
    for (; i <= o->depth; i++) {
        const size_t used = strlen(text);

        (void)snprintf(text + used, sizeof text - used, "%s takes ",
                       drafts[i < o->depth ? o->path[i] : draft].layer.name);
    }
    text[strlen(text) - strlen(" takes ")] = '\0';
    return network_error(o->network, &drafts[draft].layer, "input", o->parser->error,
                         "the layers go round in a circle: %s", text);
}

static int visit(struct ordering *o, uint32_t draft)
{
    const struct network_layer *layer = &o->parser->drafts[draft].layer;
    struct network *network = o->network;
    int r = 0;

    if (o->mark[draft] == DONE)
        return 0;
    if (o->mark[draft] == UNDER_WAY)
        return cycle(o, draft);
    o->mark[draft] = UNDER_WAY;
    o->path[o->depth++] = draft;
    for (uint32_t i = 0; r >= 0 && i < layer->n_inputs; i++)
        r = visit(o, o->from[draft][i]);
    o->depth--;
    if (r < 0)
        return r;
    o->mark[draft] = DONE;
    o->place[draft] = network->n_layers;
    network->layers[network->n_layers] = *layer;
    for (uint32_t i = 0; i < layer->n_inputs; i++)
        network->layers[network->n_layers].inputs[i] = o->place[o->from[draft][i]];
    network->n_layers++;
    return 0;
}

/* Behind it lies a cost or the output. Layers stand behind what they take, so one walk backwards
 * finds all. */
static int check_used(const struct ordering *o)
{
    const struct network *network = o->network;
    bool *used = xcalloc(network->n_layers, sizeof *used);
    int r = 0;

    for (uint32_t i = 0; i < network->n_outputs; i++)
        used[network->outputs[i]] = true;
    for (uint32_t i = network->n_layers; i > 0; i--) {
        const struct network_layer *layer = &network->layers[i - 1];

        used[i - 1] |= layer->kind->is_cost;
        for (uint32_t k = 0; used[i - 1] && k < layer->n_inputs; k++)
            used[layer->inputs[k]] = true;
    }
    for (uint32_t i = 0; r >= 0 && i < network->n_layers; i++)
        if (!used[i])
            r = network_error(network, &network->layers[i], NULL, o->parser->error,
                              "no cost and no output depends on it: use it, or take it away");
    free(used);
    return r;
}

static int check_taken_in(const struct ordering *o)
{
    const struct network *network = o->network;

    for (uint32_t i = 0; i < network->n_layers; i++) {
        const struct network_layer *layer = &network->layers[i];

        for (uint32_t k = 0; k < layer->n_inputs; k++) {
            const struct network_layer *in = &network->layers[layer->inputs[k]];

            if (in->taken_in && layer->kind != &layer_cross_entropy)
                return network_error(network, layer, input_key(layer, k), o->parser->error,
                                     "the softmax of %s belongs to its cross entropy, so nothing "
                                     "else can take it",
                                     in->name);
        }
    }
    return 0;
}

static int check_one_cost_each(const struct ordering *o)
{
    const struct network *network = o->network;

    for (uint32_t i = 0; i < network->n_layers; i++)
        for (uint32_t k = i + 1; k < network->n_layers; k++)
            if (network->layers[i].kind == &layer_cross_entropy &&
                network->layers[k].kind == &layer_cross_entropy &&
                network->layers[i].inputs[0] == network->layers[k].inputs[0])
                return network_error(network, &network->layers[k], "input", o->parser->error,
                                     "two cross entropies take the same layer");
    return 0;
}

static int shape_all(const struct ordering *o)
{
    struct network *network = o->network;
    int r = 0;

    for (uint32_t i = 0; r >= 0 && i < network->n_layers; i++) {
        struct network_layer *layer = &network->layers[i];

        layer->bias = PARAM_NONE;
        if (layer->kind->shape != NULL)
            r = layer->kind->shape(network, layer, o->parser->error);
        if (r >= 0 && layer->shape.size > NETWORK_ROW_MAX)
            r = network_error(network, layer, NULL, o->parser->error, "too many values a row: %u",
                              layer->shape.size);
    }
    return r;
}

/* One of the outputs, by its name. */
static int add_output(const struct ordering *o, const json_t *root, const char *key,
                      const char *name)
{
    struct network *network = o->network;

    if (network->n_outputs == NETWORK_OUTPUTS_MAX)
        return parser_fail(o->parser, root, NULL, key, "more than %d", NETWORK_OUTPUTS_MAX);
    for (uint32_t i = 0; i < network->n_layers; i++)
        if (streq(network->layers[i].name, name)) {
            network->outputs[network->n_outputs++] = i;
            return network->layers[i].kind->is_cost || network->layers[i].kind == &layer_input
                       ? parser_fail(o->parser, root, NULL, key, "%s is no layer with values", name)
                       : 0;
        }
    return parser_fail(o->parser, root, NULL, key, "there is no layer \"%s\"", name);
}

static int add_outputs(const struct ordering *o, const json_t *root, const json_t *names)
{
    int r = 0;

    if (!json_is_array(names) || json_array_size(names) == 0)
        return parser_fail(o->parser, root, NULL, "outputs", "must be an array of layers' names");
    for (size_t i = 0; r >= 0 && i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));

        r = name != NULL ? add_output(o, root, "outputs", name)
                         : parser_fail(o->parser, root, NULL, "outputs", "must be names");
    }
    return r;
}

/* The outputs are those of the file, else what the first cost takes. */
static int find_outputs(const struct ordering *o, const json_t *root, const char *output)
{
    const json_t *names = json_object_get(root, "outputs");
    struct network *network = o->network;
    int r = 0;

    if (*output != '\0' && names != NULL)
        return parser_fail(o->parser, root, NULL, "outputs", "and output exclude each other");
    if (*output != '\0')
        r = add_output(o, root, "output", output);
    else if (names != NULL)
        r = add_outputs(o, root, names);
    for (uint32_t i = 0; r >= 0 && network->n_outputs == 0 && i < network->n_layers; i++)
        if (network->layers[i].kind->is_cost)
            network->outputs[network->n_outputs++] = network->layers[i].inputs[0];
    network->output = network->outputs[0];
    return r;
}

bool network_is_output(const struct network *network, uint32_t layer)
{
    for (uint32_t i = 0; i < network->n_outputs; i++)
        if (network->outputs[i] == layer)
            return true;
    return false;
}

static int order(struct ordering *o, const json_t *root, const char *output)
{
    int r = resolve(o);

    for (uint32_t d = 0; r >= 0 && d < o->parser->n_drafts; d++)
        r = visit(o, d);
    if (r >= 0)
        r = find_outputs(o, root, output);
    if (r >= 0)
        r = shape_all(o);
    if (r >= 0)
        r = check_used(o);
    if (r >= 0)
        r = check_taken_in(o);
    return r < 0 ? r : check_one_cost_each(o);
}

int parser_order(struct parser *parser, const json_t *root, const char *output)
{
    const uint32_t n = parser->n_drafts;
    struct ordering o = { .parser = parser,
                          .network = parser->network,
                          .from = xcalloc(n, sizeof *o.from),
                          .mark = xcalloc(n, 1),
                          .place = xcalloc(n, sizeof *o.place),
                          .path = xcalloc(n, sizeof *o.path) };
    int r;

    parser->network->layers = xcalloc(n, sizeof *parser->network->layers);
    parser->network->params = xcalloc(NETWORK_PARAMS_MAX, sizeof *parser->network->params);
    r = order(&o, root, output);
    free(o.from);
    free(o.mark);
    free(o.place);
    free(o.path);
    return r;
}
