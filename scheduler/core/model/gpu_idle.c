/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_idle.c - instances that do not use the GPUs they were granted: others have those first
 *
 * Agents tell which devices have done nothing for long. While a job has such instances, it is taken
 * to gain nothing by more than the others: the policy lets them go before anything that is worth
 * something to anybody. Its minimum stays, and so does all that nobody else wants.
 *
 * Once one was taken away, that its job gains nothing by more than those that were left is believed
 * for a while, or it would have it back at once, to let it idle again. Volatile: agents tell again.
 */
#include "scheduler/core/model/gpu_idle.h"

#include <utlist.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "shared/clock.h"
#include "shared/job_spec.h"

#define KEPT_US (30 * 60 * USEC_PER_SEC)

static bool covers(uint64_t idle, const struct process *process)
{
    return process->state == PROCESS_RUNNING && process->gpu_mask != 0 &&
           (process->gpu_mask & ~idle) == 0;
}

/* How many are there, or come, and are not known to idle; idle: whether any is */
static uint32_t count_busy(const struct job *job, uint32_t role, bool *ret_idle)
{
    const struct process *process;
    uint32_t n = 0;

    *ret_idle = false;
    DL_FOREACH2(job->processes, process, job_next)
    {
        if (process->role != role || process->state >= PROCESS_STOPPING)
            continue;
        *ret_idle |= process->idles;
        n += !process->idles;
    }
    return n;
}

uint32_t job_busy_most(const struct job *job, uint32_t role)
{
    uint32_t left = job->busy_left;
    bool idle = false;
    uint32_t busy;

    if (job->spec->roles[role].gpus == 0)
        return 0;
    busy = MAX_OF(count_busy(job, role, &idle), 1U);
    if (!idle)
        return left;
    return left > 0 ? MIN_OF(left, busy) : busy;
}

void job_forget_idle(struct cluster *cluster, struct job *job)
{
    job->busy_left = 0;
    deadline_set(&cluster->deadlines, &job->idle_forgotten, DEADLINE_IDLE, NEVER_US);
}

void job_idle_fell_due(struct cluster *cluster, struct job *job)
{
    job_forget_idle(cluster, job);
    job_touch(cluster, job);
    cluster->plan_wanted = true;
}

void process_note_taken(struct cluster *cluster, struct process *process, struct instant now)
{
    struct job *job = process->job;
    bool idle;

    if (!process->idles || job_elastic_role(job) != (int)process->role)
        return;
    process->idles = false;
    job->busy_left = MAX_OF(count_busy(job, process->role, &idle), 1U);
    deadline_set(&cluster->deadlines, &job->idle_forgotten, DEADLINE_IDLE, now.now_us + KEPT_US);
}

void node_take_idle_gpus(struct cluster *cluster, struct node *node, uint64_t mask,
                         struct instant now)
{
    struct process *process;

    if (node->gpus_idle == mask)
        return;
    node->gpus_idle = mask;
    DL_FOREACH2(node->processes, process, node_next)
    {
        char name[ROLE_NAME_MAX + 16];

        if (process->idles == covers(mask, process))
            continue;
        process->idles = !process->idles;
        job_touch(cluster, process->job);
        cluster->plan_wanted = true;
        process_name(process, name, sizeof name);
        if (process->idles)
            effect_process_event(cluster, now, process, "gpu-idle",
                                 "%s has not used its GPUs for long", name);
    }
}
