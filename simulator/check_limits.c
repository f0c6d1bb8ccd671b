/* SPDX-License-Identifier: Apache-2.0 */
/* check_limits.c - no new grant exceeds the limit of a user or group */
#include "simulator/check_limits.h"

#include "scheduler/core/core.h"
#include "simulator/internal.h"

static uint32_t user_of(const struct sim *sim, const struct truth_job *truth)
{
    return sim->submissions[truth->submission].user;
}

static bool stays(const struct truth_process *process)
{
    return process->exists && process->state < PROCESS_STOPPING;
}

/* On record, of a user, or of a group: 1 + its place. One that moves is there twice for a moment,
 * so those that stop are left out. */
static uint64_t held_by(const struct sim *sim, uint32_t user, uint32_t group)
{
    uint64_t held = 0;

    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++) {
        const struct truth_job *truth = sim->ledger.jobs[id];

        if (truth == NULL || (group > 0 ? sim->groups.of_user[user_of(sim, truth)] != group
                                        : user_of(sim, truth) != user))
            continue;
        for (uint64_t i = 0; i < truth->n_processes; i++)
            if (stays(&truth->processes[i]))
                held += sim->submissions[truth->submission]
                            .spec->roles[truth->processes[i].role]
                            .cpu_millicores;
    }
    return held;
}

/* A job that starts has none from before; else it has more than its minimum. */
static bool is_new(const struct sim *sim, const struct truth_job *truth, uint32_t role)
{
    uint32_t staying = 0;
    bool starts = true;

    for (uint64_t i = 0; i < truth->n_processes; i++) {
        const struct truth_process *process = &truth->processes[i];

        starts = starts && !(process->exists && process->first_commit < sim->commits);
        staying += stays(process) && process->role == role;
    }
    return starts || staying > truth->roles[role].min;
}

static bool drains(const struct sim *sim)
{
    for (const struct node *node = cluster_nodes(sim->server->cluster); node != NULL;
         node = node->hh.next)
        if (node->state == NODE_DRAINING)
            return true;
    return false;
}

static void look(struct sim *sim, const struct truth_job *truth)
{
    uint32_t user = user_of(sim, truth), group = sim->groups.of_user[user];
    uint64_t most = sim->groups.user_millicores[user];
    uint64_t held = most > 0 ? held_by(sim, user, 0) : 0;

    if (held > most)
        violate(sim, "limit", "job %s is granted more, and its user holds %llum of %llum",
                truth->name, (unsigned long long)held, (unsigned long long)most);
    most = group > 0 ? sim->groups.specs[group - 1].limits.cpu_millicores : 0;
    held = most > 0 ? held_by(sim, 0, group) : 0;
    if (held > most)
        violate(sim, "limit", "job %s is granted more, and its group holds %llum of %llum",
                truth->name, (unsigned long long)held, (unsigned long long)most);
}

void check_limits(struct sim *sim, const struct effect *effects, size_t n)
{
    if (!sim->config.limits || drains(sim))
        return;
    for (size_t i = 0; i < n; i++) {
        const struct process *process =
            effects[i].kind == EFFECT_SAVE_PROCESS ? effects[i].process : NULL;
        const struct truth_job *truth = process != NULL ? ledger_job(sim, process->job->id) : NULL;

        if (effect_saves_job(&effects[i]) && effects[i].job->cause == CAUSE_OWNER_LIMIT)
            sim->seen[SIM_SEEN_LIMITED]++;
        if (truth != NULL && process->state == PROCESS_ASSIGNED &&
            truth->processes[process->incarnation].first_commit == sim->commits &&
            is_new(sim, truth, process->role))
            look(sim, truth);
    }
}
