/* SPDX-License-Identifier: Apache-2.0 */
/* orders.h - an answer of the scheduler to GET /nodes/{node}/orders, checked */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/reconcile.h"

struct edl_error;

#define NO_TAIL UINT64_MAX

struct orders_log {
    struct process_id id;
    uint64_t after;      /* byte offset in its log */
    uint64_t tail_bytes; /* at first not more than so much of its end; NO_TAIL: all from after on */
};

struct orders {
    struct reconcile_order *list; /* owned */
    json_t **documents;           /* owned array of references: document i belongs to list[i] */
    size_t n;
    struct orders_log *logs; /* owned */
    size_t n_logs;
};

/* orders_owner - one number for each submitter, as in reconcile_order */
uint64_t orders_owner(const json_t *order);

/* orders_parse - all or nothing: an answer that is not understood changes nothing (-EINVAL with
 * error) */
int orders_parse(const json_t *answer, struct orders *ret, struct edl_error *error);
void orders_clear(struct orders *orders);
