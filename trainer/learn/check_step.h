/* SPDX-License-Identifier: Apache-2.0 */
/* check_step.h - one real step of a training, against the gradient and the optimizer's formula
 *
 * The learner takes it as it takes any other: in f32, through an exchange with whoever keeps the
 * parameters. Its gradient is compared with that of f64. What the parameters are afterwards is
 * compared with the formula on that very gradient, in f64 as well. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trainer/parameters/declaration.h"
#include "trainer/exchange/exchange.h"

struct batch;
struct edl_backend;
struct edl_error;
struct network;

/* What the step came to for one parameter; lengths are of all its elements. */
struct step_check {
    const char *param;
    double gradient, gradient_off; /* length in f64, and of the difference */
    double way, way_off;           /* how far it is to go, and the largest difference */
    bool holds;
};

struct step_check_config {
    const struct network *network;
    const struct edl_backend *backend;
    struct declaration declaration; /* of the network */
    const struct batch *batch;
    uint64_t seed;        /* of the values before the step, and of dropout */
    exchange_fn exchange; /* with a keeper of these parameters that has had no update */
    void *exchange_userdata;
    void (*on_check)(const struct step_check *check, void *userdata); /* NULL: none */
    void *userdata;
};

/* check_step - every trained parameter; *ret_failed: those that do not hold
 * Fails as the learner and the exchange do. */
int check_step(const struct step_check_config *config, uint32_t *ret_failed,
               struct edl_error *error);
