/* SPDX-License-Identifier: Apache-2.0 */
/* cost_weight.c - what a cost is multiplied with */
#include "trainer/layers/cost_weight.h"

#include "shared/macro.h"
#include "trainer/layers/layer.h"

enum { INPUT, LABEL, WEIGHT };

int cost_weight_shape(const struct network *network, const struct network_layer *layer,
                      struct edl_error *error)
{
    const struct network_layer *weight;

    if (layer->n_inputs <= WEIGHT)
        return 0;
    weight = layer_in(network, layer, WEIGHT);
    if (layer_in(network, layer, INPUT)->shape.sequence > 0)
        return network_error(network, layer, "weight", error,
                             "is of samples, but %s has a row for each place of a sequence",
                             layer_in(network, layer, INPUT)->name);
    if (layer_is_ids(network, weight) || weight->shape.size != 1 || weight->shape.sequence > 0)
        return network_error(network, layer, "weight", error,
                             "%s must be a dense input of size 1: a factor for each sample",
                             weight->name);
    return 0;
}

int cost_shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const struct network_layer *y = layer_in(network, layer, INPUT);
    const struct network_layer *t = layer_in(network, layer, LABEL);
    int r = layer_want_rows(network, layer, error);

    if (r >= 0)
        r = cost_weight_shape(network, layer, error);
    if (r < 0)
        return r;
    if (y->shape.size != t->shape.size)
        return network_error(network, layer, "label", error,
                             "%s has %u value%s a row, but %s has %u", t->name, t->shape.size,
                             PLURAL(t->shape.size), y->name, y->shape.size);
    layer->shape.size = 1;
    return 0;
}

bool cost_is_weighted(const struct layer_run *run)
{
    return run->layer->n_inputs > WEIGHT;
}

const void *cost_row(const struct layer_run *run, size_t input, size_t row)
{
    return (const char *)run->in[input].value + row * run->in[input].size * run->ops->element_bytes;
}

double cost_weight(const struct layer_run *run, size_t row)
{
    float weight = 1.0f;

    if (cost_is_weighted(run))
        run->ops->to_float(cost_row(run, WEIGHT, row), 1, &weight);
    return (double)weight;
}

void cost_add(const struct layer_run *run, double cost, double weight)
{
    *run->cost += (double)run->layer->options.coeff * weight * cost;
}

void cost_scale(const struct layer_run *run, void *gradient)
{
    const size_t D = run->in[INPUT].size;

    if (cost_is_weighted(run))
        run->ops->multiply_rows(gradient, run->in[WEIGHT].value, run->rows, D, gradient);
    if (run->layer->options.coeff != 1.0f)
        run->ops->scale(gradient, run->rows * D, (double)run->layer->options.coeff, gradient);
}
