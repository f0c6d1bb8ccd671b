/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - beside each row of a sequence those around it, zeros outside the sequence */
#include "trainer/layers/layer.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const struct network_layer *in = layer_in(network, layer, 0);
    int r = layer_want_size(network, layer, "context", layer->options.context, error);

    if (r >= 0)
        r = layer_want_values(network, layer, error);
    if (r < 0)
        return r;
    if (in->shape.sequence == 0)
        return network_error(network, layer, "input", error,
                             "%s has one row a sample, but this kind takes a sequence", in->name);
    r = layer_fits(network, layer, "context", in->shape.size, layer->options.context, 1, error);
    if (r < 0)
        return r;
    if (!layer->options.has_context_start)
        layer->options.context_start = -(int32_t)(layer->options.context / 2);
    layer->shape = (struct layer_shape){ .size = in->shape.size * layer->options.context,
                                         .sequence = in->shape.sequence };
    return 0;
}

static void forward(const struct layer_run *run)
{
    run->ops->context_forward(run->in[0].value, run->in[0].starts, run->samples, run->in[0].size,
                              run->layer->options.context_start, run->layer->options.context,
                              run->out);
}

static void backward(const struct layer_run *run)
{
    if (run->in[0].gradient != NULL)
        run->ops->context_backward(run->out_gradient, run->in[0].starts, run->samples,
                                   run->in[0].size, run->layer->options.context_start,
                                   run->layer->options.context, run->in[0].gradient);
}

const struct layer_kind layer_context = { .name = "context",
                                          .unnamed = "__context_%u__",
                                          .inputs_min = 1,
                                          .inputs_max = 1,
                                          .shape = shape,
                                          .forward = forward,
                                          .backward = backward };
