/* SPDX-License-Identifier: Apache-2.0 */
/* group_levels.c - what each group holds of the cluster, beside its guarantee
 *
 * A group holds the grants of its jobs that are not being stopped, the instances that they lack and
 * are to have, and the gangs that room is made for. It is kept as a sum, a job's part of it beside
 * (planned.used). Nothing of it is kept when there are no groups. */
#include "scheduler/core/plan/group_levels.h"

#include <utlist.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/plan/planned.h"
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

static void forget_parts(struct job *job)
{
    struct planned *its = planned_of(job);

    its->used = (struct resources){ 0 };
    memset(its->owner_parts, 0, sizeof its->owner_parts);
}

/* Of jobs that left since as well: these were not counted yet. */
static void forget_used(struct cluster *cluster)
{
    struct job *job;

    for (job = cluster->changed_jobs; job != NULL; job = job->changed_next)
        forget_parts(job);
    DL_FOREACH2(cluster->active, job, active_next)
    {
        forget_parts(job);
        job_changed(cluster, job);
    }
}

void groups_begin(struct planner *planner)
{
    struct cluster *cluster = planner->cluster;

    if (planner->groups_version == cluster->groups_version)
        return;
    groups_init(planner, cluster->config.groups);
    planner->groups_version = cluster->groups_version;
    memset(planner->group_sums, 0, sizeof planner->group_sums);
    owner_room_begin(planner);
    forget_used(cluster);
}

struct resources wanted_of_job(const struct job *job)
{
    struct resources wanted = { 0 };

    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        const struct resources need = resources_of_role(&job->spec->roles[r]);

        if (planned_promised(job))
            resources_add(&wanted, &need, job->spec->roles[r].min);
        else if (job_is_started(job))
            resources_add(&wanted, &need, held_of_role(job, r));
    }
    return wanted;
}

void group_count(struct planner *planner, struct job *job)
{
    struct resources *sum = &planner->group_sums[job->group];
    struct planned *its = planned_of(job);
    struct resources used;

    if (planner->n_groups <= 1)
        return;
    used = wanted_of_job(job);
    if (resources_equal(&used, &its->used))
        return;
    resources_add(sum, &its->used, -1);
    resources_add(sum, &used, 1);
    its->used = used;
    /* going through the queue takes promises away and gives them again: that is no news to it */
    if (job->state != JOB_QUEUED)
        planner->groups_changed = true;
}

void groups_look(struct planner *planner)
{
    for (uint32_t g = 0; planner->n_groups > 1 && g < planner->n_groups; g++) {
        planner->groups[g].cpu_millicores = planner->group_sums[g].cpu_millicores;
        planner->groups[g].gpus = planner->group_sums[g].gpus;
    }
}

static void group_use(struct policy_group *group, const struct resources *what, int sign)
{
    group->cpu_millicores += sign * what->cpu_millicores;
    group->gpus += sign * what->gpus;
}

void group_give(struct planner *planner, const struct process *process, int sign)
{
    const struct resources held = resources_of_role(&process->job->spec->roles[process->role]);

    group_use(&planner->groups[process->job->group], &held, -sign);
    owner_room_give(planner, process, sign);
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
    struct policy_group group = planner->groups[job->group];

    if (planner->n_groups <= 1)
        return true;
    group_use(&group, &planned_is(job)->used, -1);
    group_use(&group, holds, 1);
    return policy_group_level(&group, planner->total.cpu_millicores, planner->total.gpus) <= 0;
}

bool group_may_lend(const struct planner *planner, const struct process *process)
{
    const struct job *job = process->job;
    const struct resources held = resources_of_role(&job->spec->roles[process->role]);
    struct policy_group left = planner->groups[job->group];

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
