/* SPDX-License-Identifier: Apache-2.0 */
/* owner_room.c - jobs start and grow within the limits of their users and groups */
#include "scheduler/core/plan/owner_room.h"

#include <stdlib.h>
#include <utlist.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/owner_limits.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/plan/told.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

struct resources owner_room_least(const struct job *job)
{
    struct resources least = { 0 };

    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        const struct resources need = resources_of_role(&job->spec->roles[r]);

        resources_add(&least, &need, job->spec->roles[r].min);
    }
    return least;
}

static void count(struct planner *planner, const struct job *job, const struct resources *what,
                  int64_t n)
{
    struct job_owners owners = job_owners(planner->cluster, job);

    for (uint32_t i = 0; i < owners.n; i++)
        resources_add(&planner->owner_sums[owners.index[i]], what, n);
}

void owner_room_take_gang(struct planner *planner, const struct job *job, int64_t n)
{
    const struct resources least = owner_room_least(job);

    if (planner->owner_sums != NULL)
        count(planner, job, &least, n);
}

/* It leaves the queue. */
static void hold_back(struct cluster *cluster, struct job *job)
{
    struct queue *queue = &cluster->planner->queue;

    plan_forget_places(job);
    if (queue->held == job)
        queue->held = NULL;
    queue_tell(cluster, job, VERDICT_OWNER);
    cluster->planner->n_limited++;
}

bool owner_room_keep_out(struct cluster *cluster, struct job *job)
{
    if (owner_room_more(cluster->planner, job, JOB_ROLES_MAX) > 0)
        return false;
    queue_leave(cluster, job);
    hold_back(cluster, job);
    return true;
}

/* In the order in which they were promised it. The others lose their promise here, and wait as any
 * job. */
static void admit_promised(struct cluster *cluster)
{
    const struct queue *queue = &cluster->planner->queue;

    for (size_t i = 0; i < queue->n_promised; i++) {
        struct job *job = queue->promised[i];

        if (!planned_promised(job))
            continue; /* it left since */
        if (owner_room_more(cluster->planner, job, JOB_ROLES_MAX) > 0) {
            owner_room_take_gang(cluster->planner, job, 1);
        } else {
            planned_promise(job, false);
            plan_touch(cluster, job);
        }
    }
}

static void count_lower(struct planner *planner, const struct job *job, int64_t n)
{
    const struct queue *queue = &planner->queue;

    for (size_t i = 0; i < queue->n_promised; i++) {
        const struct job *other = queue->promised[i];

        if (planned_promised(other) && other->spec->priority < job->spec->priority)
            owner_room_take_gang(planner, other, n);
    }
}

/* What is promised to jobs of a lower priority is there for it, as it is tried before them. */
static bool has_room(struct planner *planner, const struct job *job)
{
    bool has = owner_room_more(planner, job, JOB_ROLES_MAX) > 0;

    if (has)
        return true;
    count_lower(planner, job, -1);
    has = owner_room_more(planner, job, JOB_ROLES_MAX) > 0;
    count_lower(planner, job, 1);
    return has;
}

/* One that never fits the nodes says so, whatever its owners hold. */
static void admit(struct cluster *cluster, struct job *job)
{
    enum queue_verdict verdict = planned_verdict(job);

    if (planned_promised(job) || verdict == VERDICT_NEVER)
        return;
    if (!has_room(cluster->planner, job))
        hold_back(cluster, job);
    else if (verdict == VERDICT_OWNER)
        planned_tell(job, VERDICT_NONE); /* it comes to the queue as if it were new */
}

uint32_t owner_room_growth(const struct planner *planner, const struct job *job, uint32_t role)
{
    return MIN_OF(owner_room_more(planner, job, role), job->spec->roles[role].max);
}

/* The policy is told when it may grow further, or not so far any more. */
static void note_growth(struct cluster *cluster, struct job *job)
{
    int role = job_elastic_role(job);

    if (role >= 0 &&
        owner_room_growth(cluster->planner, job, (uint32_t)role) != planned_is(job)->owner_growth)
        plan_touch(cluster, job);
}

void owner_room_begin(struct cluster *cluster)
{
    struct planner *planner = cluster->planner;
    struct job *job;
    size_t n_sums;
    bool was_limited = planner->n_limited > 0;

    free(planner->owner_sums);
    planner->owner_sums = owner_sums(cluster, &n_sums);
    planner->n_limited = 0;
    if (planner->owner_sums == NULL && !was_limited)
        return;
    admit_promised(cluster);
    DL_FOREACH2(cluster->active, job, active_next)
    {
        if (job->filed)
            admit(cluster, job);
        else if (owner_room_is_bound(planner, job) && job_is_started(job))
            note_growth(cluster, job);
    }
}

/* role JOB_ROLES_MAX: of its whole minimum */
uint32_t owner_room_more(const struct planner *planner, const struct job *job, uint32_t role)
{
    struct resources need;

    if (planner->owner_sums == NULL)
        return UINT32_MAX;
    need =
        role < JOB_ROLES_MAX ? resources_of_role(&job->spec->roles[role]) : owner_room_least(job);
    return owner_room(planner->cluster, job, planner->owner_sums, &need);
}

void owner_room_take(struct planner *planner, const struct job *job, uint32_t role)
{
    const struct resources need = resources_of_role(&job->spec->roles[role]);

    if (planner->owner_sums != NULL)
        count(planner, job, &need, 1);
}

bool owner_room_is_bound(const struct planner *planner, const struct job *job)
{
    return planner->owner_sums != NULL && job_owners(planner->cluster, job).n > 0;
}
