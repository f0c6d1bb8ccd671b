/* SPDX-License-Identifier: Apache-2.0 */
/* slots.h - the order and the units of each slot (job, role, index)
 *
 * Pure but for memory. A table by slot: agent_core compares what is in one slot and need not look
 * at the others. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "agent/core/process_id.h"
#include "agent/core/turns.h"

struct agent_unit;

#define SLOT_NO_ORDER SIZE_MAX

struct slot {
    struct process_bytes key;
    struct agent_unit *units;       /* borrowed; utlist by slot_next */
    size_t first_order, last_order; /* a chain of indexes; SLOT_NO_ORDER: none */
    struct turn turn;               /* its start waits (turns.h) */
    UT_hash_handle hh;
};

struct slots {          /* zeroed: empty */
    struct slot *table; /* owned; uthash by key, in the order in which they came to be */
    struct turns turns; /* those whose start waits */
};

void slots_free(struct slots *slots);

/* slots_find - NULL: nothing is known of it. slots_get - makes it then */
struct slot *slots_find(const struct slots *slots, const struct process_id *id);
struct slot *slots_get(struct slots *slots, const struct process_id *id);

/* slots_drop_empty - frees a slot of which nothing is ordered and nothing is there */
void slots_drop_empty(struct slots *slots, struct slot *slot);

/* slots_forget_orders - of all slots. slot_add_order - behind the others of its slot; next: for
 * each order the one that follows it */
void slots_forget_orders(struct slots *slots);
void slot_add_order(struct slot *slot, size_t *next, size_t idx_order);

/* slot_unit - the unit of this incarnation; NULL: there is none. slot may be NULL */
struct agent_unit *slot_unit(const struct slot *slot, const struct process_id *id);
void slot_add_unit(struct slot *slot, struct agent_unit *unit);
void slot_remove_unit(struct agent_unit *unit);
