/* SPDX-License-Identifier: Apache-2.0 */
/* addition.c - the sum of its inputs; of one input the dropout or the activation alone */
#include "trainer/layers/layer.h"

#include "shared/macro.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const struct network_layer *first = layer_in(network, layer, 0);
    int r = layer_want_rows(network, layer, error);

    for (uint32_t i = 1; r >= 0 && i < layer->n_inputs; i++) {
        const struct network_layer *in = layer_in(network, layer, i);

        if (in->shape.size != first->shape.size)
            return network_error(network, layer, "inputs", error,
                                 "%s has %u value%s a row, but %s has %u: they cannot be added",
                                 in->name, in->shape.size, PLURAL(in->shape.size), first->name,
                                 first->shape.size);
    }
    if (r >= 0)
        layer_take_shape(layer, first);
    return r;
}

static void forward(const struct layer_run *run)
{
    const size_t n = run->rows * run->layer->shape.size;

    run->ops->copy(run->in[0].value, n, run->out);
    for (uint32_t i = 1; i < run->layer->n_inputs; i++)
        run->ops->add(run->in[i].value, n, run->out);
}

static void backward(const struct layer_run *run)
{
    const size_t n = run->rows * run->layer->shape.size;

    for (uint32_t i = 0; i < run->layer->n_inputs; i++)
        if (run->in[i].gradient != NULL)
            run->ops->copy(run->out_gradient, n, run->in[i].gradient);
}

const struct layer_kind layer_addition = { .name = "addition",
                                           .unnamed = "__addto_%u__",
                                           .inputs_min = 1,
                                           .inputs_max = LAYER_INPUTS_MAX,
                                           .has_activation = true,
                                           .shape = shape,
                                           .forward = forward,
                                           .backward = backward };

const struct layer_kind layer_dropout = { .name = "dropout",
                                          .unnamed = "__dropout_%u__",
                                          .inputs_min = 1,
                                          .inputs_max = 1,
                                          .has_activation = true,
                                          .shape = shape,
                                          .forward = forward,
                                          .backward = backward };
