/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_fit_allreduce.h - the step time of a job whose replicas average their gradients
 *
 * With a local batch of b samples, k replicas on n nodes:
 *     T_acc  = ac + bc b                                         gradients of one local batch
 *     T_net  = 0 (k = 1) | ar + br (k-2) (n = 1) | an + bn (k-2) the exchange
 *     T_step = (T_acc^g + T_net^g)^(1/g)                         1 <= g <= 10: how they overlap
 * Fitted by the errors of the logarithms, root mean squares of T_acc and T_step, plus
 *     1e-3 (g-1)^2 + 1e-2 ((bn/an)^2 + (br/ar)^2);
 * a quantity that was not observed is pinned to 1e-8 (optimistic), ac to half of T_acc while there
 * is one batch size only. Several nodes are taken to be 1.1 times as slow as one until they are
 * seen. Source: Pollux (OSDI 2021), section 4.3 and its published simulator. */
#pragma once

#include <stdint.h>

enum goodput_perf_param {
    GOODPUT_PERF_AC,
    GOODPUT_PERF_BC,
    GOODPUT_PERF_AN,
    GOODPUT_PERF_BN,
    GOODPUT_PERF_AR,
    GOODPUT_PERF_BR,
    GOODPUT_PERF_GAMMA,
    GOODPUT_PERF_PARAMS
};

struct goodput_perf {
    double
        of[GOODPUT_PERF_PARAMS]; /* seconds, seconds a sample or a replica; the last has no unit */
};

#define GOODPUT_PERF_POINTS_MAX 64

struct goodput_perf_point {
    uint32_t nodes, replicas; /* 1 <= nodes <= replicas */
    double local_batch;       /* > 0 */
    double accumulate_s;      /* T_acc, > 0 */
    double step_s;            /* T_step, > 0 */
};

/* goodput_perf_fit - -EINVAL: no point, too many, or one that is out of range. About 0.1 ms for 20
 * points: asked for when a new configuration was seen, not at each report. */
int goodput_perf_fit(const struct goodput_perf_point *points, int n, struct goodput_perf *ret_perf);

/* goodput_perf_objective - the error of parameters, and its gradient unless that is NULL. Points as
 * above. The root of a square is rounded off below 1e-4, so that there is a gradient everywhere. */
double goodput_perf_objective(const struct goodput_perf *perf,
                              const struct goodput_perf_point *points, int n,
                              double ret_gradient[GOODPUT_PERF_PARAMS]);

double goodput_perf_accumulate_s(const struct goodput_perf *perf, double local_batch);
double goodput_perf_exchange_s(const struct goodput_perf *perf, uint32_t nodes, uint32_t replicas);
/* goodput_perf_step_s - of one step without further accumulation */
double goodput_perf_step_s(const struct goodput_perf *perf, double accumulate_s, double exchange_s);
