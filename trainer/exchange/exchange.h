/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h - one push and pull of parameters, with any keeper (servers, or a table in this
 * process)
 *
 * With synchronous SGD (ps_client) a push is answered when all trainers that have entered have
 * pushed; elsewhere `enters` and `leaves` say nothing. Gradients go out and fresh values come back
 * in one round trip. The rows of the next batch are asked for together with the push of this one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct edl_error;

/* Rows of one sparse parameter. */
struct exchange_rows {
    uint32_t param;
    uint32_t n_push, n_pull;
    const uint32_t *push_ids; /* distinct */
    const float *push_rows;   /* f32[n_push, columns] */
    const uint32_t *pull_ids; /* distinct */
    float *ret_rows;          /* f32[n_pull, columns], in the order of pull_ids */
};

struct exchange {
    bool push;        /* counts as one update */
    bool enters;      /* a batch follows: from its values on, others wait for its push */
    bool leaves;      /* no batch follows: nobody waits any more */
    bool set;         /* values go out, not gradients: all of them, before any push */
    uint32_t samples; /* behind this push: whose gradients were summed */
    uint32_t pass;    /* they are of; from 0 */
    const float *const *
        dense_gradients; /* [param] f32[rows, columns], entries of sparse ones unused; NULL: none */
    float *const *ret_dense; /* same for values; NULL: not wanted */
    const struct exchange_rows *rows;
    uint32_t n_rows;
};

/* Returns 0, or a negative code with error; values may be half written then. */
typedef int (*exchange_fn)(void *userdata, const struct exchange *exchange,
                           struct edl_error *error);
