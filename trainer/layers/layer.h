/* SPDX-License-Identifier: Apache-2.0 */
/* layer.h - what a kind of layer is: shapes and parameters when a network is made, forward and
 * backward when it runs
 *
 * One kind per file; layer_kinds.c lists them. Activation and dropout are no matter of a kind: the
 * plan computes them behind its forward and before its backward. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/tensor_ops.h"
#include "trainer/network/network.h"

/* One input of a layer that runs. */
struct layer_operand {
    const void *value; /* [rows, size], NULL of an input of ids */
    void *gradient;    /* (=), NULL: not wanted */
    size_t rows, size;
    const uint32_t *starts;  /* of a sequence, else NULL */
    const uint32_t *indices; /* of ids, in the memory of the values */
    const int32_t *targets;  /* the same ids as classes, in that memory too */
};

struct layer_run {
    const struct tensor_ops *ops;
    const struct network_layer *layer;
    struct layer_operand in[LAYER_INPUTS_MAX];
    size_t samples, rows;       /* of the batch; of this layer's output */
    void *out;                  /* [rows, size] before the activation */
    void *out_gradient;         /* [rows, size] of that */
    void *const *params;        /* all of the network's */
    void *const *gradients;     /* the same; (=), but for what add_to says */
    bool *written;              /* of a parameter's gradient: something is in it, to be added to */
    const uint32_t *table_rows; /* of each parameter: rows that the gradient has */
    void *kept;                 /* from forward to backward */
    void *scratch;              /* while a call runs */
    bool training;
    double *cost; /* (+=) the sum over the batch */
    uint32_t *errors;
    double *counted; /* (+=) samples that errors counts in */
};

struct layer_kind {
    const char *name;    /* in the file */
    const char *unnamed; /* "__fc_layer_%u__"; NULL: must have a name */
    uint32_t inputs_min, inputs_max;
    enum activation activation; /* without a word of the file */
    bool has_activation;        /* the file may name one, and a dropout */
    bool has_bias;              /* a bias, unless the file says no */
    bool takes_ids;             /* inputs of ids: they have no gradient */
    bool is_cost;
    bool on_devices; /* all its ops are among those that every back-end has (tensor_ops.h) */
    bool reads_inputs, reads_output; /* in backward: values that must still be there */

    /* shape - checks the inputs' shapes, sets the layer's own and asks for parameters */
    int (*shape)(struct network *network, struct network_layer *layer, struct edl_error *error);
    /* kept, scratch - elements for a batch of so many samples and rows of the first input; NULL: 0
     */
    size_t (*kept)(const struct network *network, const struct network_layer *layer, size_t rows);
    size_t (*scratch)(const struct network *network, const struct network_layer *layer,
                      size_t rows);
    void (*forward)(const struct layer_run *run);
    /* backward - gradients of the parameters and of the inputs that want one; NULL: none */
    void (*backward)(const struct layer_run *run);
};

extern const struct layer_kind layer_input, layer_table, layer_fc, layer_concat, layer_addition,
    layer_dropout, layer_seqpool, layer_context, layer_conv, layer_deconv, layer_pool,
    layer_batch_norm, layer_cos_sim, layer_slope, layer_product, layer_dotmul, layer_shift,
    layer_slice, layer_repeat, layer_expand, layer_lstm, layer_gru, layer_recurrent, layer_map_norm,
    layer_maxout, layer_maxid, layer_pad, layer_cross_entropy, layer_square_error,
    layer_binary_cross_entropy, layer_rank, layer_smooth_l1, layer_sum, layer_crf, layer_class_tree;

/* layer_kind_find - by its name in the file; NULL: no such kind */
const struct layer_kind *layer_kind_find(const char *name);
/* layer_kind_at - the kinds that a file may name, from 0; NULL: no more */
const struct layer_kind *layer_kind_at(size_t i);

/* layer_in - the layer behind an input */
const struct network_layer *layer_in(const struct network *network,
                                     const struct network_layer *layer, uint32_t i);
/* layer_is_ids - it is an input of ids, one or a sequence */
bool layer_is_ids(const struct network *network, const struct network_layer *layer);
/* layer_want_values - every input has values, not ids; -EINVAL */
int layer_want_values(const struct network *network, const struct network_layer *layer,
                      struct edl_error *error);
/* layer_want_rows - and all have the same rows: samples, or sequences of the same length; sets
 * shape.sequence
 */
int layer_want_rows(struct network *network, struct network_layer *layer, struct edl_error *error);
/* layer_take_shape - size and image of another layer; not whose rows it has */
void layer_take_shape(struct network_layer *layer, const struct network_layer *from);
/* layer_same_shape - the shape of the only input, which has values (a kind's shape) */
int layer_same_shape(struct network *network, struct network_layer *layer, struct edl_error *error);
/* layer_want_size - the key must be in the file */
int layer_want_size(const struct network *network, const struct network_layer *layer,
                    const char *key, uint32_t value, struct edl_error *error);
/* layer_fits - a x b x c values are not too many for one row; -EINVAL */
int layer_fits(const struct network *network, const struct network_layer *layer, const char *key,
               uint64_t a, uint64_t b, uint64_t c, struct edl_error *error);
/* layer_smart_std - 1 / sqrt(n): the start values where nothing is said */
float layer_smart_std(uint32_t n);

/* layer_adds - 1: to this parameter's gradient another layer has written, and this one adds to it
 */
static inline int layer_adds(const struct layer_run *run, uint32_t param)
{
    const int adds = run->written[param];

    run->written[param] = true;
    return adds;
}
