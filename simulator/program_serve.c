/* SPDX-License-Identifier: Apache-2.0 */
/* program_serve.c - see program.h
 *
 * Students are no processes here: there is a load, which those that run share evenly. More than all
 * can do waits, a task for each tenth of an instance that is missing. */
#include "simulator/internal.h"

#define TASKS_PER_INSTANCE 10

bool program_serves(const struct sim_work *work)
{
    return work->kind == SIM_WORK_FOREVER || work->kind == SIM_WORK_SERVE;
}

uint32_t program_load_permille(const struct sim_work *work, uint64_t now_us)
{
    uint32_t permille = 0;

    for (uint32_t i = 0; i < work->n_loads && work->loads[i].at_us <= now_us; i++)
        permille = work->loads[i].permille;
    return permille;
}

void program_serve(struct sim *sim, struct unit *unit)
{
    const struct sim_work *work = &sim->submissions[unit->job->submission].work;
    struct sim_node *node = unit->node;
    uint32_t n = program_count_running(unit, false);
    uint32_t each = program_load_permille(work, sim->now_us) / n;
    uint32_t over = each - MIN_OF(each, (uint32_t)BACKLOG_BUSY_MAX);

    if (!agent_can_call(node) || node->agent_frozen)
        return;
    unit->backlog = (struct backlog_told){ .any = true,
                                           .waiting_milli = TASKS_PER_INSTANCE * over,
                                           .busy_permille = MIN_OF(each, BACKLOG_BUSY_MAX) };
    unit->backlog_agent = node->agent->number;
    node->agent->report = report_data_unref(node->agent->report);
}
