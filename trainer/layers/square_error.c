/* SPDX-License-Identifier: Apache-2.0 */
/* square_error.c - the cost of a regression: the sum of (y - t)^2, without a half */
#include "trainer/layers/cost_weight.h"
#include "trainer/layers/layer.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    return cost_shape(network, layer, error);
}

static void forward(const struct layer_run *run)
{
    const size_t rows = cost_is_weighted(run) ? 1 : run->rows;

    for (size_t row = 0; row < run->rows; row += rows)
        cost_add(run,
                 run->ops->square_error_forward(cost_row(run, 0, row), cost_row(run, 1, row),
                                                rows * run->in[0].size),
                 cost_weight(run, row));
}

static void backward(const struct layer_run *run)
{
    const size_t n = run->rows * run->in[0].size;

    for (int i = 0; i < 2; i++)
        if (run->in[i].gradient != NULL) {
            run->ops->square_error_backward(run->in[i].value, run->in[1 - i].value, n,
                                            run->in[i].gradient);
            cost_scale(run, run->in[i].gradient);
        }
}

const struct layer_kind layer_square_error = { .name = "square_error",
                                               .unnamed = "__square_error_cost_%u__",
                                               .inputs_min = 2,
                                               .inputs_max = 3,
                                               .is_cost = true,
                                               .reads_inputs = true,
                                               .shape = shape,
                                               .forward = forward,
                                               .backward = backward };
