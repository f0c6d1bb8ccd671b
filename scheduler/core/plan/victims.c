/* SPDX-License-Identifier: Apache-2.0 */
/* victims.c - who gives way: the process with the least work lost
 *
 * Within a role: one on a node that is being emptied or owes goes first if it has to go anyway, one
 * that does not run yet has done nothing, one with an index beyond the maximum is too many. Then
 * one that does not use its GPUs (gpu_idle.c), then
 * one that is clearly slower than its others (slow_instances.c; by its node, while it was not
 * compared), then the one that took up its present task last (its task is done again by another),
 * one without any before all; then the one that came last (its incarnation is the order of
 * assignment and no clock can turn it around). The one that saves the model goes for nobody: it
 * ends soon, and with it all of the job's work is whole. */
#include "scheduler/core/plan/victims.h"

#include <math.h>

#include "scheduler/core/base/gpu_table.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/base/task_queue_internal.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/node_speed.h"
#include "scheduler/core/model/backlog.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/tasks.h"
#include "scheduler/core/plan/group_levels.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/policy/policy.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

#define FIRST_IF(a, b)                                                                             \
    do {                                                                                           \
        if ((a) != (b))                                                                            \
            return (a);                                                                            \
    } while (0)

static uint64_t busy_since_us(const struct process *process)
{
    const struct task_queue *queue = process->job->queue;

    return queue != NULL ? task_queue_held_since_us(queue, process->incarnation) : NEVER_US;
}

/* Beside its others; of one that was not compared yet its node is known, and how its job compares
 * the types of GPU. */
static int speed_of(const struct process *process)
{
    enum speed_kind kind = speed_kind_of(&process->job->spec->roles[process->role]);
    const struct job_learned *learned = process->job->learned;
    uint8_t type = process->node->gpu_type;

    if (process->speed > 0)
        return node_speed_level(log((double)process->speed));
    if (kind == SPEED_GPU && learned != NULL && learned->bias.clear && type != GPU_TYPE_NONE)
        return node_speed_level(process->node->speeds[kind].log + learned->bias.log[type]);
    return process->node->speeds[kind].level;
}

/* Of two processes of one role: a goes first. */
static bool victim_before(const struct process *a, const struct process *b)
{
    uint64_t a_busy;
    uint64_t b_busy;

    FIRST_IF(!process_is_saver(a), !process_is_saver(b));
    FIRST_IF(process_is_leaving(a), process_is_leaving(b));
    FIRST_IF(a->state < PROCESS_RUNNING, b->state < PROCESS_RUNNING);
    FIRST_IF(a->index >= a->job->spec->roles[a->role].max,
             b->index >= b->job->spec->roles[b->role].max);
    FIRST_IF(a->node->owes, b->node->owes);
    FIRST_IF(a->idles, b->idles);
    FIRST_IF(speed_of(a) < speed_of(b), speed_of(b) < speed_of(a));
    a_busy = busy_since_us(a);
    b_busy = busy_since_us(b);
    if (a_busy != b_busy)
        return a_busy > b_busy;
    if (a->incarnation != b->incarnation)
        return a->incarnation > b->incarnation;
    return a->index > b->index;
}

/* Without those that are marked. */
static uint32_t surplus_left(const struct job *job)
{
    uint32_t surplus = job_surplus(job);

    return surplus - MIN_OF(planned_is(job)->marked, surplus);
}

/* The job as its policy knows it, with the instances that it could give still: without those that
 * leave and those that are marked. */
static struct policy_job giver(const struct process *process)
{
    const struct job *job = process->job;
    const struct role_spec *spec = &job->spec->roles[process->role];

    return (struct policy_job){ .id = job->id,
                                .priority = job->spec->priority,
                                .min = spec->min,
                                .max = spec->max,
                                .parallelism = spec->min + surplus_left(job),
                                .cpu_millicores = spec->cpu_millicores,
                                .memory_bytes = spec->memory_bytes,
                                .gpus = spec->gpus };
}

/* Within a job: the instance that loses the least. Across groups: the one with most beyond its
 * guarantee. Across the jobs of one: a service that tells of its queue, then the one that the
 * policy lets give. */
bool gives_before(const struct plan *plan, const struct process *a, const struct process *b)
{
    struct policy_job a_job;
    struct policy_job b_job;
    int order;

    if (a->job == b->job)
        return victim_before(a, b);
    if (a->job->group != b->job->group) {
        int64_t a_level = group_level(plan->planner, a->job->group);
        int64_t b_level = group_level(plan->planner, b->job->group);

        FIRST_IF(a_level > b_level, b_level > a_level);
    }
    FIRST_IF(job_wanted_by_backlog(a->job) > 0, job_wanted_by_backlog(b->job) > 0);
    a_job = giver(a);
    b_job = giver(b);
    order = plan->cluster->config.policy->compare_givers(plan->planner->policy, &a_job, &b_job);
    return order != 0 ? order < 0 : a->job->id > b->job->id;
}

bool is_victim(const struct process *process, const struct resources *have,
               const struct resources *need)
{
    const struct job *job = process->job;
    struct resources held = resources_of_role(&job->spec->roles[process->role]);

    if (process->marked || process->state == PROCESS_STOPPING || surplus_left(job) == 0 ||
        job_elastic_role(job) != (int)process->role || process_is_saver(process))
        return false;
    return (have->cpu_millicores < need->cpu_millicores && held.cpu_millicores > 0) ||
           (have->memory_bytes < need->memory_bytes && held.memory_bytes > 0) ||
           (have->gpus < need->gpus && held.gpus > 0) ||
           (have->ports < need->ports && held.ports > 0);
}

/* Linear in the job's own slots: it is the job that changes. */
struct process *next_victim(const struct job *job, uint32_t role, bool counted)
{
    struct process *best = NULL;

    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        struct process *process = job->slots[role][i].live;

        if (process != NULL && process->state != PROCESS_STOPPING &&
            (!counted || node_takes_processes(process->node)) &&
            (best == NULL || victim_before(process, best)))
            best = process;
    }
    return best;
}
