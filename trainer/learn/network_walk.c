/* SPDX-License-Identifier: Apache-2.0 */
/* network_walk.c - a training that walks over its samples: groups of batches, each pushed, and
 * fresh values pulled */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

#include "kernels/kernels.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/sample_set.h"
#include "trainer/learn/network_learner_internal.h"
#include "trainer/learn/step_seed.h"
#include "trainer/network/network.h"
#include "trainer/network/plan.h"

static size_t group_end(const struct network_learner *l, size_t position, size_t n_samples)
{
    return MIN_OF(position + (size_t)l->config.batch * l->config.push_every, n_samples);
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

/* A step is a group, and its micro-batches are the group's batches. */
static uint64_t seed_at(const struct network_learner *l, size_t position)
{
    const uint64_t batch = position / l->config.batch;
    const struct step_place place = { .lesson = l->lesson,
                                      .epoch = l->passes_before + l->pass,
                                      .step = batch / l->config.push_every,
                                      .micro_batch = batch % l->config.push_every };

    return step_seed(l->config.dropout_seed, &place);
}

/* All batches of a group. */
static int train_group(struct network_learner *l, const struct sample_set *samples, size_t position,
                       size_t end, struct edl_error *error)
{
    int r = 0;

    if (learner_sums(l))
        network_learner_clear(l);
    while (r >= 0 && position < end) {
        const uint32_t n = learner_batch_at(l, position, end);

        for (uint32_t i = 0; i < n; i++)
            l->indices[i] = position + i;
        l->steps++;
        r = network_learner_gradient(l, samples, l->indices, n, seed_at(l, position), error);
        position += n;
    }
    return r;
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
 * the next group (group[1]), which becomes this one; last: there is none. */
static int swap_group(struct network_learner *l, size_t n_samples, bool want_dense, bool last,
                      struct edl_error *error)
{
    struct exchange exchange = { .push = n_samples > 0,
                                 .enters = n_samples == 0,
                                 .leaves = last,
                                 .samples = (uint32_t)n_samples,
                                 .pass = l->pass,
                                 .dense_gradients =
                                     n_samples > 0 ? (const float *const *)l->out : NULL,
                                 .ret_dense = want_dense ? l->back : NULL,
                                 .rows = l->exchange_rows,
                                 .n_rows = l->n_rows };
    float *const *sums;
    int r = n_samples > 0 ? network_learner_sums(l, &sums, error) : 0;

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
        r = swap_group(l, 0, !l->dense_valid || l->config.synchronous, false, error);
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
        r = explain(l, swap_group(l, n_pushed, true, next == end, error), error);
        if (r >= 0 && l->config.on_update != NULL)
            l->config.on_update(l->config.update_userdata);
        if (r >= 0 && stopping && end < n_samples)
            return -EINTR;
        end = next;
    }
    return r;
}
