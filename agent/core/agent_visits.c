/* SPDX-License-Identifier: Apache-2.0 */
/* agent_visits.c - prolog and epilog of the jobs of a node (rule 11 of agent_core.h) */
#include <utlist.h>

#include "agent/core/agent_core_internal.h"

enum visit_entry agent_core_enter(struct agent_core *core, const struct process_id *id,
                                  bool drop_ins)
{
    return visits_enter(&core->visits, id->job_id, drop_ins);
}

bool agent_core_is_entered(const struct agent_core *core, uint64_t job_id)
{
    return visits_has(&core->visits, job_id);
}

void agent_core_prolog_ended(struct agent_core *core, uint64_t job_id, bool well)
{
    const struct process_id nobody = { .job_id = job_id };

    if (visits_prolog_ended(&core->visits, job_id, well))
        (void)agent_core_add(core, AGENT_EPILOG, &nobody);
}

/* set_held - the ends of the job that are known; true: there are any */
static bool set_held(struct agent_core *core, uint64_t job_id, bool held)
{
    struct agent_unit *unit;
    bool any = false;

    DL_FOREACH(core->units, unit)
    {
        if (unit->id.job_id != job_id || unit->state != UNIT_EXITED || unit->held == held)
            continue;
        unit->held = held;
        any = true;
    }
    return any;
}

void agent_core_epilog_ended(struct agent_core *core, uint64_t job_id, uint64_t now_us)
{
    visits_epilog_ended(&core->visits, job_id);
    if (set_held(core, job_id, false))
        agent_core_touch(core);
    agent_core_look_whether_to_leave(core, now_us);
}

void agent_core_adopt_visit(struct agent_core *core, uint64_t job_id, bool well)
{
    visits_adopt(&core->visits, job_id, well);
    if (visits_is_deserted(&core->visits, job_id))
        (void)set_held(core, job_id, true);
}
