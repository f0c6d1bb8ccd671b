/* SPDX-License-Identifier: Apache-2.0 */
/* cos_sim.c - the cosine of the angle between two inputs, times scale */
#include "shared/macro.h"
#include "trainer/layers/layer.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const struct network_layer *a = layer_in(network, layer, 0), *b = layer_in(network, layer, 1);
    int r = layer_want_rows(network, layer, error);

    if (r < 0)
        return r;
    if (a->shape.size != b->shape.size)
        return network_error(network, layer, "inputs", error,
                             "%s has %u value%s a row, but %s has %u", a->name, a->shape.size,
                             PLURAL(a->shape.size), b->name, b->shape.size);
    layer->shape.size = 1;
    return 0;
}

static void forward(const struct layer_run *run)
{
    run->ops->cosine_forward(run->in[0].value, run->in[1].value, run->rows, run->in[0].size,
                             (double)run->layer->options.scale, run->out);
}

static void backward(const struct layer_run *run)
{
    run->ops->cosine_backward(run->in[0].value, run->in[1].value, run->out_gradient, run->rows,
                              run->in[0].size, (double)run->layer->options.scale,
                              run->in[0].gradient, run->in[1].gradient);
}

const struct layer_kind layer_cos_sim = { .name = "cos_sim",
                                          .unnamed = "__cos_sim_%u__",
                                          .inputs_min = 2,
                                          .inputs_max = 2,
                                          .reads_inputs = true,
                                          .shape = shape,
                                          .forward = forward,
                                          .backward = backward };
