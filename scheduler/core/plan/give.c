/* SPDX-License-Identifier: Apache-2.0 */
/* give.c - a job gives instances up between two tasks
 *
 * The policy moves instances from one job to another for a gain that takes minutes. A stop in the
 * middle of a task loses what was done of it, so the job only notes how many it is to give
 * (gives); each goes when it asks for its next task. The policy counts it as given at once, so
 * it decides nothing twice, and may take the decision back until then.
 *
 * Only growth waits for that. A gang, a repair, foreign load and bounds stop an instance at once;
 * an instance that they take is no longer there to be given.
 *
 * The count is volatile: after a restart the policy decides anew. */
#include "scheduler/core/plan/give.h"

#include "scheduler/core/base/resources.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/tasks.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/grow.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/victims.h"
#include "shared/clock.h"

/* job_gives - what it may still give of a role: gangs and failures may have taken the rest */
uint32_t job_gives(const struct job *job, uint32_t role)
{
    uint32_t held;

    if (job->gives == 0 || job_elastic_role(job) != (int)role || job->finishing ||
        !(job->state == JOB_RUNNING || job->state == JOB_RESIZING))
        return 0;
    held = held_of_role(job, role);
    return MIN_OF(job->gives, held - MIN_OF(held, job->spec->roles[role].min));
}

void plan_set_gives(struct plan *plan, struct job *job, uint32_t n)
{
    (void)plan_do(plan->cluster, &(struct act){ .kind = ACT_GIVES, .job = job->id, .n = n },
                  plan->now);
}

/* plan_count_gives - the policy is told what a job is to give as given */
void plan_count_gives(struct plan *plan, struct job *job)
{
    struct planner *planner = plan->planner;
    int elastic = job_elastic_role(job);
    uint32_t gives = elastic >= 0 ? job_gives(job, (uint32_t)elastic) : 0;
    struct resources given = { 0 };

    if (gives != job->gives)
        plan_set_gives(plan, job, gives);
    if (job->gives > 0) {
        const struct resources need = resources_of_role(&job->spec->roles[elastic]);

        resources_add(&given, &need, job->gives);
    }
    resources_add(&planner->given, &planned_is(job)->given, -1);
    resources_add(&planner->given, &given, 1);
    planned_of(job)->given = given;
}

/* plan_give - one instance more goes at the end of its task; false: nothing is lost by a stop now,
 * or none can go */
bool plan_give(struct plan *plan, struct job *job)
{
    int elastic = job_elastic_role(job);
    const struct process *victim;

    if (elastic < 0 || job->queue == NULL || task_queue_is_closed(job->queue) ||
        job_count_due(job, (uint32_t)elastic) > 0 || job_surplus(job) <= job->gives)
        return false;
    victim = next_victim(job, (uint32_t)elastic, true);
    if (victim == NULL || !process_holds_task(victim))
        return false;
    plan_set_gives(plan, job, job->gives + 1);
    plan_touch(plan->cluster, job);
    return true;
}
