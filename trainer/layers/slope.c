/* SPDX-License-Identifier: Apache-2.0 */
/* slope.c - each value on a straight line: slope * x + intercept */
#include "trainer/layers/layer.h"

static void forward(const struct layer_run *run)
{
    run->ops->affine(run->in[0].value, run->rows * run->layer->shape.size,
                     (double)run->layer->options.slope, (double)run->layer->options.intercept,
                     run->out);
}

static void backward(const struct layer_run *run)
{
    if (run->in[0].gradient != NULL)
        run->ops->scale(run->out_gradient, run->rows * run->layer->shape.size,
                        (double)run->layer->options.slope, run->in[0].gradient);
}

const struct layer_kind layer_slope = { .name = "slope",
                                        .unnamed = "__slope_intercept_layer_%u__",
                                        .inputs_min = 1,
                                        .inputs_max = 1,
                                        .has_activation = true,
                                        .shape = layer_same_shape,
                                        .forward = forward,
                                        .backward = backward };
