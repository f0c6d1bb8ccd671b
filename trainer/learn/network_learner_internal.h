/* SPDX-License-Identifier: Apache-2.0 */
/* network_learner_internal.h - what training and evaluation of a network share */
#pragma once

#include <stdbool.h>

#include "trainer/learn/network_learner.h"

struct batch_room;
struct plan;

/* Rows of a sparse parameter: of this group of batches and of the next. */
struct rows {
    uint32_t param, declared; /* in the network, in the declaration */
    size_t columns;
    uint32_t *group[2], n_group[2];
    uint32_t *place;   /* [rows] in the group collected last, of the ids that are in it */
    float *batch_rows; /* of one batch */
    float *pulled;     /* of the next group */
};

struct network_learner {
    struct network_learner_config config;
    const struct network *network;
    const struct edl_backend *backend;
    struct plan *plan;
    struct batch_room *room;
    uint64_t steps, batches;
    uint32_t pass;
    bool dense_valid;
    /* [params of the network]; NULL: a static one has no gradient */
    float **values, **gradients, **sums;
    void **params;      /* what a step takes: values, or the batch's rows */
    uint32_t *declared; /* number in the declaration, UINT32_MAX: static */
    float **out,
        **back; /* [params of the declaration] gradients and values as an exchange has them */
    struct rows *rows;
    uint32_t n_rows;
    struct exchange_rows *exchange_rows;
};

/* learner_values_of - floats of one of the network's parameters */
size_t learner_values_of(const struct network_learner *l, uint32_t param);

/* learner_step_seed - of a step's dropout, from 1 on: different for every step of every trainer,
 * the same when a run is repeated */
uint64_t learner_step_seed(uint64_t dropout_seed, uint64_t step);

/* learner_batch_at - samples of the batch that begins at position */
uint32_t learner_batch_at(const struct network_learner *l, size_t position, size_t end);

/* learner_remember - the next step is of these n samples; -EINVAL, -ENOMEM: as plan_batch */
int learner_remember(struct network_learner *l, const struct sample_set *samples, size_t position,
                     uint32_t n, struct edl_error *error);

/* learner_check_averages - whether those that the network keeps are numbers; -EDOM names the one */
int learner_check_averages(const struct network_learner *l, struct edl_error *error);

/* learner_gather - the rows of that batch, to where a step takes them from */
void learner_gather(struct network_learner *l);
