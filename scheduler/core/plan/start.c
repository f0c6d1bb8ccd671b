/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - starts waiting gangs, in order of priority and turn (queue.c); those of groups
 * that have less than is guaranteed to them first
 *
 * A gang that does not fit now but will when stopping processes are gone, or when elastic jobs give
 * way down to their minima, is promised that room: it stays reserved, so later gangs and growth see
 * the nodes without it (backfill takes only the rest). A gang that would not fit even then is
 * promised nothing and nobody shrinks for it: it waits for a job's end. For the first of those
 * nodes are kept (plan/hold.c), else smaller gangs behind it that follow one another would keep it
 * out.
 *
 * The queue is gone through from its start: all promises are off, lacking jobs are served first,
 * then processes that are to leave a draining node, then class after class. A class of which one
 * job does not fit is passed by as a whole, and after QUEUE_DEPTH of those the rest is promised
 * nothing: the cost is bounded however many wait. Room that is free now is offered to those behind
 * as well. Most classes fail by sums, before anything is taken. A further pass of the plan goes
 * through it again only when something might fit that did not. */
#include "scheduler/core/plan/start.h"

#include <utlist.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/learn/take.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/array_room.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/hold.h"
#include "scheduler/core/plan/drain.h"
#include "scheduler/core/plan/filing.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/placement_types.h"
#include "scheduler/core/plan/owner_room.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/plan/fits.h"
#include "scheduler/core/plan/told.h"
#include "scheduler/core/plan/repair.h"
#include "scheduler/core/plan/room.h"
#include "scheduler/core/plan/rooms.h"
#include "scheduler/core/plan/servers.h"
#include "scheduler/core/policy/limits.h"

/* For those who give way for more parameter servers than a gang must have: one that cannot be
 * killed keeps nobody for ever. */
#define SERVERS_WAIT_US (30 * USEC_PER_SEC)

/* Classes that are found never to fit, in one pass. They are told so, and not tried again before
 * nodes offer something else. */
#define NEVER_MOST 1024

enum outcome { STARTED, PROMISED, LIMITED, FAILED }; /* LIMITED: its owners hold what they may */

/* Lowest free slot; right after the submit all are. */
static void start(struct plan *plan, struct job *job, const struct placed *placed, size_t n,
                  const struct servers_choice *servers)
{
    const struct act begins = { .kind = ACT_START, .job = job->id, .n = (uint32_t)n };
    uint32_t next[JOB_ROLES_MAX] = { 0 };
    bool changed = plan->cluster->files_changed;

    share_charge(plan->cluster, job, plan->now);
    queue_leave(plan->cluster, job);
    plan_fix_servers(plan, job, servers);
    (void)plan_do(plan->cluster, &begins, plan->now);
    plan->cluster->files_changed = changed; /* that is all of it */
    learn_take(plan->cluster);              /* this plan gives it what its family makes of more */
    rooms_look(plan->planner);
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        plan_target(plan, job, r, job->spec->roles[r].min);
    for (size_t i = 0; i < n; i++)
        /* room has counted ports and devices: this cannot fail */
        (void)plan_assign(plan, job, placed[i].role, next[placed[i].role]++, placed[i].room->node);
}

/* With so much more, but not any more when all that is being stopped is gone. */
static bool is_over(const struct plan *plan, int64_t need_millicores)
{
    const struct planner *planner = plan->planner;
    int64_t limit =
        policy_load_limit(planner->total.cpu_millicores, plan->cluster->config.max_load_permille);
    int64_t then = planner->held.cpu_millicores + need_millicores;

    return need_millicores > 0 && then > limit && then - planner->stopping.cpu_millicores <= limit;
}

static bool stops_in_places(const struct job *job)
{
    for (size_t i = 0; i < planned_is(job)->n_places; i++) {
        const struct room *room = planned_is(job)->places[i].room;

        if (room_is_listed(room) &&
            room->facts.later.cpu_millicores > room->facts.now.cpu_millicores)
            return true;
    }
    return false;
}

/* Above the load limit only for processes that stop in its places: it waits for those, so that room
 * made for it does not cost a load above the limit meanwhile. A gang that is over the limit by
 * running processes, or by stops elsewhere, has the right to its minimum all the same. */
static bool waits_for_stops(const struct plan *plan, const struct job *job,
                            const struct demand *demands, size_t n)
{
    int64_t need = gang_total(demands, n).cpu_millicores;
    int64_t beyond = plan_promised_beyond(job, gang_size(demands, n)).cpu_millicores;

    /* more servers make it wait for longer, and never for less */
    return stops_in_places(job) && (is_over(plan, need) || is_over(plan, need + beyond));
}

static bool try_now(struct plan *plan, struct job *job, const struct demand *demands, size_t n)
{
    struct capacity *rooms = &plan->planner->rooms;
    size_t mark = capacity_mark(rooms);
    size_t size = gang_size(demands, n);
    struct servers_choice servers;
    struct placed *placed;
    bool fits;

    planned_of(job)->held_back = false;
    if (planned_is(job)->n_places == 0 && !gang_fits_by_count(rooms, demands, n, true))
        return false; /* most of them */
    placed = xcalloc(size + plan_more_servers(job), sizeof *placed);
    fits = plan_keep_places(plan, job, true);
    if (!fits && plan_promised_servers(job, size) > 0) {
        free(placed);
        return false; /* until those who give way are gone */
    }
    if (fits)
        memcpy(placed, planned_is(job)->places, planned_is(job)->n_places * sizeof *placed);
    else
        fits = place_gang(rooms, demands, n, true, placed);
    planned_of(job)->held_back = fits && waits_for_stops(plan, job, demands, n);
    fits = fits && !planned_is(job)->held_back;
    if (fits)
        size = plan_place_servers(plan, job, placed, size, &servers);
    if (fits) {
        capacity_assign(rooms, mark);
        start(plan, job, placed, size, &servers);
    } else {
        capacity_roll_back(rooms, mark);
    }
    free(placed);
    return fits;
}

/* It neither fits nor can room be made for it. */
static void waits_for_ends(struct plan *plan, struct job *job, const struct demand *demands,
                           size_t n)
{
    struct queue *queue = &plan->planner->queue;
    bool fits = queue_fits_ever(plan->cluster, planned_is(job)->class) == FIT_EVER;
    enum queue_verdict verdict = fits ? VERDICT_WAITS : VERDICT_UNPACKED;

    if (fits && queue->n_promised < PROMISES_MAX && (queue->held == NULL || queue->held == job)) {
        queue->held = job;
        if (planned_verdict(job) == VERDICT_HELD && planned_is(job)->places != NULL &&
            plan_hold_works(plan->planner, job, plan->check_hold)) {
            queue_tell(plan->cluster, job, VERDICT_HELD);
            return; /* where is chosen once */
        }
    } else if (fits && plan_hold_keeps_out(plan, job, demands, n)) {
        verdict = VERDICT_YIELDS;
    }
    plan_forget_places(job);
    queue_tell(plan->cluster, job, verdict);
}

/* It keeps no room from anybody, and is told so with all others of its class (tell_limited). */
static enum outcome is_limited(struct plan *plan, struct queue_class *class)
{
    bool array = array_room_fit(plan->planner, class->next) == OWNER_FITS_NOT;

    plan_forget_places(class->next);
    queue_tell(plan->cluster, class->next, array ? VERDICT_ARRAY : VERDICT_OWNER);
    return LIMITED;
}

static enum owner_fit fit_of_limits(const struct plan *plan, const struct job *job)
{
    enum owner_fit owners = owner_room_fit(plan->planner, job);
    enum owner_fit array = array_room_fit(plan->planner, job);

    return MAX_OF(owners, array);
}

/* Room that is there but for the load is taken at once: a job that grows or is repaired meanwhile
 * goes elsewhere, else the gang would have to wait for room once the load is gone. */
static bool promise(struct plan *plan, struct job *job, const struct demand *demands, size_t n,
                    enum owner_fit owners)
{
    bool given = owners == OWNER_FITS_GIVEN; /* others of its owners have to give way first */
    bool there = !given && planned_is(job)->held_back && plan_keep_places(plan, job, true);
    bool kept = there || (!given && plan_keep_places(plan, job, false));

    if (!kept && !plan_make_room(plan, job, demands, n))
        return false;
    if (planned_is(job)->held_back && !kept) /* by stops in places that it has no longer */
        queue_might_move(plan->cluster);
    queue_tell(plan->cluster, job, there ? VERDICT_OVER_LOAD : VERDICT_PROMISED);
    queue_promise(plan->cluster, job);
    return true;
}

static bool fits_now(struct plan *plan, const struct job *job, const struct demand *demands,
                     size_t n)
{
    struct capacity *rooms = &plan->planner->rooms;
    size_t mark = capacity_mark(rooms);
    bool fits = plan_keep_places(plan, job, true) || place_gang(rooms, demands, n, true, NULL);

    capacity_roll_back(rooms, mark);
    return fits;
}

/* A gang that fits with the fewest servers: room is being made for more, once, and until those who
 * give way are gone. With groups no job waits for more: a group holds as much as runs. One promise
 * is left to those who cannot start without. */
static bool waits_for_servers(struct plan *plan, struct job *job, const struct demand *demands,
                              size_t n)
{
    struct capacity *rooms = &plan->planner->rooms;
    size_t mark = capacity_mark(rooms);

    if (plan_more_servers(job) == 0 || owner_room_is_bound(plan->planner, job))
        return false;
    if (plan_promised_servers(job, gang_size(demands, n)) > 0) {
        if (plan->now.now_us >= planned_is(job)->servers_until_us ||
            !plan_keep_places(plan, job, false))
            plan_forget_places(job);
        capacity_roll_back(rooms, mark);
        return false; /* as any promise, or as if there had been none */
    }
    if (planned_is(job)->servers_until_us != 0 || plan->planner->n_groups > 1 ||
        plan->planner->queue.n_promised + 1 >= PROMISES_MAX || !fits_now(plan, job, demands, n) ||
        !plan_promise_servers(plan, job, demands, n))
        return false;
    planned_of(job)->servers_until_us = plan->now.now_us + SERVERS_WAIT_US;
    capacity_roll_back(rooms, mark);
    if (plan_keep_places(plan, job, true)) { /* all of it is there */
        capacity_roll_back(rooms, mark);
        return false;
    }
    (void)plan_keep_places(plan, job, false);
    deadline_set(&plan->cluster->deadlines, &job->backoff, DEADLINE_BACKOFF,
                 planned_is(job)->servers_until_us);
    queue_tell(plan->cluster, job, VERDICT_PROMISED);
    queue_promise(plan->cluster, job);
    return true;
}

/* Tries the next job of a class. STARTED: the class may be gone. */
static enum outcome try_next(struct plan *plan, struct queue_class *class)
{
    struct queue *queue = &plan->planner->queue;
    struct job *job = class->next;
    struct demand own[JOB_ROLES_MAX];
    size_t n = class->n_demands;
    const struct demand *demands = gang_demands_of(plan, job, class->demands, n, own);
    enum owner_fit owners = fit_of_limits(plan, job);

    if (capacity_n_rooms(&plan->planner->rooms) == 0 &&
        (capacity_n_rooms(&plan->planner->offered) == 0 ||
         queue_fits_ever(plan->cluster, class) != FIT_NEVER)) {
        plan_forget_places(job);
        queue_tell(plan->cluster, job, VERDICT_NO_NODES);
        return FAILED;
    }
    if (class->told_never && queue_fits_ever(plan->cluster, class) != FIT_NEVER)
        queue_tell_hope(plan->cluster, class);
    if (owners == OWNER_FITS_NOT)
        return is_limited(plan, class);
    plan_hold(plan, class, demands, n);
    if (waits_for_servers(plan, job, demands, n))
        return PROMISED;
    planned_of(job)->held_back = false;
    if (owners == OWNER_FITS_NOW && try_now(plan, job, demands, n))
        return STARTED;
    if (queue_fits_ever(plan->cluster, class) == FIT_NEVER) {
        plan_forget_places(job);
        queue_set_never(plan->cluster, class);
        return FAILED;
    }
    if (queue->n_promised < PROMISES_MAX && promise(plan, job, demands, n, owners))
        return PROMISED;
    if (owners == OWNER_FITS_GIVEN)
        return is_limited(plan, class);
    waits_for_ends(plan, job, demands, n);
    return FAILED;
}

/* Beyond the depth: nobody is shrunk for it and no room is promised to it, but it starts if it fits
 * now. That some instance has no place is seen from the top of the index. */
static enum outcome try_deep(struct plan *plan, struct queue_class *class)
{
    struct capacity *rooms = &plan->planner->rooms;
    struct job *job = class->next;
    struct demand own[JOB_ROLES_MAX];
    size_t n = class->n_demands;
    const struct demand *demands = gang_demands_of(plan, job, class->demands, n, own);

    if (fit_of_limits(plan, job) != OWNER_FITS_NOW)
        return LIMITED;
    plan_hold(plan, class, demands, n);
    if (!class->told_never && planned_is(job)->n_places == 0 &&
        !gang_fits_by_count(rooms, demands, n, true))
        return FAILED; /* most of them */
    for (size_t d = 0; d < n; d++)
        if (capacity_best_fit(rooms, &demands[d].want, true) == NULL)
            return FAILED;
    if (class->told_never && queue_fits_ever(plan->cluster, class) != FIT_NEVER)
        queue_tell_hope(plan->cluster, class);
    if (try_now(plan, job, demands, n))
        return STARTED;
    return FAILED;
}

/* Those behind the depth, by the key of the last that was tried; NULL: all were. A group that came
 * to have less than its share meanwhile went to the front: a new job there will be tried. */
static void tell_untried(struct plan *plan, const struct queue_key *depth)
{
    const struct queue *queue = &plan->planner->queue;
    struct queue_class *class = queue_after(plan->planner, NULL);

    while (class != NULL) {
        const struct queue_key key = queue_key(plan->planner, class);
        enum queue_verdict verdict = planned_verdict(class->next);
        bool is_new = verdict == VERDICT_NONE || verdict == VERDICT_BEHIND;

        if (class->failed_in != queue->round) {
            if (is_new && (depth == NULL || queue_key_compare(&key, depth) <= 0))
                queue_might_move(plan->cluster);
            else if (depth != NULL)
                queue_tell(plan->cluster, class->next, VERDICT_DEEP);
        }
        class = queue_after(plan->planner, &key);
    }
}

/* A job whose turn did not come any more keeps nothing of its promise: neither the places, on nodes
 * that may go, nor the words. */
static void tell_broken(struct plan *plan, struct job *const *promised, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct job *job = promised[i];
        const struct queue_class *class = planned_is(job)->class;

        if (class == NULL || planned_promised(job) || job == plan->planner->queue.held)
            continue; /* it started, is promised room again, or its turn came */
        plan_forget_places(job);
        if (planned_verdict(job) == VERDICT_PROMISED || planned_verdict(job) == VERDICT_OVER_LOAD ||
            planned_verdict(job) == VERDICT_HELD)
            queue_tell(plan->cluster, job, job == class->next ? VERDICT_DEEP : VERDICT_BEHIND);
    }
}

/* Those behind the depth: they start when they fit, though all before them are blocked. Kept as
 * numbers: a class is gone when its last job starts. */
static void go_deep(struct plan *plan, const struct queue_key *depth)
{
    struct queue *queue = &plan->planner->queue;
    const struct capacity *rooms = &plan->planner->rooms;
    struct queue_key from = *depth;
    bool goes_on = queue->deep.turn.id != 0 && queue_key_compare(&queue->deep, &from) > 0;
    unsigned failed = 0;

    if (goes_on)
        from = queue->deep;
    queue->deep.turn.id = 0;
    while (failed < QUEUE_DEPTH) {
        const struct resources most = capacity_bound(rooms);
        struct queue_class *class = queue_fitting_after(plan->planner, &from, &most, &rooms->free);

        if (class == NULL && !goes_on)
            return;
        if (class == NULL) { /* once round */
            goes_on = false;
            from = *depth;
            continue;
        }
        from = queue_key(plan->planner, class);
        failed += try_deep(plan, class) == FAILED;
    }
    queue->deep = from;
}

/* A group that comes to its guarantee on the way goes on among the others: a class that failed
 * while it went first does not fit there either. */
static enum outcome try_in_turn(struct plan *plan, struct queue_class *class)
{
    uint64_t round = plan->planner->queue.round;
    enum outcome outcome;

    if (class->failed_in == round)
        return STARTED;
    outcome = try_next(plan, class);
    if (outcome == FAILED || outcome == LIMITED)
        class->failed_in = round;
    return outcome;
}

/* Those behind a job that waits for its owners do so as well. Linear in the classes, and in the
 * jobs of those of which that has changed. */
static void tell_limited(struct cluster *cluster)
{
    struct queue_class *class;
    struct job *job;

    for (class = cluster->planner->queue.classes; class != NULL; class = class->hh.next) {
        enum queue_verdict limited =
            class->never || class->next == NULL ? VERDICT_NONE : planned_verdict(class->next);

        if (limited != VERDICT_OWNER && limited != VERDICT_ARRAY)
            limited = VERDICT_NONE;
        if (class->limited == limited)
            continue;
        class->limited = limited;
        if (class->never)
            continue;
        DL_FOREACH2(class->jobs, job, planned->class_next)
        if (job != class->next && !planned_promised(job))
            queue_tell(cluster, job, limited != VERDICT_NONE ? limited : VERDICT_BEHIND);
    }
}

static bool promises_changed(const struct queue *queue, struct job *const *before, size_t n)
{
    return n != queue->n_promised || memcmp(before, queue->promised, n * sizeof *before) != 0;
}

static void go_through(struct plan *plan)
{
    struct queue *queue = &plan->planner->queue;
    uint64_t n_assigned = plan->cluster->n_assigned;
    struct job *promised[PROMISES_MAX];
    size_t n_promised = queue->n_promised;
    struct queue_class *class;
    struct queue_key key;
    struct job *held = queue->held;
    unsigned failed = 0, never = 0;

    memcpy(promised, queue->promised, sizeof promised);
    plan->planner->queue_moves = false;
    queue->round++;
    plan->check_hold = queue->hold_check;
    capacity_roll_back(&plan->planner->rooms, 0);
    queue_reset(plan->cluster);
    owner_room_shed(plan);
    plan_repair(plan);
    plan_drain_to_places(plan);
    if (plan->cluster->files_changed)
        queue_file(plan->cluster, plan->now);
    class = queue_after(plan->planner, NULL);
    while (class != NULL && failed < QUEUE_DEPTH && never < NEVER_MOST) {
        bool fails;

        key = queue_key(plan->planner, class);
        fails = try_in_turn(plan, class) == FAILED; /* else the class may be gone */
        failed += fails && !class->never;
        never += fails && class->never;
        class = queue_after(plan->planner, &key);
    }
    if (never == NEVER_MOST) /* they left the order: the next pass goes on behind them */
        queue_might_move(plan->cluster);
    if (class != NULL)
        go_deep(plan, &key);
    plan_hold_off(plan);
    tell_untried(plan, class != NULL ? &key : NULL);
    tell_broken(plan, promised, n_promised);
    if (held != NULL)
        tell_broken(plan, &held, 1);
    tell_limited(plan->cluster);
    /* a later job was in nobody's way then but is now: once more, until it is stable */
    queue->hold_check = n_assigned != plan->cluster->n_assigned;
    if (queue->hold_check || promises_changed(queue, promised, n_promised))
        queue_might_move(plan->cluster);
}

void plan_queue_release(struct plan *plan)
{
    const struct queue *queue = &plan->planner->queue;

    for (size_t i = 0; i < queue->n_promised; i++) {
        const struct job *job = queue->promised[i];
        struct demand demands[JOB_ROLES_MAX];

        if (planned_is(job)->held_back &&
            !waits_for_stops(plan, job, demands, gang_demands_of_job(job, demands)))
            queue_might_move(plan->cluster);
    }
}

void plan_queue(struct plan *plan)
{
    if (plan->planner->queue_moves)
        go_through(plan);
}

bool plan_queue_waits(const struct cluster *cluster)
{
    const struct planner *planner = cluster->planner;

    return planner->queue.n_open > 0 || planner->queue.n_promised > 0 || planner->lacking != NULL;
}
