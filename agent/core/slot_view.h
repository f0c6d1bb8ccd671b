/* SPDX-License-Identifier: Apache-2.0 */
/* slot_view.h - the orders and the units of one slot, as arrays for reconcile_plan
 *
 * Used again and again, by agent_core.c. */
#pragma once

#include <stddef.h>

#include "agent/core/reconcile.h"

struct agent_unit;

struct slot_view { /* zeroed: empty */
    size_t n_orders, n_units, room;
    struct reconcile_order *orders; /* this and the others: owned arrays */
    size_t *idx_orders;             /* in the core's orders */
    struct reconcile_process *processes;
    struct agent_unit **units; /* borrowed units */
    struct reconcile_action *actions;
};

/* slot_view_make_room - for n of each */
void slot_view_make_room(struct slot_view *view, size_t n);
void slot_view_clear(struct slot_view *view);
