/* SPDX-License-Identifier: Apache-2.0 */
/* window.c - where a window goes on an image */
#include "trainer/layers/window.h"

#include <math.h>

#include "shared/macro.h"
#include "trainer/layers/layer.h"

/* An input that says nothing of its image is a square one of the channels that the layer names. */
int window_image(const struct network *network, const struct network_layer *layer,
                 struct window *ret, struct edl_error *error)
{
    const struct network_layer *in = layer_in(network, layer, 0);
    const struct layer_options *o = &layer->options;
    const uint32_t channels = layer->options.channels > 0 ? layer->options.channels : 1;
    const uint32_t side = (uint32_t)lround(sqrt((double)in->shape.size / channels));

    *ret = (struct window){ in->shape.channels,
                            in->shape.height,
                            in->shape.width,
                            .size = o->filter,
                            .stride = o->stride > 0 ? o->stride : 1,
                            .padding = o->padding };
    ret->size_y = o->filter_y > 0 ? o->filter_y : ret->size;
    ret->stride_y = o->stride_y > 0 ? o->stride_y : ret->stride;
    ret->padding_y = o->has_padding_y ? o->padding_y : ret->padding;
    if (ret->channels > 0 && layer->options.channels > 0 &&
        layer->options.channels != ret->channels)
        return network_error(network, layer, "channels", error, "%u, but %s has %u channel%s",
                             layer->options.channels, in->name, ret->channels,
                             PLURAL(ret->channels));
    if (ret->channels > 0)
        return 0;
    if ((uint64_t)side * side * channels != in->shape.size)
        return network_error(network, layer, "channels", error,
                             "%s has %u value%s, no whole number of square images (%u); give the "
                             "input channels, height and width",
                             in->name, in->shape.size, PLURAL(in->shape.size), channels);
    ret->channels = channels;
    ret->height = ret->width = side;
    return 0;
}

/* The windows along one side, each with at least one pixel of the image under it. */
static uint32_t windows(uint32_t side, uint32_t size, uint32_t stride, uint32_t padding, bool ceil)
{
    const uint64_t room = (uint64_t)side + 2 * (uint64_t)padding - size;
    uint64_t n = (room + (ceil ? stride - 1 : 0)) / stride + 1;

    while (n > 1 && (n - 1) * stride >= (uint64_t)side + padding)
        n--;
    return (uint32_t)n;
}

int window_shape(const struct network *network, struct network_layer *layer, bool ceil,
                 struct edl_error *error)
{
    struct window *w = &layer->window;
    int r = layer_want_values(network, layer, error);

    if (r >= 0)
        r = window_image(network, layer, w, error);
    if (r < 0)
        return r;
    if (layer_in(network, layer, 0)->shape.sequence > 0)
        return network_error(network, layer, "input", error, "%s is a sequence, not an image",
                             layer_in(network, layer, 0)->name);
    if (w->padding >= w->size || w->padding_y >= w->size_y)
        return network_error(network, layer, "padding", error,
                             "%u and %u, but they must be smaller than the window of %u x %u",
                             w->padding, w->padding_y, w->size, w->size_y);
    if (w->size_y > w->height + 2 * w->padding_y || w->size > w->width + 2 * w->padding)
        return network_error(
            network, layer, "filter", error,
            "a window of %u x %u is larger than the image of %u x %u with its padding", w->size_y,
            w->size, w->height, w->width);
    w->out_height = windows(w->height, w->size_y, w->stride_y, w->padding_y, ceil);
    w->out_width = windows(w->width, w->size, w->stride, w->padding, ceil);
    r = layer_fits(network, layer, "filter", w->channels, (uint64_t)w->size * w->size_y, 1, error);
    return r < 0 ? r
                 : layer_fits(network, layer, "filters",
                              layer->options.filters > 0 ? layer->options.filters : w->channels,
                              w->out_height, w->out_width, error);
}
