/* SPDX-License-Identifier: Apache-2.0 */
/* agent_core_internal.h - what the core knows, for its own files alone */
#pragma once

#include "agent/core/agent_core.h"
#include "agent/core/slot_view.h"
#include "agent/core/slots.h"
#include "agent/core/start_shares.h"
#include "agent/core/visits.h"
#include "shared/error.h"

struct agent_core {
    struct agent_unit *units;    /* owned; utlist */
    struct agent_unit *promised; /* those of them that made a promise; utlist by promise_next */
    struct start_shares shares;  /* of what is under way */
    struct slots slots;
    struct visits visits;
    struct reconcile_order *orders; /* owned */
    size_t *order_next;             /* owned; of the same slot, see slots.h */
    size_t n_orders;
    bool have_orders;
    uint64_t orders_asked_us; /* the scheduler made them after this instant */
    uint64_t orders_since_us; /* older ones start nothing: there was a gap since */
    bool orders_void;         /* likewise: the scheduler had forgotten this node since */
    struct lease_word lease;
    size_t n_frozen;
    uint64_t lease_us; /* as the scheduler gives it; 0 before the first report */
    bool all_told;     /* the scheduler knows of every change */
    bool report_queued;
    bool stopping;
    bool left;
    struct edl_error unlisted;    /* the last move that the table of states does not list */
    uint64_t goodbye_at_us;       /* NEVER_US: not waiting for the last report */
    struct agent_action *actions; /* owned; taken from idx_action on */
    size_t idx_action, n_actions, room;
    struct slot_view view; /* of the slot that is planned */
    uint64_t compared;
};

/* agent_core_add - a new action at the end of the list, valid until the next one */
struct agent_action *agent_core_add(struct agent_core *core, enum agent_action_kind kind,
                                    const struct process_id *id);

/* agent_core_touch - there is something to report */
void agent_core_touch(struct agent_core *core);

/* agent_core_look_whether_to_leave - all units gone and reported */
void agent_core_look_whether_to_leave(struct agent_core *core, uint64_t now_us);
