/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - convolution of images: each image as columns times the filters, one bias a filter
 *
 * Weights [filters, channels / groups * filter_y * filter]. */
#include "trainer/layers/layer.h"
#include "trainer/layers/window.h"

#include <math.h>

#include "shared/macro.h"

/* The pixels that a filter looks at: those of its group's channels. */
static size_t columns_of(const struct network_layer *layer)
{
    return (size_t)layer->window.channels / layer->options.groups * layer->window.size *
           layer->window.size_y;
}

static int check_groups(struct network *network, struct network_layer *layer,
                        struct edl_error *error)
{
    const uint32_t groups = layer->options.groups;

    if (layer->window.channels % groups == 0 && layer->options.filters % groups == 0)
        return 0;
    return network_error(network, layer, "groups", error,
                         "%u, but it must divide channels, %u, and filters, %u", groups,
                         layer->window.channels, layer->options.filters);
}

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
    r = check_groups(network, layer, error);
    if (r < 0)
        return r;
    layer->shape = (struct layer_shape){ .size = o->filters * layer->window.out_height *
                                                 layer->window.out_width,
                                         .channels = o->filters,
                                         .height = layer->window.out_height,
                                         .width = layer->window.out_width };
    wish.rows = o->filters;
    wish.columns = columns_of(layer);
    wish.start_std = wish.bare_std =
        sqrtf(2.0f / (float)(layer->window.channels * o->filter * o->filter));
    layer->n_weights = 1;
    r = network_add_param(network, layer, &wish, &layer->weights[0], error);
    if (r >= 0)
        r = network_add_bias(network, layer, o->filters, layer_smart_std(o->filters), error);
    return r;
}

static size_t pixels_of(const struct network_layer *layer)
{
    return (size_t)layer->window.out_height * layer->window.out_width;
}

/* The filters of one group. */
static size_t filters_of(const struct network_layer *layer)
{
    return layer->options.filters / layer->options.groups;
}

static const void *sample(const struct layer_run *run, const void *base, size_t i, size_t size)
{
    return (const char *)base + i * size * run->ops->element_bytes;
}

static void forward(const struct layer_run *run)
{
    const struct network_layer *layer = run->layer;
    const size_t filters = filters_of(layer), pixels = pixels_of(layer);
    const size_t columns = columns_of(layer);

    run->ops->fill_channels(layer->bias == PARAM_NONE ? NULL : run->params[layer->bias], run->rows,
                            layer->options.filters, pixels, run->out);
    for (size_t i = 0; i < run->rows; i++) {
        run->ops->im2col(sample(run, run->in[0].value, i, run->in[0].size), &layer->window,
                         run->scratch);
        for (size_t g = 0; g < layer->options.groups; g++)
            run->ops->gemm(0, 0, filters, pixels, columns,
                           sample(run, run->params[layer->weights[0]], g, filters * columns),
                           sample(run, run->scratch, g, columns * pixels), 1,
                           (void *)sample(run, sample(run, run->out, i, layer->shape.size), g,
                                          filters * pixels));
    }
}

static void backward_sample(const struct layer_run *run, size_t i, int adds)
{
    const struct network_layer *layer = run->layer;
    const size_t filters = filters_of(layer), pixels = pixels_of(layer);
    const size_t columns = columns_of(layer);
    const void *dy = sample(run, run->out_gradient, i, layer->shape.size);
    const uint32_t w = layer->weights[0];

    run->ops->im2col(sample(run, run->in[0].value, i, run->in[0].size), &layer->window,
                     run->scratch);
    for (size_t g = 0; g < layer->options.groups; g++)
        run->ops->gemm(0, 1, filters, columns, pixels, sample(run, dy, g, filters * pixels),
                       sample(run, run->scratch, g, columns * pixels), adds,
                       (void *)sample(run, run->gradients[w], g, filters * columns));
    if (run->in[0].gradient == NULL)
        return;
    for (size_t g = 0; g < layer->options.groups; g++)
        run->ops->gemm(1, 0, columns, pixels, filters,
                       sample(run, run->params[w], g, filters * columns),
                       sample(run, dy, g, filters * pixels), 0,
                       (void *)sample(run, run->scratch, g, columns * pixels));
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
    return columns_of(layer) * layer->options.groups * pixels_of(layer);
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
