/* SPDX-License-Identifier: Apache-2.0 */
/* late_starts.c - starts that had to wait for their workspace or their devices, in the order in
 * which they may go on
 *
 * One archive may be what thousands wait for. They start within the same bounds as all others: so
 * many of an owner under way, and for a slice of time at once, so that reports and the lease come
 * between. */
#include "agent/agent_internal.h"

#include <stdlib.h>

#include "agent/link/orders.h"
#include "shared/clock.h"
#include "shared/macro.h"

struct late_start {
    struct process_id id;
    json_t *order; /* owned reference */
    struct turn turn;
};

void agent_start_late(struct agent *a, const struct process_id *id, json_t *order)
{
    struct late_start *late = xcalloc(1, sizeof *late);

    late->id = *id;
    late->order = json_incref(order);
    turns_add(&a->late, orders_owner(order), &late->turn, late);
    agent_decided(a);
}

static void late_free(struct agent *a, struct late_start *late)
{
    turns_remove(&a->late, &late->turn);
    json_decref(late->order);
    free(late);
}

static void take(struct agent *a, struct late_start *late)
{
    struct process_id id = late->id;
    json_t *order = json_incref(late->order);

    late_free(a, late);
    if (agent_core_start_late(a->core, &id, clock_read_us(CLOCK_BOOTTIME)))
        agent_start_now(a, &id, order);
    json_decref(order);
}

static bool may_start(uint64_t owner, const void *userdata)
{
    const struct agent *a = userdata;

    return agent_core_may_start_more(a->core, owner);
}

bool agent_start_some_late(struct agent *a, uint64_t until_us)
{
    struct late_start *late;

    while ((late = turns_next(&a->late, may_start, a)) != NULL) {
        take(a, late);
        if (clock_read_us(CLOCK_BOOTTIME) >= until_us)
            return turns_next(&a->late, may_start, a) == NULL;
    }
    return true; /* those that are left go on when others have started */
}

static bool any(uint64_t owner, const void *userdata)
{
    (void)owner;
    (void)userdata;
    return true;
}

void agent_forget_late(struct agent *a)
{
    struct late_start *late;

    while ((late = turns_next(&a->late, any, NULL)) != NULL)
        late_free(a, late);
}
