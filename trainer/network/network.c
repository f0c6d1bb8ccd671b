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

static int share_param(const struct network *network, const struct network_layer *layer,
                       const struct param_spec *wanted, const struct param_spec *there,
                       struct edl_error *error)
{
    if (there->rows != wanted->rows || there->columns != wanted->columns)
        return network_error(network, layer, "param", error,
                             "the parameter %s is %u x %u in another layer, but %u x %u here",
                             there->name, there->rows, there->columns, wanted->rows,
                             wanted->columns);
    if (there->sparse != wanted->sparse)
        return network_error(network, layer, "param", error,
                             "the parameter %s is sparse in one layer, but not in another",
                             there->name);
    return 0;
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
    if (spec.initial_std == 0.0f && spec.initial == PARAM_NORMAL)
        spec.initial = PARAM_CONSTANT;
    if (wish->options != NULL && wish->options->name[0] != '\0')
        (void)snprintf(spec.name, sizeof spec.name, "%s", wish->options->name);
    else
        (void)snprintf(spec.name, sizeof spec.name, "_%s.%s", layer->name, wish->suffix);
    there = find_param(network, spec.name);
    if (there != PARAM_NONE) {
        *ret = there;
        return share_param(network, layer, &spec, &network->params[there].spec, error);
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

uint64_t network_values(const struct network *network)
{
    uint64_t n = 0;

    for (uint32_t p = 0; p < network->n_params; p++)
        if (!network->params[p].is_static)
            n += (uint64_t)network->params[p].spec.rows * network->params[p].spec.columns;
    return n;
}
