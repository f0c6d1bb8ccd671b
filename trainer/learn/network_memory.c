/* SPDX-License-Identifier: Apache-2.0 */
/* network_memory.c - the arrays of a learner, in the program's memory and in a back-end's */
#include <errno.h>
#include <stdlib.h>

#include "kernels/kernels.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/sample_set.h"
#include "trainer/learn/network_learner_internal.h"
#include "trainer/network/network.h"

size_t learner_values_of(const struct network_learner *l, uint32_t p)
{
    return (size_t)l->network->params[p].spec.rows * l->network->params[p].spec.columns;
}

/* Of a sparse parameter only the gradient of the rows that a batch has is touched. */
static bool open_gradient(struct network_learner *l, uint32_t p)
{
    const size_t bytes = learner_values_of(l, p) * sizeof(float);
    const bool grouped = learner_sums(l);

    if (!mirror_open(&l->gradients[p], l->backend, bytes) ||
        (grouped && !mirror_open(&l->sums[p], l->backend, bytes)))
        return false;
    l->step_gradients[p] = l->gradients[p].device;
    l->out[l->declared[p]] = grouped ? l->sums[p].host : l->gradients[p].host;
    l->back[l->declared[p]] = l->values[p].host;
    return true;
}

static bool open_param(struct network_learner *l, uint32_t p, uint32_t *n_declared)
{
    const struct network_param *param = &l->network->params[p];
    const size_t n = learner_values_of(l, p);

    l->declared[p] = UINT32_MAX;
    if (!mirror_open(&l->values[p], l->backend, n * sizeof(float)))
        return false;
    l->params[p] = l->values[p].device;
    l->host_values[p] = l->values[p].host;
    for (size_t i = 0; param->is_static && i < n; i++)
        l->host_values[p][i] = param->spec.initial_mean;
    if (param->is_static)
        return true;
    l->declared[p] = (*n_declared)++;
    return open_gradient(l, p);
}

static bool open_rows(struct network_learner *l, uint32_t p)
{
    const struct param_spec *spec = &l->network->params[p].spec;
    const size_t bytes = learner_values_of(l, p) * sizeof(float);
    const size_t ids = spec->rows * sizeof(uint32_t);
    struct rows *rows = &l->rows[l->n_rows];

    if (!spec->sparse || l->config.all_dense)
        return true;
    *rows = (struct rows){ .param = p, .declared = l->declared[p], .columns = spec->columns };
    l->n_rows++;
    rows->place = calloc(spec->rows, sizeof *rows->place);
    rows->batch_rows = l->backend->allocate(bytes);
    l->params[p] = rows->batch_rows;
    return rows->place != NULL && rows->batch_rows != NULL &&
           mirror_open(&rows->group[0], l->backend, ids) &&
           mirror_open(&rows->group[1], l->backend, ids) &&
           mirror_open(&rows->ids, l->backend, ids) &&
           mirror_open(&rows->places, l->backend, ids) &&
           mirror_open(&rows->pulled, l->backend, bytes);
}

int learner_open_memory(struct network_learner *l, struct edl_error *error)
{
    const uint32_t n = l->network->n_params;
    uint32_t n_declared = 0;

    l->values = xcalloc(n, sizeof *l->values);
    l->gradients = xcalloc(n, sizeof *l->gradients);
    l->sums = xcalloc(n, sizeof *l->sums);
    l->params = xcalloc(n, sizeof *l->params);
    l->step_gradients = xcalloc(n, sizeof *l->step_gradients);
    l->host_values = xcalloc(n, sizeof *l->host_values);
    l->declared = xcalloc(n, sizeof *l->declared);
    l->out = xcalloc(n, sizeof *l->out);
    l->back = xcalloc(n, sizeof *l->back);
    l->rows = xcalloc(n, sizeof *l->rows);
    l->exchange_rows = xcalloc(n, sizeof *l->exchange_rows);
    l->indices = xcalloc(l->config.batch, sizeof *l->indices);
    l->room = batch_room_new(l->network->inputs, l->network->n_inputs);
    for (uint32_t p = 0; p < n; p++)
        if (!open_param(l, p, &n_declared) || !open_rows(l, p))
            return edl_error_set(error, -ENOMEM, "no memory (%s) for the parameters of %s",
                                 l->backend->name, l->network->file);
    return 0;
}

static void close_rows(struct network_learner *l, struct rows *rows)
{
    mirror_close(&rows->group[0], l->backend);
    mirror_close(&rows->group[1], l->backend);
    mirror_close(&rows->ids, l->backend);
    mirror_close(&rows->places, l->backend);
    mirror_close(&rows->pulled, l->backend);
    if (rows->batch_rows != NULL)
        l->backend->release(rows->batch_rows);
    free(rows->place);
}

void learner_close_memory(struct network_learner *l)
{
    for (uint32_t p = 0; l->values != NULL && p < l->network->n_params; p++) {
        mirror_close(&l->values[p], l->backend);
        mirror_close(&l->gradients[p], l->backend);
        mirror_close(&l->sums[p], l->backend);
    }
    for (uint32_t i = 0; i < l->n_rows; i++)
        close_rows(l, &l->rows[i]);
    free(l->values);
    free(l->gradients);
    free(l->sums);
    free(l->params);
    free(l->step_gradients);
    free(l->host_values);
    free(l->declared);
    free(l->out);
    free(l->back);
    free(l->rows);
    free(l->exchange_rows);
    free(l->indices);
    if (l->room != NULL)
        l->room = batch_room_free(l->room);
}

void learner_upload_values(const struct network_learner *l, bool dense_only)
{
    for (uint32_t p = 0; p < l->network->n_params; p++)
        if (!dense_only || l->config.all_dense || !l->network->params[p].spec.sparse)
            mirror_upload(&l->values[p], l->backend, learner_values_of(l, p) * sizeof(float));
}

int learner_check_backend(const struct network_learner *l, struct edl_error *error)
{
    const char *failure = l->backend->failure();

    return failure == NULL ? 0
                           : edl_error_set(error, -EIO, "the device (%s) has failed: %s",
                                           l->backend->name, failure);
}

float *const *network_learner_values(const struct network_learner *l)
{
    return l->host_values;
}

float *const *network_learner_held(const struct network_learner *l)
{
    for (uint32_t i = 0; i < l->n_rows; i++) {
        const uint32_t p = l->rows[i].param;

        mirror_download(&l->values[p], l->backend, learner_values_of(l, p) * sizeof(float));
    }
    return l->back;
}
