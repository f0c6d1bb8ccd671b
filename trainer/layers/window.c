/* SPDX-License-Identifier: Apache-2.0 */
/* window.c - where a window goes on an image */
#include "trainer/layers/window.h"

#include <math.h>

#include "trainer/layers/layer.h"

/* An input that says nothing of its image is a square one of the channels that the layer names. */
static int image_of(const struct network *network, const struct network_layer *layer,
                    struct window *ret, struct edl_error *error)
{
    const struct network_layer *in = layer_in(network, layer, 0);
    const uint32_t channels = layer->options.channels > 0 ? layer->options.channels : 1;
    const uint32_t side = (uint32_t)lround(sqrt((double)in->shape.size / channels));

    *ret = (struct window){ in->shape.channels,
                            in->shape.height,
                            in->shape.width,
                            .size = layer->options.filter,
                            .stride = layer->options.stride > 0 ? layer->options.stride : 1,
                            .padding = layer->options.padding };
    if (ret->channels > 0 && layer->options.channels > 0 &&
        layer->options.channels != ret->channels)
        return network_error(network, layer, "channels", error, "%u, but %s has %u channels",
                             layer->options.channels, in->name, ret->channels);
    if (ret->channels > 0)
        return 0;
    if ((uint64_t)side * side * channels != in->shape.size)
        return network_error(network, layer, "channels", error,
                             "%s has %u values, which are no %u square images; give the input "
                             "channels, height and width",
                             in->name, in->shape.size, channels);
    ret->channels = channels;
    ret->height = ret->width = side;
    return 0;
}

/* The windows along one side, each with at least one pixel of the image under it. */
static uint32_t windows(const struct window *w, uint32_t side, bool ceil)
{
    const uint64_t room = (uint64_t)side + 2 * (uint64_t)w->padding - w->size;
    uint64_t n = (room + (ceil ? w->stride - 1 : 0)) / w->stride + 1;

    while (n > 1 && (n - 1) * w->stride >= (uint64_t)side + w->padding)
        n--;
    return (uint32_t)n;
}

int window_shape(const struct network *network, struct network_layer *layer, bool ceil,
                 struct edl_error *error)
{
    struct window *w = &layer->window;
    int r = layer_want_values(network, layer, error);

    if (r >= 0)
        r = image_of(network, layer, w, error);
    if (r < 0)
        return r;
    if (layer_in(network, layer, 0)->shape.sequence > 0)
        return network_error(network, layer, "input", error, "%s is a sequence, not an image",
                             layer_in(network, layer, 0)->name);
    if (w->padding >= w->size)
        return network_error(network, layer, "padding", error,
                             "%u, but it must be smaller than the window of %u", w->padding,
                             w->size);
    if (w->size > w->height + 2 * w->padding || w->size > w->width + 2 * w->padding)
        return network_error(network, layer, "filter", error,
                             "a window of %u is larger than the image of %u x %u with its padding",
                             w->size, w->height, w->width);
    w->out_height = windows(w, w->height, ceil);
    w->out_width = windows(w, w->width, ceil);
    r = layer_fits(network, layer, "filter", w->channels, (uint64_t)w->size * w->size, 1, error);
    return r < 0 ? r
                 : layer_fits(network, layer, "filters",
                              layer->options.filters > 0 ? layer->options.filters : w->channels,
                              w->out_height, w->out_width, error);
}
