/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - the largest pixel of each window of an image, or the average of those inside */
#include "trainer/layers/layer.h"
#include "trainer/layers/window.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    int r = layer_want_size(network, layer, "filter", layer->options.filter, error);

    if (r >= 0)
        r = window_shape(network, layer, layer->options.ceil, error);
    if (r < 0)
        return r;
    layer->shape = (struct layer_shape){ .size = layer->window.channels * layer->window.out_height *
                                                 layer->window.out_width,
                                         .channels = layer->window.channels,
                                         .height = layer->window.out_height,
                                         .width = layer->window.out_width };
    return 0;
}

static void forward(const struct layer_run *run)
{
    run->ops->pool_forward(run->layer->options.pooling, run->in[0].value, &run->layer->window,
                           run->rows, run->kept, run->out);
}

static void backward(const struct layer_run *run)
{
    if (run->in[0].gradient != NULL)
        run->ops->pool_backward(run->layer->options.pooling, run->out_gradient, &run->layer->window,
                                run->rows, run->kept, run->in[0].gradient);
}

/* A place for each output: u32, which is no larger than an element. */
static size_t kept(const struct network *network, const struct network_layer *layer, size_t rows)
{
    (void)network;
    return rows * layer->shape.size;
}

const struct layer_kind layer_pool = { .name = "pool",
                                       .unnamed = "__pool_%u__",
                                       .inputs_min = 1,
                                       .inputs_max = 1,
                                       .has_activation = true,
                                       .shape = shape,
                                       .kept = kept,
                                       .forward = forward,
                                       .backward = backward };
