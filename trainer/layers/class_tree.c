/* SPDX-License-Identifier: Apache-2.0 */
/* class_tree.c - the cost of a class by the turns on the way to it in a binary tree: the input has
 * a value for each inner node, one less than there are classes */
#include <errno.h>

#include "trainer/layers/layer.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const struct network_layer *in = layer_in(network, layer, 0);
    const struct network_layer *label = layer_in(network, layer, 1);

    if (layer_is_ids(network, in))
        return network_error(network, layer, "input", error, "%s has ids, not values", in->name);
    if (!layer_is_ids(network, label) || label->shape.size > in->shape.size + 1)
        return network_error(network, layer, "label", error,
                             "%s must be an input of the type integer, of at most %u ids",
                             label->name, in->shape.size + 1);
    if ((in->shape.sequence > 0) != (label->shape.sequence > 0))
        return network_error(network, layer, "label", error,
                             "%s and %s have rows of different kinds: one a sample, or one a "
                             "place of a sequence",
                             label->name, in->name);
    layer->shape = (struct layer_shape){ .size = 1, .sequence = in->shape.sequence };
    return in->shape.sequence == 0
               ? 0
               : network_align(network, layer, in->shape.sequence, label->shape.sequence, error);
}

static void forward(const struct layer_run *run)
{
    *run->cost +=
        (double)run->layer->options.coeff *
        run->ops->tree_forward(run->in[0].value, run->in[1].targets, run->rows, run->in[0].size);
}

static void backward(const struct layer_run *run)
{
    if (run->in[0].gradient == NULL)
        return;
    run->ops->tree_backward(run->in[0].value, run->in[1].targets, run->rows, run->in[0].size,
                            run->in[0].gradient);
    run->ops->scale(run->in[0].gradient, run->rows * run->in[0].size,
                    (double)run->layer->options.coeff, run->in[0].gradient);
}

const struct layer_kind layer_class_tree = { .name = "class_tree",
                                             .unnamed = "__hsigmoid_%u__",
                                             .inputs_min = 2,
                                             .inputs_max = 2,
                                             .takes_ids = true,
                                             .is_cost = true,
                                             .reads_inputs = true,
                                             .shape = shape,
                                             .forward = forward,
                                             .backward = backward };
