/* SPDX-License-Identifier: Apache-2.0 */
/* lstm.c - long short-term memory over a sequence, whose places have what enters the four gates
 *
 * The parts of input, weight [size, 4 size] and bias: cell, in, forget, out. Behind them the bias
 * has the weights from the state to the gates in, forget and out. reverse: from the last place on.
 */
#include "trainer/layers/layer.h"
#include "trainer/layers/steps.h"

enum { GATES = 4, PEEPHOLES = 3 };

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    return steps_shape(network, layer, GATES, GATES, GATES + PEEPHOLES, error);
}

/* kept: gates [rows, 4H], state, shown */
static struct lstm_cell cell_of(const struct layer_run *run)
{
    const struct network_layer *layer = run->layer;
    const size_t H = layer->shape.size;
    const void *bias = layer->bias == PARAM_NONE ? NULL : run->params[layer->bias];

    return (struct lstm_cell){ .H = H,
                               .cell = steps_unit(layer->options.cell_activation),
                               .gate = steps_unit(layer->options.gate_activation),
                               .shown_by = steps_unit(layer->options.state_activation),
                               .peepholes = bias != NULL ? steps_at(run, bias, GATES * H) : NULL,
                               .gates = run->kept,
                               .state = steps_at(run, run->kept, run->rows * GATES * H),
                               .shown = steps_at(run, run->kept, run->rows * (GATES + 1) * H),
                               .out = run->out };
}

/* scratch: what a step gathers [samples, H] and brings [samples, 4H]; of the backward pass dout,
 * dstate and dgates, and [4H]; the rows of a step, twice */
struct room {
    void *gathered, *brought, *dout, *dstate, *dgates, *sums;
    struct step_rows step;
};

static struct room room_of(const struct layer_run *run)
{
    const size_t H = run->layer->shape.size, R = run->rows;
    struct room room = { .gathered = run->scratch };

    room.brought = steps_at(run, room.gathered, R * H);
    room.dout = steps_at(run, room.brought, R * GATES * H);
    room.dstate = steps_at(run, room.dout, R * H);
    room.dgates = steps_at(run, room.dstate, R * H);
    room.sums = steps_at(run, room.dgates, R * GATES * H);
    room.step.rows = steps_at(run, room.sums, GATES * H);
    room.step.prev = steps_at(run, room.step.rows, R);
    return room;
}

static size_t scratch(const struct network *network, const struct network_layer *layer, size_t rows)
{
    const size_t H = layer->shape.size;

    (void)network;
    return rows * (2 * GATES + 3) * H + GATES * H + 2 * rows;
}

static size_t kept(const struct network *network, const struct network_layer *layer, size_t rows)
{
    (void)network;
    return rows * (GATES + 2) * layer->shape.size;
}

static void forward(const struct layer_run *run)
{
    const size_t H = run->layer->shape.size, longest = steps_longest(run);
    const struct lstm_cell cell = cell_of(run);
    struct room room = room_of(run);

    steps_begin(run, GATES * H, cell.gates);
    for (size_t t = 0; t < longest; t++) {
        steps_rows(run, t, &room.step);
        if (t > 0) {
            run->ops->gather_rows(run->out, room.step.prev, room.step.n, H, room.gathered);
            run->ops->gemm(0, 0, room.step.n, GATES * H, H, room.gathered,
                           run->params[run->layer->weights[0]], 0, room.brought);
            run->ops->scatter_add_rows(room.brought, room.step.rows, room.step.n, GATES * H,
                                       cell.gates);
        }
        run->ops->lstm_forward(&cell, room.step.rows, t > 0 ? room.step.prev : NULL, room.step.n);
    }
}

/* What the gates of a step say of the weight and of the rows before. */
static void bring_back(const struct layer_run *run, const struct room *room)
{
    const size_t H = run->layer->shape.size, n = room->step.n;
    const uint32_t w = run->layer->weights[0];

    run->ops->gather_rows(room->dgates, room->step.rows, n, GATES * H, room->brought);
    run->ops->gather_rows(run->out, room->step.prev, n, H, room->gathered);
    run->ops->gemm(1, 0, H, GATES * H, n, room->gathered, room->brought, 1, run->gradients[w]);
    run->ops->gemm(0, 1, n, H, GATES * H, room->brought, run->params[w], 0, room->gathered);
    run->ops->scatter_add_rows(room->gathered, room->step.prev, n, H, room->dout);
}

static void backward(const struct layer_run *run)
{
    const struct network_layer *layer = run->layer;
    const size_t H = layer->shape.size;
    struct lstm_cell cell = cell_of(run);
    struct room room = room_of(run);

    if (!layer_adds(run, layer->weights[0]))
        run->ops->zero(run->gradients[layer->weights[0]], GATES * H * H);
    if (layer->bias != PARAM_NONE) {
        if (!layer_adds(run, layer->bias))
            run->ops->zero(run->gradients[layer->bias], (GATES + PEEPHOLES) * H);
        cell.dpeepholes = steps_at(run, run->gradients[layer->bias], GATES * H);
    }
    run->ops->copy(run->out_gradient, run->rows * H, room.dout);
    run->ops->zero(room.dstate, run->rows * H);
    cell.dout = room.dout;
    cell.dstate = room.dstate;
    cell.dgates = room.dgates;
    for (size_t t = steps_longest(run); t > 0; t--) {
        steps_rows(run, t - 1, &room.step);
        run->ops->lstm_backward(&cell, room.step.rows, t > 1 ? room.step.prev : NULL, room.step.n);
        if (t > 1)
            bring_back(run, &room);
    }
    steps_bias(run, room.dgates, GATES * H, room.sums);
    if (run->in[0].gradient != NULL)
        run->ops->copy(room.dgates, run->rows * GATES * H, run->in[0].gradient);
}

const struct layer_kind layer_lstm = { .name = "lstm",
                                       .unnamed = "__lstmemory_%u__",
                                       .inputs_min = 1,
                                       .inputs_max = 1,
                                       .has_bias = true,
                                       .reads_output = true,
                                       .shape = shape,
                                       .kept = kept,
                                       .scratch = scratch,
                                       .forward = forward,
                                       .backward = backward };
