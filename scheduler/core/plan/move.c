/* SPDX-License-Identifier: Apache-2.0 */
/* move.c - a job that stands in its own way
 *
 * After nodes were drained or lost a job's processes may have come to sit where another of it would
 * be needed, although they would fit elsewhere: small ones where only a large one fits, or any of
 * them on the only node that carries the labels which another wants. Nobody else would have to give
 * anything, and without help it would wait until some job ends, or for ever. So one that comes
 * later in the order in which repairs are made is stopped, to be started again elsewhere, and its
 * place is reserved. The other is served first from then on, so nothing is moved back and forth.
 * Costs a look at each process of that job, and one search for each. */
#include "scheduler/core/plan/move.h"

#include <stdio.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planner.h"
#include "shared/clock.h"

/* It could live elsewhere, and then want fits where it is. */
static bool stands_in_the_way(struct capacity *rooms, const struct process *process,
                              const struct want *want)
{
    struct room *room = process->node->room;
    struct want own = want_of_slot(process->job, process->role, process->index);
    size_t mark = capacity_mark(rooms);
    struct resources all;
    bool elsewhere;

    if (process->state == PROCESS_STOPPING || !room_is_listed(room) || !is_harder(want, &own))
        return false;
    all = room->later;
    resources_add(&all, &own.need, 1);
    if (!resources_fit(&all, &want->need) || !room_carries(room, want))
        return false;
    capacity_take(rooms, room, &room->later, false); /* anywhere but there */
    elsewhere = capacity_best_fit(rooms, &own, false) != NULL;
    capacity_roll_back(rooms, mark);
    return elsewhere;
}

bool plan_move(struct plan *plan, struct job *job, const struct want *want)
{
    struct capacity *rooms = &plan->planner->rooms;
    char reason[sizeof job->processes->reason];

    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; i < job->n_slots[r]; i++) {
            struct process *process = job->slots[r][i].live;
            struct room *room;

            if (process == NULL || !stands_in_the_way(rooms, process, want))
                continue;
            room = process->node->room;
            (void)snprintf(reason, sizeof reason,
                           "moved: it fits elsewhere, and another process of its job only on %s",
                           process->node->name);
            plan_stop(plan, process, true, CAUSE_MOVED, reason);
            capacity_take(rooms, room, &want->need, false);
            return true;
        }
    return false;
}
