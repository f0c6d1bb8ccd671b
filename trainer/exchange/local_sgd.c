/* SPDX-License-Identifier: Apache-2.0 */
/* local_sgd.c - see local_sgd.h */
#include "trainer/exchange/local_sgd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/exchange/table.h"

#define CENTER_MARK "local_sgd" /* where a constant rate has no arguments */

struct local_sgd {
    struct local_sgd_config config;
    struct table *own;    /* owned: the trainer's values */
    float *center, *step; /* owned; f32[total values] as the table has them */
    uint64_t since;       /* pushes since the last meeting */
    bool has_met;
};

void local_sgd_center(const struct declaration *declaration, struct declaration *ret)
{
    *ret = *declaration;
    ret->optimizer = optimizer_default(OPTIMIZER_MOMENTUM);
    ret->optimizer.learning_rate = 1;
    (void)snprintf(ret->optimizer.schedule_args, sizeof ret->optimizer.schedule_args, CENTER_MARK);
    for (uint32_t p = 0; p < ret->n_params; p++) {
        struct param_spec *param = &ret->params[p];

        param->sparse = 0;
        param->learning_rate = 1;
        param->momentum = 0;
        param->l1_rate = param->l2_rate = 0;
        param->clipping = 0;
    }
}

bool local_sgd_is_center(const struct declaration *declaration)
{
    return streq(declaration->optimizer.schedule_args, CENTER_MARK);
}

int local_sgd_new(const struct local_sgd_config *config, const struct declaration *declaration,
                  struct local_sgd **ret, struct edl_error *error)
{
    struct local_sgd *local = xcalloc(1, sizeof *local);
    int r = table_new(declaration, 0, 1, &local->own, error);

    if (r < 0) {
        free(local);
        return r;
    }
    local->config = *config;
    local->center = calloc(table_shape(local->own)->total_values, sizeof *local->center);
    local->step = calloc(table_shape(local->own)->total_values, sizeof *local->step);
    if (local->center == NULL || local->step == NULL) {
        (void)local_sgd_free(local);
        return edl_error_set(error, -ENOMEM, "no memory for the values of all trainers");
    }
    *ret = local;
    return 0;
}

struct local_sgd *local_sgd_free(struct local_sgd *local)
{
    if (local == NULL)
        return NULL;
    (void)table_free(local->own);
    free(local->center);
    free(local->step);
    free(local);
    return NULL;
}

/* point - each parameter's place in a block that lies as the table does */
static void point(const struct local_sgd *local, float *block, float **ret)
{
    const struct shard_shape *shape = table_shape(local->own);

    for (uint32_t p = 0; p < shape->n_params; p++)
        ret[p] = block + shape->params[p].offset;
}

/* meet - takes: the trainer has the center afterwards, else it goes towards it */
static int meet(struct local_sgd *local, bool takes, struct edl_error *error)
{
    const size_t n = table_shape(local->own)->total_values;
    float *own = table_values(local->own), *center[DECLARATION_PARAMS_MAX];
    float *step[DECLARATION_PARAMS_MAX];
    struct exchange look = { .ret_dense = center };
    struct exchange add = { .push = true,
                            .samples = 1,
                            .dense_gradients = (const float *const *)step,
                            .ret_dense = center };
    int r;

    point(local, local->center, center);
    point(local, local->step, step);
    r = local->config.center(local->config.center_userdata, &look, error);
    if (r < 0)
        return r;
    if (!local->has_met) { /* it has start values, and those are no work of its own */
        memcpy(own, local->center, n * sizeof *own);
        local->has_met = true;
        local->since = 0;
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        local->step[i] = local->config.rate * (local->center[i] - own[i]); /* subtracted there */
    r = local->config.center(local->config.center_userdata, &add, error);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        own[i] = takes ? local->center[i] : own[i] + local->step[i];
    local->since = 0;
    return 0;
}

int local_sgd_meet(struct local_sgd *local, struct edl_error *error)
{
    return meet(local, true, error);
}

/* half - of an exchange: what it pushes, or what it pulls */
static int half(struct local_sgd *local, const struct exchange *exchange, bool push,
                struct edl_error *error)
{
    struct exchange_rows rows[DECLARATION_PARAMS_MAX];
    struct exchange part = *exchange;

    if (exchange->n_rows > ELEMENTS(rows))
        return edl_error_set(error, -EINVAL, "more parameters are exchanged than may be: %u",
                             exchange->n_rows);
    part.push = push;
    part.rows = rows;
    part.dense_gradients = push ? exchange->dense_gradients : NULL;
    part.ret_dense = push ? NULL : exchange->ret_dense;
    for (uint32_t i = 0; i < exchange->n_rows; i++) {
        rows[i] = exchange->rows[i];
        rows[i].n_push = push ? rows[i].n_push : 0;
        rows[i].n_pull = push ? 0 : rows[i].n_pull;
    }
    return table_exchange(local->own, &part, error);
}

int local_sgd_exchange(void *userdata, const struct exchange *exchange, struct edl_error *error)
{
    struct local_sgd *local = userdata;
    int r = 0;

    if (exchange->push) {
        r = half(local, exchange, true, error);
        if (r >= 0 && ++local->since >= local->config.batches)
            r = meet(local, local->config.method == LOCAL_SGD_AVERAGE, error);
    }
    return r < 0 ? r : half(local, exchange, false, error);
}
