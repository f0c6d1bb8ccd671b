/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm.c - each channel at mean 0 and variance 1, then scaled and shifted as is learnt
 *
 * Training takes mean and variance of the batch, and moves averages towards them; testing takes
 * those averages, which are static parameters. A layer that names no channels takes those of its
 * input's image. Without an image each value is a channel. */
#include "shared/macro.h"
#include "trainer/layers/layer.h"

#define EPSILON 1e-5

enum { MEAN, VARIANCE };

/* Values of a channel lie side by side. */
static uint32_t channels_of(const struct network_layer *layer, const struct layer_shape *shape)
{
    if (layer->options.channels > 0)
        return layer->options.channels;
    return shape->channels > 0 ? shape->channels : shape->size;
}

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const struct network_layer *in = layer_in(network, layer, 0);
    const uint32_t channels = channels_of(layer, &in->shape);
    const struct param_wish wishes[] = {
        { .suffix = "w0", .start_mean = 1.0f, .options = &layer->options.weights[0] },
        { .suffix = "w1", .is_static = true },
        { .suffix = "w2", .is_static = true },
    };
    int r = layer_want_rows(network, layer, error);

    if (r >= 0 && in->shape.size % channels != 0)
        return network_error(network, layer, "channels", error,
                             "is %u, but %s has %u value%s: no multiple of it", channels, in->name,
                             in->shape.size, PLURAL(in->shape.size));
    for (uint32_t i = 0; r >= 0 && i < 3; i++) {
        struct param_wish wish = wishes[i];

        wish.rows = channels;
        wish.columns = 1;
        r = network_add_param(network, layer, &wish, &layer->weights[i], error);
    }
    if (r < 0)
        return r;
    layer->n_weights = 3;
    layer_take_shape(layer, in);
    return network_add_bias(network, layer, channels, 1.0f, error);
}

/* mean and variance of the batch, one behind the other */
static void *statistic(const struct layer_run *run, int which)
{
    return (char *)run->kept +
           (size_t)which * channels_of(run->layer, &run->layer->shape) * run->ops->element_bytes;
}

/* The bias; without one zeros, which lie in scratch. */
static const void *shift_of(const struct layer_run *run, size_t C)
{
    if (run->layer->bias != PARAM_NONE)
        return run->params[run->layer->bias];
    run->ops->zero(run->scratch, C);
    return run->scratch;
}

static void forward(const struct layer_run *run)
{
    const struct network_layer *layer = run->layer;
    const size_t C = channels_of(layer, &layer->shape), P = layer->shape.size / C;
    void *moving[] = { run->params[layer->weights[1]], run->params[layer->weights[2]] };
    const void *gain = run->params[layer->weights[0]], *shift = shift_of(run, C);

    if (!run->training && !layer->options.batch_statistics) {
        run->ops->norm_forward(run->in[0].value, moving[MEAN], moving[VARIANCE], gain, shift,
                               EPSILON, run->rows, C, P, run->out);
        return;
    }
    run->ops->norm_statistics(run->in[0].value, run->rows, C, P, statistic(run, MEAN),
                              statistic(run, VARIANCE));
    run->ops->norm_forward(run->in[0].value, statistic(run, MEAN), statistic(run, VARIANCE), gain,
                           shift, EPSILON, run->rows, C, P, run->out);
    for (int i = MEAN; run->training && i <= VARIANCE; i++)
        run->ops->move_towards(statistic(run, i), C, (double)layer->options.moving_average,
                               moving[i]);
}

static void backward(const struct layer_run *run)
{
    const struct network_layer *layer = run->layer;
    const size_t C = channels_of(layer, &layer->shape), P = layer->shape.size / C;
    const uint32_t params[] = { layer->weights[0], layer->bias };
    const int n = layer->bias == PARAM_NONE ? 1 : 2;
    char *scratch[] = { run->scratch, (char *)run->scratch + C * run->ops->element_bytes };

    run->ops->norm_backward(run->in[0].value, statistic(run, MEAN), statistic(run, VARIANCE),
                            run->params[params[0]], run->out_gradient, EPSILON, run->rows, C, P,
                            scratch[0], scratch[1], run->in[0].gradient);
    for (int i = 0; i < n; i++) {
        if (layer_adds(run, params[i]))
            run->ops->add(scratch[i], C, run->gradients[params[i]]);
        else
            run->ops->copy(scratch[i], C, run->gradients[params[i]]);
    }
}

static size_t two_of_a_channel(const struct network *network, const struct network_layer *layer,
                               size_t rows)
{
    (void)network;
    (void)rows;
    return (size_t)2 * channels_of(layer, &layer->shape);
}

const struct layer_kind layer_batch_norm = { .name = "batch_norm",
                                             .unnamed = "__batch_norm_%u__",
                                             .inputs_min = 1,
                                             .inputs_max = 1,
                                             .activation = ACTIVATION_RELU,
                                             .has_activation = true,
                                             .has_bias = true,
                                             .reads_inputs = true,
                                             .shape = shape,
                                             .kept = two_of_a_channel,
                                             .scratch = two_of_a_channel,
                                             .forward = forward,
                                             .backward = backward };
