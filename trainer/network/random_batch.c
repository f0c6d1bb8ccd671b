/* SPDX-License-Identifier: Apache-2.0 */
/* random_batch.c - a batch of random samples that fits a network: for checks */
#include "trainer/network/random_batch.h"

#include "shared/macro.h"
#include "trainer/network/network.h"

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The sum of twelve even draws has variance 1. */
double random_normal(uint64_t *state)
{
    double sum = -6.0;

    for (int i = 0; i < 12; i++)
        sum += (double)(random_next(state) >> 11) * 0x1p-53;
    return sum;
}

/* The starts of an input that goes place by place with this one, if they are there already. */
static const uint32_t *lengths_of(const struct network *network, uint32_t input,
                                  const struct batch *batch)
{
    for (uint32_t i = 0; i < network->n_aligned; i++) {
        const struct input_pair *pair = &network->aligned[i];

        if (pair->second == input && batch->slots[pair->first].starts != NULL)
            return batch->slots[pair->first].starts;
    }
    return NULL;
}

static void fill(const struct input_spec *spec, uint32_t n, const uint32_t *lengths,
                 uint32_t length_max, uint64_t *state, struct batch_slot *slot)
{
    uint32_t *starts = NULL;
    size_t rows = n;
    int32_t *ids;

    if (input_is_sequence(spec->kind)) {
        starts = xcalloc((size_t)n + 1, sizeof *starts);
        for (uint32_t i = 0; i < n; i++)
            starts[i + 1] = lengths != NULL
                                ? lengths[i + 1]
                                : starts[i] + 1 + (uint32_t)(random_next(state) % length_max);
        rows = starts[n];
        slot->starts = starts;
    }
    if (input_is_dense(spec->kind)) {
        float *values = xcalloc(rows * spec->size, sizeof *values);

        for (size_t i = 0; i < rows * spec->size; i++)
            values[i] = (float)random_normal(state);
        slot->values = values;
        return;
    }
    ids = xcalloc(rows, sizeof *ids);
    for (size_t i = 0; i < rows; i++)
        ids[i] = (int32_t)(random_next(state) % spec->size);
    slot->ids = ids;
}

struct batch *random_batch_new(const struct network *network, uint32_t n, uint32_t length_max,
                               uint64_t seed)
{
    struct batch *batch = xcalloc(1, sizeof *batch);

    batch->n = n;
    batch->n_slots = network->n_inputs;
    for (uint32_t i = 0; i < network->n_inputs; i++)
        fill(&network->inputs[i], n, lengths_of(network, i, batch), length_max, &seed,
             &batch->slots[i]);
    return batch;
}

struct batch *random_batch_free(struct batch *batch)
{
    for (uint32_t i = 0; batch != NULL && i < batch->n_slots; i++) {
        free((void *)batch->slots[i].ids);
        free((void *)batch->slots[i].starts);
        free((void *)batch->slots[i].values);
    }
    free(batch);
    return NULL;
}
