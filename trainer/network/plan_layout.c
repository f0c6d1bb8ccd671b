/* SPDX-License-Identifier: Apache-2.0 */
/* plan_layout.c - what a network needs in memory, from when to when, and where that lies
 *
 * Time: layer i of n is computed at i, and its gradient at 2n - 1 - i. */
#include <errno.h>
#include <string.h>

#include "kernels/kernels.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/network/arena.h"
#include "trainer/network/plan_internal.h"

#define PIECES_MAX 8 /* of a layer, but for its spills */
#define ARENA_BYTES_MAX ((double)(UINT64_C(1) << 42))

struct layout {
    struct plan *plan;
    struct arena_piece *pieces;
    void ***where; /* what each piece becomes */
    size_t n;
    size_t rows_max;
    double total; /* bytes asked for, to see that the sum does not overflow */
};

static void ask(struct layout *l, void **where, size_t elements, uint32_t born, uint32_t dead)
{
    const size_t bytes = l->plan->config.ops->element_bytes;

    *where = NULL;
    if (elements == 0)
        return;
    l->total += (double)elements * (double)bytes;
    l->pieces[l->n] = (struct arena_piece){ .bytes = elements * bytes, .born = born, .dead = dead };
    l->where[l->n++] = where;
}

static size_t rows_of(const struct layout *l, const struct network_layer *layer)
{
    return layer->shape.sequence > 0 ? l->rows_max : l->plan->config.batch_max;
}

/* Until when others, and its own backward, read a layer's value. */
static uint32_t value_dead(const struct layout *l, uint32_t i, bool activation_reads)
{
    const struct network *network = l->plan->config.network;
    const struct network_layer *layer = &network->layers[i];
    const uint32_t n = network->n_layers;
    uint32_t dead = i;

    for (uint32_t u = i + 1; u < n; u++)
        for (uint32_t k = 0; k < network->layers[u].n_inputs; k++)
            if (network->layers[u].inputs[k] == i)
                dead = MAX_OF(dead, network->layers[u].kind->reads_inputs ? 2 * n - 1 - u : u);
    if (activation_reads || layer->taken_in || layer->kind->reads_output)
        dead = MAX_OF(dead, 2 * n - 1 - i);
    return network_is_output(network, i) ? 2 * n : dead;
}

static void ask_spills(struct layout *l, uint32_t i)
{
    const struct network *network = l->plan->config.network;
    const struct network_layer *layer = &network->layers[i];
    struct step *step = &l->plan->steps[i];
    const uint32_t back = 2 * network->n_layers - 1 - i;

    for (uint32_t k = 0; k < layer->n_inputs; k++) {
        const uint32_t in = layer->inputs[k];
        bool first = l->plan->steps[in].last_reader == i;

        for (uint32_t before = 0; before < k; before++)
            first = first && layer->inputs[before] != in;
        ask(l, &step->place.spill[k],
            step->trains && l->plan->steps[in].trains && !first
                ? rows_of(l, &network->layers[in]) * network->layers[in].shape.size
                : 0,
            back, back);
    }
}

static void ask_layer(struct layout *l, uint32_t i)
{
    const struct network *network = l->plan->config.network;
    const struct network_layer *layer = &network->layers[i];
    const struct layer_kind *kind = layer->kind;
    struct step *step = &l->plan->steps[i];
    struct place *place = &step->place;
    const uint32_t back = 2 * network->n_layers - 1 - i;
    const size_t rows = rows_of(l, layer),
                 in_rows = layer->n_inputs > 0 ? rows_of(l, layer_in(network, layer, 0)) : 0;
    const bool drops = layer->options.dropout > 0;
    const bool activates = layer->options.activation != ACTIVATION_LINEAR && !layer->taken_in;
    const size_t n = kind->is_cost || layer_is_ids(network, layer) ? 0 : rows * layer->shape.size;

    ask(l, &place->value, n, i, value_dead(l, i, activates && !drops));
    ask(l, &place->raw, drops ? n : 0, i, back);
    ask(l, &place->before, plan_keeps_before(layer) ? n : 0, i, back);
    ask(l, &place->mask, drops ? n : 0, i, back);
    ask(l, &place->gradient, step->trains && !layer->taken_in ? n : 0,
        2 * network->n_layers - 1 - step->last_reader, back);
    ask(l, &place->kept, kind->kept != NULL ? kind->kept(network, layer, in_rows) : 0, i, back);
    ask(l, &place->scratch_forward,
        kind->scratch != NULL ? kind->scratch(network, layer, in_rows) : 0, i, i);
    ask(l, &place->scratch_backward,
        kind->scratch != NULL ? kind->scratch(network, layer, in_rows) : 0, back, back);
    ask_spills(l, i);
}

/* The pointers that do not change from batch to batch. */
static void wire(struct plan *plan, uint32_t i)
{
    const struct network *network = plan->config.network;
    struct step *step = &plan->steps[i];
    struct layer_run *run = &step->run;
    struct place *place = &step->place;

    if (place->raw == NULL)
        place->raw = place->value;
    if (network->layers[i].taken_in)
        place->gradient = place->value;
    run->ops = plan->config.ops;
    run->layer = &network->layers[i];
    run->out = place->raw;
    run->out_gradient = place->gradient;
    run->kept = place->kept;
    run->written = plan->written;
    run->table_rows = plan->table_rows;
    run->cost = &plan->cost;
    run->counted = &plan->counted;
    run->errors = &plan->result.errors;
    for (uint32_t k = 0; k < run->layer->n_inputs; k++) {
        const struct step *in = &plan->steps[run->layer->inputs[k]];
        struct layer_operand *operand = &run->in[k];

        operand->value = in->place.value;
        operand->size = network->layers[run->layer->inputs[k]].shape.size;
        operand->gradient = !in->trains               ? NULL
                            : place->spill[k] != NULL ? place->spill[k]
                                                      : in->place.gradient;
    }
}

static int take_memory(struct plan *plan, struct layout *l, struct edl_error *error)
{
    const struct edl_backend *backend = plan->config.backend;
    const size_t bytes = l->total < ARENA_BYTES_MAX ? arena_lay(l->pieces, l->n) : 0;
    void *memory = bytes > 0 ? backend->allocate(bytes) : NULL;

    if (memory == NULL) {
        (void)edl_error_set(error, -ENOMEM,
                            "no memory (%s) for a batch of %u: the network's values need %.0f MiB",
                            backend->name, plan->config.batch_max,
                            (bytes > 0 ? (double)bytes : l->total) / 0x1p20);
        return edl_error_remedy(error, "ask for a smaller batch");
    }
    if (plan->arena != NULL)
        backend->release(plan->arena);
    plan->arena = memory;
    plan->arena_bytes = bytes;
    for (size_t i = 0; i < l->n; i++)
        *l->where[i] = (char *)memory + l->pieces[i].offset;
    return 0;
}

int plan_lay_out(struct plan *plan, size_t rows_max, struct edl_error *error)
{
    const struct network *network = plan->config.network;
    const size_t room = (size_t)network->n_layers * (PIECES_MAX + LAYER_INPUTS_MAX);
    struct layout l = { .plan = plan,
                        .pieces = xcalloc(room, sizeof *l.pieces),
                        .where = xcalloc(room, sizeof *l.where),
                        .rows_max = rows_max };
    int r;

    for (uint32_t i = 0; i < network->n_layers; i++)
        ask_layer(&l, i);
    r = take_memory(plan, &l, error);
    for (uint32_t i = 0; r >= 0 && i < network->n_layers; i++)
        wire(plan, i);
    if (r >= 0)
        plan->rows_max = rows_max;
    free(l.pieces);
    free(l.where);
    return r;
}
