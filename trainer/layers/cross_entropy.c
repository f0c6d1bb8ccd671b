/* SPDX-License-Identifier: Apache-2.0 */
/* cross_entropy.c - the cost of a class: -ln of the probability that a softmax gives it
 *
 * Inputs: the layer with the softmax, and the class. The softmax is computed here, together with
 * the cost, in that layer's own values; its gradient takes their place in the backward pass. So no
 * other layer may read them. */
#include <errno.h>

#include "trainer/layers/cost_weight.h"
#include "shared/macro.h"
#include "trainer/layers/layer.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    struct network_layer *in = &network->layers[layer->inputs[0]];
    const struct network_layer *label = layer_in(network, layer, 1);

    if (layer_is_ids(network, in) || in->options.activation != ACTIVATION_SOFTMAX)
        return network_error(network, layer, "input", error,
                             "a cross entropy takes probabilities, but %s has no \"activation\": "
                             "\"softmax\"",
                             in->name);
    if (!layer_is_ids(network, label))
        return network_error(network, layer, "label", error,
                             "%s must be an input of the type integer or integer_sequence: the "
                             "class",
                             label->name);
    if (label->shape.size > in->shape.size)
        return network_error(network, layer, "label", error,
                             "%s has %u class%s, but %s only %u outputs", label->name,
                             label->shape.size, PLURAL_ES(label->shape.size), in->name,
                             in->shape.size);
    if ((in->shape.sequence > 0) != (label->shape.sequence > 0))
        return network_error(network, layer, "label", error,
                             "%s and %s have rows of different kinds: one a sample, or one a "
                             "place of a sequence",
                             label->name, in->name);
    if (in->shape.sequence > 0 &&
        network_align(network, layer, in->shape.sequence, label->shape.sequence, error) < 0)
        return -EINVAL;
    if (cost_weight_shape(network, layer, error) < 0)
        return -EINVAL;
    in->taken_in = true;
    layer->shape = (struct layer_shape){ .size = 1, .sequence = in->shape.sequence };
    return 0;
}

static void forward(const struct layer_run *run)
{
    const size_t rows = cost_is_weighted(run) ? 1 : run->rows;

    for (size_t row = 0; row < run->rows; row += rows) {
        uint32_t errors = 0;
        const double cost =
            run->ops->softmax_xent_forward((void *)cost_row(run, 0, row), run->in[1].targets + row,
                                           rows, run->in[0].size, &errors);

        cost_add(run, cost, cost_weight(run, row));
        *run->errors += errors;
    }
    *run->counted += (double)run->rows;
}

/* in[0].gradient lies where its value does */
static void backward(const struct layer_run *run)
{
    run->ops->softmax_xent_backward(run->in[0].gradient, run->in[1].targets, run->rows,
                                    run->in[0].size);
    cost_scale(run, run->in[0].gradient);
}

const struct layer_kind layer_cross_entropy = { .name = "cross_entropy",
                                                .unnamed = "__cost_%u__",
                                                .inputs_min = 2,
                                                .inputs_max = 3,
                                                .takes_ids = true,
                                                .is_cost = true,
                                                .on_devices = true,
                                                .reads_inputs = true,
                                                .shape = shape,
                                                .forward = forward,
                                                .backward = backward };
