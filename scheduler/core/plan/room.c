/* SPDX-License-Identifier: Apache-2.0 */
/* room.c - makes room for a gang by choosing who is shrunk away
 *
 * The policy knows totals; whether a gang fits is decided by single nodes. Greedy: instance by
 * instance, in placing order, where it fits later (stopping processes count as gone) at no job's
 * cost; else on the node that needs the fewest victims. Never below a job's minimum. All or
 * nothing.
 *
 * Cost of an instance that needs victims: the index names only nodes on which those who could give
 * way hold enough; of them CANDIDATES_MAX are looked at, each with its own processes. */
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/room.h"

#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/backlog.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/group_levels.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/placement_pins.h"
#include "scheduler/core/plan/owner_room.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/plan/reserve.h"
#include "scheduler/core/plan/victims.h"
#include "scheduler/core/policy/policy.h"
#include "shared/clock.h"

#define VICTIMS_PER_INSTANCE 64
/* Nodes on which it would work: the best of so many is taken. */
#define CANDIDATES_MAX 32
/* Nodes on which the sums are right and single jobs' minima may forbid it. */
#define LOOKED_AT_MAX 256

struct victims {
    const struct plan *plan;
    uint32_t group;   /* of the job in need */
    bool of_services; /* of those alone that tell of their queues */
    bool of_anyone; /* else of its own group, and of those that hold more than is guaranteed to them
                     */
    struct process **items; /* owned */
    size_t n, cap;
};

static bool may_take(const struct victims *victims, const struct process *process)
{
    const struct planner *planner = victims->plan->planner;

    if (victims->of_services && job_wanted_by_backlog(process->job) == 0)
        return false;
    return victims->of_anyone || planner->n_groups <= 1 || process->job->group == victims->group ||
           group_may_lend(planner, process);
}

static void mark(struct victims *victims, struct process *process)
{
    if (victims->n == victims->cap) {
        victims->cap = victims->cap ? 2 * victims->cap : 32;
        victims->items = xreallocarray(victims->items, victims->cap, sizeof(*victims->items));
    }
    victims->items[victims->n++] = process;
    process->marked = true;
    planned_of(process->job)->marked++;
    group_give(victims->plan->planner, process, 1);
}

static void unmark_down_to(struct victims *victims, size_t n)
{
    while (victims->n > n) {
        struct process *process = victims->items[--victims->n];

        process->marked = false;
        planned_of(process->job)->marked--;
        group_give(victims->plan->planner, process, -1);
    }
}

/* Marks victims on this node until need fits; false: it cannot, nothing marked. */
static bool free_on(struct victims *victims, const struct room *room, const struct resources *need,
                    size_t limit)
{
    struct resources have = room->later;
    size_t before = victims->n;

    while (!resources_fit(&have, need)) {
        struct process *best = NULL;
        struct process *process;
        struct resources held;

        DL_FOREACH2(room->node->processes, process, node_next)
        {
            if (is_victim(process, &have, need) && may_take(victims, process) &&
                (best == NULL || gives_before(victims->plan, process, best)))
                best = process;
        }
        if (best == NULL || victims->n - before >= limit) {
            unmark_down_to(victims, before);
            return false;
        }
        mark(victims, best);
        held = resources_of_role(&best->job->spec->roles[best->role]);
        resources_add(&have, &held, 1);
    }
    return true;
}

struct search {
    struct victims *victims;
    const struct want *want;
    bool holding;
    struct room *best;
    size_t fewest;
    unsigned candidates, looked_at; /* left */
};

static bool is_held(const struct room *room)
{
    return !resources_equal(&room->held, &(struct resources){ 0 });
}

static bool look_at(struct room *room, void *userdata)
{
    struct search *search = userdata;
    size_t before = search->victims->n;

    search->looked_at--;
    /* a job that gives way on kept nodes gives way to the gang that they are kept for */
    if (!(search->holding && is_held(room)) &&
        free_on(search->victims, room, &search->want->need, search->fewest)) {
        search->fewest = search->victims->n - before - 1; /* the next has to be better */
        search->best = room;
        search->candidates--;
        unmark_down_to(search->victims, before);
    }
    return search->fewest > 0 && search->candidates > 0 && search->looked_at > 0;
}

/* The search goes on as if these were gone. */
static void give_back(struct plan *plan, const struct victims *victims, size_t from)
{
    for (size_t i = from; i < victims->n; i++) {
        const struct process *process = victims->items[i];
        const struct resources held = resources_of_role(&process->job->spec->roles[process->role]);

        if (room_is_listed(process->node->room))
            capacity_take(&plan->planner->rooms, process->node->room,
                          &(struct resources){ .cpu_millicores = -held.cpu_millicores,
                                               .memory_bytes = -held.memory_bytes,
                                               .gpus = -held.gpus,
                                               .ports = -held.ports },
                          false);
    }
}

/* The node that needs the fewest victims, with them marked; NULL when none can. */
static struct room *free_somewhere(struct plan *plan, struct victims *victims,
                                   const struct want *want)
{
    struct search search = { .victims = victims,
                             .want = want,
                             .holding = plan->planner->rooms.holding,
                             .fewest = VICTIMS_PER_INSTANCE,
                             .candidates = CANDIDATES_MAX,
                             .looked_at = LOOKED_AT_MAX };
    size_t before = victims->n;

    capacity_each_possible(&plan->planner->rooms, want, look_at, &search);
    plan->searched = plan->searched || search.looked_at < LOOKED_AT_MAX;
    if (search.best == NULL || !free_on(victims, search.best, &want->need, VICTIMS_PER_INSTANCE))
        return NULL;
    give_back(plan, victims, before);
    return search.best;
}

/* Instances of its owners, until these may hold its minimum. false: too few can give way */
static bool free_of_owners(struct plan *plan, const struct job *job, struct victims *victims)
{
    size_t before = victims->n;

    if (job_is_started(job))
        return true; /* it has the right to its minimum */
    while (owner_room_fit(plan->planner, job) > OWNER_FITS_LATER) {
        struct process *victim = plan->searches > 0 ? owner_room_victim(plan, job) : NULL;

        plan->searched = true;
        if (victim == NULL)
            return false;
        mark(victims, victim);
    }
    give_back(plan, victims, before);
    return true;
}

/* Where a started job was kept a place before, else where it fits, else where somebody gives way.
 */
static struct room *find_one(struct plan *plan, const struct job *job, const struct demand *demand,
                             uint32_t at, const struct near *near, struct victims *victims)
{
    const struct want want = demand_want(demand, at);
    struct room *room = NULL;

    if (job_is_started(job))
        room = plan_reserved_before(plan, demand->role, &want);
    if (room == NULL)
        room = place_one(&plan->planner->rooms, &want, near, false);
    if (room == NULL && plan->searches > 0)
        room = free_somewhere(plan, victims, &want);
    return room;
}

static bool find_room(struct plan *plan, const struct job *job, const struct demand *demands,
                      size_t n, bool packed, struct victims *victims, struct placed *placed)
{
    struct capacity *rooms = &plan->planner->rooms;
    struct near near = { 0 };
    struct room *whole = NULL;
    size_t n_placed = 0;

    if (!free_of_owners(plan, job, victims))
        return false;
    if (job_is_started(job))
        near_job(&near, job);
    else if (!packed)
        whole = place_whole(rooms, demands, n, false);
    if (whole != NULL) {
        place_in(rooms, whole, demands, n, false, placed);
        return true;
    }
    for (size_t d = 0; d < n; d++)
        for (uint32_t i = 0; i < demands[d].count; i++) {
            struct room *room = find_one(plan, job, &demands[d], i, &near, victims);

            if (room == NULL)
                return false;
            capacity_take(rooms, room, &demands[d].want.need, false);
            if (!packed)
                near_add(&near, room);
            placed[n_placed++] = (struct placed){ .room = room,
                                                  .role = demands[d].role,
                                                  .need = demands[d].want.need };
        }
    return true;
}

static void stop(struct plan *plan, struct victims *victims, const struct job *job,
                 const struct demand *demands, size_t n)
{
    struct resources total = gang_total(demands, n);
    const struct policy_group *group = &plan->planner->groups[job->group];
    char need[80];
    char text[320];
    char whom[100] = "";

    if (group_is_below(plan->planner, job->group))
        (void)snprintf(whom, sizeof whom, " (group %s has %.1f%% of %.1f%%)", group->name,
                       group_percent(plan->planner, job->group), group->guaranteed_permille / 10.0);
    resources_describe(&total, need, sizeof need);
    (void)snprintf(text, sizeof text, "shrunk to make room for job %s%s: its %s of %zu needs %s",
                   job->spec->name, whom, job_is_started(job) ? "replacement" : "gang",
                   gang_size(demands, n), need);
    for (size_t i = 0; i < victims->n; i++) {
        struct process *process = victims->items[i];

        plan_size(plan, process->job, RESIZE_MAKE_ROOM, "%s", text);
        plan_stop(plan, process, false, CAUSE_MAKES_ROOM, text);
    }
}

/* Places in a row, from that one on, of one role in one room: as good as one for the sum. */
static size_t count_alike(const struct job *job, size_t first)
{
    const struct placed *places = planned_is(job)->places;
    size_t n = 1;

    while (first + n < planned_is(job)->n_places && places[first + n].room == places[first].room &&
           places[first + n].role == places[first].role &&
           resources_equal(&places[first + n].need, &places[first].need))
        n++;
    return n;
}

/* A promise is given again as long as it can be: the greedy search might find another place each
 * time, and shrink others for it. That goes before nodes that are kept for a gang that waits for
 * ends: nodes are chosen for that one once, and only new promises are given beside it. */
bool plan_keep_places(struct plan *plan, const struct job *job, bool now)
{
    struct capacity *rooms = &plan->planner->rooms;
    size_t mark = capacity_mark(rooms);
    bool holding = rooms->holding;
    bool fits = planned_is(job)->n_places > 0;

    rooms->holding = false;
    for (size_t i = 0, n; fits && i < planned_is(job)->n_places; i += n) {
        const struct placed *place = &planned_is(job)->places[i];
        struct want want = want_of(job, place->role);

        n = count_alike(job, i);
        want.need = (struct resources){ 0 };
        resources_add(&want.need, &place->need, (int64_t)n);
        fits = room_is_listed(place->room) && room_fits(rooms, place->room, &want, now);
        if (fits)
            capacity_take(rooms, place->room, &want.need, now);
    }
    rooms->holding = holding;
    if (!fits)
        capacity_roll_back(rooms, mark);
    return fits;
}

static bool search(struct plan *plan, const struct job *job, const struct demand *demands, size_t n,
                   struct victims *victims, struct placed *placed)
{
    struct capacity *rooms = &plan->planner->rooms;
    size_t mark = capacity_mark(rooms);
    bool fits = find_room(plan, job, demands, n, false, victims, placed);

    capacity_roll_back(rooms, mark);
    if (!fits && n > 1) { /* as place_gang: packed tightly */
        struct demand packed[JOB_ROLES_MAX];

        unmark_down_to(victims, 0);
        demands_hardest_first(demands, n, packed);
        fits = find_room(plan, job, packed, n, true, victims, placed);
        capacity_roll_back(rooms, mark);
    }
    return fits;
}

/* A job's minimum, once it started, and the guarantee of its group are worth any other's
 * surplus. */
static bool goes_before_all(const struct plan *plan, const struct job *job)
{
    return plan->planner->n_groups > 1 &&
           (job_is_started(job) || group_is_below(plan->planner, job->group));
}

/* The job's need is reserved: as its lacking instances when it has started, else as the promise of
 * its gang. */
static void keep(struct plan *plan, struct job *job, struct placed *take_placed, size_t size)
{
    if (job_is_started(job)) {
        for (size_t i = 0; i < size; i++)
            plan_reserve(plan, job, &take_placed[i]);
        free(take_placed);
        return;
    }
    for (size_t i = 0; i < size; i++)
        capacity_take(&plan->planner->rooms, take_placed[i].room, &take_placed[i].need, false);
    plan_forget_places(job);
    planned_of(job)->places = take_placed;
    planned_of(job)->n_places = size;
}

bool plan_make_room(struct plan *plan, struct job *job, const struct demand *demands, size_t n)
{
    size_t size = gang_size(demands, n);
    size_t at_before = plan->at_before;
    struct placed *placed;
    struct victims victims = { .plan = plan, .group = job->group };
    bool fits;

    /* before anything is taken and put back: each role by itself, with any jobs giving way */
    for (size_t d = 0; d < n; d++)
        if (!demand_might_fit(&plan->planner->rooms, &demands[d]))
            return false;
    placed = xcalloc(size, sizeof *placed);
    plan->searched = false;
    victims.of_services = plan->cluster->deadlines.n[DEADLINE_BACKLOG] > 0;
    fits = search(plan, job, demands, n, &victims, placed);
    if (!fits && victims.of_services) {
        unmark_down_to(&victims, 0);
        victims.of_services = false;
        fits = search(plan, job, demands, n, &victims, placed);
    }
    if (!fits && goes_before_all(plan, job)) {
        unmark_down_to(&victims, 0);
        victims.of_anyone = true;
        fits = search(plan, job, demands, n, &victims, placed);
    }
    if (fits) {
        struct victims chosen = victims;

        unmark_down_to(&victims, 0); /* the items stay where they are */
        stop(plan, &chosen, job, demands, n);
        keep(plan, job, placed, size); /* room that stops freed is a fact by now */
        placed = NULL;
    } else {
        unmark_down_to(&victims, 0);
        plan->at_before = at_before;
        plan->searches -= plan->searched ? 1 : 0;
    }
    free(victims.items);
    free(placed);
    return fits;
}
