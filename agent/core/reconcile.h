/* SPDX-License-Identifier: Apache-2.0 */
/* reconcile.h - what is ordered x what is there -> what to do, as data
 *
 * Pure: no I/O, no clock, no allocation. Level-triggered: it is called with all orders and all
 * processes of a slot after every change of either, and calling it again changes nothing. Its
 * cost grows with orders times processes: several slots may be handed in, but see slots.h.
 * Invariants: (1) a START is only given when no other incarnation of the slot is alive; (2) an
 * incarnation older than one known for its slot is never started; (3) at most one action per order
 * and one per process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/process_id.h"
#include "agent/core/unit_sm.h"

struct reconcile_order {
    struct process_id id;
    bool run; /* false: stop */
    uint64_t grace_us;
    uint64_t owner; /* one number for each submitter; 0: not told */
};

struct reconcile_process {
    struct process_id id;
    enum unit_state state;
    bool frozen;       /* it stands still, because a lease ran out */
    uint64_t grace_us; /* of its own order; used when orders say nothing */
};

enum reconcile_kind {
    RECONCILE_START,         /* idx_order */
    RECONCILE_REFUSE_STALE,  /* idx_order: report it exited, a newer incarnation is known */
    RECONCILE_NEVER_STARTED, /* idx_order: report it exited, it was to be stopped and never ran here
                              */
    RECONCILE_STOP,          /* idx_process, grace_us */
    RECONCILE_THAW,          /* idx_process: frozen, and ordered to run */
    RECONCILE_FORGET,        /* idx_process: exited and no longer listed, its end is on record */
};

struct reconcile_action {
    enum reconcile_kind kind;
    size_t idx_order;
    size_t idx_process;
    uint64_t grace_us;
};

/* reconcile_plan - writes the actions and returns how many
 * ret_actions: room for n_orders + n_processes. may_start: false while this node has no lease or is
 * going down; starts and thaws then wait, everything else goes on. */
size_t reconcile_plan(const struct reconcile_order *orders, size_t n_orders,
                      const struct reconcile_process *processes, size_t n_processes, bool may_start,
                      struct reconcile_action *ret_actions);
