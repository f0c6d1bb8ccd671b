/* SPDX-License-Identifier: Apache-2.0 */
/* slice.c - some of the values of a row that lie side by side; a row over and over again */
#include "trainer/layers/layer.h"

static int slice_shape(struct network *network, struct network_layer *layer,
                       struct edl_error *error)
{
    const struct network_layer *in = layer_in(network, layer, 0);
    int r = layer_want_size(network, layer, "size", layer->options.size, error);

    if (r >= 0)
        r = layer_want_rows(network, layer, error);
    if (r >= 0 && (uint64_t)layer->options.offset + layer->options.size > in->shape.size)
        r = network_error(network, layer, "offset", error, "%u + %u are more than the %u of %s",
                          layer->options.offset, layer->options.size, in->shape.size, in->name);
    layer->shape.size = layer->options.size;
    return r;
}

static char *from(const struct layer_run *run, const void *base)
{
    return (char *)base + run->layer->options.offset * run->ops->element_bytes;
}

static void slice_forward(const struct layer_run *run)
{
    run->ops->copy_columns(from(run, run->in[0].value), run->in[0].size, run->rows,
                           run->layer->shape.size, run->out, run->layer->shape.size);
}

static void slice_backward(const struct layer_run *run)
{
    if (run->in[0].gradient == NULL)
        return;
    run->ops->zero(run->in[0].gradient, run->rows * run->in[0].size);
    run->ops->copy_columns(run->out_gradient, run->layer->shape.size, run->rows,
                           run->layer->shape.size, from(run, run->in[0].gradient), run->in[0].size);
}

const struct layer_kind layer_slice = { .name = "slice",
                                        .unnamed = "__slice_%u__",
                                        .inputs_min = 1,
                                        .inputs_max = 1,
                                        .has_activation = true,
                                        .shape = slice_shape,
                                        .forward = slice_forward,
                                        .backward = slice_backward };

static int repeat_shape(struct network *network, struct network_layer *layer,
                        struct edl_error *error)
{
    const struct network_layer *in = layer_in(network, layer, 0);
    int r = layer_want_size(network, layer, "size", layer->options.size, error);

    if (r >= 0)
        r = layer_want_rows(network, layer, error);
    if (r >= 0 && layer->options.size % in->shape.size != 0)
        r = network_error(network, layer, "size", error, "%u is no multiple of the %u of %s",
                          layer->options.size, in->shape.size, in->name);
    layer->shape.size = layer->options.size;
    return r;
}

static char *turn(const struct layer_run *run, const void *base, size_t i)
{
    return (char *)base + i * run->in[0].size * run->ops->element_bytes;
}

static void repeat_forward(const struct layer_run *run)
{
    const size_t D = run->in[0].size, width = run->layer->shape.size;

    for (size_t i = 0; i < width / D; i++)
        run->ops->copy_columns(run->in[0].value, D, run->rows, D, turn(run, run->out, i), width);
}

static void repeat_backward(const struct layer_run *run)
{
    const size_t D = run->in[0].size, width = run->layer->shape.size;

    if (run->in[0].gradient == NULL)
        return;
    run->ops->zero(run->in[0].gradient, run->rows * D);
    for (size_t i = 0; i < width / D; i++) {
        run->ops->copy_columns(turn(run, run->out_gradient, i), width, run->rows, D, run->scratch,
                               D);
        run->ops->add(run->scratch, run->rows * D, run->in[0].gradient);
    }
}

static size_t a_row_of_the_input(const struct network *network, const struct network_layer *layer,
                                 size_t rows)
{
    return rows * layer_in(network, layer, 0)->shape.size;
}

const struct layer_kind layer_repeat = { .name = "repeat_row",
                                         .unnamed = "__repeat_layer_%u__",
                                         .inputs_min = 1,
                                         .inputs_max = 1,
                                         .has_activation = true,
                                         .shape = repeat_shape,
                                         .scratch = a_row_of_the_input,
                                         .forward = repeat_forward,
                                         .backward = repeat_backward };
