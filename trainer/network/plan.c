/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - a network that runs: forward, backward, and the culprit of a value that is not finite */
#include "trainer/network/plan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/kernels.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/network/plan_internal.h"

#define SEQUENCE_LENGTH 16 /* room for so many ids a sample to begin with */

/* ---- the elements of a plan ---- */

/* Trains: a cost depends on the layer, and the layer on a parameter. */
static void find_trained(struct plan *plan)
{
    const struct network *network = plan->config.network;
    const uint32_t n = network->n_layers;
    bool *costs = xcalloc(n, sizeof *costs);

    for (uint32_t i = n; i > 0; i--) {
        const struct network_layer *layer = &network->layers[i - 1];

        costs[i - 1] |= layer->kind->is_cost;
        for (uint32_t k = 0; costs[i - 1] && k < layer->n_inputs; k++)
            costs[layer->inputs[k]] = true;
    }
    for (uint32_t i = 0, dropouts = 0; i < n; i++) {
        const struct network_layer *layer = &network->layers[i];
        struct step *step = &plan->steps[i];
        bool learns = layer->n_weights > 0 || layer->bias != PARAM_NONE;

        for (uint32_t k = 0; k < layer->n_inputs; k++)
            learns |= plan->steps[layer->inputs[k]].trains;
        step->trains = learns && costs[i];
        step->last_reader = i;
        for (uint32_t u = i + 1; u < n; u++)
            for (uint32_t k = 0; k < network->layers[u].n_inputs; k++)
                if (network->layers[u].inputs[k] == i && costs[u])
                    step->last_reader = u;
        step->nth_dropout = layer->options.dropout > 0 ? dropouts++ : 0;
    }
    free(costs);
}

static bool open_tables(struct plan *plan)
{
    const struct network *network = plan->config.network;

    for (uint32_t i = 0; i < network->n_layers; i++) {
        const struct network_layer *layer = &network->layers[i];
        const size_t rows = layer->shape.sequence > 0 ? plan->rows_max : plan->config.batch_max;

        if (layer->kind == &layer_table &&
            !mirror_open(&plan->steps[i].indices, plan->config.backend,
                         rows * layer->n_inputs * sizeof(uint32_t)))
            return false;
    }
    for (uint32_t p = 0; p < network->n_params; p++) {
        const struct param_spec *spec = &network->params[p].spec;
        struct touched *touched = &plan->touched[p];

        if (!spec->sparse || plan->config.whole_tables)
            continue;
        touched->seen = calloc(((size_t)spec->rows + 63) / 64, sizeof *touched->seen);
        touched->position = calloc(spec->rows, sizeof *touched->position);
        touched->rows = calloc(spec->rows, sizeof *touched->rows);
        if (touched->seen == NULL || touched->position == NULL || touched->rows == NULL)
            return false;
    }
    return true;
}

/* On a device classes are beside the values; else they are taken from where the batch has them. */
static bool open_targets(struct plan *plan)
{
    const struct network *network = plan->config.network;

    for (uint32_t i = 0; i < network->n_inputs && !plan->config.backend->host_memory; i++)
        if (network->inputs[i].kind == INPUT_INTEGER &&
            !mirror_open(&plan->targets[i], plan->config.backend,
                         plan->config.batch_max * sizeof(int32_t)))
            return false;
    return true;
}

static bool has_sequence(const struct network *network)
{
    for (uint32_t i = 0; i < network->n_inputs; i++)
        if (input_is_sequence(network->inputs[i].kind))
            return true;
    return false;
}

static bool has_activation(const struct tensor_ops *ops, const struct network_layer *layer)
{
    switch (layer->options.activation) {
    case ACTIVATION_LINEAR:
        return true;
    case ACTIVATION_SIGMOID:
        return ops->sigmoid_forward != NULL && ops->sigmoid_backward != NULL;
    case ACTIVATION_TANH:
        return ops->tanh_forward != NULL && ops->tanh_backward != NULL;
    case ACTIVATION_RELU:
        return ops->relu_forward != NULL && ops->relu_backward != NULL;
    case ACTIVATION_SOFTMAX:
        return layer->taken_in || (ops->softmax_forward != NULL && ops->softmax_backward != NULL);
    default:
        return ops->curve_forward != NULL && ops->curve_backward != NULL;
    }
}

static int fits_not(const struct edl_backend *backend, const char *what, const char *which,
                    struct edl_error *error)
{
    (void)edl_error_set(error, -EOPNOTSUPP, "the device (%s) has no ops for %s %s yet",
                        backend->name, what, which);
    return edl_error_remedy(error, "train on the CPU: --device cpu");
}

int plan_fits(const struct network *network, const struct edl_backend *backend,
              struct edl_error *error)
{
    for (uint32_t i = 0; i < network->n_inputs && !backend->host_memory; i++)
        if (input_is_sequence(network->inputs[i].kind))
            return fits_not(backend, "sequences, as the input", network->inputs[i].name, error);
    for (uint32_t i = 0; i < network->n_layers && !backend->host_memory; i++) {
        const struct network_layer *layer = &network->layers[i];

        if (!layer->kind->on_devices)
            return fits_not(backend, "layers of the kind", layer->kind->name, error);
        if (!has_activation(backend->ops, layer))
            return fits_not(backend, "the activation of the layer", layer->name, error);
        if (layer->kind->is_cost && layer->n_inputs > 2)
            return fits_not(backend, "the weights of the cost", layer->name, error);
    }
    return 0;
}

int plan_new(const struct plan_config *config, struct plan **ret, struct edl_error *error)
{
    const struct network *network = config->network;
    struct plan *plan;
    int r = plan_fits(network, config->backend, error);

    if (r < 0)
        return r;
    if (config->batch_max == 0 || config->batch_max > 1u << 20)
        return edl_error_set(error, -EINVAL, "a batch of %u sample%s; 1 to %u are possible",
                             config->batch_max, PLURAL(config->batch_max), 1u << 20);
    plan = xcalloc(1, sizeof *plan);
    plan->config = *config;
    plan->steps = xcalloc(network->n_layers, sizeof *plan->steps);
    plan->touched = xcalloc(network->n_params, sizeof *plan->touched);
    plan->table_rows = xcalloc(network->n_params, sizeof *plan->table_rows);
    plan->written = xcalloc(network->n_params, sizeof *plan->written);
    find_trained(plan);
    r = plan_lay_out(plan, has_sequence(network) ? (size_t)config->batch_max * SEQUENCE_LENGTH : 0,
                     error);
    if (r >= 0 && (!open_tables(plan) || !open_targets(plan)))
        r = edl_error_set(error, -ENOMEM, "no memory (%s) for the ids of a batch of %u",
                          config->backend->name, config->batch_max);
    if (r < 0) {
        (void)plan_free(plan);
        return r;
    }
    *ret = plan;
    return 0;
}

struct plan *plan_free(struct plan *plan)
{
    if (plan == NULL)
        return NULL;
    for (uint32_t i = 0; i < plan->config.network->n_layers; i++)
        mirror_close(&plan->steps[i].indices, plan->config.backend);
    for (uint32_t p = 0; p < plan->config.network->n_params; p++) {
        free(plan->touched[p].seen);
        free(plan->touched[p].position);
        free(plan->touched[p].rows);
    }
    for (uint32_t i = 0; i < plan->config.network->n_inputs; i++)
        mirror_close(&plan->targets[i], plan->config.backend);
    if (plan->arena != NULL)
        plan->config.backend->release(plan->arena);
    free(plan->steps);
    free(plan->touched);
    free(plan->table_rows);
    free(plan->written);
    free(plan);
    return NULL;
}

size_t plan_bytes(const struct plan *plan)
{
    return plan->arena_bytes;
}

/* ---- blame ---- */

/* Looks at what a layer or a gradient came to, while a step is looked through; true: here it is. */
static bool blames(struct plan *plan, const void *x, size_t n, const char *what, const char *name)
{
    if (plan->blame == NULL || plan->blame[0] != '\0')
        return plan->blame != NULL;
    if (x == NULL || plan->config.ops->finite(x, n))
        return false;
    (void)snprintf(plan->blame, plan->blame_size, "%s %s", what, name);
    return true;
}

static bool blames_params(struct plan *plan, void *const *arrays, const char *what)
{
    const struct network *network = plan->config.network;

    for (uint32_t p = 0; p < network->n_params; p++)
        if (blames(plan, arrays[p], (size_t)plan->table_rows[p] * network->params[p].spec.columns,
                   what, network->params[p].spec.name))
            return true;
    return false;
}

/* ---- forward ---- */

/* The activations that are curves. */
static const enum curve curves[ACTIVATIONS] = {
    [ACTIVATION_EXPONENTIAL] = CURVE_EXPONENTIAL,
    [ACTIVATION_LOG] = CURVE_LOG,
    [ACTIVATION_ABS] = CURVE_ABS,
    [ACTIVATION_SQUARE] = CURVE_SQUARE,
    [ACTIVATION_BRELU] = CURVE_BRELU,
    [ACTIVATION_SOFTRELU] = CURVE_SOFTRELU,
    [ACTIVATION_STANH] = CURVE_STANH,
};

static void activate(const struct tensor_ops *ops, const struct step *step)
{
    const struct network_layer *layer = step->run.layer;
    const size_t n = step->run.rows * layer->shape.size;
    void *x = step->place.raw;

    switch (layer->options.activation) {
    case ACTIVATION_LINEAR:
        break;
    case ACTIVATION_SIGMOID:
        ops->sigmoid_forward(x, n, x);
        break;
    case ACTIVATION_TANH:
        ops->tanh_forward(x, n, x);
        break;
    case ACTIVATION_RELU:
        ops->relu_forward(x, n, x);
        break;
    case ACTIVATION_SOFTMAX:
        ops->softmax_forward(x, step->run.rows, layer->shape.size, x);
        break;
    default:
        if (step->place.before != NULL)
            ops->copy(x, n, step->place.before);
        ops->curve_forward(curves[layer->options.activation], x, n, x);
        break;
    }
}

static uint64_t seed_of(const struct step *step, uint64_t seed)
{
    return seed ^ step->nth_dropout * UINT64_C(0xd1342543de82ef95);
}

static void forward_layer(struct plan *plan, struct step *step, bool training, uint64_t seed)
{
    const struct tensor_ops *ops = plan->config.ops;
    const struct network_layer *layer = step->run.layer;
    const size_t n = plan_elements(plan, step);
    const float rate = layer->options.dropout;

    if (layer->kind == &layer_input) {
        if (step->place.value != NULL)
            ops->from_float(plan->batch.slots[layer->slot].values, n, step->place.value);
        return;
    }
    step->run.training = training;
    step->run.scratch = step->place.scratch_forward;
    layer->kind->forward(&step->run);
    if (!layer->taken_in)
        activate(ops, step);
    if (rate > 0 && training)
        ops->dropout_forward(step->place.raw, n, rate, seed_of(step, seed), step->place.mask,
                             step->place.value);
    else if (rate > 0)
        ops->scale(step->place.raw, n, 1.0 - (double)rate, step->place.value);
}

static void forward(struct plan *plan, void *const *params, bool training, uint64_t seed)
{
    const uint32_t n = plan->config.network->n_layers;

    plan->cost = 0;
    plan->counted = 0;
    plan->result.errors = 0;
    plan_upload_ids(plan);
    for (uint32_t i = 0; i < n; i++) {
        struct step *step = &plan->steps[i];

        step->run.params = params;
        forward_layer(plan, step, training, seed);
        if (!step->run.layer->kind->is_cost &&
            blames(plan, step->place.value, plan_elements(plan, step), "the layer",
                   step->run.layer->name))
            return;
        if (plan->blame != NULL && plan->blame[0] == '\0' && !isfinite(plan->cost))
            (void)snprintf(plan->blame, plan->blame_size, "the cost %s", step->run.layer->name);
    }
}

static void take_result(const struct plan *plan, struct plan_result *ret)
{
    *ret = (struct plan_result){ .cost = plan->cost,
                                 .errors = plan->result.errors,
                                 .counted = (uint32_t)plan->counted };
}

void plan_forward(struct plan *plan, void *const *params, bool training, uint64_t seed,
                  struct plan_result *ret)
{
    forward(plan, params, training, seed);
    take_result(plan, ret);
}

/* ---- backward ---- */

static void deactivate(const struct tensor_ops *ops, const struct step *step)
{
    const struct network_layer *layer = step->run.layer;
    const size_t n = step->run.rows * layer->shape.size;
    const void *y = step->place.raw;
    void *dy = step->place.gradient;

    switch (layer->options.activation) {
    case ACTIVATION_LINEAR:
        break;
    case ACTIVATION_SIGMOID:
        ops->sigmoid_backward(y, dy, n, dy);
        break;
    case ACTIVATION_TANH:
        ops->tanh_backward(y, dy, n, dy);
        break;
    case ACTIVATION_RELU:
        ops->relu_backward(y, dy, n, dy);
        break;
    case ACTIVATION_SOFTMAX:
        ops->softmax_backward(y, dy, step->run.rows, layer->shape.size, dy);
        break;
    default:
        ops->curve_backward(curves[layer->options.activation],
                            step->place.before != NULL ? step->place.before : y, dy, n, dy);
        break;
    }
}

static void backward_layer(struct plan *plan, struct step *step)
{
    const struct tensor_ops *ops = plan->config.ops;
    const struct network_layer *layer = step->run.layer;
    const size_t n = plan_elements(plan, step);

    if (layer->options.dropout > 0)
        ops->multiply(step->place.gradient, step->place.mask, n, step->place.gradient);
    if (!layer->taken_in)
        deactivate(ops, step);
    step->run.scratch = step->place.scratch_backward;
    layer->kind->backward(&step->run);
    for (uint32_t k = 0; k < layer->n_inputs; k++)
        if (step->place.spill[k] != NULL)
            ops->add(step->place.spill[k], step->run.in[k].rows * step->run.in[k].size,
                     plan->steps[layer->inputs[k]].place.gradient);
}

/* What no layer on the way to a cost has. */
static void clear_unwritten(struct plan *plan, void *const *gradients)
{
    const struct network *network = plan->config.network;

    for (uint32_t p = 0; p < network->n_params; p++)
        if (!plan->written[p] && !network->params[p].is_static)
            plan->config.ops->zero(gradients[p],
                                   (size_t)plan->table_rows[p] * network->params[p].spec.columns);
}

static void backward(struct plan *plan, void *const *gradients)
{
    const uint32_t n = plan->config.network->n_layers;

    memset(plan->written, 0, plan->config.network->n_params * sizeof *plan->written);
    for (uint32_t i = n; i > 0; i--) {
        struct step *step = &plan->steps[i - 1];
        const struct network_layer *layer = step->run.layer;

        step->run.gradients = gradients;
        if (!step->trains)
            continue;
        if (blames(plan, step->place.gradient, layer->kind->is_cost ? 0 : plan_elements(plan, step),
                   "the gradient of the layer", layer->name))
            return;
        backward_layer(plan, step);
    }
    clear_unwritten(plan, gradients);
}

void plan_step(struct plan *plan, void *const *params, uint64_t seed, void *const *gradients,
               struct plan_result *ret)
{
    forward(plan, params, true, seed);
    take_result(plan, ret);
    backward(plan, gradients);
}

bool plan_blame(struct plan *plan, void *const *params, uint64_t seed, void *const *gradients,
                char *ret_text, size_t size)
{
    ret_text[0] = '\0';
    plan->blame = ret_text;
    plan->blame_size = size;
    if (!blames_params(plan, params, "the parameter")) {
        forward(plan, params, true, seed);
        if (ret_text[0] == '\0')
            backward(plan, gradients);
        if (ret_text[0] == '\0')
            (void)blames_params(plan, gradients, "the gradient of the parameter");
    }
    plan->blame = NULL;
    return ret_text[0] != '\0';
}

const void *plan_output(const struct plan *plan, uint32_t which, size_t *ret_rows)
{
    const struct step *step = &plan->steps[plan->config.network->outputs[which]];

    *ret_rows = step->run.rows;
    return step->place.value;
}
