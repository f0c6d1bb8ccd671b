/* SPDX-License-Identifier: Apache-2.0 */
/* concat.c - the inputs side by side */
#include "trainer/layers/layer.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    int r = layer_want_rows(network, layer, error);

    for (uint32_t i = 0; r >= 0 && i < layer->n_inputs; i++) /* each is below 2^26 */
        layer->shape.size += layer_in(network, layer, i)->shape.size;
    return r < 0 ? r : layer_fits(network, layer, "inputs", layer->shape.size, 1, 1, error);
}

static char *part(const struct layer_run *run, const void *base, size_t column)
{
    return (char *)base + column * run->ops->element_bytes;
}

static void forward(const struct layer_run *run)
{
    const size_t width = run->layer->shape.size;
    size_t column = 0;

    for (uint32_t i = 0; i < run->layer->n_inputs; column += run->in[i++].size)
        run->ops->copy_columns(run->in[i].value, run->in[i].size, run->rows, run->in[i].size,
                               part(run, run->out, column), width);
}

static void backward(const struct layer_run *run)
{
    const size_t width = run->layer->shape.size;
    size_t column = 0;

    for (uint32_t i = 0; i < run->layer->n_inputs; column += run->in[i++].size)
        if (run->in[i].gradient != NULL)
            run->ops->copy_columns(part(run, run->out_gradient, column), width, run->rows,
                                   run->in[i].size, run->in[i].gradient, run->in[i].size);
}

const struct layer_kind layer_concat = { .name = "concat",
                                         .unnamed = "__concat_%u__",
                                         .inputs_min = 1,
                                         .inputs_max = LAYER_INPUTS_MAX,
                                         .has_activation = true,
                                         .shape = shape,
                                         .forward = forward,
                                         .backward = backward };
