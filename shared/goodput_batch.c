/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_batch.c - throughput, efficiency, and the batch with the most of both */
#include "shared/goodput_batch.h"

#include <math.h>

#define SIZES 50
#define SLACK 1e-8 /* of ceil: a quotient that should be whole */

static double step_s(const struct goodput_perf *perf, double exchange_s, double local,
                     double further)
{
    double accumulate_s = goodput_perf_accumulate_s(perf, local);

    return further * accumulate_s + goodput_perf_step_s(perf, accumulate_s, exchange_s);
}

double goodput_throughput(const struct goodput_perf *perf, uint32_t nodes, uint32_t replicas,
                          double local, double further)
{
    return replicas * local * (further + 1) /
           step_s(perf, goodput_perf_exchange_s(perf, nodes, replicas), local, further);
}

double goodput_efficiency(const struct goodput_gradient *gradient, double initial, double batch)
{
    double scale = batch / initial;
    double left = gradient->variance / scale + gradient->square;

    return left > 0 ? (gradient->variance + gradient->square) / left / scale : 1 / scale;
}

static double accumulation(const struct goodput_batch_limits *limits, double local_max,
                           uint32_t replicas, double local)
{
    double further;

    if (!limits->accumulate)
        return 0;
    further = ceil(local / local_max - SLACK) - 1;
    if (replicas == 1 && local > limits->initial + SLACK)
        further = fmax(further, 1);
    return further;
}

struct goodput_batch goodput_batch_best(const struct goodput_perf *perf,
                                        const struct goodput_gradient *gradient,
                                        const struct goodput_batch_limits *limits, uint32_t nodes,
                                        uint32_t replicas)
{
    double local_min = limits->local_min > 0 ? limits->local_min : 1;
    double local_max = limits->local_max > 0 ? limits->local_max : limits->most;
    double first = fmax(limits->initial, local_min * replicas);
    double exchange_s = goodput_perf_exchange_s(perf, nodes, replicas);
    double factor = pow(limits->most / first, 1.0 / (SIZES - 1));
    double total = first;
    struct goodput_batch best = { 0 };
    double last_local = -1, last_further = -1;

    for (int i = 0; i < SIZES; i++, total *= factor) {
        double exact = (i == SIZES - 1 ? limits->most : total) / replicas;
        double further = accumulation(limits, local_max, replicas, exact);
        double local = ceil(exact / (further + 1) - SLACK);
        double batch = replicas * local * (further + 1);
        double goodput;

        if (local < local_min || local > local_max ||
            (local == last_local && further == last_further))
            continue;
        last_local = local;
        last_further = further;
        goodput = batch / step_s(perf, exchange_s, local, further) *
                  goodput_efficiency(gradient, limits->initial, batch);
        if (goodput > best.goodput)
            best = (struct goodput_batch){ goodput, (uint32_t)local, (uint32_t)further };
    }
    return best;
}
