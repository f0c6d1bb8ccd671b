/* SPDX-License-Identifier: Apache-2.0 */
/* slots.c - see slots.h */
#include "agent/core/slots.h"

#include <utlist.h>

#include "agent/core/agent_core.h"
#include "shared/macro.h"

static void slot_free(struct slots *slots, struct slot *slot)
{
    turns_remove(&slots->turns, &slot->turn);
    HASH_DEL(slots->table, slot);
    free(slot);
}

void slots_free(struct slots *slots)
{
    while (slots->table != NULL)
        slot_free(slots, slots->table);
}

struct slot *slots_find(const struct slots *slots, const struct process_id *id)
{
    const struct process_bytes key = process_id_slot_bytes(id);
    struct slot *slot;

    HASH_FIND(hh, slots->table, &key, sizeof key, slot);
    return slot;
}

struct slot *slots_get(struct slots *slots, const struct process_id *id)
{
    struct slot *slot = slots_find(slots, id);

    if (slot != NULL)
        return slot;
    slot = xcalloc(1, sizeof *slot);
    slot->key = process_id_slot_bytes(id);
    slot->first_order = slot->last_order = SLOT_NO_ORDER;
    HASH_ADD(hh, slots->table, key, sizeof slot->key, slot);
    return slot;
}

void slots_drop_empty(struct slots *slots, struct slot *slot)
{
    if (slot->units == NULL && slot->first_order == SLOT_NO_ORDER)
        slot_free(slots, slot);
}

void slots_forget_orders(struct slots *slots)
{
    for (struct slot *slot = slots->table; slot != NULL; slot = slot->hh.next)
        slot->first_order = slot->last_order = SLOT_NO_ORDER;
}

void slot_add_order(struct slot *slot, size_t *next, size_t idx_order)
{
    next[idx_order] = SLOT_NO_ORDER;
    if (slot->last_order == SLOT_NO_ORDER)
        slot->first_order = idx_order;
    else
        next[slot->last_order] = idx_order;
    slot->last_order = idx_order;
}

struct agent_unit *slot_unit(const struct slot *slot, const struct process_id *id)
{
    struct agent_unit *unit = slot != NULL ? slot->units : NULL;

    while (unit != NULL && unit->id.incarnation != id->incarnation)
        unit = unit->slot_next;
    return unit;
}

void slot_add_unit(struct slot *slot, struct agent_unit *unit)
{
    unit->slot = slot;
    DL_APPEND2(slot->units, unit, slot_prev, slot_next);
}

void slot_remove_unit(struct agent_unit *unit)
{
    DL_DELETE2(unit->slot->units, unit, slot_prev, slot_next);
    unit->slot = NULL;
}
