/* SPDX-License-Identifier: Apache-2.0 */
/* plan_move.c - a job that stands in its own way
 *
 * After nodes were drained or lost a job's small processes may have come to sit where its large one
 * would be needed, although they would fit elsewhere. Nobody else would have to give anything, and
 * without help it would wait until some job ends. So one that is smaller in the order in which
 * repairs are made is stopped, to be started again elsewhere, and its place is reserved. The larger
 * one is served first from then on, so nothing is moved back and forth. Costs a look at each
 * process of that job, and one search for each. */
#include "scheduler/core/plan_internal.h"

#include <stdio.h>

bool is_larger(const struct resources *a, const struct resources *b)
{
    if (a->gpus != b->gpus)
        return a->gpus > b->gpus;
    if (a->cpu_millicores != b->cpu_millicores)
        return a->cpu_millicores > b->cpu_millicores;
    return a->memory_bytes > b->memory_bytes;
}

/* It could live elsewhere, and then want fits where it is. */
static bool stands_in_the_way(struct capacity *rooms, const struct process *process,
                              const struct want *want)
{
    struct room *room = process->node->room;
    struct want own = want_of_role(&process->job->spec->roles[process->role]);
    size_t mark = capacity_mark(rooms);
    struct resources all;
    bool elsewhere;

    if (process->state == PROCESS_STOPPING || !room_is_listed(room) ||
        !is_larger(&want->need, &own.need))
        return false;
    all = room->later;
    resources_add(&all, &own.need, 1);
    if (!resources_fit(&all, &want->need) ||
        (want->selector != NULL && !labels_cover(room->labels, want->selector)))
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
                           "moved: it fits elsewhere, and a larger process of its job only on %s",
                           process->node->name);
            process_stop(plan->cluster, process, true, reason, plan->now);
            capacity_take(rooms, room, &want->need, false);
            return true;
        }
    return false;
}
