/* SPDX-License-Identifier: Apache-2.0 */
/* agent_core_ask.c - what the core can be asked */
#include <utlist.h>

#include "agent/core/agent_core_internal.h"

struct lease_word agent_core_lease(const struct agent_core *core)
{
    return core->lease;
}

uint64_t agent_core_lease_deadline_us(const struct agent_core *core)
{
    return core->lease.deadline_us;
}

uint64_t agent_core_lease_us(const struct agent_core *core)
{
    return core->lease_us;
}

bool agent_core_is_stopping(const struct agent_core *core)
{
    return core->stopping;
}

bool agent_core_is_all_told(const struct agent_core *core)
{
    return core->all_told;
}

const struct agent_unit *agent_core_units(const struct agent_core *core)
{
    return core->units;
}

const struct agent_unit *agent_core_unit(const struct agent_core *core, const struct process_id *id)
{
    return slot_unit(slots_find(&core->slots, id), id);
}

size_t agent_core_count_alive(const struct agent_core *core)
{
    const struct agent_unit *unit;
    size_t n = 0;

    DL_FOREACH(core->units, unit)
    n += unit->state != UNIT_EXITED;
    return n;
}

bool agent_core_any_frozen(const struct agent_core *core)
{
    return core->n_frozen > 0;
}

uint64_t agent_core_compared(const struct agent_core *core)
{
    return core->compared;
}
