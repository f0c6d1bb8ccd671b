/* SPDX-License-Identifier: Apache-2.0 */
/* pollux_learn.c - what a job of Pollux' finds out by running, by the model of its authors */
#include <math.h>

#include "shared/macro.h"
#include "simulator/trace/pollux_app.h"
#include "simulator/trace/pollux_internal.h"

static const struct pollux_app *app_of(const struct profile *profile)
{
    return ((const struct pollux_profile *)profile)->app;
}

static struct goodput_batch_limits limits_of(const struct pollux_app *app)
{
    return (struct goodput_batch_limits){ .initial = app->init_batch,
                                          .most = app->max_batch,
                                          .local_min = app->min_local,
                                          .local_max = app->max_local,
                                          .accumulate = true };
}

static struct goodput_batch best(const struct profile *profile, const struct learnt *learnt,
                                 const struct goodput_gradient *gradient, uint32_t n,
                                 uint32_t nodes)
{
    struct goodput_batch_limits limits = limits_of(app_of(profile));

    return goodput_batch_best(&learnt->perf, gradient, &limits, nodes, n);
}

static struct work_split choose(const struct profile *profile, const struct learnt *learnt,
                                const struct goodput_gradient *gradient, const struct shape *shape)
{
    const struct pollux_app *app = app_of(profile);
    uint32_t batch = profile->batch;

    if (batch == 0 && learnt->n_points > 0 && gradient != NULL) {
        struct goodput_batch chosen = best(profile, learnt, gradient, shape->n, shape->n_nodes);
        uint32_t most = app->max_batch / (shape->n * (chosen.further + 1));

        if (chosen.goodput > 0)
            return (struct work_split){ MIN_OF(chosen.local, most), chosen.further };
    }
    if (batch == 0) /* as it was submitted, or the least that gives all of them work */
        batch = MAX_OF(app->init_batch, app->min_local * shape->n);
    return pollux_fixed_split(app, batch, shape->n);
}

static int measure(struct profile *profile, const struct shape *shape, struct work_split split,
                   uint32_t phase, struct goodput_perf_point *ret_point,
                   struct goodput_gradient *ret_gradient, double *ret_rate, struct edl_error *error)
{
    struct pollux_app *app = ((struct pollux_profile *)profile)->app;
    uint32_t batch = shape->n * split.local * (split.passes + 1);
    double step_s, sync_s, gain;
    int r = pollux_app_step(app, shape, split.local, &step_s, &sync_s, error);

    if (r == 0)
        r = pollux_app_gain(app, batch, phase, &gain, error);
    if (r == 0)
        r = pollux_app_gradient(app, batch, phase, &ret_gradient->square, &ret_gradient->variance,
                                error);
    if (r < 0)
        return r;
    *ret_point = (struct goodput_perf_point){ .nodes = shape->n_nodes,
                                              .replicas = shape->n,
                                              .local_batch = split.local,
                                              .accumulate_s = step_s - sync_s,
                                              .step_s = step_s };
    *ret_rate = gain / (step_s + (step_s - sync_s) * split.passes);
    return 0;
}

/* In iterations of the initial batch per second. */
static double guess(const struct profile *profile, const struct learnt *learnt,
                    const struct goodput_gradient *gradient, uint32_t n, uint32_t nodes)
{
    const struct pollux_app *app = app_of(profile);
    struct work_split split;
    double batch, efficiency;

    if (profile->batch == 0 && gradient != NULL)
        return best(profile, learnt, gradient, n, nodes).goodput / app->init_batch;
    batch = profile->batch > 0 ? profile->batch : app->init_batch;
    split = pollux_fixed_split(app, (uint32_t)batch, n);
    if (split.local == 0)
        return 0;
    batch = (double)n * split.local * (split.passes + 1);
    efficiency = gradient != NULL ? goodput_efficiency(gradient, app->init_batch, batch) : 1;
    return goodput_throughput(&learnt->perf, nodes, n, split.local, split.passes) * efficiency /
           app->init_batch;
}

const struct profile_learning pollux_learning = {
    .choose = choose,
    .measure = measure,
    .guess = guess,
};
