/* SPDX-License-Identifier: Apache-2.0 */
/* network_learner.c - the gradient of a micro-batch, by any network */
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
                                      .batch_max = config->batch,
                                      .whole_tables = config->all_dense };
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

void network_learner_set_lesson(struct network_learner *l, uint32_t pass, uint64_t lesson)
{
    l->pass = pass;
    l->lesson = lesson;
}

void network_learner_set_passes_before(struct network_learner *l, uint64_t passes)
{
    l->passes_before = passes;
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

int learner_remember(struct network_learner *l, const struct sample_set *samples, size_t position,
                     uint32_t n, struct edl_error *error)
{
    struct batch batch;

    sample_set_batch(samples, position, n, l->room, &batch);
    return plan_batch(l->plan, &batch, error);
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

/* The batch's gradient onto the group's; its rows go to their places in the group. */
static void accumulate(struct network_learner *l)
{
    const struct tensor_ops *ops = l->backend->ops;

    for (uint32_t p = 0; p < l->network->n_params; p++)
        if (l->sums[p].device != NULL &&
            (l->config.all_dense || !l->network->params[p].spec.sparse))
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

/* The gradient of the batch that is remembered, onto the sums. */
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
    if (learner_sums(l))
        accumulate(l);
    if (l->config.on_batch != NULL)
        l->config.on_batch(result.cost / n, result.errors, n, l->config.batch_userdata);
    l->batches++;
    return 0;
}

int network_learner_gradient(struct network_learner *l, const struct sample_set *samples,
                             const uint64_t *indices, uint32_t n, uint64_t seed,
                             struct edl_error *error)
{
    struct batch batch;
    int r;

    sample_set_pick(samples, indices, n, l->room, &batch);
    r = plan_batch(l->plan, &batch, error);
    return r < 0 ? r : add_batch(l, n, seed, error);
}

void network_learner_clear(struct network_learner *l)
{
    for (uint32_t p = 0; p < l->network->n_params; p++)
        if (l->sums[p].device != NULL &&
            (l->config.all_dense || !l->network->params[p].spec.sparse))
            l->backend->zero(l->sums[p].device, learner_values_of(l, p) * sizeof(float));
    for (uint32_t i = 0; i < l->n_rows; i++)
        l->backend->zero(l->sums[l->rows[i].param].device,
                         l->rows[i].n_group[0] * l->rows[i].columns * sizeof(float));
}

int network_learner_sums(struct network_learner *l, float *const **ret, struct edl_error *error)
{
    const struct mirror *gradient = learner_sums(l) ? l->sums : l->gradients;

    for (uint32_t p = 0; p < l->network->n_params; p++)
        if (gradient[p].device != NULL &&
            (l->config.all_dense || !l->network->params[p].spec.sparse))
            mirror_download(&gradient[p], l->backend, learner_values_of(l, p) * sizeof(float));
    for (uint32_t i = 0; i < l->n_rows; i++)
        mirror_download(&gradient[l->rows[i].param], l->backend,
                        l->rows[i].n_group[0] * l->rows[i].columns * sizeof(float));
    *ret = l->out;
    return learner_check_backend(l, error);
}
