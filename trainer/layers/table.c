/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - each id becomes its row of a table; of several inputs the rows side by side
 *
 * out[row, input * size ..] = table[id]. Of a sparse table the gradient has only the rows of the
 * batch, and ids are places among them. */
#include "shared/macro.h"
#include "trainer/layers/layer.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const struct network_layer *first = layer_in(network, layer, 0);
    struct param_wish wish = { .suffix = "w0",
                               .rows = first->shape.size,
                               .columns = layer->options.size,
                               .options = &layer->options.weights[0] };
    int r = layer_want_size(network, layer, "size", layer->options.size, error);

    for (uint32_t i = 0; r >= 0 && i < layer->n_inputs; i++) {
        const struct network_layer *in = layer_in(network, layer, i);

        if (!layer_is_ids(network, in))
            return network_error(network, layer, "input", error,
                                 "%s has values, but a table takes ids: an input of the type "
                                 "integer or integer_sequence",
                                 in->name);
        if (in->shape.size != first->shape.size)
            return network_error(network, layer, "inputs", error,
                                 "%s has %u id%s, but %s has %u: they cannot share a table",
                                 in->name, in->shape.size, PLURAL(in->shape.size), first->name,
                                 first->shape.size);
        if (layer->n_inputs > 1 && in->shape.sequence > 0)
            return network_error(network, layer, "inputs", error,
                                 "%s is a sequence: it must be the only input of a table",
                                 in->name);
    }
    if (r >= 0)
        r = layer_fits(network, layer, "size", layer->options.size, layer->n_inputs, 1, error);
    if (r < 0)
        return r;
    layer->shape = (struct layer_shape){ .size = layer->options.size * layer->n_inputs,
                                         .sequence = first->shape.sequence };
    wish.start_std = wish.bare_std = layer_smart_std(wish.rows);
    layer->n_weights = 1;
    return network_add_param(network, layer, &wish, &layer->weights[0], error);
}

static void forward(const struct layer_run *run)
{
    const struct network_layer *layer = run->layer;

    run->ops->gather_rows(run->params[layer->weights[0]], run->in[0].indices,
                          run->rows * layer->n_inputs, layer->options.size, run->out);
}

static void backward(const struct layer_run *run)
{
    const struct network_layer *layer = run->layer;
    const uint32_t param = layer->weights[0];
    const size_t columns = layer->options.size;

    if (!layer_adds(run, param))
        run->ops->zero(run->gradients[param], run->table_rows[param] * columns);
    run->ops->scatter_add_rows(run->out_gradient, run->in[0].indices, run->rows * layer->n_inputs,
                               columns, run->gradients[param]);
}

const struct layer_kind layer_table = { .name = "table",
                                        .unnamed = "__embedding_%u__",
                                        .inputs_min = 1,
                                        .inputs_max = LAYER_INPUTS_MAX,
                                        .takes_ids = true,
                                        .on_devices = true,
                                        .shape = shape,
                                        .forward = forward,
                                        .backward = backward };
