/* SPDX-License-Identifier: Apache-2.0 */
/* square_error.c - the cost of a regression: the sum of (y - t)^2, without a half */
#include "trainer/layers/layer.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const struct network_layer *y = layer_in(network, layer, 0), *t = layer_in(network, layer, 1);
    int r = layer_want_rows(network, layer, error);

    if (r < 0)
        return r;
    if (y->shape.size != t->shape.size)
        return network_error(network, layer, "label", error,
                             "%s has %u values a row, but %s has %u", t->name, t->shape.size,
                             y->name, y->shape.size);
    if (layer->shape.sequence > 0)
        return network_error(network, layer, "input", error,
                             "%s has a row for each place of a sequence; pool it first", y->name);
    layer->shape.size = 1;
    return 0;
}

static void forward(const struct layer_run *run)
{
    *run->cost += run->ops->square_error_forward(run->in[0].value, run->in[1].value,
                                                 run->rows * run->in[0].size);
}

static void backward(const struct layer_run *run)
{
    const size_t n = run->rows * run->in[0].size;

    if (run->in[0].gradient != NULL)
        run->ops->square_error_backward(run->in[0].value, run->in[1].value, n, run->in[0].gradient);
    if (run->in[1].gradient != NULL)
        run->ops->square_error_backward(run->in[1].value, run->in[0].value, n, run->in[1].gradient);
}

const struct layer_kind layer_square_error = { .name = "square_error",
                                               .unnamed = "__square_error_cost_%u__",
                                               .inputs_min = 2,
                                               .inputs_max = 2,
                                               .is_cost = true,
                                               .reads_inputs = true,
                                               .shape = shape,
                                               .forward = forward,
                                               .backward = backward };
