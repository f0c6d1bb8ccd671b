/* SPDX-License-Identifier: Apache-2.0 */
/* program_steps.c - see program.h
 *
 * They wait for each other in every step, as with all-reduce: its second is so much work on its
 * part and the rest waiting. As with the library, an agent that is gone takes its sums along, and
 * sums that it cannot be told now are told later. */
#include "simulator/internal.h"

static const struct sim_work *work_of(const struct sim *sim, const struct unit *unit)
{
    return &sim->submissions[unit->job->submission].work;
}

static uint32_t slowest_permille(const struct unit *unit)
{
    const struct truth_role *role = &unit->job->roles[unit->role];
    uint32_t slowest = unit->node->speed_permille;

    for (uint32_t i = 0; i < role->n_slots; i++)
        for (const struct unit *other = role->slots[i].live; other != NULL;
             other = other->slot_next)
            if (other->life == LIFE_RUNNING && other->step == STEP_TRAIN)
                slowest = MIN_OF(slowest, other->node->speed_permille);
    return slowest;
}

void program_train_begin(struct sim *sim, struct unit *unit)
{
    unit->steps = (struct unit_steps){ .since_us = sim->now_us };
}

/* The whole of what has come together. */
static uint64_t take_whole(double *sum)
{
    uint64_t whole = (uint64_t)*sum;

    *sum -= (double)whole;
    return whole;
}

bool program_train(struct sim *sim, struct unit *unit)
{
    const struct sim_work *work = work_of(sim, unit);
    uint32_t n = program_count_running(unit, false);
    uint32_t servers = program_count_running(unit, true);
    double even_us = (double)MAX_OF(program_step_us(work, n, servers), UINT64_C(1));
    double each_us = even_us * 1000 / slowest_permille(unit);
    double passed_us = (double)(sim->now_us - unit->steps.since_us);
    double computes = even_us * 1000 / unit->node->speed_permille / each_us;
    struct step_sums done = { .step = (uint64_t)unit->job->steps_done };

    unit->steps.since_us = sim->now_us;
    unit->job->steps_done += passed_us / each_us / n;
    unit->steps.done += passed_us / each_us;
    done.steps = take_whole(&unit->steps.done);
    unit->steps.samples += (double)done.steps * work->records_per_task / n;
    done.samples = take_whole(&unit->steps.samples);
    unit->steps.compute_us += passed_us * computes;
    done.compute_us = take_whole(&unit->steps.compute_us);
    unit->steps.wait_us += passed_us * (1 - computes);
    done.wait_us = take_whole(&unit->steps.wait_us);
    step_sums_add(&unit->steps.untold, &done);
    return unit->job->steps_done >= work->steps;
}

void program_tell_steps(struct sim *sim, struct unit *unit)
{
    struct sim_node *node = unit->node;

    if (!agent_can_call(node) || node->agent_frozen || unit->steps.untold.steps == 0)
        return;
    if (unit->steps.agent != node->agent->number)
        unit->steps.told = (struct step_sums){ 0 };
    unit->steps.agent = node->agent->number;
    unit->steps.told_us = sim->now_us;
    step_sums_add(&unit->steps.told, &unit->steps.untold);
    unit->steps.untold = (struct step_sums){ 0 };
    node->agent->report = report_data_unref(node->agent->report);
}
