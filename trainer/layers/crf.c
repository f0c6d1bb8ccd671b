/* SPDX-License-Identifier: Apache-2.0 */
/* crf.c - the cost of labels at the places of a sequence, with what one says of the next: a linear
 * chain conditional random field
 *
 * Weights [size + 2, size]: of a first place, of a last one, and from one label (a row) to the
 * next. */
#include "trainer/layers/layer.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const struct network_layer *in = layer_in(network, layer, 0);
    const struct network_layer *label = layer_in(network, layer, 1);
    const uint32_t S = in->shape.size;
    struct param_wish wish = {
        .suffix = "w0", .rows = (uint64_t)S + 2, .columns = S, .options = &layer->options.weights[0]
    };
    int r;

    if (layer_is_ids(network, in) || in->shape.sequence == 0)
        return network_error(network, layer, "input", error,
                             "%s must have values at each place of a sequence", in->name);
    if (!layer_is_ids(network, label) || label->shape.sequence == 0 || label->shape.size > S)
        return network_error(network, layer, "label", error,
                             "%s must be an input of the type integer_sequence, of at most %u ids",
                             label->name, S);
    wish.start_std = wish.bare_std = layer_smart_std(S + 2);
    layer->shape = (struct layer_shape){ .size = 1, .sequence = in->shape.sequence };
    layer->n_weights = 1;
    r = network_align(network, layer, in->shape.sequence, label->shape.sequence, error);
    return r < 0 ? r : network_add_param(network, layer, &wish, &layer->weights[0], error);
}

static void forward(const struct layer_run *run)
{
    *run->cost += (double)run->layer->options.coeff *
                  run->ops->crf_forward(run->in[0].value, run->params[run->layer->weights[0]],
                                        run->in[1].targets, run->in[0].starts, run->samples,
                                        run->in[0].size, run->kept);
}

static void backward(const struct layer_run *run)
{
    const uint32_t w = run->layer->weights[0];
    const size_t S = run->in[0].size;

    if (!layer_adds(run, w))
        run->ops->zero(run->gradients[w], (S + 2) * S);
    run->ops->crf_backward(run->in[0].value, run->params[w], run->in[1].targets, run->in[0].starts,
                           run->samples, S, run->kept, run->scratch,
                           (double)run->layer->options.coeff, run->in[0].gradient,
                           run->gradients[w]);
}

static size_t one_of_a_value(const struct network *network, const struct network_layer *layer,
                             size_t rows)
{
    return rows * layer_in(network, layer, 0)->shape.size;
}

const struct layer_kind layer_crf = { .name = "crf",
                                      .unnamed = "__crf_layer_%u__",
                                      .inputs_min = 2,
                                      .inputs_max = 2,
                                      .takes_ids = true,
                                      .is_cost = true,
                                      .reads_inputs = true,
                                      .shape = shape,
                                      .kept = one_of_a_value,
                                      .scratch = one_of_a_value,
                                      .forward = forward,
                                      .backward = backward };
