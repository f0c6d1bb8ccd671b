/* SPDX-License-Identifier: Apache-2.0 */
/* group_levels.c - what each group holds of the cluster, beside its guarantee */
#include "scheduler/core/plan/group_levels.h"

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/policy/policy.h"
#include "shared/macro.h"

int64_t group_level(const struct planner *planner, uint32_t group)
{
    return policy_group_level(&planner->groups[group], planner->total.cpu_millicores,
                              planner->total.gpus);
}

double group_percent(const struct planner *planner, uint32_t group)
{
    return (double)policy_group_part(&planner->groups[group], planner->total.cpu_millicores,
                                     planner->total.gpus) /
           1e7;
}

bool group_is_below(const struct planner *planner, uint32_t group)
{
    return planner->n_groups > 1 && group_level(planner, group) < 0;
}

bool group_may_hold(const struct planner *planner, const struct job *job,
                    const struct resources *holds)
{
    struct policy_group group = planner->groups[job->plan.group];

    if (planner->n_groups <= 1)
        return true;
    group_use(&group, &job->plan.used, -1);
    group_use(&group, holds, 1);
    return policy_group_level(&group, planner->total.cpu_millicores, planner->total.gpus) <= 0;
}

bool group_may_lend(const struct planner *planner, const struct process *process)
{
    const struct job *job = process->job;
    const struct resources held = resources_of_role(&job->spec->roles[process->role]);
    struct policy_group left = planner->groups[job->plan.group];

    group_use(&left, &held, -1);
    return policy_group_level(&left, planner->total.cpu_millicores, planner->total.gpus) >= 0;
}

/* cluster_group_held_permille - see group_levels.h */
uint32_t cluster_group_held_permille(const struct cluster *cluster, const char *name)
{
    const struct planner *planner = cluster->planner;

    for (uint32_t g = 1; g < planner->n_groups; g++)
        if (streq(planner->groups[g].name, name))
            return (uint32_t)(policy_group_part(&planner->groups[g], planner->total.cpu_millicores,
                                                planner->total.gpus) /
                              1000000);
    return 0;
}
