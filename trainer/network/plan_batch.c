/* SPDX-License-Identifier: Apache-2.0 */
/* plan_batch.c - a batch as a plan takes it: checked, its ids as places in tables
 *
 * Distinct rows are found through a bitmap of the table: reading it gives them in ascending order
 * without a sort. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "kernels/kernels.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/network/plan_internal.h"

static int check_ids(const struct input_spec *spec, const struct batch_slot *slot, size_t n,
                     struct edl_error *error)
{
    for (size_t i = 0; i < n; i++)
        if ((uint32_t)slot->ids[i] >= spec->size) /* a negative id is a large one */
            return edl_error_set(error, -EINVAL,
                                 "input %s, id %zu of the batch: %d is not in 0..%u", spec->name, i,
                                 slot->ids[i], spec->size - 1);
    return 0;
}

static int check_starts(const struct input_spec *spec, const struct batch_slot *slot, uint32_t n,
                        struct edl_error *error)
{
    if (slot->starts[0] != 0)
        return edl_error_set(error, -EINVAL, "input %s: the first sequence begins at %u, not at 0",
                             spec->name, slot->starts[0]);
    for (uint32_t i = 0; i < n; i++)
        if (slot->starts[i] >= slot->starts[i + 1])
            return edl_error_set(error, -EINVAL,
                                 "input %s, sample %u of the batch: an empty "
                                 "sequence",
                                 spec->name, i);
    if (slot->starts[n] > INT_MAX)
        return edl_error_set(error, -EINVAL, "input %s: too many ids in one batch: %u", spec->name,
                             slot->starts[n]);
    return 0;
}

static int check_values(const struct input_spec *spec, const struct batch_slot *slot, uint32_t n,
                        struct edl_error *error)
{
    for (size_t i = 0; i < (size_t)n * spec->size; i++)
        if (!isfinite(slot->values[i]))
            return edl_error_set(error, -EINVAL,
                                 "input %s, %s %zu of the batch, value %zu: it is not finite",
                                 spec->name, input_is_sequence(spec->kind) ? "place" : "sample",
                                 i / spec->size, i % spec->size);
    return 0;
}

static int check_slot(const struct input_spec *spec, const struct batch_slot *slot, uint32_t n,
                      struct edl_error *error)
{
    int r;

    const bool sequence = input_is_sequence(spec->kind), dense = input_is_dense(spec->kind);

    if ((dense ? slot->values == NULL : slot->ids == NULL) || (sequence && slot->starts == NULL))
        return edl_error_set(error, -EINVAL, "input %s has no %s", spec->name,
                             dense ? "values" : "ids");
    r = sequence ? check_starts(spec, slot, n, error) : 0;
    if (r < 0)
        return r;
    if (sequence)
        n = slot->starts[n];
    return dense ? check_values(spec, slot, n, error) : check_ids(spec, slot, n, error);
}

static int check_batch(const struct plan *plan, const struct batch *batch, struct edl_error *error)
{
    const struct network *network = plan->config.network;
    int r = 0;

    if (batch->n == 0 || batch->n > plan->config.batch_max)
        return edl_error_set(error, -EINVAL, "a batch of %u sample%s, but 1 to %u fit", batch->n,
                             PLURAL(batch->n), plan->config.batch_max);
    if (batch->n_slots != network->n_inputs)
        return edl_error_set(error, -EINVAL, "samples of %u input%s, but the network has %u",
                             batch->n_slots, PLURAL(batch->n_slots), network->n_inputs);
    for (uint32_t i = 0; r >= 0 && i < network->n_inputs; i++)
        r = check_slot(&network->inputs[i], &batch->slots[i], batch->n, error);
    return r;
}

/* ---- rows of the batch ---- */

static size_t rows_of(const struct batch *batch, uint32_t sequence)
{
    return sequence > 0 ? batch->slots[sequence - 1].starts[batch->n] : batch->n;
}

static void mark_rows(struct plan *plan, const struct network_layer *layer)
{
    struct touched *touched = &plan->touched[layer->weights[0]];
    const struct network *network = plan->config.network;
    const size_t n = rows_of(&plan->batch, layer->shape.sequence);

    for (uint32_t k = 0; touched->seen != NULL && k < layer->n_inputs; k++) {
        const int32_t *ids = plan->batch.slots[layer_in(network, layer, k)->slot].ids;

        for (size_t i = 0; i < n; i++)
            touched->seen[(uint32_t)ids[i] / 64] |= UINT64_C(1) << (ids[i] % 64);
    }
}

/* Reads the bitmap in order, numbering the rows, and clears it for the next batch. */
static void collect(struct touched *touched, uint32_t rows)
{
    const size_t words = ((size_t)rows + 63) / 64;

    touched->n = 0;
    for (size_t w = 0; w < words; w++) {
        for (uint64_t bits = touched->seen[w]; bits != 0; bits &= bits - 1) {
            const uint32_t id = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(bits);

            touched->position[id] = touched->n;
            touched->rows[touched->n++] = id;
        }
        touched->seen[w] = 0;
    }
}

static void fill_indices(struct plan *plan, struct step *step)
{
    const struct network_layer *layer = step->run.layer;
    const struct network *network = plan->config.network;
    const struct touched *touched = &plan->touched[layer->weights[0]];
    const size_t n = rows_of(&plan->batch, layer->shape.sequence), inputs = layer->n_inputs;
    uint32_t *indices = step->indices.host;

    for (uint32_t k = 0; k < layer->n_inputs; k++) {
        const int32_t *ids = plan->batch.slots[layer_in(network, layer, k)->slot].ids;

        for (size_t i = 0; i < n; i++)
            indices[i * inputs + k] =
                touched->seen != NULL ? touched->position[ids[i]] : (uint32_t)ids[i];
    }
    step->run.in[0].indices = step->indices.device;
}

static void find_rows(struct plan *plan)
{
    const struct network *network = plan->config.network;

    for (uint32_t i = 0; i < network->n_layers; i++)
        if (network->layers[i].kind == &layer_table)
            mark_rows(plan, &network->layers[i]);
    for (uint32_t p = 0; p < network->n_params; p++) {
        if (plan->touched[p].seen != NULL)
            collect(&plan->touched[p], network->params[p].spec.rows);
        plan->table_rows[p] =
            plan->touched[p].seen != NULL ? plan->touched[p].n : network->params[p].spec.rows;
    }
    for (uint32_t i = 0; i < network->n_layers; i++)
        if (network->layers[i].kind == &layer_table)
            fill_indices(plan, &plan->steps[i]);
}

/* ---- longer sequences than before ---- */

static int make_room(struct plan *plan, const struct batch *batch, struct edl_error *error)
{
    const struct network *network = plan->config.network;
    size_t longest = 0;
    int r;

    for (uint32_t i = 0; i < network->n_inputs; i++)
        if (input_is_sequence(network->inputs[i].kind))
            longest = MAX_OF(longest, (size_t)batch->slots[i].starts[batch->n]);
    if (longest <= plan->rows_max)
        return 0;
    longest += longest / 2;
    r = plan_lay_out(plan, longest, error);
    for (uint32_t i = 0; r >= 0 && i < network->n_layers; i++) {
        if (network->layers[i].kind != &layer_table || network->layers[i].shape.sequence == 0)
            continue;
        mirror_close(&plan->steps[i].indices, plan->config.backend);
        if (!mirror_open(&plan->steps[i].indices, plan->config.backend, longest * sizeof(uint32_t)))
            r = edl_error_set(error, -ENOMEM, "no memory (%s) for the ids of a batch: %zu",
                              plan->config.backend->name, longest);
    }
    return r;
}

void plan_upload_ids(const struct plan *plan)
{
    const struct edl_backend *backend = plan->config.backend;

    for (uint32_t i = 0; i < plan->config.network->n_layers && !backend->host_memory; i++) {
        const struct step *step = &plan->steps[i];

        if (step->indices.host != NULL)
            mirror_upload(&step->indices, backend,
                          step->run.rows * step->run.layer->n_inputs * sizeof(uint32_t));
    }
    for (uint32_t i = 0; i < plan->config.network->n_inputs && !backend->host_memory; i++)
        if (plan->targets[i].device != NULL)
            backend->upload(plan->batch.slots[i].ids, plan->batch.n * sizeof(int32_t),
                            plan->targets[i].device);
}

static void take_rows(struct plan *plan)
{
    const struct network *network = plan->config.network;

    for (uint32_t i = 0; i < network->n_layers; i++) {
        struct layer_run *run = &plan->steps[i].run;

        run->samples = plan->batch.n;
        run->rows = rows_of(&plan->batch, network->layers[i].shape.sequence);
        for (uint32_t k = 0; k < network->layers[i].n_inputs; k++) {
            const struct network_layer *in = layer_in(network, &network->layers[i], k);
            struct layer_operand *operand = &run->in[k];

            operand->rows = rows_of(&plan->batch, in->shape.sequence);
            operand->starts =
                in->shape.sequence > 0 ? plan->batch.slots[in->shape.sequence - 1].starts : NULL;
            if (layer_is_ids(network, in) && network->layers[i].kind != &layer_table)
                operand->targets = plan->config.backend->host_memory
                                       ? plan->batch.slots[in->slot].ids
                                       : plan->targets[in->slot].device;
        }
    }
}

/* Inputs that go place by place have as many places in each sample. */
static int check_aligned(const struct network *network, const struct batch *batch,
                         struct edl_error *error)
{
    for (uint32_t i = 0; i < network->n_aligned; i++) {
        const uint32_t a = network->aligned[i].first, b = network->aligned[i].second;
        const uint32_t *of_a = batch->slots[a].starts, *of_b = batch->slots[b].starts;

        for (uint32_t k = 0; k < batch->n; k++)
            if (of_a[k + 1] != of_b[k + 1])
                return edl_error_set(error, -EINVAL,
                                     "sample %u of the batch: the network takes %s and %s side "
                                     "by side, but they have places: %u and %u",
                                     k, network->inputs[a].name, network->inputs[b].name,
                                     of_a[k + 1] - of_a[k], of_b[k + 1] - of_b[k]);
    }
    return 0;
}

int plan_batch(struct plan *plan, const struct batch *batch, struct edl_error *error)
{
    int r = check_batch(plan, batch, error);

    if (r >= 0)
        r = check_aligned(plan->config.network, batch, error);
    if (r >= 0)
        r = make_room(plan, batch, error);
    if (r < 0)
        return r;
    plan->batch = *batch;
    find_rows(plan);
    take_rows(plan);
    return 0;
}

const uint32_t *plan_rows(const struct plan *plan, uint32_t param, uint32_t *ret_n)
{
    *ret_n = plan->touched[param].n;
    return plan->touched[param].rows;
}
