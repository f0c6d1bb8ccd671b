/* SPDX-License-Identifier: Apache-2.0 */
/* layer_kinds.c - the kinds of layers by their names, and the common rules of their shapes */
#include <math.h>

#include "shared/macro.h"
#include "trainer/layers/layer.h"

static const struct layer_kind *const kinds[] = {
    &layer_table,
    &layer_fc,
    &layer_concat,
    &layer_addition,
    &layer_dropout,
    &layer_seqpool,
    &layer_context,
    &layer_conv,
    &layer_deconv,
    &layer_pool,
    &layer_batch_norm,
    &layer_cos_sim,
    &layer_slope,
    &layer_product,
    &layer_dotmul,
    &layer_shift,
    &layer_slice,
    &layer_repeat,
    &layer_expand,
    &layer_map_norm,
    &layer_maxout,
    &layer_maxid,
    &layer_pad,
    &layer_lstm,
    &layer_gru,
    &layer_recurrent,
    &layer_cross_entropy,
    &layer_square_error,
    &layer_binary_cross_entropy,
    &layer_rank,
    &layer_smooth_l1,
    &layer_sum,
    &layer_crf,
    &layer_class_tree,
};

const struct layer_kind *layer_kind_at(size_t i)
{
    return i < ELEMENTS(kinds) ? kinds[i] : NULL;
}

const struct layer_kind *layer_kind_find(const char *name)
{
    for (size_t i = 0; i < ELEMENTS(kinds); i++)
        if (streq(kinds[i]->name, name))
            return kinds[i];
    return NULL;
}

const struct network_layer *layer_in(const struct network *network,
                                     const struct network_layer *layer, uint32_t i)
{
    return &network->layers[layer->inputs[i]];
}

bool layer_is_ids(const struct network *network, const struct network_layer *layer)
{
    return layer->kind == &layer_input && !input_is_dense(network->inputs[layer->slot].kind);
}

int layer_want_values(const struct network *network, const struct network_layer *layer,
                      struct edl_error *error)
{
    for (uint32_t i = 0; i < layer->n_inputs; i++)
        if (layer_is_ids(network, layer_in(network, layer, i)))
            return network_error(network, layer, layer->n_inputs > 1 ? "inputs" : "input", error,
                                 "%s has ids, but %s takes values; put a table between them",
                                 layer_in(network, layer, i)->name, layer->kind->name);
    return 0;
}

int layer_want_rows(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    const struct network_layer *first = layer_in(network, layer, 0);
    int r = layer_want_values(network, layer, error);

    for (uint32_t i = 1; r >= 0 && i < layer->n_inputs; i++) {
        const struct network_layer *in = layer_in(network, layer, i);

        if (in->shape.sequence > 0 && first->shape.sequence > 0)
            r = network_align(network, layer, in->shape.sequence, first->shape.sequence, error);
        else if (in->shape.sequence != first->shape.sequence)
            return network_error(network, layer, "inputs", error,
                                 "%s and %s have rows of different kinds: one a sample, or one a "
                                 "place of a sequence",
                                 first->name, in->name);
    }
    layer->shape = (struct layer_shape){ .sequence = first->shape.sequence };
    return r;
}

void layer_take_shape(struct network_layer *layer, const struct network_layer *from)
{
    layer->shape.size = from->shape.size;
    layer->shape.channels = from->shape.channels;
    layer->shape.height = from->shape.height;
    layer->shape.width = from->shape.width;
}

int layer_same_shape(struct network *network, struct network_layer *layer, struct edl_error *error)
{
    int r = layer_want_rows(network, layer, error);

    if (r >= 0)
        layer_take_shape(layer, layer_in(network, layer, 0));
    return r;
}

int layer_want_size(const struct network *network, const struct network_layer *layer,
                    const char *key, uint32_t value, struct edl_error *error)
{
    if (value > 0)
        return 0;
    return network_error(network, layer, key, error, "%s needs this key, a number of at least 1",
                         layer->kind->name);
}

int layer_fits(const struct network *network, const struct network_layer *layer, const char *key,
               uint64_t a, uint64_t b, uint64_t c, struct edl_error *error)
{
    /* each is below 2^32, so that the first product does not overflow */
    if (a * b <= NETWORK_ROW_MAX && a * b * c <= NETWORK_ROW_MAX)
        return 0;
    return network_error(network, layer, key, error,
                         "%llu x %llu x %llu are too many values; %llu are possible",
                         (unsigned long long)a, (unsigned long long)b, (unsigned long long)c,
                         (unsigned long long)NETWORK_ROW_MAX);
}

float layer_smart_std(uint32_t n)
{
    return 1.0f / sqrtf((float)n);
}
