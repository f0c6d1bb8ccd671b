/* SPDX-License-Identifier: Apache-2.0 */
/* told.c - the jobs that a plan tells where they stand */
#include "scheduler/core/plan/told.h"

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/plan/group_levels.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"

/* The most that others could give is their surplus beyond their guarantees, and it was not enough.
 */
bool plan_has_its_share(const struct cluster *cluster, const struct job *job,
                        enum queue_verdict verdict)
{
    if (verdict != VERDICT_WAITS && verdict != VERDICT_HELD && verdict != VERDICT_YIELDS)
        return false;
    return cluster->planner->n_groups > 1 && !group_is_below(cluster->planner, job->group);
}

void queue_tell(struct cluster *cluster, struct job *job, enum queue_verdict verdict)
{
    struct planner *planner = cluster->planner;

    if (planned_verdict(job) == verdict &&
        (planner->n_groups <= 1 ||
         plan_has_its_share(cluster, job, verdict) == (job->cause == CAUSE_GROUP_SHARE)))
        return;
    planned_tell(job, verdict);
    if (planned_is(job)->told)
        return;
    planned_of(job)->told = true;
    if (planner->n_told == planner->cap_told) {
        planner->cap_told = planner->cap_told > 0 ? 2 * planner->cap_told : 64;
        planner->told = xreallocarray(planner->told, planner->cap_told, sizeof(*planner->told));
    }
    planner->told[planner->n_told++] = job;
}

struct job *const *plan_told(const struct planner *planner, size_t *ret_n)
{
    *ret_n = planner->n_told;
    return planner->told;
}

void plan_told_clear(struct planner *planner)
{
    for (size_t i = 0; i < planner->n_told; i++)
        planned_of(planner->told[i])->told = false;
    planner->n_told = 0;
}
