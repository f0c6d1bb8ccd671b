/* SPDX-License-Identifier: Apache-2.0 */
/* product.c - two inputs value by value, times scale; a first one of a single value is a factor for
 * the whole row of the second */
#include "trainer/layers/layer.h"

#include "shared/macro.h"

enum { FIRST, SECOND };

static bool is_factor(const struct network *network, const struct network_layer *layer)
{
    return layer_in(network, layer, FIRST)->shape.size == 1;
}

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const struct network_layer *a = layer_in(network, layer, FIRST);
    const struct network_layer *b = layer_in(network, layer, SECOND);
    int r = layer_want_rows(network, layer, error);

    if (r < 0)
        return r;
    if (!is_factor(network, layer) && a->shape.size != b->shape.size)
        return network_error(
            network, layer, "inputs", error,
            "%s has %u value%s a row, but %s has %u: the first has as many, or one", a->name,
            a->shape.size, PLURAL(a->shape.size), b->name, b->shape.size);
    layer_take_shape(layer, b);
    return 0;
}

static void forward(const struct layer_run *run)
{
    const size_t n = run->rows * run->layer->shape.size;

    if (run->in[FIRST].size == 1)
        run->ops->multiply_rows(run->in[SECOND].value, run->in[FIRST].value, run->rows,
                                run->in[SECOND].size, run->out);
    else
        run->ops->multiply(run->in[FIRST].value, run->in[SECOND].value, n, run->out);
    if (run->layer->options.scale != 1.0f)
        run->ops->scale(run->out, n, (double)run->layer->options.scale, run->out);
}

static void backward_factor(const struct layer_run *run)
{
    const size_t D = run->in[SECOND].size;

    if (run->in[FIRST].gradient != NULL)
        run->ops->dot_rows(run->out_gradient, run->in[SECOND].value, run->rows, D,
                           run->in[FIRST].gradient);
    if (run->in[SECOND].gradient != NULL)
        run->ops->multiply_rows(run->out_gradient, run->in[FIRST].value, run->rows, D,
                                run->in[SECOND].gradient);
}

static void backward(const struct layer_run *run)
{
    const size_t n = run->rows * run->layer->shape.size;

    if (run->layer->options.scale != 1.0f)
        run->ops->scale(run->out_gradient, n, (double)run->layer->options.scale, run->out_gradient);
    if (run->in[FIRST].size == 1) {
        backward_factor(run);
        return;
    }
    for (int i = FIRST; i <= SECOND; i++)
        if (run->in[i].gradient != NULL)
            run->ops->multiply(run->out_gradient, run->in[1 - i].value, n, run->in[i].gradient);
}

const struct layer_kind layer_product = { .name = "product",
                                          .unnamed = "__product_%u__",
                                          .inputs_min = 2,
                                          .inputs_max = 2,
                                          .has_activation = true,
                                          .reads_inputs = true,
                                          .shape = shape,
                                          .forward = forward,
                                          .backward = backward };
