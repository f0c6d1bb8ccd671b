/* SPDX-License-Identifier: Apache-2.0 */
/* cells.c - one step of recurrent layers, for the rows of a batch of sequences that have this step
 *
 * Legend of tensor_ops.h. prev[b] is the row before rows[b]; prev is NULL at the first step. */
#include "kernels/cpu_ops.h"

#include "kernels/real.h"

static real unit_of(enum unit unit, real x)
{
    switch (unit) {
    case UNIT_SIGMOID:
        return 1 / (1 + REAL_EXP(-x));
    case UNIT_TANH:
        return (real)tanh((double)x);
    case UNIT_RELU:
        return x < 0 ? 0 : x;
    default:
        return x;
    }
}

/* The derivative, by the unit's own value. */
static real slope_of(enum unit unit, real y)
{
    switch (unit) {
    case UNIT_SIGMOID:
        return y * (1 - y);
    case UNIT_TANH:
        return 1 - y * y;
    case UNIT_RELU:
        return y > 0;
    default:
        return 1;
    }
}

static real before(const real *x, const uint32_t *prev, size_t b, size_t H, size_t h)
{
    return prev != NULL ? x[prev[b] * H + h] : 0;
}

/* ---- lstm ---- */

void NAME(lstm_forward)(const struct lstm_cell *cell, const uint32_t *rows, const uint32_t *prev,
                        size_t B)
{
    const size_t H = cell->H;
    const real *peep = cell->peepholes;
    real *gates = cell->gates, *state = cell->state, *shown = cell->shown, *out = cell->out;

    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++) {
            real *gate = gates + rows[b] * 4 * H + h;
            const real last = before(state, prev, b, H, h);
            const size_t at = rows[b] * H + h;

            gate[0] = unit_of(cell->cell, gate[0]);
            gate[H] = unit_of(cell->gate, gate[H] + (peep != NULL ? last * peep[h] : 0));
            gate[2 * H] =
                unit_of(cell->gate, gate[2 * H] + (peep != NULL ? last * peep[H + h] : 0));
            state[at] = gate[0] * gate[H] + gate[2 * H] * last;
            gate[3 * H] =
                unit_of(cell->gate, gate[3 * H] + (peep != NULL ? state[at] * peep[2 * H + h] : 0));
            shown[at] = unit_of(cell->shown_by, state[at]);
            out[at] = gate[3 * H] * shown[at];
        }
}

static void lstm_back_one(const struct lstm_cell *cell, size_t row, const uint32_t *prev, size_t b,
                          size_t h)
{
    const size_t H = cell->H, at = row * H + h;
    const real *gate = (const real *)cell->gates + row * 4 * H + h, *peep = cell->peepholes;
    const real *state = cell->state, *shown = cell->shown, *dout = cell->dout;
    real *dgate = (real *)cell->dgates + row * 4 * H + h, *dstate = cell->dstate;
    real *dpeep = cell->dpeepholes;
    const real last = before(state, prev, b, H, h), out_gate = gate[3 * H];
    const real dout_gate = dout[at] * shown[at] * slope_of(cell->gate, out_gate);
    real d = dstate[at] + dout[at] * out_gate * slope_of(cell->shown_by, shown[at]);

    if (peep != NULL)
        d += dout_gate * peep[2 * H + h];
    dgate[0] = d * gate[H] * slope_of(cell->cell, gate[0]);
    dgate[H] = d * gate[0] * slope_of(cell->gate, gate[H]);
    dgate[2 * H] = d * last * slope_of(cell->gate, gate[2 * H]);
    dgate[3 * H] = dout_gate;
    if (prev != NULL)
        dstate[prev[b] * H + h] =
            d * gate[2 * H] + (peep != NULL ? dgate[H] * peep[h] + dgate[2 * H] * peep[H + h] : 0);
    if (dpeep == NULL)
        return;
    dpeep[h] += dgate[H] * last;
    dpeep[H + h] += dgate[2 * H] * last;
    dpeep[2 * H + h] += dout_gate * state[at];
}

void NAME(lstm_backward)(const struct lstm_cell *cell, const uint32_t *rows, const uint32_t *prev,
                         size_t B)
{
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < cell->H; h++)
            lstm_back_one(cell, rows[b], prev, b, h);
}

/* ---- gru ---- */

void NAME(gru_reset)(const struct gru_cell *cell, const uint32_t *rows, const uint32_t *prev,
                     size_t B)
{
    const size_t H = cell->H;
    real *gates = cell->gates, *kept = cell->kept;

    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++) {
            real *gate = gates + rows[b] * 2 * H + h;

            gate[0] = unit_of(cell->gate, gate[0]);
            gate[H] = unit_of(cell->gate, gate[H]);
            kept[rows[b] * H + h] = gate[H] * before(cell->out, prev, b, H, h);
        }
}

void NAME(gru_forward)(const struct gru_cell *cell, const uint32_t *rows, const uint32_t *prev,
                       size_t B)
{
    const size_t H = cell->H;
    const real *gates = cell->gates;
    real *fresh = cell->fresh, *out = cell->out;

    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++) {
            const real update = gates[rows[b] * 2 * H + h];
            const real last = before(out, prev, b, H, h);
            const size_t at = rows[b] * H + h;

            fresh[at] = unit_of(cell->cell, fresh[at]);
            out[at] = (1 - update) * last + update * fresh[at];
        }
}

void NAME(gru_backward)(const struct gru_cell *cell, const uint32_t *rows, const uint32_t *prev,
                        size_t B)
{
    const size_t H = cell->H;
    const real *gates = cell->gates, *fresh = cell->fresh;
    real *dout = cell->dout, *dgates = cell->dgates, *dfresh = cell->dfresh;

    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++) {
            const size_t at = rows[b] * H + h, gate = rows[b] * 2 * H + h;
            const real last = before(cell->out, prev, b, H, h);

            dgates[gate] = dout[at] * (fresh[at] - last) * slope_of(cell->gate, gates[gate]);
            dfresh[at] = dout[at] * gates[gate] * slope_of(cell->cell, fresh[at]);
            if (prev != NULL)
                dout[prev[b] * H + h] += dout[at] * (1 - gates[gate]);
        }
}

void NAME(gru_reset_backward)(const struct gru_cell *cell, const void *of_dkept,
                              const uint32_t *rows, const uint32_t *prev, size_t B)
{
    const size_t H = cell->H;
    const real *gates = cell->gates, *dkept = of_dkept;
    real *dout = cell->dout, *dgates = cell->dgates;

    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++) {
            const size_t reset = rows[b] * 2 * H + H + h;
            const real d = dkept[b * H + h];

            dgates[reset] =
                d * before(cell->out, prev, b, H, h) * slope_of(cell->gate, gates[reset]);
            if (prev != NULL)
                dout[prev[b] * H + h] += d * gates[reset];
        }
}

/* ---- recurrent ---- */

void NAME(unit_forward)(enum unit unit, const uint32_t *rows, size_t B, size_t H, void *of_out)
{
    real *out = of_out;

    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            out[rows[b] * H + h] = unit_of(unit, out[rows[b] * H + h]);
}

void NAME(unit_backward)(enum unit unit, const void *of_out, const uint32_t *rows, size_t B,
                         size_t H, void *of_dout)
{
    const real *out = of_out;
    real *dout = of_dout;

    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            dout[rows[b] * H + h] *= slope_of(unit, out[rows[b] * H + h]);
}
