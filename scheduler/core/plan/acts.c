/* SPDX-License-Identifier: Apache-2.0 */
/* acts.c - what a plan does to the model, which it looks at again then */
#include "scheduler/core/plan/acts.h"

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/rooms.h"

bool plan_assign(struct plan *plan, struct job *job, uint32_t role, uint32_t index,
                 struct node *node)
{
    bool assigned = process_assign(plan->cluster, job, role, index, node, plan->now);

    rooms_look(plan->planner);
    return assigned;
}

void plan_stop(struct plan *plan, struct process *process, bool again, enum cause cause,
               const char *reason)
{
    process_stop(plan->cluster, process, again, cause, reason, plan->now);
    rooms_look(plan->planner);
}

void plan_settle_job(struct plan *plan, struct job *job)
{
    job_settle(plan->cluster, job, plan->now);
    rooms_look(plan->planner);
}

void plan_touch(struct cluster *cluster, struct job *job)
{
    job_touch(cluster, job);
    rooms_look(cluster->planner);
}
