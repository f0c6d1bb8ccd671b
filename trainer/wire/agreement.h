/* SPDX-License-Identifier: Apache-2.0 */
/* agreement.h - what all trainers of the same servers are to be given alike, beside the parameters
 *
 * A trainer says it with its HELLO. A server keeps what the first one said, and refuses a trainer
 * that says something else. Pure. */
#pragma once

#include <stdint.h>

struct edl_error;

#define AGREEMENT_NOBODY UINT32_MAX

/* 0 everywhere: nothing was said. */
struct agreement {
    uint32_t trainers;   /* --num_gradient_servers */
    uint32_t send_every; /* --num_batches_per_send_parameter */
    uint32_t center;     /* --center_parameter_update_method: enum local_sgd_method, 1 more */
    float delta_add_rate;
    uint32_t mode; /* --sync: enum sgd_mode, 1 more */
};

enum sgd_mode { SGD_ASYNCHRONOUS, SGD_SYNCHRONOUS };

/* agreement_of_flags - what a trainer says of its own flags
 * trainers: 0: not given. With local SGD, send_every above 1, that says 1: a meeting shares by it.
 * center and delta_add_rate are of meetings, and not said without them. */
struct agreement agreement_of_flags(uint32_t trainers, uint32_t send_every, uint32_t center,
                                    float delta_add_rate);

enum agreement_term {
    TERM_TRAINERS,
    TERM_SEND_EVERY,
    TERM_CENTER,
    TERM_DELTA_ADD_RATE,
    TERM_MODE,
    TERMS
};

/* What was said, term by term, and which trainer said it first. All 0: nothing. */
struct agreement_known {
    struct agreement said;
    uint32_t speakers[TERMS]; /* of terms that were said; AGREEMENT_NOBODY: the server's own flag */
};

/* agreement_check - that other may train with those who said first
 * A value that one of both has not said is no difference. -EINVAL: the error names the flag, both
 * values, who has them and what to do. */
int agreement_check(const struct agreement_known *known, const struct agreement *other,
                    uint32_t other_trainer, struct edl_error *error);

/* agreement_add - takes from other what nobody has said before
 * other_trainer: who says it; AGREEMENT_NOBODY: the server's own flags */
void agreement_add(struct agreement_known *known, const struct agreement *other,
                   uint32_t other_trainer);
