/* SPDX-License-Identifier: Apache-2.0 */
/* learn.h - speeds as they are found out while jobs run, where a run does not tell the true ones
 *
 * A job measures the shape that it has: the time of a step and of its parts, the noise of its
 * gradients. From that a model of its speed is fitted, which says how fast it were with other
 * amounts, and by which it divides its batch. Each job learns by itself, or all of a family
 * together. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/goodput_batch.h"
#include "shared/goodput_fit_allreduce.h"

struct edl_error;
struct profile;
struct run;
struct run_job;
struct shape;

/* A job is shown to be able to grow so many times beyond what was ever tried of it: a guess far
 * from all measurements is none. */
#define LEARN_GROWTH 4

/* What is known of one job, or one family. */
struct learnt {
    struct goodput_perf_point points[GOODPUT_PERF_POINTS_MAX];
    int n_points, oldest;             /* the oldest is forgotten first */
    struct goodput_perf perf;         /* once there is a point */
    uint32_t most;                    /* instances that were tried; 0: none yet */
    struct goodput_gradient gradient; /* in the earliest phase that was measured */
    uint32_t gradient_phase;
    bool has_gradient;
};

/* How a batch is divided. */
struct work_split {
    uint32_t local;  /* on one instance in one accumulation step */
    uint32_t passes; /* accumulation steps before the one with the exchange */
};

/* What a kind of profile has to offer for its jobs to learn. gradient: NULL: not measured yet. */
struct profile_learning {
    /* choose - the division at a shape which is best by what was learnt */
    struct work_split (*choose)(const struct profile *profile, const struct learnt *learnt,
                                const struct goodput_gradient *gradient, const struct shape *shape);
    /* measure - what running with it shows, and the true progress per second. Errors: -ERANGE */
    int (*measure)(struct profile *profile, const struct shape *shape, struct work_split split,
                   uint32_t phase, struct goodput_perf_point *ret_point,
                   struct goodput_gradient *ret_gradient, double *ret_rate,
                   struct edl_error *error);
    /* guess - progress per second with n instances on so many nodes; 0: not possible */
    double (*guess)(const struct profile *profile, const struct learnt *learnt,
                    const struct goodput_gradient *gradient, uint32_t n, uint32_t nodes);
};

/* learn_begin - -EINVAL: a profile of the trace cannot be learnt, or the run has no rounds */
int learn_begin(struct run *run);
void learn_end(struct run *run);

/* learn_settle - the job begins with other amounts; learn_look - it runs: measures, fits when that
 * is new, divides its batch anew. Errors: -ERANGE */
int learn_settle(struct run *run, struct run_job *job);
int learn_look(struct run *run, struct run_job *job);

/* learn_rate - progress per second that is expected with n instances; NAN: nothing is known yet */
double learn_rate(const struct run *run, const struct run_job *job, uint32_t n);
/* learn_most - instances beyond which nothing is said */
uint32_t learn_most(const struct run *run, const struct run_job *job);
