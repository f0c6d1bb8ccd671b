/* SPDX-License-Identifier: Apache-2.0 */
/* network_learner.c - trains any network on samples, wherever the parameters are kept */
#include "trainer/learn/network_learner_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/kernels.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/sample_set.h"
#include "trainer/network/network.h"
#include "trainer/network/plan.h"

/* ---- begin and end ---- */

int network_learner_new(const struct network_learner_config *config, struct network_learner **ret,
                        struct edl_error *error)
{
    const struct plan_config plan = { .network = config->network,
                                      .backend = config->backend,
                                      .ops = config->backend->ops,
                                      .batch_max = config->batch };
    struct network_learner *l;
    int r = declaration_check(&config->declaration, error);

    if (r >= 0 && (config->push_every == 0 || config->push_every > 1024))
        r = edl_error_set(error, -EINVAL, "push-every is %u; 1 to 1024 are possible",
                          config->push_every);
    if (r < 0)
        return r;
    l = xcalloc(1, sizeof *l);
    l->config = *config;
    l->network = config->network;
    l->backend = config->backend;
    r = plan_new(&plan, &l->plan, error);
    if (r >= 0)
        r = learner_open_memory(l, error);
    if (r < 0) {
        (void)network_learner_free(l);
        return r;
    }
    *ret = l;
    return 0;
}

struct network_learner *network_learner_free(struct network_learner *l)
{
    if (l == NULL)
        return NULL;
    learner_close_memory(l);
    l->plan = plan_free(l->plan);
    free(l);
    return NULL;
}

void network_learner_set_pass(struct network_learner *l, uint32_t pass)
{
    l->pass = pass;
}

uint64_t network_learner_steps(const struct network_learner *l)
{
    return l->steps;
}

void network_learner_set_steps(struct network_learner *l, uint64_t steps)
{
    l->steps = steps;
}

/* ---- batches ---- */

uint32_t learner_batch_at(const struct network_learner *l, size_t position, size_t end)
{
    return (uint32_t)MIN_OF(end - position, (size_t)l->config.batch);
}

static size_t group_end(const struct network_learner *l, size_t position, size_t n_samples)
{
    return MIN_OF(position + (size_t)l->config.batch * l->config.push_every, n_samples);
}

int learner_remember(struct network_learner *l, const struct sample_set *samples, size_t position,
                     uint32_t n, struct edl_error *error)
{
    struct batch batch;

    sample_set_batch(samples, position, n, l->room, &batch);
    return plan_batch(l->plan, &batch, error);
}

/* An id is in the group when its place has it; of other ids the place says nothing, so that nothing
 * must be cleared. */
static void join_group(struct network_learner *l, struct rows *rows, int which)
{
    uint32_t *group = rows->group[which].host, *n = &rows->n_group[which], n_batch;
    const uint32_t *ids = plan_rows(l->plan, rows->param, &n_batch);

    for (uint32_t i = 0; i < n_batch; i++)
        if (rows->place[ids[i]] >= *n || group[rows->place[ids[i]]] != ids[i]) {
            rows->place[ids[i]] = *n;
            group[(*n)++] = ids[i];
        }
}

/* Distinct rows of a group, into group[which]; a network without sparse parameters has none. */
static int collect_rows(struct network_learner *l, const struct sample_set *samples,
                        size_t position, size_t end, int which, struct edl_error *error)
{
    int r = 0;

    for (uint32_t i = 0; i < l->n_rows; i++)
        l->rows[i].n_group[which] = 0;
    while (l->n_rows > 0 && position < end) {
        const uint32_t n = learner_batch_at(l, position, end);

        r = learner_remember(l, samples, position, n, error);
        if (r < 0)
            break;
        for (uint32_t i = 0; i < l->n_rows; i++)
            join_group(l, &l->rows[i], which);
        position += n;
    }
    return r;
}

/* batch_ids - the rows of the batch, in the back-end's memory */
static const uint32_t *batch_ids(struct network_learner *l, struct rows *rows, uint32_t *ret_n)
{
    const uint32_t *ids = plan_rows(l->plan, rows->param, ret_n);

    if (l->backend->host_memory)
        return ids;
    l->backend->upload(ids, *ret_n * sizeof *ids, rows->ids.device);
    return rows->ids.device;
}

void learner_gather(struct network_learner *l)
{
    for (uint32_t i = 0; i < l->n_rows; i++) {
        struct rows *rows = &l->rows[i];
        uint32_t n;
        const uint32_t *ids = batch_ids(l, rows, &n);

        l->backend->ops->gather_rows(l->values[rows->param].device, ids, n, rows->columns,
                                     rows->batch_rows);
    }
}

uint64_t learner_step_seed(uint64_t dropout_seed, uint64_t step)
{
    uint64_t z = dropout_seed + step * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ (z >> 31);
}

static int not_finite(struct network_learner *l, uint64_t seed, struct edl_error *error)
{
    char blamed[PARAM_NAME_SIZE + 64];

    if (!plan_blame(l->plan, l->params, seed, (void *const *)l->step_gradients, blamed,
                    sizeof blamed))
        return 0;
    (void)edl_error_set(error, -EDOM,
                        "pass %u, batch %" PRIu64 ": %s is not finite any more: the training has "
                        "diverged",
                        l->pass, l->batches, blamed);
    return edl_error_remedy(error, "lower the learning rate, or set clipping");
}

/* ---- groups ---- */

static void clear_sums(struct network_learner *l)
{
    for (uint32_t p = 0; p < l->network->n_params; p++)
        if (l->sums[p].device != NULL && !l->network->params[p].spec.sparse)
            l->backend->zero(l->sums[p].device, learner_values_of(l, p) * sizeof(float));
    for (uint32_t i = 0; i < l->n_rows; i++)
        l->backend->zero(l->sums[l->rows[i].param].device,
                         l->rows[i].n_group[0] * l->rows[i].columns * sizeof(float));
}

/* The batch's gradient onto the group's; its rows go to their places in the group. */
static void accumulate(struct network_learner *l)
{
    const struct tensor_ops *ops = l->backend->ops;

    for (uint32_t p = 0; p < l->network->n_params; p++)
        if (l->sums[p].device != NULL && !l->network->params[p].spec.sparse)
            ops->add(l->step_gradients[p], learner_values_of(l, p), l->sums[p].device);
    for (uint32_t i = 0; i < l->n_rows; i++) {
        struct rows *rows = &l->rows[i];
        uint32_t *places = rows->places.host, n;
        const uint32_t *ids = plan_rows(l->plan, rows->param, &n);

        for (uint32_t k = 0; k < n; k++)
            places[k] = rows->place[ids[k]];
        mirror_upload(&rows->places, l->backend, n * sizeof *places);
        ops->scatter_add_rows(l->step_gradients[rows->param], rows->places.device, n, rows->columns,
                              l->sums[rows->param].device);
    }
}

/* The gradient of the batch that is remembered, onto the sums of the group. */
static int add_batch(struct network_learner *l, uint32_t n, uint64_t seed, struct edl_error *error)
{
    struct plan_result result;
    int r;

    learner_gather(l);
    plan_step(l->plan, l->params, seed, l->step_gradients, &result);
    r = learner_check_backend(l, error);
    if (r < 0)
        return r;
    if (!isfinite(result.cost)) {
        r = not_finite(l, seed, error);
        return r < 0 ? r : edl_error_set(error, -EDOM, "the cost is not finite any more");
    }
    r = learner_check_averages(l, error);
    if (r < 0)
        return r;
    if (l->config.push_every > 1)
        accumulate(l);
    if (l->config.on_batch != NULL)
        l->config.on_batch(result.cost / n, result.errors, n, l->config.batch_userdata);
    l->batches++;
    return 0;
}

/* All batches of a group. */
static int train_group(struct network_learner *l, const struct sample_set *samples, size_t position,
                       size_t end, struct edl_error *error)
{
    if (l->config.push_every > 1)
        clear_sums(l);
    while (position < end) {
        const uint32_t n = learner_batch_at(l, position, end);
        const uint64_t seed = learner_step_seed(l->config.dropout_seed, ++l->steps);
        int r = learner_remember(l, samples, position, n, error);

        if (r >= 0)
            r = add_batch(l, n, seed, error);
        if (r < 0)
            return r;
        position += n;
    }
    return 0;
}

/* The group's gradient, brought to the program's memory. */
static int download_gradient(struct network_learner *l, struct edl_error *error)
{
    const struct mirror *gradient = l->config.push_every > 1 ? l->sums : l->gradients;

    for (uint32_t p = 0; p < l->network->n_params; p++)
        if (gradient[p].device != NULL && !l->network->params[p].spec.sparse)
            mirror_download(&gradient[p], l->backend, learner_values_of(l, p) * sizeof(float));
    for (uint32_t i = 0; i < l->n_rows; i++)
        mirror_download(&gradient[l->rows[i].param], l->backend,
                        l->rows[i].n_group[0] * l->rows[i].columns * sizeof(float));
    return learner_check_backend(l, error);
}

/* Of one batch the gradient's rows are in the order of plan_rows, which is the group's. */
static void take_values(struct network_learner *l, bool have_dense)
{
    if (have_dense)
        learner_upload_values(l, true);
    for (uint32_t i = 0; i < l->n_rows; i++) {
        struct rows *rows = &l->rows[i];
        const struct mirror ids = rows->group[0];

        mirror_upload(&rows->pulled, l->backend, rows->n_group[1] * rows->columns * sizeof(float));
        mirror_upload(&rows->group[1], l->backend, rows->n_group[1] * sizeof(uint32_t));
        l->backend->ops->scatter_rows(rows->pulled.device, rows->group[1].device, rows->n_group[1],
                                      rows->columns, l->values[rows->param].device);
        rows->group[0] = rows->group[1];
        rows->n_group[0] = rows->n_group[1];
        rows->group[1] = ids;
    }
}

/* Pushes the gradient of the group's n_samples (0: nothing), pulls the dense values and the rows of
 * the next group (group[1]), which becomes this one. */
static int swap_group(struct network_learner *l, size_t n_samples, bool want_dense,
                      struct edl_error *error)
{
    struct exchange exchange = { .push = n_samples > 0,
                                 .samples = (uint32_t)n_samples,
                                 .pass = l->pass,
                                 .dense_gradients =
                                     n_samples > 0 ? (const float *const *)l->out : NULL,
                                 .ret_dense = want_dense ? l->back : NULL,
                                 .rows = l->exchange_rows,
                                 .n_rows = l->n_rows };
    int r = n_samples > 0 ? download_gradient(l, error) : 0;

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < l->n_rows; i++) {
        const struct rows *rows = &l->rows[i];

        l->exchange_rows[i] = (struct exchange_rows){
            .param = rows->declared,
            .n_push = n_samples > 0 ? rows->n_group[0] : 0,
            .push_ids = rows->group[0].host,
            .push_rows = l->out[rows->declared],
            .n_pull = rows->n_group[1],
            .pull_ids = rows->group[1].host,
            .ret_rows = rows->pulled.host,
        };
    }
    r = l->config.exchange(l->config.exchange_userdata, &exchange, error);
    l->dense_valid = r >= 0 && (want_dense || l->dense_valid);
    if (r >= 0)
        take_values(l, want_dense);
    return r;
}

/* A push that was refused because of its numbers: which parameter they belong to. */
static int explain(struct network_learner *l, int r, struct edl_error *error)
{
    const struct tensor_ops *ops = l->backend->ops;

    for (uint32_t p = 0; r == -EINVAL && p < l->network->n_params; p++) {
        if (l->step_gradients[p] == NULL || l->network->params[p].spec.sparse ||
            ops->finite(l->step_gradients[p], learner_values_of(l, p)))
            continue;
        (void)edl_error_set(error, -EDOM,
                            "pass %u, batch %" PRIu64 ": the gradient of the parameter %s is "
                            "not finite any more: the training has diverged",
                            l->pass, l->batches, l->network->params[p].spec.name);
        return edl_error_remedy(error, "lower the learning rate, or set clipping");
    }
    return r;
}

int network_learner_train(struct network_learner *l, const struct sample_set *samples,
                          size_t *position, const volatile sig_atomic_t *stop,
                          struct edl_error *error)
{
    return network_learner_train_until(l, samples, position, sample_set_n(samples), stop, error);
}

int network_learner_train_until(struct network_learner *l, const struct sample_set *samples,
                                size_t *position, size_t until, const volatile sig_atomic_t *stop,
                                struct edl_error *error)
{
    const size_t n_samples = MIN_OF(until, sample_set_n(samples));
    size_t end = group_end(l, *position, n_samples), n_pushed;
    int r;

    if (*position >= n_samples)
        return 0;
    r = collect_rows(l, samples, *position, end, 1, error);
    if (r >= 0)
        r = swap_group(l, 0, !l->dense_valid, error);
    while (r >= 0 && *position < n_samples) {
        bool stopping;
        size_t next;

        r = train_group(l, samples, *position, end, error);
        if (r < 0)
            return r;
        stopping = stop != NULL && *stop;
        next = stopping ? end : group_end(l, end, n_samples);
        r = collect_rows(l, samples, end, next, 1, error);
        if (r < 0)
            return r;
        n_pushed = end - *position;
        *position = end;
        r = explain(l, swap_group(l, n_pushed, true, error), error);
        if (r >= 0 && l->config.on_update != NULL)
            l->config.on_update(l->config.update_userdata);
        if (r >= 0 && stopping && end < n_samples)
            return -EINTR;
        end = next;
    }
    return r;
}
