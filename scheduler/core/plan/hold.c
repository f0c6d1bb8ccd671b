/* SPDX-License-Identifier: Apache-2.0 */
/* hold.c - keeps nodes for the first gang that waits for jobs to end
 *
 * Small gangs that follow one another would take each part that comes free before the whole is. So
 * places are kept for one gang, the first in the order of the queue that fits neither now nor by
 * shrinking: gangs behind it start there only beside its need, and jobs grow there only beside
 * that. Growth would give way when the gang's room is made, but a job that grew there and is shrunk
 * elsewhere has its minimum there, which does not. All other nodes are as open as ever, and
 * replacements go anywhere.
 *
 * Places are chosen when a gang behind might start for the first time, those first on which the
 * least is missing, and stay until they cannot work any more: their node is gone or closed, offers
 * less, or a service has come there (its grants never end). Kept room is off the rooms only while
 * gangs behind are tried and while jobs grow. Nothing of it is stored: after a restart places are
 * chosen anew.
 *
 * Cost: nothing while no gang waits for ends. A search among up to LOOKS nodes for each process of
 * the gang when places are chosen, which passes by those that cannot be better than the best one so
 * far, and one change of the index for each place. Held room stays in the index between plans: a
 * switch (capacity.holding) says whether searches see it. */
#include "scheduler/core/plan/hold.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/placement_pins.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/plan/fits.h"
#include "scheduler/core/plan/told.h"
#include "scheduler/core/plan/room.h"

#define LOOKS 4096
#define SIZE_MAX_HELD 512

/* A node on which some of it might go, or goes. */
struct candidate {
    struct room *room;
    struct resources have; /* once elastic jobs gave way, less what goes there already */
    struct resources most; /* once all has ended, less the same */
};

/* Those that were the best once; room->noted is the number of one, from 1 on. */
struct search {
    struct candidate *items;
    size_t n, cap;
    const struct want *want;
};

#define NOT_POSSIBLE INT64_MAX

/* The grants of services there, which do not give way. */
static struct resources services_on(const struct node *node)
{
    struct resources sum = { 0 };
    const struct process *process;

    DL_FOREACH2(node->processes, process, node_next)
    {
        struct resources held = resources_of_role(&process->job->spec->roles[process->role]);

        if (process->job->spec->mode == JOB_MODE_SERVICE && process->state != PROCESS_STOPPING &&
            !planned_yields(process))
            resources_add(&sum, &held, 1);
    }
    return sum;
}

static int64_t part(int64_t need, int64_t have)
{
    return need > 0 && need > have ? (need - MAX_OF(have, 0)) * 1000 / need : 0;
}

/* In thousandths of the request, over the kinds of resources. */
static int64_t sum_of_missing(const struct resources *have, const struct resources *need)
{
    return part(need->cpu_millicores, have->cpu_millicores) +
           part(need->memory_bytes / 1024, have->memory_bytes / 1024) +
           part(need->gpus, have->gpus) + part(need->ports, have->ports);
}

static int64_t count_missing(const struct candidate *candidate, const struct want *want)
{
    const struct resources *need = &want->need;
    const struct resources *have = &candidate->have;

    if (!resources_fit(&candidate->most, need) || !room_carries(candidate->room, want))
        return NOT_POSSIBLE;
    return sum_of_missing(have, need);
}

static struct candidate candidate_of(const struct search *search, struct room *room)
{
    struct candidate candidate = { .room = room, .have = room->later, .most = room->facts.most };

    if (room->noted > 0)
        return search->items[room->noted - 1];
    resources_add(&candidate.have, &room->facts.yield, 1);
    return candidate;
}

static int64_t missing_in(struct room *room, void *userdata)
{
    const struct search *search = userdata;
    struct candidate candidate = candidate_of(search, room);

    return count_missing(&candidate, search->want);
}

static int64_t missing_at_least(const struct resources *could, void *userdata)
{
    const struct search *search = userdata;

    return sum_of_missing(could, &search->want->need);
}

/* Its services are taken off it, which costs its processes. */
static struct candidate *note(struct search *search, struct room *room)
{
    struct resources services = services_on(room->node);
    struct candidate candidate = candidate_of(search, room);

    if (room->noted > 0)
        return &search->items[room->noted - 1];
    if (search->n == search->cap) {
        search->cap = search->cap > 0 ? 2 * search->cap : 16;
        search->items = xreallocarray(search->items, search->cap, sizeof *search->items);
    }
    resources_add(&candidate.most, &services, -1);
    search->items[search->n++] = candidate;
    room->noted = (uint32_t)search->n;
    return &search->items[search->n - 1];
}

/* An instance that is pinned to one has no other. */
static struct candidate *only_one(struct search *search, const struct capacity *rooms)
{
    struct room *room = capacity_room(rooms, search->want->only);
    struct candidate *candidate;

    if (room == NULL || missing_in(room, search) == NOT_POSSIBLE)
        return NULL;
    candidate = note(search, room);
    return resources_fit(&candidate->most, &search->want->need) ? candidate : NULL;
}

static struct candidate *best_of(struct search *search, const struct capacity *rooms)
{
    const struct room_cost cost = { missing_in, missing_at_least, search };
    struct room *room;

    if (search->want->only != NULL)
        return only_one(search, rooms);
    while ((room = capacity_cheapest(rooms, LOOKS, &cost)) != NULL) {
        struct candidate *candidate = note(search, room);

        if (resources_fit(&candidate->most, &search->want->need))
            return candidate;
    }
    return NULL;
}

static bool choose_among(struct search *search, const struct capacity *rooms,
                         const struct demand *demands, size_t n, struct placed *placed)
{
    for (size_t d = 0; d < n; d++) {
        for (uint32_t i = 0; i < demands[d].count; i++) {
            const struct want want = demand_want(&demands[d], i);
            struct candidate *best;

            search->want = &want;
            best = best_of(search, rooms);

            if (best == NULL)
                return false;
            *placed++ = (struct placed){ .room = best->room,
                                         .role = demands[d].role,
                                         .need = search->want->need };
            resources_add(&best->have, &search->want->need, -1);
            resources_add(&best->most, &search->want->need, -1);
        }
    }
    return true;
}

/* false: there are none, and it has no places */
static bool choose(const struct plan *plan, struct job *job)
{
    const struct capacity *rooms = &plan->planner->rooms;
    struct demand demands[JOB_ROLES_MAX];
    struct demand packed[JOB_ROLES_MAX];
    size_t n = gang_demands_of_job(job, demands);
    size_t size = gang_size(demands, n);
    struct search search = { .n = 0 };

    if (size == 0 || size > SIZE_MAX_HELD || capacity_n_rooms(rooms) == 0)
        return false;
    demands_hardest_first(demands, n, packed);
    planned_of(job)->places = xcalloc(size, sizeof *planned_is(job)->places);
    planned_of(job)->n_places = size;
    if (!choose_among(&search, rooms, packed, n, planned_is(job)->places))
        plan_forget_places(job);
    for (size_t i = 0; i < search.n; i++)
        search.items[i].room->noted = 0;
    free(search.items);
    return planned_is(job)->places != NULL;
}

static bool is_kept_for(const struct queue *queue, const struct job *job)
{
    bool same = queue->n_kept == planned_is(job)->n_places;

    for (size_t i = 0; same && i < queue->n_kept; i++)
        same = queue->kept[i].room == planned_is(job)->places[i].room &&
               resources_equal(&queue->kept[i].need, &planned_is(job)->places[i].need);
    return same;
}

void plan_hold_drop(struct planner *planner)
{
    struct queue *queue = &planner->queue;

    for (size_t i = 0; i < queue->n_kept; i++)
        capacity_hold(&planner->rooms, queue->kept[i].room, &queue->kept[i].need, -1);
    free(queue->kept);
    queue->kept = NULL;
    queue->n_kept = 0;
}

/* The index holds the places of this job, and nothing else. */
static void keep(struct planner *planner, const struct job *job)
{
    struct queue *queue = &planner->queue;
    size_t n = planned_is(job)->n_places;

    if (is_kept_for(queue, job))
        return;
    plan_hold_drop(planner);
    queue->kept = xcalloc(n, sizeof *queue->kept);
    queue->n_kept = n;
    memcpy(queue->kept, planned_is(job)->places, n * sizeof *queue->kept);
    for (size_t i = 0; i < n; i++)
        capacity_hold(&planner->rooms, queue->kept[i].room, &queue->kept[i].need, 1);
}

static bool holds(const struct room *room, bool anew)
{
    struct resources most = resources_of_offer(&room->node->offer);
    struct resources services;

    if (anew) {
        most = room->facts.most;
        services = services_on(room->node);
        resources_add(&most, &services, -1);
    }
    return room_is_listed(room) && resources_fit(&most, &room->held);
}

bool plan_hold_works(struct planner *planner, const struct job *job, bool anew)
{
    const struct placed *places = planned_is(job)->places;
    bool works = true;

    keep(planner, job);
    for (size_t i = 0; works && i < planned_is(job)->n_places; i++)
        works = holds(places[i].room, anew);
    return works;
}

/* One that no room will ever hold starts nowhere. Only the first plan of a copy tries such a class:
 * it must not choose places that the cluster itself has not chosen. */
static bool might_start(const struct plan *plan, struct queue_class *class,
                        const struct demand *demands, size_t n)
{
    for (size_t d = 0; d < n; d++)
        if (!capacity_might_fit(&plan->planner->rooms, &demands[d].want))
            return false;
    return queue_fits_ever(plan->cluster, class) != FIT_NEVER;
}

/* Places are chosen by another rule than that of the search before, and may be such that nothing
 * is missing. */
static bool is_all_there(struct plan *plan, const struct job *held)
{
    struct capacity *rooms = &plan->planner->rooms;
    size_t mark = capacity_mark(rooms);
    bool there = plan_keep_places(plan, held, false);

    capacity_roll_back(rooms, mark);
    return there;
}

/* A gang whose room is all there does not wait for ends: it is promised when its turn comes
 * again. */
static void choose_for(struct plan *plan, struct job *held)
{
    if (!choose(plan, held))
        return;
    if (is_all_there(plan, held))
        queue_might_move(plan->cluster);
    else
        queue_tell(plan->cluster, held, VERDICT_HELD);
}

void plan_hold(struct plan *plan, struct queue_class *class, const struct demand *demands, size_t n)
{
    struct queue *queue = &plan->planner->queue;
    struct job *held = queue->held;

    if (held == NULL || held == class->next || plan->planner->rooms.holding)
        return;
    if (planned_is(held)->places == NULL && !queue->hold_tried &&
        might_start(plan, class, demands, n)) {
        queue->hold_tried = true;
        choose_for(plan, held);
    }
    plan_hold_on(plan);
}

void plan_hold_on(struct plan *plan)
{
    const struct job *held = plan->planner->queue.held;

    if (held == NULL || planned_is(held)->places == NULL)
        return;
    keep(plan->planner, held);
    plan->planner->rooms.holding = true;
}

void plan_hold_off(struct plan *plan)
{
    plan->planner->rooms.holding = false;
}

/* Some instance of it finds room where it is kept, elastic jobs there given way. */
static bool is_kept(const struct job *held, const struct want *want)
{
    for (size_t i = 0; i < planned_is(held)->n_places; i++) {
        const struct room *room = planned_is(held)->places[i].room;
        struct resources have = room->later;

        resources_add(&have, &room->facts.yield, 1);
        if (resources_fit(&have, &want->need) && room_carries(room, want))
            return true;
    }
    return false;
}

bool plan_hold_keeps_out(const struct plan *plan, const struct job *job,
                         const struct demand *demands, size_t n)
{
    const struct job *held = plan->planner->queue.held;
    bool kept[JOB_ROLES_MAX];
    bool any = false;

    if (held == NULL || planned_is(held)->places == NULL)
        return false;
    /* the room kept from it may be less by now: it was told, and that is no news */
    if (planned_verdict(job) == VERDICT_YIELDS)
        return true;
    for (size_t d = 0; d < n; d++) {
        kept[d] = is_kept(held, &demands[d].want);
        any = any || kept[d];
    }
    for (size_t d = 0; any && d < n; d++)
        if (!kept[d] && !capacity_might_fit(&plan->planner->rooms, &demands[d].want))
            return false;
    return any;
}
