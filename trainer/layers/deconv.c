/* SPDX-License-Identifier: Apache-2.0 */
/* deconv.c - a convolution the other way round: each pixel of the input spreads a filter over the
 * output, which is as large as the image that a convolution would have made the input of
 *
 * Weights [channels, filters * filter_y * filter]. layer->window is that of the convolution: it
 * moves over the output. */
#include <math.h>

#include "trainer/layers/layer.h"
#include "trainer/layers/window.h"

/* The side that so many windows cover; 0: none. */
static uint32_t side_of(uint32_t windows, uint32_t size, uint32_t stride, uint32_t padding)
{
    const uint64_t side = (uint64_t)(windows - 1) * stride + size;

    return side > 2 * (uint64_t)padding && side < UINT32_MAX ? (uint32_t)side - 2 * padding : 0;
}

static int turn_window(struct network *network, struct network_layer *layer,
                       struct edl_error *error)
{
    struct window *w = &layer->window;
    int r = window_image(network, layer, w, error);

    if (r < 0)
        return r;
    w->out_height = w->height;
    w->out_width = w->width;
    w->height = side_of(w->out_height, w->size_y, w->stride_y, w->padding_y);
    w->width = side_of(w->out_width, w->size, w->stride, w->padding);
    if (w->height == 0 || w->width == 0)
        return network_error(network, layer, "padding", error, "leaves nothing of the output");
    r = layer_fits(network, layer, "filters", layer->options.filters, w->height, w->width, error);
    return r < 0 ? r
                 : layer_fits(network, layer, "filter", layer->options.filters,
                              (uint64_t)w->size * w->size_y, 1, error);
}

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const struct layer_options *o = &layer->options;
    struct param_wish wish = { .suffix = "w0", .options = &layer->options.weights[0] };
    struct window *w = &layer->window;
    int r = layer_want_size(network, layer, "filter", o->filter, error);

    if (r >= 0)
        r = layer_want_size(network, layer, "filters", o->filters, error);
    if (r >= 0)
        r = layer_want_rows(network, layer, error);
    if (r >= 0)
        r = turn_window(network, layer, error);
    if (r < 0)
        return r;
    wish.rows = w->channels;
    wish.columns = (uint64_t)o->filters * w->size * w->size_y;
    wish.start_std = wish.bare_std = sqrtf(2.0f / (float)(w->channels * w->size * w->size));
    w->channels = o->filters;
    layer->shape.size = o->filters * w->height * w->width;
    layer->shape.channels = o->filters;
    layer->shape.height = w->height;
    layer->shape.width = w->width;
    layer->n_weights = 1;
    r = network_add_param(network, layer, &wish, &layer->weights[0], error);
    if (r >= 0)
        r = network_add_bias(network, layer, o->filters, layer_smart_std(o->filters), error);
    return r;
}

static size_t columns_of(const struct network_layer *layer)
{
    return (size_t)layer->options.filters * layer->window.size * layer->window.size_y;
}

static size_t pixels_of(const struct network_layer *layer)
{
    return (size_t)layer->window.out_height * layer->window.out_width;
}

static void *sample(const struct layer_run *run, const void *base, size_t i, size_t size)
{
    return (char *)base + i * size * run->ops->element_bytes;
}

static void forward(const struct layer_run *run)
{
    const struct network_layer *layer = run->layer;
    const size_t area = (size_t)layer->window.height * layer->window.width;
    const size_t pixels = pixels_of(layer), channels = run->in[0].size / pixels;

    for (size_t i = 0; i < run->rows; i++) {
        void *out = sample(run, run->out, i, layer->shape.size);

        run->ops->gemm(1, 0, columns_of(layer), pixels, channels, run->params[layer->weights[0]],
                       sample(run, run->in[0].value, i, run->in[0].size), 0, run->scratch);
        run->ops->col2im(run->scratch, &layer->window, out);
        if (layer->bias == PARAM_NONE)
            continue;
        run->ops->fill_channels(run->params[layer->bias], 1, layer->options.filters, area,
                                run->scratch);
        run->ops->add(run->scratch, layer->shape.size, out);
    }
}

static void backward(const struct layer_run *run)
{
    const struct network_layer *layer = run->layer;
    const size_t pixels = pixels_of(layer), channels = run->in[0].size / pixels;
    const size_t columns = columns_of(layer);
    const uint32_t w = layer->weights[0];

    for (size_t i = 0; i < run->rows; i++) {
        run->ops->im2col(sample(run, run->out_gradient, i, layer->shape.size), &layer->window,
                         run->scratch);
        run->ops->gemm(0, 1, channels, columns, pixels,
                       sample(run, run->in[0].value, i, run->in[0].size), run->scratch,
                       layer_adds(run, w), run->gradients[w]);
        if (run->in[0].gradient != NULL)
            run->ops->gemm(0, 0, channels, pixels, columns, run->params[w], run->scratch, 0,
                           sample(run, run->in[0].gradient, i, run->in[0].size));
    }
    if (layer->bias == PARAM_NONE)
        return;
    if (!layer_adds(run, layer->bias))
        run->ops->zero(run->gradients[layer->bias], layer->options.filters);
    run->ops->channel_sums(run->out_gradient, run->rows, layer->options.filters,
                           (size_t)layer->window.height * layer->window.width,
                           run->gradients[layer->bias]);
}

/* The columns of one image, or an image of biases. */
static size_t scratch(const struct network *network, const struct network_layer *layer, size_t rows)
{
    const size_t columns = columns_of(layer) * pixels_of(layer);

    (void)network;
    (void)rows;
    return columns > layer->shape.size ? columns : layer->shape.size;
}

const struct layer_kind layer_deconv = { .name = "deconv",
                                         .unnamed = "__deconv_%u__",
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
