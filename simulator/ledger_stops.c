/* SPDX-License-Identifier: Apache-2.0 */
/* ledger_stops.c - what makes a process that really runs end, and whether it had to
 *
 * A stop needs a record of it, or a lease that ran out: looked at when SIGTERM and SIGKILL come,
 * with the lease file and the job's own document, not with the words of an order. And a stop that
 * is committed leaves its job the minimum. Excused is a job that is over or lacked something
 * before, and a node that is drained or came back with less. */
#include <inttypes.h>

#include "simulator/internal.h"

/* As agent/core/fence.h has it: SIGTERM a third of the lease before its end, or a freeze a sixth,
 * SIGKILL a twelfth. */
#define TERM_PART 3
#define FREEZE_PART 6
#define KILL_PART 12

static bool lease_is_near_its_end(const struct sim *sim, const struct unit *unit,
                                  uint64_t deadline_us, uint64_t part)
{
    return node_boot_us(sim, unit->node) + sim->config.lease_us / part >= deadline_us;
}

/* ledger_unit_fenced - its supervisor saw the lease run out; a later lease does not undo that */
void ledger_unit_fenced(struct sim *sim, struct unit *unit)
{
    unit->fenced_deadline_us = unit->node->lease.deadline_us;
    if (!lease_is_near_its_end(sim, unit, unit->fenced_deadline_us,
                               unit->fence.freezes ? FREEZE_PART : TERM_PART))
        violate(sim, "stop",
                "job %s: %s-%u.%" PRIu64 " is fenced on %s %.3f s before the end of the lease",
                unit->job->name, unit->id.role, unit->id.index, unit->id.incarnation,
                unit->node->name,
                (double)(unit->fenced_deadline_us - node_boot_us(sim, unit->node)) / 1e6);
}

/* Whoever stops an agent for good stops what it started. */
static bool agent_leaves(const struct sim_node *node)
{
    return node->agent != NULL && agent_core_is_stopping(node->agent->core);
}

/* ledger_unit_told - it gets SIGTERM */
void ledger_unit_told(struct sim *sim, struct unit *unit)
{
    struct truth_process *known = &unit->job->processes[unit->id.incarnation];

    unit->told_us = node_boot_us(sim, unit->node);
    unit->job->roles[unit->role].n_live--;
    known->end = END_TOLD;
    if (unit->fence.cause == FENCE_STOPPED && known->state != PROCESS_STOPPING &&
        !process_state_is_final(known->state) && !agent_leaves(unit->node))
        violate(sim, "stop",
                "job %s: %s-%u.%" PRIu64 " on %s is told to end, but is on record as %s",
                unit->job->name, unit->id.role, unit->id.index, unit->id.incarnation,
                unit->node->name, process_state_to_string(known->state));
}

/* ledger_unit_killed - it gets SIGKILL */
void ledger_unit_killed(struct sim *sim, const struct unit *unit)
{
    uint64_t grace_us = sim->submissions[unit->job->submission].spec->grace_us;
    uint64_t now_us = node_boot_us(sim, unit->node);
    uint64_t since_us = now_us - unit->told_us;

    if (since_us >= grace_us || unit->fence.stance != FENCE_RUNS || /* or could not be */
        (unit->saved_us != 0 && now_us - unit->saved_us >= AGENT_SAVED_GRACE_US) ||
        agent_leaves(unit->node) ||          /* told twice */
        unit->fence.cause == FENCE_SILENT || /* promises.c */
        (unit->fence.fenced &&
         lease_is_near_its_end(sim, unit, unit->fenced_deadline_us, KILL_PART)))
        return;
    violate(sim, "stop",
            "job %s: %s-%u.%" PRIu64 " on %s is killed after %.3f s of %.3f s of grace",
            unit->job->name, unit->id.role, unit->id.index, unit->id.incarnation, unit->node->name,
            (double)(since_us) / 1e6, (double)grace_us / 1e6);
}

/* --- the minimum --- */

struct standing {
    uint32_t staying; /* on record and not asked to end */
    uint32_t new;     /* of those: assigned by this commit */
    uint32_t stopped; /* by this commit, and nothing outside made it so */
};

/* Its node is drained, or came back with less and what was ordered there is taken back. */
static bool had_to_leave(const struct sim *sim, const struct truth_process *known)
{
    return known->node >= sim->n_nodes || sim->nodes[known->node]->wanted == NODE_DRAINING ||
           (known->unheard_of && machine_told_less(sim->nodes[known->node]));
}

/* false: somebody finished, so that the job needs fewer from now on */
static bool count_standing(const struct sim *sim, const struct truth_job *truth,
                           struct standing ret[JOB_ROLES_MAX])
{
    for (uint64_t i = 0; i < truth->n_processes; i++) {
        const struct truth_process *known = &truth->processes[i];

        if (known->finished)
            return false;
        if (!known->exists || process_state_is_final(known->state))
            continue;
        if (known->state != PROCESS_STOPPING) {
            ret[known->role].staying++;
            ret[known->role].new += known->first_commit == sim->commits;
        } else if (known->stop_commit == sim->commits && known->end == END_NONE &&
                   !had_to_leave(sim, known)) {
            ret[known->role].stopped++;
        }
    }
    return true;
}

/* ledger_stops_committed - of a job whose processes were asked to end by this commit */
void ledger_stops_committed(struct sim *sim, const struct truth_job *truth)
{
    struct standing standing[JOB_ROLES_MAX] = { 0 };

    if (truth->state == JOB_QUEUED || truth->state == JOB_STOPPING ||
        job_state_is_final(truth->state) || !count_standing(sim, truth, standing))
        return;
    for (uint32_t r = 0; r < truth->n_roles; r++)
        if (standing[r].staying - standing[r].new + standing[r].stopped < truth->roles[r].min)
            return; /* it lacked one before: to move another may help */
    for (uint32_t r = 0; r < truth->n_roles; r++)
        if (standing[r].staying < truth->roles[r].min)
            violate(sim, "minimum",
                    "job %s is %s and keeps %u of its %s, less than %u: %u are stopped",
                    truth->name, job_state_to_string(truth->state), standing[r].staying,
                    truth->roles[r].name, truth->roles[r].min, standing[r].stopped);
}
