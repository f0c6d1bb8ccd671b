/* SPDX-License-Identifier: Apache-2.0 */
/* late_starts.c - starts that had to wait for their workspace or their devices, in the order in
 * which they may go on
 *
 * One archive may be what thousands wait for. They start within the same bounds as all others: so
 * many under way, and for a slice of time at once, so that reports and the lease come between. */
#include "agent/agent_internal.h"

#include <stdlib.h>
#include <utlist.h>

#include "shared/clock.h"
#include "shared/macro.h"

struct late_start {
    struct process_id id;
    json_t *order; /* owned reference */
    struct late_start *prev, *next;
};

void agent_start_late(struct agent *a, const struct process_id *id, json_t *order)
{
    struct late_start *late = xcalloc(1, sizeof *late);

    late->id = *id;
    late->order = json_incref(order);
    DL_APPEND(a->late, late);
    agent_decided(a);
}

static void take_first(struct agent *a)
{
    struct late_start *late = a->late;

    DL_DELETE(a->late, late);
    if (agent_core_start_late(a->core, &late->id, clock_read_us(CLOCK_BOOTTIME)))
        agent_start_now(a, &late->id, late->order);
    json_decref(late->order);
    free(late);
}

bool agent_start_some_late(struct agent *a, uint64_t until_us)
{
    while (a->late != NULL && agent_core_may_start_more(a->core)) {
        take_first(a);
        if (clock_read_us(CLOCK_BOOTTIME) >= until_us)
            return a->late == NULL;
    }
    return true; /* those that are left go on when others have started */
}

void agent_forget_late(struct agent *a)
{
    while (a->late != NULL) {
        struct late_start *late = a->late;

        DL_DELETE(a->late, late);
        json_decref(late->order);
        free(late);
    }
}
