/* SPDX-License-Identifier: Apache-2.0 */
/* seqpool.c - one row out of all rows of a sequence: their sum, average or maximum */
#include "trainer/layers/layer.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const struct network_layer *in = layer_in(network, layer, 0);
    int r = layer_want_values(network, layer, error);

    if (r < 0)
        return r;
    if (in->shape.sequence == 0)
        return network_error(network, layer, "input", error,
                             "%s has one row a sample, but this kind takes a sequence", in->name);
    layer->shape = (struct layer_shape){ .size = in->shape.size };
    return 0;
}

static void forward(const struct layer_run *run)
{
    run->ops->sequence_pool_forward(run->layer->options.pooling, run->in[0].value,
                                    run->in[0].starts, run->samples, run->in[0].size, run->kept,
                                    run->out);
}

static void backward(const struct layer_run *run)
{
    if (run->in[0].gradient != NULL)
        run->ops->sequence_pool_backward(run->layer->options.pooling, run->out_gradient,
                                         run->in[0].starts, run->samples, run->in[0].size,
                                         run->kept, run->in[0].gradient);
}

/* A place for each output: u32, which is no larger than an element. */
static size_t kept(const struct network *network, const struct network_layer *layer, size_t rows)
{
    (void)network;
    return rows * layer->shape.size;
}

const struct layer_kind layer_seqpool = { .name = "seqpool",
                                          .unnamed = "__seq_pooling_%u__",
                                          .inputs_min = 1,
                                          .inputs_max = 1,
                                          .has_activation = true,
                                          .shape = shape,
                                          .kept = kept,
                                          .forward = forward,
                                          .backward = backward };
