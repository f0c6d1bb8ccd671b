/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.h - which optimizer a job's parameters are under, with all its numbers
 *
 * The formulas are in kernels/optimizer.h. A network or a command line sets the numbers, a trainer
 * declares them, and a server works out the step of each parameter. */
#pragma once

#include "kernels/optimizer.h"
#include "trainer/parameters/param_spec.h"
#include "trainer/parameters/rate.h"

#include <stdbool.h>

struct edl_error;

/* It has no padding and travels as it lies in memory. */
struct optimizer_spec {
    uint32_t method;   /* enum optimizer_method */
    uint32_t schedule; /* enum rate_schedule */
    float learning_rate;
    float momentum, rho, epsilon, beta1, beta2;
    float l1_rate, l2_rate;
    float clipping; /* 0: none */
    float schedule_a, schedule_b;
    char schedule_args[RATE_ARGS_SIZE];
    uint32_t nesterov; /* 1: with method momentum only */
};
_Static_assert(sizeof(struct optimizer_spec) == 14 * 4 + RATE_ARGS_SIZE, "no padding");

/* optimizer_default - a method with the usual numbers: rate 1e-3, constant; rho 0.95; epsilon 1e-6,
 * for Adam 1e-8; betas 0.9 and 0.999; no momentum, decay or clipping */
struct optimizer_spec optimizer_default(enum optimizer_method method);

/* optimizer_check - -EINVAL; error names the number that is wrong, and one that would do */
int optimizer_check(const struct optimizer_spec *spec, struct edl_error *error);

/* optimizer_check_param - that the method can update this parameter; both were checked alone
 * -EINVAL: error names the parameter, the method, and others that can. */
int optimizer_check_param(const struct optimizer_spec *spec, const struct param_spec *param,
                          struct edl_error *error);

/* optimizer_has_velocity - whether this parameter needs the slot behind the states */
bool optimizer_has_velocity(const struct optimizer_spec *spec, const struct param_spec *param);

/* optimizer_param_step - the numbers of a parameter's updates that stay the same
 *
 * Where the parameter has 0, it takes the optimizer's number: so do Paddle's programs of version 2.
 * A negative number means none. rate, count, batches and first are of one update, and the caller's
 * to set. */
struct optimizer_step optimizer_param_step(const struct optimizer_spec *spec,
                                           const struct param_spec *param);
