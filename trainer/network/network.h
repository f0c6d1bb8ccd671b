/* SPDX-License-Identifier: Apache-2.0 */
/* network.h - a checked network: its inputs, its layers in the order they are computed, its
 * parameters
 *
 * It is read from JSON (conf/models/). A layer that nobody uses, a cycle, a shape that does not
 * fit, an unknown key: an error that names file, line, layer and key. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/tensor_ops.h"
#include "trainer/data/batch.h"
#include "trainer/network/arguments.h"
#include "trainer/parameters/param_spec.h"

struct edl_error;
struct layer_kind;

#define NETWORK_LAYERS_MAX 2048u
#define NETWORK_PARAMS_MAX 2048u
#define NETWORK_VALUES_MAX (UINT64_C(1) << 28) /* of one parameter */
#define NETWORK_ROW_MAX (UINT64_C(1) << 26)    /* of one row of a layer */
#define NETWORK_OUTPUTS_MAX 64
#define NETWORK_ALIGNED_MAX 128
#define LAYER_INPUTS_MAX 32
#define LAYER_NAME_BYTES 56 /* with the end; a parameter's name is longer by "_" and ".wbias" */
#define PARAM_NONE UINT32_MAX

enum activation {
    ACTIVATION_LINEAR,
    ACTIVATION_SIGMOID,
    ACTIVATION_TANH,
    ACTIVATION_RELU,
    ACTIVATION_SOFTMAX,
    ACTIVATION_EXPONENTIAL,
    ACTIVATION_LOG,
    ACTIVATION_ABS,
    ACTIVATION_SQUARE,
    ACTIVATION_BRELU,
    ACTIVATION_SOFTRELU,
    ACTIVATION_STANH,
    ACTIVATIONS,
    ACTIVATION_UNSET /* the kind's own */
};

/* What the JSON says of one parameter. */
struct param_options {
    bool given;                 /* an object was there */
    bool has_initial;           /* with an initial_ key in it */
    char name[PARAM_NAME_SIZE]; /* "": by the rule */
    uint32_t initial;
    float initial_mean, initial_std;
    float learning_rate, momentum, l1_rate, l2_rate, clipping;
    bool sparse;
};

/* The keys that only some kinds have; layer_keys.c says which. */
struct layer_options {
    uint32_t size;
    uint32_t filter, filters, channels, stride, padding; /* of windows */
    uint32_t filter_y, stride_y, padding_y, groups;
    uint32_t offset, pad[6];
    uint32_t context;
    int32_t context_start;
    float scale, dropout, moving_average, slope, intercept, power, coeff;
    enum pooling pooling;
    bool bias, ceil, transposed, has_context_start, has_padding_y, scalar, batch_statistics,
        reverse;
    enum activation activation;
    enum activation cell_activation, gate_activation,
        state_activation; /* inside of recurrent ones */
    struct param_options weights[LAYER_INPUTS_MAX], bias_param;
};

struct layer_shape {
    uint32_t size;                    /* elements of a row */
    uint32_t channels, height, width; /* of an image; else channels is 0 */
    uint32_t sequence;                /* 1 + the input whose rows it has; 0: a row a sample */
};

struct network_layer {
    char name[LAYER_NAME_BYTES];
    const struct layer_kind *kind;
    unsigned line;
    uint32_t inputs[LAYER_INPUTS_MAX], n_inputs; /* layers */
    uint32_t slot;                               /* of an input: which */
    struct layer_options options;
    struct layer_shape shape;
    struct window window;
    uint32_t weights[LAYER_INPUTS_MAX], n_weights; /* parameters */
    uint32_t bias;                                 /* parameter or PARAM_NONE */
    bool taken_in; /* its softmax belongs to the cost that follows */
};

struct network_param {
    struct param_spec spec;
    bool is_static; /* kept, not trained: the moving averages of batch_norm */
};

/* What the file says of training; text is "" and numbers are negative where it says nothing. */
struct network_settings {
    char method[32], schedule[32], schedule_args[128];
    double batch_size, learning_rate, momentum, rho, epsilon, beta1, beta2, l1, l2, clipping,
        schedule_a, schedule_b, nesterov, passes;
    double shuffle;      /* 0: samples in the order of the data */
    double asynchronous; /* 0: trainers wait for each other, 1: they do not; -1: not said */
    double average_window,
        max_average_window; /* of updates whose mean is tested and saved; 0: none */
};

/* Two inputs, by their numbers. */
struct input_pair {
    uint32_t first, second;
};

struct network {
    char file[256];
    char name[64];
    struct arguments arguments;
    struct input_spec inputs[INPUTS_MAX];
    uint32_t n_inputs;
    struct input_pair
        aligned[NETWORK_ALIGNED_MAX]; /* sequences of the same length in each sample */
    uint32_t n_aligned;
    struct network_layer *layers; /* inputs first, then each behind what it takes */
    uint32_t n_layers;
    struct network_param *params;
    uint32_t n_params;
    uint32_t output; /* layer: the first of outputs */
    uint32_t outputs[NETWORK_OUTPUTS_MAX], n_outputs;
    bool has_cost; /* without one it can be run, but not trained */
    struct network_settings settings;
};

/* network_parse - the network of a JSON text; *ret is the caller's
 * file: for errors. arguments: replace the file's defaults, NULL: none. -EINVAL with file, line,
 * layer and key; all of the text is untrusted. */
int network_parse(const char *text, size_t size, const char *file,
                  const struct arguments *arguments, struct network **ret, struct edl_error *error);
/* network_free - NULL is fine; returns NULL */
struct network *network_free(struct network *network);

/* network_may_share - whether its trainers may push to parameter servers; -EINVAL */
int network_may_share(const struct network *network, struct edl_error *error);

/* network_is_output - a layer is one of the outputs */
bool network_is_output(const struct network *network, uint32_t layer);

/* network_may_train - whether there is a cost; -EINVAL */
int network_may_train(const struct network *network, struct edl_error *error);

/* network_values - the floats of all parameters; static ones not counted */
uint64_t network_values(const struct network *network);

/* ---- for the kinds of layers, while a network is made ---- */

/* network_error - "FILE:LINE: layer NAME, KEY: " before what is wrong; key may be NULL; -EINVAL */
int network_error(const struct network *network, const struct network_layer *layer, const char *key,
                  struct edl_error *error, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* network_align - two sequences, as layer_shape has them, go place by place; -EINVAL: too many */
int network_align(struct network *network, const struct network_layer *layer, uint32_t a,
                  uint32_t b, struct edl_error *error);

/* A parameter that a layer wants. */
struct param_wish {
    const char *suffix; /* "w0" */
    uint64_t rows, columns;
    float start_std; /* without a word of the file */
    float bare_std;  /* where the file has an object without an initial_ key */
    float start_mean;
    bool is_static;
    const struct param_options *options; /* NULL: none */
};

/* network_add_param - a new parameter or, by its name, one that is there already; *ret its number
 * -EINVAL: that one has another shape, or the size is impossible. */
int network_add_param(struct network *network, const struct network_layer *layer,
                      const struct param_wish *wish, uint32_t *ret, struct edl_error *error);

/* network_add_bias - of a layer whose options want one, else layer->bias is PARAM_NONE
 * bare_std: see param_wish */
int network_add_bias(struct network *network, struct network_layer *layer, uint32_t size,
                     float bare_std, struct edl_error *error);
