/* SPDX-License-Identifier: Apache-2.0 */
/* promised.c - the units that promised to be alive */
#include "agent/core/promised.h"

#include <utlist.h>

#include "agent/core/agent_core.h"
#include "shared/macro.h"

void promised_set(struct agent_unit **list, struct agent_unit *unit, uint64_t within_us,
                  uint64_t now_us)
{
    bool had = unit->promise.within_us > 0;

    if (had && within_us == 0)
        DL_DELETE2(*list, unit, promise_prev, promise_next);
    if (!had && within_us > 0)
        DL_APPEND2(*list, unit, promise_prev, promise_next);
    promise_make(&unit->promise, within_us, now_us);
}

bool promised_broken(struct agent_unit *unit, bool held, uint64_t now_us)
{
    bool counts = held && unit->state == UNIT_RUNNING && !unit->frozen;

    return now_us >= promise_next_us(&unit->promise) &&
           promise_look(&unit->promise, counts, now_us);
}

uint64_t promised_next_us(const struct agent_unit *list)
{
    uint64_t next_us = NEVER_US;
    const struct agent_unit *unit;

    DL_FOREACH2(list, unit, promise_next)
    next_us = MIN_OF(next_us, promise_next_us(&unit->promise));
    return next_us;
}
