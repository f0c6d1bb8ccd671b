/* SPDX-License-Identifier: Apache-2.0 */
/* maxid.c - the number of the largest value of a row, the first of equals; for outputs: nothing is
 * learnt through it */
#include "trainer/layers/layer.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    int r = layer_want_rows(network, layer, error);

    layer->shape.size = 1;
    return r;
}

/* A maxout over all values tells which is the largest; its own output is written over. */
static void forward(const struct layer_run *run)
{
    const size_t D = run->in[0].size;
    const uint32_t *at = run->kept;

    run->ops->maxout_forward(run->in[0].value, run->rows, D, 1, (uint32_t)D, run->kept, run->out);
    for (size_t row = 0; row < run->rows; row++) {
        const float id = (float)at[row];

        run->ops->from_float(&id, 1, (char *)run->out + row * run->ops->element_bytes);
    }
}

static void backward(const struct layer_run *run)
{
    if (run->in[0].gradient != NULL)
        run->ops->zero(run->in[0].gradient, run->rows * run->in[0].size);
}

static size_t one_of_a_row(const struct network *network, const struct network_layer *layer,
                           size_t rows)
{
    (void)network;
    (void)layer;
    return rows;
}

const struct layer_kind layer_maxid = { .name = "maxid",
                                        .unnamed = "__maxid_layer_%u__",
                                        .inputs_min = 1,
                                        .inputs_max = 1,
                                        .shape = shape,
                                        .kept = one_of_a_row,
                                        .forward = forward,
                                        .backward = backward };
