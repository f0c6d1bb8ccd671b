/* SPDX-License-Identifier: Apache-2.0 */
/* expand.c - the one row of a sample at each place of the sequence that the second input is */
#include "trainer/layers/layer.h"

enum { ROW, LIKE };

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const struct network_layer *row = layer_in(network, layer, ROW);
    const struct network_layer *like = layer_in(network, layer, LIKE);

    if (layer_is_ids(network, row))
        return network_error(network, layer, "inputs", error,
                             "%s has ids, but expand takes values; put a table between them",
                             row->name);
    if (row->shape.sequence > 0)
        return network_error(network, layer, "inputs", error,
                             "%s is a sequence, but one row a sample is expanded", row->name);
    if (like->shape.sequence == 0)
        return network_error(network, layer, "inputs", error,
                             "%s has one row a sample, but the second input tells a sequence",
                             like->name);
    layer->shape =
        (struct layer_shape){ .size = row->shape.size, .sequence = like->shape.sequence };
    return 0;
}

static void forward(const struct layer_run *run)
{
    run->ops->expand_rows(run->in[ROW].value, run->in[LIKE].starts, run->samples, run->in[ROW].size,
                          run->out);
}

/* Nothing of the second input counts but how long it is. */
static void backward(const struct layer_run *run)
{
    if (run->in[ROW].gradient != NULL)
        run->ops->sequence_pool_forward(POOL_SUM, run->out_gradient, run->in[LIKE].starts,
                                        run->samples, run->in[ROW].size, NULL,
                                        run->in[ROW].gradient);
    if (run->in[LIKE].gradient != NULL)
        run->ops->zero(run->in[LIKE].gradient, run->in[LIKE].rows * run->in[LIKE].size);
}

const struct layer_kind layer_expand = { .name = "expand",
                                         .unnamed = "__expand_layer_%u__",
                                         .inputs_min = 2,
                                         .inputs_max = 2,
                                         .has_activation = true,
                                         .takes_ids = true,
                                         .shape = shape,
                                         .forward = forward,
                                         .backward = backward };
