/* SPDX-License-Identifier: Apache-2.0 */
/* planner_copy.c - the memory of plans, for a copy of a cluster
 *
 * So that the copy's next plan is that of the original. */
#include "scheduler/core/plan/planner_copy.h"

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/rooms.h"

/* Where room is being made for it: chosen anew it might be elsewhere, at others' cost. None where a
 * node was removed since: the original makes them afresh as well. */
static struct placed *copy_places(struct cluster *copy, const struct cluster *cluster,
                                  const struct placed *places, size_t n, size_t *ret_n)
{
    struct placed *to;

    *ret_n = cluster->removed == NULL ? n : 0;
    if (*ret_n == 0)
        return NULL;
    to = xcalloc(n, sizeof *to);
    for (size_t i = 0; i < n; i++) {
        to[i] = places[i];
        to[i].room = cluster_node(copy, places[i].room->node->name)->room;
    }
    return to;
}

static void copy_job(struct cluster *copy, const struct cluster *cluster, const struct job *job)
{
    struct job *to = cluster_job(copy, job->id);
    struct planned *its;

    if (to == NULL || job->planned == NULL)
        return; /* it is over, or no plan has seen it */
    its = planned_of(to);
    its->stuck_since_us = job->planned->stuck_since_us;
    its->held_back = job->planned->held_back;
    its->servers_until_us = job->planned->servers_until_us;
    its->moving = job->planned->moving;
    its->owner_growth = job->planned->owner_growth;
    its->in_vain = job->planned->in_vain;
    its->moved_us = job->planned->moved_us;
    its->moved_off = job->planned->moved_off;
    if (job->filed && planned_verdict(job) != VERDICT_NONE)
        planned_tell(to, planned_verdict(job));
    if (!job_state_is_final(job->state))
        deadline_set(&copy->deadlines, &its->rest, DEADLINE_REST, deadline_at(&job->planned->rest));
    its->servers = job->planned->servers;
    its->fits_ever = job->planned->fits_ever;
    its->fits_version = job->planned->fits_version;
    its->places =
        copy_places(copy, cluster, job->planned->places, job->planned->n_places, &its->n_places);
    its->reserved = copy_places(copy, cluster, job->planned->reserved, job->planned->n_reserved,
                                &its->n_reserved);
}

/* The room itself is reserved when the copy goes through its queue, which its first plan does. */
static void copy_promises(struct cluster *copy, const struct cluster *cluster)
{
    const struct queue *from = &cluster->planner->queue;
    struct queue *to = &copy->planner->queue;

    for (size_t i = 0; i < from->n_promised; i++) {
        struct job *job = cluster_job(copy, from->promised[i]->id);

        if (!planned_promised(from->promised[i]))
            continue; /* it left since */
        planned_promise(job, true);
        job_changed(copy, job);
        to->promised[to->n_promised++] = job;
    }
    to->deep = from->deep;
    if (from->held != NULL && from->held->filed)
        to->held = cluster_job(copy, from->held->id);
    to->hold_check = from->hold_check;
    to->hold_tried = from->hold_tried;
}

void planner_copy(struct cluster *copy, const struct cluster *cluster)
{
    const struct planner *from = cluster->planner;
    struct planner *to = copy->planner;
    const struct job *job;

    rooms_look(to);
    for (job = cluster->jobs; job != NULL; job = job->hh.next)
        copy_job(copy, cluster, job);
    to->moved_us = from->moved_us;
    deadline_set(&copy->deadlines, &to->asked, DEADLINE_POLICY, deadline_at(&from->asked));
    to->park_due = from->park_due;
    deadline_set(&copy->deadlines, &to->park, DEADLINE_PARK, deadline_at(&from->park));
    copy->groups_version = cluster->groups_version;
    to->queue.groups_version = from->queue.groups_version;
    shares_copy(&to->queue, &from->queue);
    copy_promises(copy, cluster);
    rooms_look(to);
}
