/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent.c - each place of a sequence: what enters it, plus the place before times a weight
 *
 * reverse: from the last place on. */
#include "trainer/layers/layer.h"
#include "trainer/layers/steps.h"

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    return steps_shape(network, layer, 1, 1, 1, error);
}

struct room {
    void *gathered, *brought, *dout, *sums;
    struct step_rows step;
};

static struct room room_of(const struct layer_run *run)
{
    const size_t H = run->layer->shape.size, R = run->rows;
    struct room room = { .gathered = run->scratch };

    room.brought = steps_at(run, room.gathered, R * H);
    room.dout = steps_at(run, room.brought, R * H);
    room.sums = steps_at(run, room.dout, R * H);
    room.step.rows = steps_at(run, room.sums, H);
    room.step.prev = steps_at(run, room.step.rows, R);
    return room;
}

static size_t scratch(const struct network *network, const struct network_layer *layer, size_t rows)
{
    (void)network;
    return (rows * 3 + 1) * layer->shape.size + 2 * rows;
}

static void forward(const struct layer_run *run)
{
    const size_t H = run->layer->shape.size, longest = steps_longest(run);
    const enum unit unit = steps_unit(run->layer->options.cell_activation);
    struct room room = room_of(run);

    steps_begin(run, H, run->out);
    for (size_t t = 0; t < longest; t++) {
        steps_rows(run, t, &room.step);
        if (t > 0) {
            run->ops->gather_rows(run->out, room.step.prev, room.step.n, H, room.gathered);
            run->ops->gemm(0, 0, room.step.n, H, H, room.gathered,
                           run->params[run->layer->weights[0]], 0, room.brought);
            run->ops->scatter_add_rows(room.brought, room.step.rows, room.step.n, H, run->out);
        }
        run->ops->unit_forward(unit, room.step.rows, room.step.n, H, run->out);
    }
}

static void backward(const struct layer_run *run)
{
    const struct network_layer *layer = run->layer;
    const enum unit unit = steps_unit(layer->options.cell_activation);
    const size_t H = layer->shape.size;
    const uint32_t w = layer->weights[0];
    struct room room = room_of(run);

    if (!layer_adds(run, w))
        run->ops->zero(run->gradients[w], H * H);
    if (layer->bias != PARAM_NONE && !layer_adds(run, layer->bias))
        run->ops->zero(run->gradients[layer->bias], H);
    run->ops->copy(run->out_gradient, run->rows * H, room.dout);
    for (size_t t = steps_longest(run); t > 0; t--) {
        steps_rows(run, t - 1, &room.step);
        run->ops->unit_backward(unit, run->out, room.step.rows, room.step.n, H, room.dout);
        if (t == 1)
            break;
        run->ops->gather_rows(room.dout, room.step.rows, room.step.n, H, room.brought);
        run->ops->gather_rows(run->out, room.step.prev, room.step.n, H, room.gathered);
        run->ops->gemm(1, 0, H, H, room.step.n, room.gathered, room.brought, 1, run->gradients[w]);
        run->ops->gemm(0, 1, room.step.n, H, H, room.brought, run->params[w], 0, room.gathered);
        run->ops->scatter_add_rows(room.gathered, room.step.prev, room.step.n, H, room.dout);
    }
    steps_bias(run, room.dout, H, room.sums);
    if (run->in[0].gradient != NULL)
        run->ops->copy(room.dout, run->rows * H, run->in[0].gradient);
}

const struct layer_kind layer_recurrent = { .name = "recurrent",
                                            .unnamed = "__recurrent_layer_%u__",
                                            .inputs_min = 1,
                                            .inputs_max = 1,
                                            .has_bias = true,
                                            .reads_output = true,
                                            .shape = shape,
                                            .scratch = scratch,
                                            .forward = forward,
                                            .backward = backward };
