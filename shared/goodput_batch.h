/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_batch.h - throughput x efficiency: how fast a model learns, and the batch that is best
 *
 * A larger batch is processed faster and teaches less per sample: with M0 the batch that the user
 * chose and the gradient noise scale v/s M0 (v: variance, s: square of the gradient's norm),
 *     efficiency(M) = (noise + M0) / (noise + M).
 * Changing the batch changes how a model is trained: only for jobs whose user allows it.
 * Source: Pollux (OSDI 2021), section 3. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/goodput_fit_allreduce.h"

struct goodput_gradient {
    double square, variance; /* >= 0; with a variance of 0 a larger batch teaches nothing */
};

struct goodput_batch_limits {
    double initial;              /* M0, > 0 */
    double most;                 /* of all replicas, >= initial */
    double local_min, local_max; /* of one replica; 0: 1 and `most` */
    bool accumulate; /* several local batches a step may be taken when one is too large */
};

struct goodput_batch {
    double goodput; /* samples a second of efficiency 1; 0: no batch is within the limits */
    uint32_t local;
    uint32_t further; /* local batches of a step after its first */
};

/* goodput_throughput - samples a second */
double goodput_throughput(const struct goodput_perf *perf, uint32_t nodes, uint32_t replicas,
                          double local, double further);
/* goodput_efficiency - 1 at the initial batch */
double goodput_efficiency(const struct goodput_gradient *gradient, double initial, double batch);
/* goodput_batch_best - of 50 total batches in geometric steps from the initial one to the largest;
 * of equal ones the first. A single replica that goes beyond the initial batch accumulates at least
 * once, or the noise of its gradients could not be measured. */
struct goodput_batch goodput_batch_best(const struct goodput_perf *perf,
                                        const struct goodput_gradient *gradient,
                                        const struct goodput_batch_limits *limits, uint32_t nodes,
                                        uint32_t replicas);
