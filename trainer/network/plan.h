/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - a network that runs: where its values lie, and its steps
 *
 * All values, gradients and scratch of a batch lie in one arena; those that are never alive at the
 * same time share their place. It is laid out once for the largest batch, and again only when
 * sequences come that are longer than any before: no step allocates. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trainer/network/network.h"

struct edl_backend;
struct edl_error;
struct plan;

struct plan_config {
    const struct network *network;     /* stays there */
    const struct edl_backend *backend; /* whose memory the arena is */
    const struct tensor_ops *ops;      /* of one element type, on that memory */
    uint32_t batch_max;                /* samples */
    bool whole_tables;                 /* no parameter is sparse: all its rows are given */
};

struct plan_result {
    double cost;      /* the SUM over the batch */
    uint32_t errors;  /* of classes, top-1 */
    uint32_t counted; /* samples that errors counts in; 0: the network has no classes */
};

/* plan_fits - whether a back-end has ops for all layers of a network, and for their activations
 * -EOPNOTSUPP: one lacks, and is named. */
int plan_fits(const struct network *network, const struct edl_backend *backend,
              struct edl_error *error);

/* plan_new - *ret is the caller's; -ENOMEM: the batch does not fit, with what was asked for */
int plan_new(const struct plan_config *config, struct plan **ret, struct edl_error *error);
/* plan_free - NULL is fine; returns NULL */
struct plan *plan_free(struct plan *plan);

/* plan_batch - remembers a batch for the steps that follow; it stays there until then
 * -EINVAL: an id outside its input, an empty sequence, a value that is not finite, a batch of 0 or
 * more than batch_max samples: input, sample and value are named. -ENOMEM. */
int plan_batch(struct plan *plan, const struct batch *batch, struct edl_error *error);

/* plan_rows - of a sparse parameter: the distinct rows that the batch touches, ascending */
const uint32_t *plan_rows(const struct plan *plan, uint32_t param, uint32_t *ret_n);

/* params and gradients are arrays of the plan's element type in the back-end's memory, one for each
 * of the network's parameters, [rows, columns]. Of a sparse one they hold only the batch's rows, in
 * the order of plan_rows. */

/* plan_step - forward with dropout (same seed, same masks) and backward; gradients are of the SUM
 * of the costs (=), those of static parameters are not written */
void plan_step(struct plan *plan, void *const *params, uint64_t seed, void *const *gradients,
               struct plan_result *ret);

/* plan_forward - the costs alone; training: with dropout and the batch's own statistics */
void plan_forward(struct plan *plan, void *const *params, bool training, uint64_t seed,
                  struct plan_result *ret);

/* plan_output - [rows, size] of one of the network's outputs after plan_forward, in the back-end's
 * memory */
const void *plan_output(const struct plan *plan, uint32_t which, size_t *ret_rows);

/* plan_blame - which layer or parameter made a cost or a gradient that is not finite
 * Runs the step once more with a look at every layer. false: all are finite. */
bool plan_blame(struct plan *plan, void *const *params, uint64_t seed, void *const *gradients,
                char *ret_text, size_t size);

/* plan_bytes - of the arena */
size_t plan_bytes(const struct plan *plan);
