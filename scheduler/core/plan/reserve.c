/* SPDX-License-Identifier: Apache-2.0 */
/* reserve.c - what a started job lacks is kept a place for, the same from plan to plan
 *
 * Each time the queue is gone through, all that is reserved is reserved afresh. Chosen afresh as
 * well, such a place would go with every growth or shrinking meanwhile: a gang is promised the room
 * beside it, a job gives way for that gang, the place moves to where it was, the gang does not fit
 * any more, the job grows again - and all of it from the start, for ever. So a place is kept until
 * it does not fit any more.
 *
 * A job's roles are repaired in the same order each time, so that the places of before are gone
 * through once. Nothing of it is stored: after a restart places are chosen anew. */
#include "scheduler/core/plan/reserve.h"

#include "scheduler/core/model/job.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"

void plan_reserve_begin(struct plan *plan, struct job *job)
{
    struct planned *its = planned_of(job);

    plan->before = its->reserved;
    plan->n_before = its->n_reserved;
    plan->at_before = 0;
    its->reserved = NULL;
    its->n_reserved = 0;
}

void plan_reserve_end(struct plan *plan)
{
    free(plan->before);
    plan->before = NULL;
    plan->n_before = 0;
}

struct room *plan_reserved_before(struct plan *plan, uint32_t role, const struct want *want)
{
    if (want->only != NULL)
        return NULL; /* there is nothing to choose */
    for (size_t i = plan->at_before; i < plan->n_before; i++) {
        struct room *room = plan->before[i].room;

        if (plan->before[i].role != role)
            continue;
        plan->at_before = i + 1;
        if (room_is_listed(room) && room_fits(&plan->planner->rooms, room, want, false))
            return room;
    }
    return NULL;
}

void plan_reserve(struct plan *plan, struct job *job, const struct placed *place)
{
    struct planned *its = planned_of(job);

    capacity_take(&plan->planner->rooms, place->room, &place->need, false);
    its->reserved = xreallocarray(its->reserved, its->n_reserved + 1, sizeof *its->reserved);
    its->reserved[its->n_reserved++] = *place;
}

void plan_reserve_forget(struct job *job)
{
    struct planned *its = planned_of(job);

    free(its->reserved);
    its->reserved = NULL;
    its->n_reserved = 0;
}
