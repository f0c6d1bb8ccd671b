/* SPDX-License-Identifier: Apache-2.0 */
/* fc.c - fully connected: the sum of each input times its weights, and one bias
 *
 * out = x0 w0 + x1 w1 + ... + b. A weight is [inputs, outputs]; "transposed" keeps it as
 * [outputs, inputs], which cuts a large output into shards by its rows. */
#include "trainer/layers/layer.h"

#include <stdio.h>

static int add_weight(struct network *network, struct network_layer *layer, uint32_t i,
                      struct edl_error *error)
{
    const uint32_t in = layer_in(network, layer, i)->shape.size, out = layer->options.size;
    const float std = layer_smart_std(in);
    char suffix[16];
    struct param_wish wish = { .suffix = suffix,
                               .rows = layer->options.transposed ? out : in,
                               .columns = layer->options.transposed ? in : out,
                               .start_std = std,
                               .bare_std = std,
                               .options = &layer->options.weights[i] };

    (void)snprintf(suffix, sizeof suffix, "w%u", i);
    return network_add_param(network, layer, &wish, &layer->weights[i], error);
}

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    int r = layer_want_size(network, layer, "size", layer->options.size, error);

    if (r >= 0)
        r = layer_want_rows(network, layer, error);
    for (uint32_t i = 0; r >= 0 && i < layer->n_inputs; i++)
        r = add_weight(network, layer, i, error);
    if (r < 0)
        return r;
    layer->n_weights = layer->n_inputs;
    layer->shape.size = layer->options.size;
    return network_add_bias(network, layer, layer->options.size, 1.0f, error);
}

static void forward(const struct layer_run *run)
{
    const struct network_layer *layer = run->layer;
    const size_t out = layer->shape.size;

    run->ops->fill_rows(layer->bias == PARAM_NONE ? NULL : run->params[layer->bias], run->rows, out,
                        run->out);
    for (uint32_t i = 0; i < layer->n_inputs; i++)
        run->ops->gemm(0, layer->options.transposed, run->rows, out, run->in[i].size,
                       run->in[i].value, run->params[layer->weights[i]], 1, run->out);
}

static void backward_weight(const struct layer_run *run, uint32_t i)
{
    const struct network_layer *layer = run->layer;
    const size_t in = run->in[i].size, out = layer->shape.size;
    const uint32_t param = layer->weights[i];
    const int adds = layer_adds(run, param);

    if (layer->options.transposed)
        run->ops->gemm(1, 0, out, in, run->rows, run->out_gradient, run->in[i].value, adds,
                       run->gradients[param]);
    else
        run->ops->gemm(1, 0, in, out, run->rows, run->in[i].value, run->out_gradient, adds,
                       run->gradients[param]);
    if (run->in[i].gradient != NULL)
        run->ops->gemm(0, !layer->options.transposed, run->rows, in, out, run->out_gradient,
                       run->params[param], 0, run->in[i].gradient);
}

static void backward(const struct layer_run *run)
{
    const struct network_layer *layer = run->layer;
    const size_t out = layer->shape.size;

    for (uint32_t i = 0; i < layer->n_inputs; i++)
        backward_weight(run, i);
    if (layer->bias == PARAM_NONE)
        return;
    if (!layer_adds(run, layer->bias)) {
        run->ops->column_sums(run->out_gradient, run->rows, out, run->gradients[layer->bias]);
        return;
    }
    run->ops->column_sums(run->out_gradient, run->rows, out, run->scratch);
    run->ops->add(run->scratch, out, run->gradients[layer->bias]);
}

static size_t scratch(const struct network *network, const struct network_layer *layer, size_t rows)
{
    (void)network;
    (void)rows;
    return layer->shape.size;
}

const struct layer_kind layer_fc = { .name = "fc",
                                     .unnamed = "__fc_layer_%u__",
                                     .inputs_min = 1,
                                     .inputs_max = LAYER_INPUTS_MAX,
                                     .activation = ACTIVATION_TANH,
                                     .has_activation = true,
                                     .has_bias = true,
                                     .on_devices = true,
                                     .reads_inputs = true,
                                     .shape = shape,
                                     .scratch = scratch,
                                     .forward = forward,
                                     .backward = backward };
