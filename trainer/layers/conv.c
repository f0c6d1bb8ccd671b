/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - convolution of images: each image as columns times the filters, one bias a filter
 *
 * Weights [filters, channels * filter * filter]. */
#include "trainer/layers/layer.h"
#include "trainer/layers/window.h"

#include <math.h>

#include "shared/macro.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const struct layer_options *o = &layer->options;
    struct param_wish wish = { .suffix = "w0", .options = &layer->options.weights[0] };
    int r = layer_want_size(network, layer, "filter", o->filter, error);

    if (r >= 0)
        r = layer_want_size(network, layer, "filters", o->filters, error);
    if (r >= 0)
        r = window_shape(network, layer, false, error);
    if (r < 0)
        return r;
    layer->shape = (struct layer_shape){ .size = o->filters * layer->window.out_height *
                                                 layer->window.out_width,
                                         .channels = o->filters,
                                         .height = layer->window.out_height,
                                         .width = layer->window.out_width };
    wish.rows = o->filters;
    wish.columns = layer->window.channels * o->filter * o->filter;
    wish.start_std = wish.bare_std = sqrtf(2.0f / (float)wish.columns);
    layer->n_weights = 1;
    r = network_add_param(network, layer, &wish, &layer->weights[0], error);
    if (r >= 0)
        r = network_add_bias(network, layer, o->filters, layer_smart_std(o->filters), error);
    return r;
}

static size_t columns_of(const struct network_layer *layer)
{
    return (size_t)layer->window.channels * layer->window.size * layer->window.size;
}

static size_t pixels_of(const struct network_layer *layer)
{
    return (size_t)layer->window.out_height * layer->window.out_width;
}

static const void *sample(const struct layer_run *run, const void *base, size_t i, size_t size)
{
    return (const char *)base + i * size * run->ops->element_bytes;
}

static void forward(const struct layer_run *run)
{
    const struct network_layer *layer = run->layer;
    const size_t filters = layer->options.filters, pixels = pixels_of(layer);

    run->ops->fill_channels(layer->bias == PARAM_NONE ? NULL : run->params[layer->bias], run->rows,
                            filters, pixels, run->out);
    for (size_t i = 0; i < run->rows; i++) {
        run->ops->im2col(sample(run, run->in[0].value, i, run->in[0].size), &layer->window,
                         run->scratch);
        run->ops->gemm(0, 0, filters, pixels, columns_of(layer), run->params[layer->weights[0]],
                       run->scratch, 1, (void *)sample(run, run->out, i, layer->shape.size));
    }
}

static void backward_sample(const struct layer_run *run, size_t i, int adds)
{
    const struct network_layer *layer = run->layer;
    const size_t filters = layer->options.filters, pixels = pixels_of(layer);
    const size_t columns = columns_of(layer);
    const void *dy = sample(run, run->out_gradient, i, layer->shape.size);
    const uint32_t w = layer->weights[0];

    run->ops->im2col(sample(run, run->in[0].value, i, run->in[0].size), &layer->window,
                     run->scratch);
    run->ops->gemm(0, 1, filters, columns, pixels, dy, run->scratch, adds, run->gradients[w]);
    if (run->in[0].gradient == NULL)
        return;
    run->ops->gemm(1, 0, columns, pixels, filters, run->params[w], dy, 0, run->scratch);
    run->ops->col2im(run->scratch, &layer->window,
                     (void *)sample(run, run->in[0].gradient, i, run->in[0].size));
}

static void backward(const struct layer_run *run)
{
    const struct network_layer *layer = run->layer;
    const size_t filters = layer->options.filters;

    for (size_t i = 0; i < run->rows; i++)
        backward_sample(run, i, layer_adds(run, layer->weights[0]));
    if (layer->bias == PARAM_NONE)
        return;
    if (!layer_adds(run, layer->bias))
        run->ops->zero(run->gradients[layer->bias], filters);
    run->ops->channel_sums(run->out_gradient, run->rows, filters, pixels_of(layer),
                           run->gradients[layer->bias]);
}

static size_t scratch(const struct network *network, const struct network_layer *layer, size_t rows)
{
    (void)network;
    (void)rows;
    return columns_of(layer) * pixels_of(layer);
}

const struct layer_kind layer_conv = { .name = "conv",
                                       .unnamed = "__conv_%u__",
                                       .inputs_min = 1,
                                       .inputs_max = 1,
                                       .activation = ACTIVATION_RELU,
                                       .has_activation = true,
                                       .has_bias = true,
                                       .reads_inputs = true,
                                       .shape = shape,
                                       .scratch = scratch,
                                       .forward = forward,
                                       .backward = backward };
