/* SPDX-License-Identifier: Apache-2.0 */
/* sgd_mode.h - whether trainers that share parameter servers wait for each other
 *
 * Pure. Tests: tests/unit/test_sgd_mode.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trainer/wire/agreement.h"

struct edl_error;

/* What was asked for. */
struct sgd_asked {
    bool sync, async;    /* --sync, --async */
    double asynchronous; /* of the network's training: 0, 1, -1: not said */
    uint64_t trainers;   /* --num_gradient_servers; 0: not said */
    uint64_t send_every; /* --num_batches_per_send_parameter; 0: there is no such option */
};

/* sgd_mode_of - an option wins over the network. Where neither says it, trainers that a person has
 * counted wait for each other, as PaddlePaddle's do, and those of a job do not. -EINVAL: two words
 * exclude each other */
int sgd_mode_of(const struct sgd_asked *asked, enum sgd_mode *ret, struct edl_error *error);
