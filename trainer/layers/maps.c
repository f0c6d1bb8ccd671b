/* SPDX-License-Identifier: Apache-2.0 */
/* maps.c - across the channels of an image: normalised by those around (map_norm), the largest of
 * some that lie side by side (maxout); zeros around an image (pad) */
#include "trainer/layers/layer.h"
#include "trainer/layers/window.h"

/* What the layer looks at: the image of its input, of the channels that it may name. */
static int image_of(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    int r = layer_want_rows(network, layer, error);

    return r < 0 ? r : window_image(network, layer, &layer->window, error);
}

static size_t pixels_of(const struct network_layer *layer)
{
    return (size_t)layer->window.height * layer->window.width;
}

static void take_image(struct network_layer *layer, uint32_t channels, uint32_t height,
                       uint32_t width)
{
    layer->shape.channels = channels;
    layer->shape.height = height;
    layer->shape.width = width;
    layer->shape.size = channels * height * width;
}

/* ---- map_norm ---- */

static int norm_shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    int r = layer_want_size(network, layer, "size", layer->options.size, error);

    if (r >= 0)
        r = image_of(network, layer, error);
    if (r >= 0)
        take_image(layer, layer->window.channels, layer->window.height, layer->window.width);
    return r;
}

static void norm_forward(const struct layer_run *run)
{
    const struct layer_options *o = &run->layer->options;

    run->ops->map_norm_forward(run->in[0].value, run->rows, run->layer->window.channels,
                               pixels_of(run->layer), o->size, (double)o->scale, (double)o->power,
                               run->kept, run->out);
}

static void norm_backward(const struct layer_run *run)
{
    const struct layer_options *o = &run->layer->options;

    if (run->in[0].gradient != NULL)
        run->ops->map_norm_backward(run->in[0].value, run->kept, run->out_gradient, run->rows,
                                    run->layer->window.channels, pixels_of(run->layer), o->size,
                                    (double)o->scale, (double)o->power, run->in[0].gradient);
}

static size_t one_of_a_value(const struct network *network, const struct network_layer *layer,
                             size_t rows)
{
    (void)network;
    return rows * layer->shape.size;
}

const struct layer_kind layer_map_norm = { .name = "map_norm",
                                           .unnamed = "__crmnorm_%u__",
                                           .inputs_min = 1,
                                           .inputs_max = 1,
                                           .has_activation = true,
                                           .reads_inputs = true,
                                           .shape = norm_shape,
                                           .kept = one_of_a_value,
                                           .forward = norm_forward,
                                           .backward = norm_backward };

/* ---- maxout ---- */

static int maxout_shape(struct network *network, struct network_layer *layer,
                        struct edl_error *error)
{
    const uint32_t groups = layer->options.groups;
    int r = image_of(network, layer, error);

    if (r >= 0 && (groups < 2 || layer->window.channels % groups != 0))
        r = network_error(network, layer, "groups", error,
                          "%u, but it must be 2 or more and divide the number of channels, %u",
                          groups, layer->window.channels);
    if (r >= 0)
        take_image(layer, layer->window.channels / groups, layer->window.height,
                   layer->window.width);
    return r;
}

static void maxout_forward(const struct layer_run *run)
{
    run->ops->maxout_forward(run->in[0].value, run->rows, run->layer->window.channels,
                             pixels_of(run->layer), run->layer->options.groups, run->kept,
                             run->out);
}

static void maxout_backward(const struct layer_run *run)
{
    if (run->in[0].gradient != NULL)
        run->ops->maxout_backward(run->out_gradient, run->rows, run->layer->window.channels,
                                  pixels_of(run->layer), run->layer->options.groups, run->kept,
                                  run->in[0].gradient);
}

const struct layer_kind layer_maxout = { .name = "maxout",
                                         .unnamed = "__maxout_layer_%u__",
                                         .inputs_min = 1,
                                         .inputs_max = 1,
                                         .has_activation = true,
                                         .shape = maxout_shape,
                                         .kept = one_of_a_value,
                                         .forward = maxout_forward,
                                         .backward = maxout_backward };

/* ---- pad ---- */

static int pad_shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const uint32_t *pad = layer->options.pad;
    const struct window *w = &layer->window;
    int r = image_of(network, layer, error);

    if (r >= 0)
        r = layer_fits(network, layer, "pad", w->channels + pad[0] + pad[1],
                       w->height + pad[2] + pad[3], w->width + pad[4] + pad[5], error);
    if (r >= 0)
        take_image(layer, w->channels + pad[0] + pad[1], w->height + pad[2] + pad[3],
                   w->width + pad[4] + pad[5]);
    return r;
}

static void pad_forward(const struct layer_run *run)
{
    const struct window *w = &run->layer->window;

    run->ops->pad_forward(run->in[0].value, run->rows,
                          (const uint32_t[]){ w->channels, w->height, w->width },
                          run->layer->options.pad, run->out);
}

static void pad_backward(const struct layer_run *run)
{
    const struct window *w = &run->layer->window;

    if (run->in[0].gradient != NULL)
        run->ops->pad_backward(run->out_gradient, run->rows,
                               (const uint32_t[]){ w->channels, w->height, w->width },
                               run->layer->options.pad, run->in[0].gradient);
}

const struct layer_kind layer_pad = { .name = "pad",
                                      .unnamed = "__pad_%u__",
                                      .inputs_min = 1,
                                      .inputs_max = 1,
                                      .has_activation = true,
                                      .shape = pad_shape,
                                      .forward = pad_forward,
                                      .backward = pad_backward };
