/* SPDX-License-Identifier: Apache-2.0 */
/* network_evaluation.c - a network's learner without training: fresh values, start values,
 * averages, costs */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/sample_set.h"
#include "trainer/network/network.h"
#include "trainer/network/plan.h"
#include "trainer/learn/network_learner_internal.h"

int network_learner_pull(struct network_learner *l, struct edl_error *error)
{
    struct exchange exchange = { .ret_dense = l->back,
                                 .rows = l->exchange_rows,
                                 .n_rows = l->n_rows };
    uint32_t **ids = xcalloc(MAX_OF(l->n_rows, 1u), sizeof *ids);
    int r;

    for (uint32_t i = 0; i < l->n_rows; i++) {
        const uint32_t n = l->network->params[l->rows[i].param].spec.rows;

        ids[i] = xcalloc(n, sizeof **ids);
        for (uint32_t k = 0; k < n; k++)
            ids[i][k] = k;
        l->exchange_rows[i] =
            (struct exchange_rows){ .param = l->rows[i].declared,
                                    .n_pull = n,
                                    .pull_ids = ids[i],
                                    .ret_rows = l->host_values[l->rows[i].param] };
    }
    r = l->config.exchange(l->config.exchange_userdata, &exchange, error);
    for (uint32_t i = 0; i < l->n_rows; i++)
        free(ids[i]);
    free(ids);
    l->dense_valid = r >= 0;
    if (r >= 0)
        learner_upload_values(l, false);
    return r;
}

/* ---- moving averages ---- */

bool network_learner_has_averages(const struct network_learner *l)
{
    for (uint32_t p = 0; p < l->network->n_params; p++)
        if (l->network->params[p].is_static)
            return true;
    return false;
}

int learner_check_averages(const struct network_learner *l, struct edl_error *error)
{
    for (uint32_t p = 0; p < l->network->n_params; p++) {
        if (!l->network->params[p].is_static ||
            tensor_ops_f32()->finite(l->host_values[p], learner_values_of(l, p)))
            continue;
        (void)edl_error_set(error, -EDOM,
                            "pass %u, batch %" PRIu64 ": the moving average %s is not finite any "
                            "more: what its batch_norm takes is too large",
                            l->pass, l->batches, l->network->params[p].spec.name);
        return edl_error_remedy(error, "look for values in the data that are far too large, or "
                                       "lower the learning rate");
    }
    return 0;
}

static void clear_averages(struct network_learner *l)
{
    for (uint32_t p = 0; p < l->network->n_params; p++)
        if (l->network->params[p].is_static)
            memset(l->host_values[p], 0, learner_values_of(l, p) * sizeof(float));
}

/* An average that began at 0 is too small by what it has not seen yet: moving^n_batches of it. */
static void complete_averages(struct network_learner *l, uint32_t n_batches)
{
    for (uint32_t i = 0; i < l->network->n_layers; i++) {
        const struct network_layer *layer = &l->network->layers[i];
        const double seen = 1 - pow((double)layer->options.moving_average, n_batches);

        for (uint32_t w = 0; w < layer->n_weights; w++) {
            const uint32_t p = layer->weights[w];

            if (!l->network->params[p].is_static || seen <= 0)
                continue;
            for (size_t k = 0; k < learner_values_of(l, p); k++)
                l->host_values[p][k] = (float)((double)l->host_values[p][k] / seen);
        }
    }
}

int network_learner_measure(struct network_learner *l, const struct sample_set *samples,
                            uint32_t n_batches, struct edl_error *error)
{
    const size_t n_samples = sample_set_n(samples);
    size_t position = 0;

    if (!network_learner_has_averages(l) || n_samples == 0)
        return 0;
    clear_averages(l);
    learner_upload_values(l, false);
    for (uint32_t b = 0; b < n_batches; b++) {
        const uint32_t n = learner_batch_at(l, position, n_samples);
        struct plan_result result;
        int r = learner_remember(l, samples, position, n, error);

        if (r < 0)
            return r;
        learner_gather(l);
        plan_forward(l->plan, l->params, true, b + 1, &result);
        position = position + n < n_samples ? position + n : 0;
    }
    complete_averages(l, n_batches);
    return learner_check_averages(l, error);
}

/* ---- costs ---- */

void network_learner_start_values(struct network_learner *l, bool shared_only)
{
    for (uint32_t p = 0; p < l->network->n_params; p++) {
        const struct param_spec *spec = &l->network->params[p].spec;
        float *out = l->host_values[p];

        if (shared_only && l->network->params[p].is_static)
            continue;
        for (uint32_t row = 0; row < spec->rows; row++)
            for (uint32_t column = 0; column < spec->columns; column++)
                *out++ = param_init_value(spec, l->config.declaration.seed, row, column);
    }
    l->dense_valid = false;
}

int network_learner_evaluate(struct network_learner *l, const struct sample_set *samples,
                             struct evaluation *ret, struct edl_error *error)
{
    const size_t n_samples = sample_set_n(samples);
    double cost = 0, errors = 0, counted = 0;
    int r;

    learner_upload_values(l, false);
    for (size_t position = 0; position < n_samples;) {
        const uint32_t n = learner_batch_at(l, position, n_samples);
        struct plan_result result;

        r = learner_remember(l, samples, position, n, error);
        if (r < 0)
            return r;
        learner_gather(l);
        plan_forward(l->plan, l->params, false, 0, &result);
        cost += result.cost;
        errors += result.errors;
        counted += result.counted;
        position += n;
    }
    r = learner_check_backend(l, error);
    if (r < 0)
        return r;
    *ret = (struct evaluation){ .cost = cost / (double)MAX_OF(n_samples, (size_t)1),
                                .error_rate = counted > 0 ? errors / counted : 0,
                                .samples = n_samples };
    return 0;
}

static int open_outputs(const struct network *network, struct network_outputs *ret,
                        struct edl_error *error)
{
    ret->n = network->n_outputs;
    for (uint32_t i = 0; i < ret->n; i++) {
        const struct network_layer *layer = &network->layers[network->outputs[i]];

        if (layer->shape.sequence > 0)
            return edl_error_set(error, -EINVAL,
                                 "%s has a row for each place of a sequence, not one for a sample",
                                 layer->name);
        ret->columns[i] = layer->shape.size;
    }
    return 0;
}

/* output_of - in the program's memory; *room is the caller's, and grows */
static const float *output_of(const struct network_learner *l, uint32_t i, size_t columns,
                              float **room, size_t *ret_rows)
{
    const void *value = plan_output(l->plan, i, ret_rows);

    if (l->backend->host_memory)
        return value;
    *room = xreallocarray(*room, *ret_rows * columns, sizeof **room);
    l->backend->download(value, *ret_rows * columns * sizeof **room, *room);
    return *room;
}

static int outputs_of(struct network_learner *l, const struct sample_set *samples,
                      struct network_outputs *outputs, float **rooms,
                      void (*take)(const struct network_outputs *outputs, size_t rows,
                                   void *userdata),
                      void *userdata, struct edl_error *error)
{
    const size_t n_samples = sample_set_n(samples);

    for (size_t position = 0; position < n_samples;) {
        const uint32_t n = learner_batch_at(l, position, n_samples);
        struct plan_result result;
        size_t rows = 0;
        int r = learner_remember(l, samples, position, n, error);

        if (r < 0)
            return r;
        learner_gather(l);
        plan_forward(l->plan, l->params, false, 0, &result);
        for (uint32_t i = 0; i < outputs->n; i++)
            outputs->values[i] = output_of(l, i, outputs->columns[i], &rooms[i], &rows);
        r = learner_check_backend(l, error);
        if (r < 0)
            return r;
        take(outputs, rows, userdata);
        position += n;
    }
    return 0;
}

int network_learner_outputs(struct network_learner *l, const struct sample_set *samples,
                            void (*take)(const struct network_outputs *outputs, size_t rows,
                                         void *userdata),
                            void *userdata, struct edl_error *error)
{
    float *rooms[NETWORK_OUTPUTS_MAX] = { NULL };
    struct network_outputs outputs;
    int r = open_outputs(l->network, &outputs, error);

    if (r < 0)
        return r;
    learner_upload_values(l, false);
    r = outputs_of(l, samples, &outputs, rooms, take, userdata, error);
    for (uint32_t i = 0; i < outputs.n; i++)
        free(rooms[i]);
    return r;
}
