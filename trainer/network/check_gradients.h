/* SPDX-License-Identifier: Apache-2.0 */
/* check_gradients.h - a network's gradients against differences of its cost, in f64 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trainer/data/batch.h"

struct edl_error;
struct network;

/* What one comparison came to: along a direction in one parameter. */
struct gradient_check {
    const char *param;
    bool one_element;          /* the direction is one element, else all at random */
    double step, cost;         /* how far, and from what cost */
    double measured, computed; /* slope by differences, slope by the gradient */
    bool holds;
};

struct gradient_check_config {
    const struct network *network;
    const struct batch *batch;
    uint64_t seed;       /* of start values, directions and masks */
    uint32_t n_elements; /* single elements of each parameter beside two directions */
    void (*on_check)(const struct gradient_check *check, void *userdata); /* NULL: none */
    void *userdata;
};

/* check_gradients - every trained parameter; *ret_failed: comparisons that do not hold
 * Parameters are normal around their start, larger than those, so that a mistake shows. Dropout
 * masks are drawn once and kept. -ENOMEM, -EINVAL: the batch does not fit. */
int check_gradients(const struct gradient_check_config *config, uint32_t *ret_failed,
                    struct edl_error *error);
