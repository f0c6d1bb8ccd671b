/* SPDX-License-Identifier: Apache-2.0 */
/* network_evaluation.c - a network's learner without training: fresh values, start values, costs */
#include <stdlib.h>

#include "kernels/kernels.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/sample_set.h"
#include "trainer/network/network.h"
#include "trainer/network/plan.h"
#include "trainer/network_learner_internal.h"

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
        l->exchange_rows[i] = (struct exchange_rows){ .param = l->rows[i].declared,
                                                      .n_pull = n,
                                                      .pull_ids = ids[i],
                                                      .ret_rows = l->values[l->rows[i].param] };
    }
    r = l->config.exchange(l->config.exchange_userdata, &exchange, error);
    for (uint32_t i = 0; i < l->n_rows; i++)
        free(ids[i]);
    free(ids);
    l->dense_valid = r >= 0;
    return r;
}

void network_learner_start_values(struct network_learner *l)
{
    for (uint32_t p = 0; p < l->network->n_params; p++) {
        const struct param_spec *spec = &l->network->params[p].spec;
        float *out = l->values[p];

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

    for (size_t position = 0; position < n_samples;) {
        const uint32_t n = learner_batch_at(l, position, n_samples);
        struct plan_result result;
        int r = learner_remember(l, samples, position, n, error);

        if (r < 0)
            return r;
        learner_gather(l);
        plan_forward(l->plan, l->params, false, 0, &result);
        cost += result.cost;
        errors += result.errors;
        counted += result.counted;
        position += n;
    }
    *ret = (struct evaluation){ .cost = cost / (double)MAX_OF(n_samples, (size_t)1),
                                .error_rate = counted > 0 ? errors / counted : 0,
                                .samples = n_samples };
    return 0;
}
