/* SPDX-License-Identifier: Apache-2.0 */
/* dotmul.c - each value times a weight of its own, or all of them times one weight ("scalar") */
#include "trainer/layers/layer.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const uint32_t size = layer_in(network, layer, 0)->shape.size;
    struct param_wish wish = { .suffix = "w0",
                               .rows = 1,
                               .columns = layer->options.scalar ? 1 : size,
                               .start_std = 1.0f,
                               .bare_std = 1.0f,
                               .options = &layer->options.weights[0] };
    int r = layer_same_shape(network, layer, error);

    layer->n_weights = 1;
    return r < 0 ? r : network_add_param(network, layer, &wish, &layer->weights[0], error);
}

/* One weight is that of a matrix with one column. */
static void geometry(const struct layer_run *run, size_t *rows, size_t *columns)
{
    const bool one = run->layer->options.scalar;

    *rows = one ? run->rows * run->in[0].size : run->rows;
    *columns = one ? 1 : run->in[0].size;
}

static void forward(const struct layer_run *run)
{
    size_t rows, columns;

    geometry(run, &rows, &columns);
    run->ops->multiply_columns(run->in[0].value, run->params[run->layer->weights[0]], rows, columns,
                               run->out);
}

/* scratch: a product for each value, then the sums of its columns */
static void backward(const struct layer_run *run)
{
    const uint32_t w = run->layer->weights[0];
    void *products = run->scratch, *sums;
    size_t rows, columns;

    geometry(run, &rows, &columns);
    sums = (char *)products + rows * columns * run->ops->element_bytes;
    run->ops->multiply(run->in[0].value, run->out_gradient, rows * columns, products);
    run->ops->column_sums(products, rows, columns, sums);
    if (layer_adds(run, w))
        run->ops->add(sums, columns, run->gradients[w]);
    else
        run->ops->copy(sums, columns, run->gradients[w]);
    if (run->in[0].gradient != NULL)
        run->ops->multiply_columns(run->out_gradient, run->params[w], rows, columns,
                                   run->in[0].gradient);
}

static size_t scratch(const struct network *network, const struct network_layer *layer, size_t rows)
{
    (void)network;
    return (rows + 1) * layer->shape.size;
}

const struct layer_kind layer_dotmul = { .name = "dotmul",
                                         .unnamed = "__dotmul_%u__",
                                         .inputs_min = 1,
                                         .inputs_max = 1,
                                         .has_activation = true,
                                         .reads_inputs = true,
                                         .shape = shape,
                                         .scratch = scratch,
                                         .forward = forward,
                                         .backward = backward };
