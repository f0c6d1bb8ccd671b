/* SPDX-License-Identifier: Apache-2.0 */
/* gru.c - a gated recurrent unit over a sequence, whose places have what enters its three parts
 *
 * Parts of input and bias: update, reset, candidate. The weight is [size, 2 size] of the gates, and
 * behind it [size, size] of the candidate. reverse: from the last place on. */
#include "trainer/layers/layer.h"
#include "trainer/layers/steps.h"

enum { PARTS = 3, GATES = 2 };

static int shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    return steps_shape(network, layer, PARTS, PARTS, PARTS, error);
}

/* kept: gates [rows, 2H], fresh, kept */
static struct gru_cell cell_of(const struct layer_run *run)
{
    const size_t H = run->layer->shape.size;

    return (struct gru_cell){ .H = H,
                              .cell = steps_unit(run->layer->options.cell_activation),
                              .gate = steps_unit(run->layer->options.gate_activation),
                              .gates = run->kept,
                              .fresh = steps_at(run, run->kept, run->rows * GATES * H),
                              .kept = steps_at(run, run->kept, run->rows * (GATES + 1) * H),
                              .out = run->out };
}

struct room {
    void *gathered, *brought, *entered; /* [samples, H], [samples, 2H], [rows, 3H] */
    void *dout, *dgates, *dfresh, *sums;
    struct step_rows step;
};

static struct room room_of(const struct layer_run *run)
{
    const size_t H = run->layer->shape.size, R = run->rows;
    struct room room = { .gathered = run->scratch };

    room.brought = steps_at(run, room.gathered, R * H);
    room.entered = steps_at(run, room.brought, R * GATES * H);
    room.dout = steps_at(run, room.entered, R * PARTS * H);
    room.dgates = steps_at(run, room.dout, R * H);
    room.dfresh = steps_at(run, room.dgates, R * GATES * H);
    room.sums = steps_at(run, room.dfresh, R * H);
    room.step.rows = steps_at(run, room.sums, PARTS * H);
    room.step.prev = steps_at(run, room.step.rows, R);
    return room;
}

static size_t scratch(const struct network *network, const struct network_layer *layer, size_t rows)
{
    const size_t H = layer->shape.size;

    (void)network;
    return rows * 10 * H + PARTS * H + 2 * rows;
}

static size_t kept(const struct network *network, const struct network_layer *layer, size_t rows)
{
    (void)network;
    return rows * (GATES + 2) * layer->shape.size;
}

static const void *candidate_weight(const struct layer_run *run, const void *weight)
{
    const size_t H = run->layer->shape.size;

    return steps_at(run, weight, GATES * H * H);
}

/* What the rows before bring to gates, and then what those that are kept bring to the candidate. */
static void step_forward(const struct layer_run *run, const struct gru_cell *cell,
                         const struct room *room, const uint32_t *prev)
{
    const void *w = run->params[run->layer->weights[0]];
    const size_t H = cell->H, n = room->step.n;
    const struct tensor_ops *ops = run->ops;

    if (prev != NULL) {
        ops->gather_rows(run->out, prev, n, H, room->gathered);
        ops->gemm(0, 0, n, GATES * H, H, room->gathered, w, 0, room->brought);
        ops->scatter_add_rows(room->brought, room->step.rows, n, GATES * H, cell->gates);
    }
    ops->gru_reset(cell, room->step.rows, prev, n);
    if (prev != NULL) {
        ops->gather_rows(cell->kept, room->step.rows, n, H, room->gathered);
        ops->gemm(0, 0, n, H, H, room->gathered, candidate_weight(run, w), 0, room->brought);
        ops->scatter_add_rows(room->brought, room->step.rows, n, H, cell->fresh);
    }
    ops->gru_forward(cell, room->step.rows, prev, n);
}

static void forward(const struct layer_run *run)
{
    const size_t H = run->layer->shape.size, longest = steps_longest(run);
    const struct gru_cell cell = cell_of(run);
    struct room room = room_of(run);

    steps_begin(run, PARTS * H, room.entered);
    run->ops->copy_columns(room.entered, PARTS * H, run->rows, GATES * H, cell.gates, GATES * H);
    run->ops->copy_columns(steps_at(run, room.entered, GATES * H), PARTS * H, run->rows, H,
                           cell.fresh, H);
    for (size_t t = 0; t < longest; t++) {
        steps_rows(run, t, &room.step);
        step_forward(run, &cell, &room, t > 0 ? room.step.prev : NULL);
    }
}

static void step_backward(const struct layer_run *run, const struct gru_cell *cell,
                          const struct room *room, const uint32_t *prev)
{
    const void *w = run->params[run->layer->weights[0]];
    void *dw = run->gradients[run->layer->weights[0]];
    const size_t H = cell->H, n = room->step.n;
    const struct tensor_ops *ops = run->ops;

    ops->gru_backward(cell, room->step.rows, prev, n);
    ops->gather_rows(room->dfresh, room->step.rows, n, H, room->brought);
    ops->gather_rows(cell->kept, room->step.rows, n, H, room->gathered);
    ops->gemm(1, 0, H, H, n, room->gathered, room->brought, 1, steps_at(run, dw, GATES * H * H));
    ops->gemm(0, 1, n, H, H, room->brought, candidate_weight(run, w), 0, room->gathered);
    ops->gru_reset_backward(cell, room->gathered, room->step.rows, prev, n);
    if (prev == NULL)
        return;
    ops->gather_rows(room->dgates, room->step.rows, n, GATES * H, room->brought);
    ops->gather_rows(run->out, prev, n, H, room->gathered);
    ops->gemm(1, 0, H, GATES * H, n, room->gathered, room->brought, 1, dw);
    ops->gemm(0, 1, n, H, GATES * H, room->brought, w, 0, room->gathered);
    ops->scatter_add_rows(room->gathered, prev, n, H, room->dout);
}

static void backward(const struct layer_run *run)
{
    const struct network_layer *layer = run->layer;
    const size_t H = layer->shape.size;
    struct gru_cell cell = cell_of(run);
    struct room room = room_of(run);

    if (!layer_adds(run, layer->weights[0]))
        run->ops->zero(run->gradients[layer->weights[0]], PARTS * H * H);
    if (layer->bias != PARAM_NONE && !layer_adds(run, layer->bias))
        run->ops->zero(run->gradients[layer->bias], PARTS * H);
    run->ops->copy(run->out_gradient, run->rows * H, room.dout);
    cell.dout = room.dout;
    cell.dgates = room.dgates;
    cell.dfresh = room.dfresh;
    for (size_t t = steps_longest(run); t > 0; t--) {
        steps_rows(run, t - 1, &room.step);
        step_backward(run, &cell, &room, t > 1 ? room.step.prev : NULL);
    }
    run->ops->copy_columns(room.dgates, GATES * H, run->rows, GATES * H, room.entered, PARTS * H);
    run->ops->copy_columns(room.dfresh, H, run->rows, H, steps_at(run, room.entered, GATES * H),
                           PARTS * H);
    steps_bias(run, room.entered, PARTS * H, room.sums);
    if (run->in[0].gradient != NULL)
        run->ops->copy(room.entered, run->rows * PARTS * H, run->in[0].gradient);
}

const struct layer_kind layer_gru = { .name = "gru",
                                      .unnamed = "__gru_%u__",
                                      .inputs_min = 1,
                                      .inputs_max = 1,
                                      .has_bias = true,
                                      .reads_output = true,
                                      .shape = shape,
                                      .kept = kept,
                                      .scratch = scratch,
                                      .forward = forward,
                                      .backward = backward };
