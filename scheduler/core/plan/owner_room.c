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
#include "scheduler/core/plan/told.h"
#include "shared/job_spec.h"

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

static int compare_turns(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a;
    const struct job *y = *(struct job *const *)b;

    if (x->spec->priority != y->spec->priority)
        return x->spec->priority > y->spec->priority ? -1 : 1;
    if (x->turn_wall_us != y->turn_wall_us)
        return x->turn_wall_us < y->turn_wall_us ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* It leaves the queue, and its promise there. */
static void hold_back(struct cluster *cluster, struct job *job)
{
    struct queue *queue = &cluster->planner->queue;

    planned_promise(job, false);
    plan_forget_places(job);
    if (queue->held == job)
        queue->held = NULL;
    queue_tell(cluster, job, VERDICT_OWNER);
    cluster->planner->n_limited++;
}

static void admit(struct cluster *cluster, struct job *job)
{
    struct resources least = owner_room_least(job);

    if (owner_room_more(cluster->planner, job, JOB_ROLES_MAX) > 0) {
        count(cluster->planner, job, &least, 1);
        if (planned_verdict(job) == VERDICT_OWNER)
            planned_tell(job, VERDICT_NONE); /* it comes to the queue as if it were new */
    } else {
        hold_back(cluster, job);
    }
}

void owner_room_begin(struct cluster *cluster)
{
    struct planner *planner = cluster->planner;
    struct job **waiting;
    struct job *job;
    size_t n_sums, n = 0;
    bool was_limited = planner->n_limited > 0;

    free(planner->owner_sums);
    planner->owner_sums = owner_sums(cluster, &n_sums);
    planner->n_limited = 0;
    if (planner->owner_sums == NULL && !was_limited)
        return;
    waiting = xcalloc(cluster->n_filed, sizeof *waiting);
    DL_FOREACH2(cluster->active, job, active_next)
    {
        if (job->filed)
            waiting[n++] = job;
        else if (job_owners(cluster, job).n > 0 && job_is_started(job))
            plan_touch(cluster, job); /* the policy is told how far it may grow now */
    }
    qsort(waiting, n, sizeof(*waiting), compare_turns);
    for (size_t i = 0; i < n; i++)
        admit(cluster, waiting[i]);
    free(waiting);
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
