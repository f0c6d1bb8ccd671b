/* SPDX-License-Identifier: Apache-2.0 */
/* owner_room.c - jobs start and grow within the limits of their users and groups */
#include "scheduler/core/plan/owner_room.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/owner_limits.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/repair.h"
#include "scheduler/core/plan/rooms.h"
#include "scheduler/core/plan/victims.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

static const struct owner *owner_at(const struct planner *planner, uint32_t index)
{
    return group_table_owner(planner->cluster->config.groups, index);
}

/* --- the sums --- */

void owner_room_begin(struct planner *planner)
{
    planner->n_owners = (uint32_t)group_table_n_owners(planner->cluster->config.groups);
    for (int i = 0; i < OWNER_SUMS; i++) {
        free(planner->owner_sums[i]);
        planner->owner_sums[i] =
            planner->n_owners > 0 ? xcalloc(planner->n_owners, sizeof(struct resources)) : NULL;
    }
}

struct resources owner_room_least(const struct job *job)
{
    struct resources least = { 0 };

    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        const struct resources need = resources_of_role(&job->spec->roles[r]);

        resources_add(&least, &need, job->spec->roles[r].min);
    }
    return least;
}

static void parts_of(const struct job *job, struct resources ret[OWNER_SUMS])
{
    int role = job_elastic_role(job);

    ret[OWNER_NOW] = owner_part(job, true);
    ret[OWNER_LATER] = planned_promised(job) ? owner_room_least(job) : owner_part(job, false);
    ret[OWNER_SURPLUS] = (struct resources){ 0 };
    if (role >= 0) {
        const struct resources need = resources_of_role(&job->spec->roles[role]);

        resources_add(&ret[OWNER_SURPLUS], &need, job_surplus(job));
    }
}

static void add(struct planner *planner, const struct job *job, enum owner_sum sum,
                const struct resources *what, int64_t times)
{
    const struct job_owners owners = job_owners(planner->cluster, job);

    for (uint32_t i = 0; i < owners.n; i++)
        resources_add(&planner->owner_sums[sum][owners.index[i]], what, times);
}

void owner_room_count(struct planner *planner, struct job *job)
{
    struct planned *its = planned_of(job);
    struct resources parts[OWNER_SUMS];

    if (planner->n_owners == 0)
        return;
    parts_of(job, parts);
    for (int i = 0; i < OWNER_SUMS; i++) {
        if (resources_equal(&parts[i], &its->owner_parts[i]))
            continue;
        add(planner, job, (enum owner_sum)i, &its->owner_parts[i], -1);
        add(planner, job, (enum owner_sum)i, &parts[i], 1);
        its->owner_parts[i] = parts[i];
        if (job->state != JOB_QUEUED) /* as with groups: a promise is no news */
            planner->groups_changed = true;
    }
}

void owner_room_give(struct planner *planner, const struct process *process, int sign)
{
    const struct resources held = resources_of_role(&process->job->spec->roles[process->role]);

    if (planner->n_owners > 0)
        add(planner, process->job, OWNER_LATER, &held, -sign);
}

/* --- a gang --- */

static bool has(const struct planner *planner, const struct job *job, enum owner_sum sum)
{
    const struct resources least = owner_room_least(job);

    return owner_exceeded(planner->cluster, job, planner->owner_sums[sum], &least) == NULL;
}

/* It may be too much: jobs may give in whole instances, or no instance of theirs has a node. The
 * search for victims finds that out. */
static bool has_with_surplus(const struct planner *planner, const struct job *job)
{
    const struct job_owners owners = job_owners(planner->cluster, job);
    struct resources *sums[] = { planner->owner_sums[OWNER_LATER],
                                 planner->owner_sums[OWNER_SURPLUS] };
    bool fits;

    for (uint32_t i = 0; i < owners.n; i++)
        resources_add(&sums[0][owners.index[i]], &sums[1][owners.index[i]], -1);
    fits = has(planner, job, OWNER_LATER);
    for (uint32_t i = 0; i < owners.n; i++)
        resources_add(&sums[0][owners.index[i]], &sums[1][owners.index[i]], 1);
    return fits;
}

enum owner_fit owner_room_fit(const struct planner *planner, const struct job *job)
{
    if (planner->n_owners == 0)
        return OWNER_FITS_NOW;
    if (has(planner, job, OWNER_LATER))
        return has(planner, job, OWNER_NOW) ? OWNER_FITS_NOW : OWNER_FITS_LATER;
    return has_with_surplus(planner, job) ? OWNER_FITS_GIVEN : OWNER_FITS_NOT;
}

/* --- giving way --- */

static bool is_of(const struct planner *planner, const struct job *job, const struct owner *owner)
{
    const struct job_owners owners = job_owners(planner->cluster, job);

    for (uint32_t i = 0; i < owners.n; i++)
        if (owner_at(planner, owners.index[i]) == owner)
            return true;
    return false;
}

/* Of an owner's elastic jobs the instance with the least loss that holds something of the short
 * resource. Linear in the jobs not over and in the instances of those. */
static struct process *next_of(const struct plan *plan, const struct owner *owner,
                               const struct resources *is_short)
{
    const struct resources none = { 0 };
    struct process *best = NULL;
    const struct job *job;

    DL_FOREACH2(plan->cluster->active, job, active_next)
    {
        uint32_t role = planned_is(job)->yield_role - 1; /* of those that could give */

        if (planned_is(job)->yield_role == 0 || !is_of(plan->planner, job, owner))
            continue;
        for (uint32_t i = 0; i < job->n_slots[role]; i++) {
            struct process *process = job->slots[role][i].live;

            if (process != NULL && is_victim(process, &none, is_short) &&
                (best == NULL || gives_before(plan, process, best)))
                best = process;
        }
    }
    return best;
}

struct process *owner_room_victim(const struct plan *plan, const struct job *job)
{
    const struct job_owners owners = job_owners(plan->cluster, job);
    const struct resources least = owner_room_least(job);

    for (uint32_t i = 0; i < owners.n; i++) {
        const struct owner *owner = owner_at(plan->planner, owners.index[i]);
        struct resources sum = plan->planner->owner_sums[OWNER_LATER][owners.index[i]];
        struct resources over;

        resources_add(&sum, &least, 1);
        (void)owner_is_over(owner, &sum, &over);
        over = resources_lesser(&over, &least); /* none of the others */
        if (over.cpu_millicores > 0 || over.gpus > 0)
            return next_of(plan, owner, &over);
    }
    return NULL;
}

/* Instances above the minimum that would come back. true: there was one */
static bool forgo_due(struct plan *plan, const struct owner *owner)
{
    struct job *job;

    DL_FOREACH2(plan->cluster->active, job, active_next)
    {
        int role = job_is_started(job) ? job_elastic_role(job) : -1;
        uint32_t due = role >= 0 ? job_count_due(job, (uint32_t)role) : 0;

        if (due == 0 || !is_of(plan->planner, job, owner) ||
            job_count(job, (uint32_t)role, false) + due <= job_role_floor(job, (uint32_t)role))
            continue;
        trim_due(plan, job, (uint32_t)role, due - 1);
        plan_touch(plan->cluster, job);
        return true;
    }
    return false;
}

/* false: there is nothing that it could give up */
static bool shed_one(struct plan *plan, const struct owner *owner, const struct resources *over)
{
    struct process *victim;
    char why[160];

    if (forgo_due(plan, owner))
        return true;
    victim = next_of(plan, owner, over);
    if (victim == NULL)
        return false;
    (void)snprintf(why, sizeof why, "shrunk: its %s %.80s may not hold so much at once",
                   owner->is_group ? "group" : "owner", owner->name);
    plan_size(plan, victim->job, RESIZE_BOUNDS, "%s", why);
    plan_touch(plan->cluster, victim->job);
    plan_stop(plan, victim, false, CAUSE_SHRUNK, why);
    return true;
}

void owner_room_shed(struct plan *plan)
{
    const struct planner *planner = plan->planner;
    struct resources over;

    for (uint32_t i = 0; i < planner->n_owners; i++) {
        const struct owner *owner = owner_at(planner, i);

        while (owner_is_over(owner, &planner->owner_sums[OWNER_LATER][i], &over) &&
               shed_one(plan, owner, &over))
            ;
    }
}

/* --- growth --- */

uint32_t owner_room_more(const struct planner *planner, const struct job *job, uint32_t role)
{
    const struct resources need = resources_of_role(&job->spec->roles[role]);

    if (planner->n_owners == 0)
        return UINT32_MAX;
    return MIN_OF(owner_room(planner->cluster, job, planner->owner_sums[OWNER_NOW], &need),
                  owner_room(planner->cluster, job, planner->owner_sums[OWNER_LATER], &need));
}

uint32_t owner_room_growth(const struct planner *planner, const struct job *job, uint32_t role)
{
    return MIN_OF(owner_room_more(planner, job, role), job->spec->roles[role].max);
}

void owner_room_note_growth(struct cluster *cluster)
{
    const struct planner *planner = cluster->planner;
    struct job *job;

    if (planner->n_owners == 0)
        return;
    DL_FOREACH2(cluster->active, job, active_next)
    {
        int role = job_is_started(job) ? job_elastic_role(job) : -1;

        if (role >= 0 && owner_room_is_bound(planner, job) &&
            owner_room_growth(planner, job, (uint32_t)role) != planned_is(job)->owner_growth)
            plan_touch(cluster, job);
    }
}

bool owner_room_is_bound(const struct planner *planner, const struct job *job)
{
    const struct job_owners owners = job_owners(planner->cluster, job);
    bool bound = false;

    for (uint32_t i = 0; i < owners.n; i++) {
        const struct owner_limits *limits = &owner_at(planner, owners.index[i])->limits;

        bound = bound || limits->cpu_millicores != 0 || limits->gpus != 0;
    }
    return bound;
}

/* cluster_owner_held - see owner_room.h */
bool cluster_owner_held(const struct cluster *cluster, const char *name, bool is_group,
                        struct resources *ret)
{
    int32_t owner = group_table_find_owner(cluster->config.groups, name, is_group);

    rooms_look(cluster->planner);
    if (owner >= 0)
        *ret = cluster->planner->owner_sums[OWNER_NOW][owner];
    return owner >= 0;
}
