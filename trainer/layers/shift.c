/* SPDX-License-Identifier: Apache-2.0 */
/* shift.c - a bias for each value, or ("channels") for each channel of an image: for kinds that
 * have none of their own */
#include "trainer/layers/layer.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const uint32_t channels = layer->options.channels;
    int r = layer_same_shape(network, layer, error);

    if (r < 0)
        return r;
    if (channels > 0 && layer->shape.size % channels != 0)
        return network_error(network, layer, "channels", error,
                             "%u does not divide the number of values in a row, %u", channels,
                             layer->shape.size);
    return network_add_bias(network, layer, channels > 0 ? channels : layer->shape.size, 1.0f,
                            error);
}

static size_t channels_of(const struct layer_run *run)
{
    return run->layer->options.channels > 0 ? run->layer->options.channels : run->in[0].size;
}

static void forward(const struct layer_run *run)
{
    const size_t C = channels_of(run);

    run->ops->fill_channels(run->params[run->layer->bias], run->rows, C, run->in[0].size / C,
                            run->out);
    run->ops->add(run->in[0].value, run->rows * run->in[0].size, run->out);
}

static void backward(const struct layer_run *run)
{
    const uint32_t bias = run->layer->bias;
    const size_t C = channels_of(run);

    if (!layer_adds(run, bias))
        run->ops->zero(run->gradients[bias], C);
    run->ops->channel_sums(run->out_gradient, run->rows, C, run->in[0].size / C,
                           run->gradients[bias]);
    if (run->in[0].gradient != NULL)
        run->ops->copy(run->out_gradient, run->rows * run->in[0].size, run->in[0].gradient);
}

const struct layer_kind layer_shift = { .name = "shift",
                                        .unnamed = "__shift_%u__",
                                        .inputs_min = 1,
                                        .inputs_max = 1,
                                        .has_activation = true,
                                        .has_bias = true,
                                        .shape = shape,
                                        .forward = forward,
                                        .backward = backward };
