/* SPDX-License-Identifier: Apache-2.0 */
/* network_learner_internal.h - what training and evaluation of a network share
 *
 * Values, gradients and sums have two images: one in the back-end's memory, for ops, and one in the
 * program's, for exchanges and saves. On the CPU the two are one (kernels/mirror.h). */
#pragma once

#include <stdbool.h>

#include "kernels/mirror.h"
#include "trainer/learn/network_learner.h"

struct batch_room;
struct plan;

/* Rows of a sparse parameter: of this group of batches and of the next. */
struct rows {
    uint32_t param, declared; /* in the network, in the declaration */
    size_t columns;
    struct mirror group[2]; /* u32[rows] */
    uint32_t n_group[2];
    uint32_t *place;      /* [rows] in the group collected last, of the ids that are in it */
    struct mirror ids;    /* u32[rows] of one batch, on a device */
    struct mirror places; /* u32[rows] of these ids in the group */
    void *batch_rows;     /* of one batch, in the back-end's memory */
    struct mirror pulled; /* of the next group */
};

struct network_learner {
    struct network_learner_config config;
    const struct network *network;
    const struct edl_backend *backend;
    struct plan *plan;
    struct batch_room *room;
    uint64_t steps, batches;
    uint32_t pass;
    uint64_t lesson, passes_before;
    uint64_t *indices; /* [batch] of a walk */
    bool dense_valid;
    /* [params of the network]; closed: a static one has no gradient */
    struct mirror *values, *gradients, *sums;
    /* [params], as ops take them */
    void **params;         /* values, or the batch's rows */
    void **step_gradients; /* of a batch */
    float **host_values;   /* [params], in the program's memory */
    uint32_t *declared;    /* number in the declaration, UINT32_MAX: static */
    float **out, **back;   /* [params of the declaration] gradients and values as an exchange has
                              them */
    struct rows *rows;
    uint32_t n_rows;
    struct exchange_rows *exchange_rows;
};

/* learner_values_of - floats of one of the network's parameters */
size_t learner_values_of(const struct network_learner *l, uint32_t param);

/* learner_open_memory - all of it; -ENOMEM. learner_close_memory: also of half of it */
int learner_open_memory(struct network_learner *l, struct edl_error *error);
void learner_close_memory(struct network_learner *l);

/* learner_upload_values - from the program's memory, where an exchange, a saved pass or a mean has
 * put them; dense_only: sparse ones are not complete there */
void learner_upload_values(const struct network_learner *l, bool dense_only);

/* learner_sums - gradients are summed over micro-batches; else that of the only one is the sum */
static inline bool learner_sums(const struct network_learner *l)
{
    return l->config.push_every > 1;
}

/* learner_check_backend - a device that has failed stays so, and what came from it is nothing; -EIO
 */
int learner_check_backend(const struct network_learner *l, struct edl_error *error);

/* learner_batch_at - samples of the batch that begins at position */
uint32_t learner_batch_at(const struct network_learner *l, size_t position, size_t end);

/* learner_remember - the next step is of these n samples; -EINVAL, -ENOMEM: as plan_batch */
int learner_remember(struct network_learner *l, const struct sample_set *samples, size_t position,
                     uint32_t n, struct edl_error *error);

/* learner_check_averages - whether those that the network keeps are numbers; -EDOM names the one */
int learner_check_averages(const struct network_learner *l, struct edl_error *error);

/* learner_gather - the rows of that batch, to where a step takes them from */
void learner_gather(struct network_learner *l);
