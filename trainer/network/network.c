/* SPDX-License-Identifier: Apache-2.0 */
/* network.c - a network's errors, parameters and end */
#include "trainer/network/network.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/layers/layer.h"

int network_error(const struct network *network, const struct network_layer *layer, const char *key,
                  struct edl_error *error, const char *format, ...)
{
    char text[300];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return edl_error_set(error, -EINVAL, "%s:%u: layer %s%s%s: %s", network->file, layer->line,
                         layer->name, key != NULL ? ", " : "", key != NULL ? key : "", text);
}

static uint32_t find_param(const struct network *network, const char *name)
{
    for (uint32_t p = 0; p < network->n_params; p++)
        if (streq(network->params[p].spec.name, name))
            return p;
    return PARAM_NONE;
}

/* other_key - what the file says of a parameter here and not in the layer that came first; NULL:
 * nothing. 0, and a factor of 1, are as good as nothing said. */
static const char *other_key(const struct param_options *o, const struct param_spec *wanted,
                             const struct param_spec *there)
{
    const struct {
        const char *key;
        float wanted, there, unsaid;
    } numbers[] = {
        { "learning_rate", wanted->learning_rate, there->learning_rate, 1.0f },
        { "momentum", wanted->momentum, there->momentum, 0 },
        { "l1", wanted->l1_rate, there->l1_rate, 0 },
        { "l2", wanted->l2_rate, there->l2_rate, 0 },
        { "clipping", wanted->clipping, there->clipping, 0 },
    };

    if (o == NULL || !o->given)
        return NULL;
    for (size_t i = 0; i < ELEMENTS(numbers); i++)
        if (numbers[i].wanted != numbers[i].unsaid && numbers[i].wanted != numbers[i].there)
            return numbers[i].key;
    if (o->has_initial &&
        (wanted->initial != there->initial || wanted->initial_mean != there->initial_mean ||
         wanted->initial_std != there->initial_std))
        return "initial";
    return NULL;
}

static int share_param(const struct network *network, const struct network_layer *layer,
                       const struct param_options *options, const struct param_spec *wanted,
                       const struct param_spec *there, struct edl_error *error)
{
    const char *key = other_key(options, wanted, there);

    if (there->rows != wanted->rows || there->columns != wanted->columns)
        return network_error(network, layer, "param", error,
                             "the parameter %s is %u x %u in another layer, but %u x %u here",
                             there->name, there->rows, there->columns, wanted->rows,
                             wanted->columns);
    if (there->sparse != wanted->sparse)
        return network_error(network, layer, "param", error,
                             "the parameter %s is sparse in one layer, but not in another",
                             there->name);
    if (key == NULL)
        return 0;
    (void)network_error(network, layer, "param", error,
                        "%s of the parameter %s is another one in the layer that comes first", key,
                        there->name);
    return edl_error_remedy(error, "say it in one of these layers, or in both the same");
}

/* What the layer would start with, and what the file says otherwise. */
static void fill_spec(const struct param_wish *wish, struct param_spec *spec)
{
    const struct param_options *o = wish->options;

    spec->rows = (uint32_t)wish->rows;
    spec->columns = (uint32_t)wish->columns;
    spec->initial_mean = wish->start_mean;
    spec->initial_std = wish->start_std;
    spec->learning_rate = 1.0f;
    if (o == NULL || !o->given)
        return;
    spec->initial_std = wish->bare_std;
    if (o->has_initial) {
        spec->initial = o->initial;
        spec->initial_mean = o->initial_mean;
        spec->initial_std = o->initial_std;
    }
    spec->sparse = o->sparse;
    spec->learning_rate = o->learning_rate;
    spec->momentum = o->momentum;
    spec->l1_rate = o->l1_rate;
    spec->l2_rate = o->l2_rate;
    spec->clipping = o->clipping;
}

int network_add_param(struct network *network, const struct network_layer *layer,
                      const struct param_wish *wish, uint32_t *ret, struct edl_error *error)
{
    struct param_spec spec = { 0 };
    uint32_t there;

    if (wish->rows == 0 || wish->columns == 0 || wish->rows > NETWORK_VALUES_MAX ||
        wish->columns > NETWORK_VALUES_MAX || wish->rows * wish->columns > NETWORK_VALUES_MAX)
        return network_error(network, layer, NULL, error,
                             "its parameter %s of %llu x %llu is too large", wish->suffix,
                             (unsigned long long)wish->rows, (unsigned long long)wish->columns);
    fill_spec(wish, &spec);
    if (spec.sparse && layer->kind != &layer_table) {
        (void)network_error(network, layer, "sparse", error,
                            "is for a table, whose batches touch single rows; %s trains all of its "
                            "parameters",
                            layer->kind->name);
        return edl_error_remedy(error, "leave it out (sparse_update in a program in Python)");
    }
    if (spec.initial_std == 0.0f && spec.initial == PARAM_NORMAL)
        spec.initial = PARAM_CONSTANT;
    if (wish->options != NULL && wish->options->name[0] != '\0')
        (void)snprintf(spec.name, sizeof spec.name, "%s", wish->options->name);
    else
        (void)snprintf(spec.name, sizeof spec.name, "_%s.%s", layer->name, wish->suffix);
    there = find_param(network, spec.name);
    if (there != PARAM_NONE) {
        *ret = there;
        return share_param(network, layer, wish->options, &spec, &network->params[there].spec,
                           error);
    }
    if (network->n_params == NETWORK_PARAMS_MAX)
        return network_error(network, layer, NULL, error, "more than %u parameters",
                             NETWORK_PARAMS_MAX);
    network->params[network->n_params] =
        (struct network_param){ .spec = spec, .is_static = wish->is_static };
    *ret = network->n_params++;
    return 0;
}

int network_add_bias(struct network *network, struct network_layer *layer, uint32_t size,
                     float bare_std, struct edl_error *error)
{
    const struct param_wish wish = { .suffix = "wbias",
                                     .rows = size,
                                     .columns = 1,
                                     .bare_std = bare_std,
                                     .options = &layer->options.bias_param };

    layer->bias = PARAM_NONE;
    return layer->options.bias ? network_add_param(network, layer, &wish, &layer->bias, error) : 0;
}

struct network *network_free(struct network *network)
{
    if (network == NULL)
        return NULL;
    free(network->layers);
    free(network->params);
    free(network);
    return NULL;
}

int network_may_share(const struct network *network, struct edl_error *error)
{
    if (network->settings.average_window > 0) {
        (void)edl_error_set(error, -EINVAL,
                            "%s: training, average_window: a mean over updates is of a trainer "
                            "that is alone, without parameter servers",
                            network->file);
        return edl_error_remedy(error, "leave it out (model_average in a program in Python), or "
                                       "train without servers: --local");
    }
    return 0;
}

int network_align(struct network *network, const struct network_layer *layer, uint32_t a,
                  uint32_t b, struct edl_error *error)
{
    const struct input_pair pair = { MIN_OF(a, b) - 1, MAX_OF(a, b) - 1 };

    for (uint32_t i = 0; i < network->n_aligned; i++)
        if (network->aligned[i].first == pair.first && network->aligned[i].second == pair.second)
            return 0;
    if (a == b)
        return 0;
    if (network->n_aligned == NETWORK_ALIGNED_MAX)
        return network_error(network, layer, "inputs", error,
                             "more than %d pairs of sequences side by side", NETWORK_ALIGNED_MAX);
    network->aligned[network->n_aligned++] = pair;
    return 0;
}

int network_may_train(const struct network *network, struct edl_error *error)
{
    if (network->has_cost)
        return 0;
    (void)edl_error_set(error, -EINVAL, "%s has outputs, but no cost: there is nothing to train",
                        network->file);
    return edl_error_remedy(error, "add one (classification_cost or regression_cost in a program "
                                   "in Python), or print the outputs: edl-trainer infer");
}

uint64_t network_values(const struct network *network)
{
    uint64_t n = 0;

    for (uint32_t p = 0; p < network->n_params; p++)
        if (!network->params[p].is_static)
            n += (uint64_t)network->params[p].spec.rows * network->params[p].spec.columns;
    return n;
}
