/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_idle.c - instances that do not use the GPUs they were granted: others have those first
 *
 * Agents tell which devices have done nothing for long. A job of which such instances are known is
 * taken to gain nothing by more than the others: the policy lets them go before anything that is
 * worth something to anybody, and does not give their like back. Its minimum stays.
 *
 * That is kept for a while after the last of them was taken away, or the job would have it back at
 * once, to let it idle again. It is over as soon as the job uses more than it was taken to.
 * Volatile: agents tell again. */
#include <utlist.h>

#include "scheduler/core/plan_internal.h"

#define KEPT_US (30 * 60 * USEC_PER_SEC)

bool process_idles(const struct process *process)
{
    return process->state == PROCESS_RUNNING && process->gpu_mask != 0 &&
           (process->gpu_mask & ~process->node->gpus_idle) == 0;
}

/* How many use what they have; n_idle: how many do not */
static uint32_t count_busy(const struct job *job, uint32_t role, uint32_t *ret_idle)
{
    const struct process *process;
    uint32_t n = 0;

    *ret_idle = 0;
    DL_FOREACH2(job->processes, process, job_next)
    {
        if (process->role != role || process->state != PROCESS_RUNNING)
            continue;
        if (process_idles(process))
            (*ret_idle)++;
        else
            n++;
    }
    return n;
}

static void look(struct cluster *cluster, struct job *job, bool forget, struct instant now)
{
    int role = job_elastic_role(job);
    uint32_t idle, busy;

    if (role < 0 || job_state_is_final(job->state))
        return;
    busy = count_busy(job, (uint32_t)role, &idle);
    if (idle == 0 && busy <= job->plan.busy_most && !forget)
        return;
    job->plan.busy_most = idle == 0 ? 0 : MAX_OF(busy, job->spec->roles[role].min);
    deadline_set(&cluster->planner->deadlines, &job->plan.idle_forgotten, DEADLINE_IDLE,
                 idle == 0 ? NEVER_US : now.now_us + KEPT_US);
    job_touch(cluster, job);
    cluster->plan_wanted = true;
}

void job_idle_fell_due(struct cluster *cluster, struct job *job, struct instant now)
{
    look(cluster, job, true, now);
}

void node_take_idle_gpus(struct cluster *cluster, struct node *node, uint64_t mask,
                         struct instant now)
{
    uint64_t before = node->gpus_idle;
    struct process *process;

    if (before == mask)
        return;
    node->gpus_idle = mask;
    DL_FOREACH2(node->processes, process, node_next)
    {
        bool was_idle = (process->gpu_mask & ~before) == 0;
        char name[ROLE_NAME_MAX + 16];

        if (process->gpu_mask == 0 || was_idle == ((process->gpu_mask & ~mask) == 0))
            continue;
        process_name(process, name, sizeof name);
        if (process_idles(process))
            effect_process_event(cluster, now, process, "gpu-idle",
                                 "%s has not used its GPUs for long: who needs them has them "
                                 "first, but for its job's minimum",
                                 name);
        look(cluster, process->job, false, now);
    }
}
