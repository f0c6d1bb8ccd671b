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
#include "scheduler/core/plan/rooms.h"
#include "scheduler/core/policy/policy.h"
#include "shared/macro.h"

/* The table, of which nothing is held. */
static void groups_init(struct planner *planner, const struct group_table *table)
{
    size_t n = 1;
    const struct group_spec *specs = table != NULL ? group_table_all(table, &n) : NULL;

    memset(planner->groups, 0, sizeof planner->groups);
    planner->n_groups = (uint32_t)n;
    planner->groups[0].name = "";
    planner->groups[0].weight = 1;
    for (uint32_t i = 1; i < planner->n_groups; i++)
        planner->groups[i] =
            (struct policy_group){ .name = specs[i].name,
                                   .guaranteed_permille = specs[i].guaranteed_permille,
                                   .weight = specs[i].weight };
}

void groups_look(struct planner *planner)
{
    struct cluster *cluster = planner->cluster;

    if (planner->groups_version != cluster->groups_version)
        groups_init(planner, cluster->config.groups);
    planner->groups_version = cluster->groups_version;
    for (uint32_t g = 0; planner->n_groups > 1 && g < planner->n_groups; g++) {
        planner->groups[g].cpu_millicores = cluster->groups[g].cpu_millicores;
        planner->groups[g].gpus = cluster->groups[g].gpus;
    }
    planner->groups_changed = planner->groups_changed || cluster->groups_changed;
    cluster->groups_changed = false;
}

static void group_use(struct policy_group *group, const struct resources *what, int sign)
{
    group->cpu_millicores += sign * what->cpu_millicores;
    group->gpus += sign * what->gpus;
}

void group_give(struct planner *planner, const struct process *process, int sign)
{
    const struct resources held = resources_of_role(&process->job->spec->roles[process->role]);

    group_use(&planner->groups[process->job->plan.group], &held, -sign);
}

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
    struct planner *planner = cluster->planner;

    rooms_look(planner);
    for (uint32_t g = 1; g < planner->n_groups; g++)
        if (streq(planner->groups[g].name, name))
            return (uint32_t)(policy_group_part(&planner->groups[g], planner->total.cpu_millicores,
                                                planner->total.gpus) /
                              1000000);
    return 0;
}
