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
 * When something might fit that did not, the queue is gone through from its start: all promises
 * are off, lacking jobs are served first, then processes that are to leave a draining node, then
 * class after class. A class of which one job does not fit is passed by as a whole, and after
 * QUEUE_DEPTH of those the rest is promised nothing: the cost is bounded however many wait. Room
 * that is free now is offered to those behind as well, and to a new class, however deep. When
 * nothing came free, only new classes are tried, each behind all promises that are not for those
 * after it.
 *
 * Each time most classes fail as they did before, by sums: such a one costs those sums, of which
 * few have to be counted (plan/refusals.c), or nothing when no room has more than the last time. */
#include "scheduler/core/plan/start.h"

#include <utlist.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/learn/take.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/hold.h"
#include "scheduler/core/plan/drain.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/placement_types.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/plan/reason.h"
#include "scheduler/core/plan/refusals.h"
#include "scheduler/core/plan/repair.h"
#include "scheduler/core/plan/room.h"
#include "scheduler/core/plan/servers.h"
#include "scheduler/core/policy/limits.h"

/* For those who give way for more parameter servers than a gang must have: one that cannot be
 * killed keeps nobody for ever. */
#define SERVERS_WAIT_US (30 * USEC_PER_SEC)

enum outcome { STARTED, PROMISED, FAILED };

/* Lowest free slot; right after the submit all are. */
static void start(struct plan *plan, struct job *job, const struct placed *placed, size_t n,
                  const struct servers_choice *servers)
{
    uint32_t next[JOB_ROLES_MAX] = { 0 };

    share_charge(plan->cluster, job);
    queue_leave(plan->cluster, job); /* it asks for something else from now on */
    plan_fix_servers(plan, job, servers);

    if (n == 1)
        job_set_reason(plan->cluster, job, CAUSE_STARTING, "its process is being started");
    else
        job_set_reason(plan->cluster, job, CAUSE_STARTING, "its %zu processes are being started",
                       n);
    (void)job_set_state(plan->cluster, job, JOB_STARTING, plan->now);
    learn_take(plan->cluster); /* this plan gives it what its family makes of more */
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        job_set_target(plan->cluster, job, r, job->spec->roles[r].min, plan->now);
    for (size_t i = 0; i < n; i++)
        /* room has counted ports and devices: this cannot fail */
        (void)process_assign(plan->cluster, job, placed[i].role, next[placed[i].role]++,
                             placed[i].room->node, plan->now);
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
    for (size_t i = 0; i < job->plan.n_places; i++) {
        const struct room *room = job->plan.places[i].room;

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

    job->plan.held_back = false;
    if (job->plan.n_places == 0 && !plan_fits_by_count(plan, demands, n, true))
        return false; /* most of them */
    plan->looked = true;
    placed = xcalloc(size + plan_more_servers(job), sizeof *placed);
    fits = plan_keep_places(plan, job, true);
    if (!fits && plan_promised_servers(job, size) > 0) {
        free(placed);
        return false; /* until those who give way are gone */
    }
    if (fits)
        memcpy(placed, job->plan.places, job->plan.n_places * sizeof *placed);
    else
        fits = place_gang(rooms, demands, n, true, placed);
    job->plan.held_back = fits && waits_for_stops(plan, job, demands, n);
    fits = fits && !job->plan.held_back;
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
    bool fits = queue_fits_ever(plan->cluster, job->plan.queue_class) == FIT_EVER;
    enum queue_verdict verdict = fits ? VERDICT_WAITS : VERDICT_UNPACKED;

    if (fits && queue->n_promised < PROMISES_MAX && (queue->held == NULL || queue->held == job)) {
        queue->held = job;
        if (job->plan.verdict == VERDICT_HELD && job->plan.places != NULL &&
            plan_hold_works(plan->planner, job, plan->check_hold)) {
            queue_tell(plan->cluster, job, VERDICT_HELD);
            return; /* where is chosen once */
        }
    } else if (fits && plan_hold_keeps_out(plan, job, demands, n)) {
        verdict = VERDICT_YIELDS;
    }
    queue_forget_places(job);
    queue_tell(plan->cluster, job, verdict);
}

/* Room that is there but for the load is taken at once: a job that grows or is repaired meanwhile
 * goes elsewhere, else the gang would have to wait for room once the load is gone. */
static bool promise(struct plan *plan, struct job *job, const struct demand *demands, size_t n)
{
    bool there = job->plan.held_back && plan_keep_places(plan, job, true);
    bool kept = there || plan_keep_places(plan, job, false);

    if (!kept && !plan_make_room(plan, job, demands, n))
        return false;
    if (job->plan.held_back && !kept) /* by stops in places that it has no longer */
        queue_might_move(plan->planner);
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

    if (plan_more_servers(job) == 0)
        return false;
    if (plan_promised_servers(job, gang_size(demands, n)) > 0) {
        if (plan->now.now_us >= job->plan.servers_until_us || !plan_keep_places(plan, job, false))
            queue_forget_places(job);
        capacity_roll_back(rooms, mark);
        return false; /* as any promise, or as if there had been none */
    }
    if (job->plan.servers_until_us != 0 || plan->planner->n_groups > 1 ||
        plan->planner->queue.n_promised + 1 >= PROMISES_MAX || !fits_now(plan, job, demands, n) ||
        !plan_promise_servers(plan, job, demands, n))
        return false;
    job->plan.servers_until_us = plan->now.now_us + SERVERS_WAIT_US;
    capacity_roll_back(rooms, mark);
    if (plan_keep_places(plan, job, true)) { /* all of it is there */
        capacity_roll_back(rooms, mark);
        return false;
    }
    (void)plan_keep_places(plan, job, false);
    deadline_set(&plan->cluster->deadlines, &job->plan.backoff, DEADLINE_BACKOFF,
                 job->plan.servers_until_us);
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

    class->deep = false;
    queue_forget_fresh(queue, class);
    queue_note_told(plan->planner, class);
    if (capacity_n_rooms(&plan->planner->rooms) == 0 &&
        (capacity_n_rooms(&plan->planner->offered) == 0 ||
         queue_fits_ever(plan->cluster, class) != FIT_NEVER)) {
        queue_forget_places(job);
        queue_tell(plan->cluster, job, VERDICT_NO_NODES);
        return FAILED;
    }
    if (class->told_never && queue_fits_ever(plan->cluster, class) != FIT_NEVER)
        queue_tell_hope(plan->cluster, class);
    plan_hold(plan, class, demands, n);
    if (waits_for_servers(plan, job, demands, n))
        return PROMISED;
    if (try_now(plan, job, demands, n))
        return STARTED;
    if (queue_fits_ever(plan->cluster, class) == FIT_NEVER) {
        queue_forget_places(job);
        queue_set_never(plan->cluster, class, true);
        return FAILED;
    }
    if (queue->n_promised < PROMISES_MAX && promise(plan, job, demands, n))
        return PROMISED;
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

    plan_hold(plan, class, demands, n);
    if (!class->told_never && job->plan.n_places == 0 &&
        !plan_fits_by_count(plan, demands, n, true))
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

/* Those behind the depth; NULL: all. A group that came to have less than its share while the queue
 * was gone through went to the front of it: a new job there has not been tried, and will be. */
static void tell_fresh(struct plan *plan, const struct queue_key *depth)
{
    struct queue *queue = &plan->planner->queue;
    struct queue_class *class;
    struct queue_class *next;

    DL_FOREACH_SAFE2(queue->fresh, class, next, fresh_next)
    {
        const struct queue_key key = queue_key(plan->planner, class);

        if (depth != NULL && queue_key_compare(&key, depth) <= 0)
            continue;
        queue_forget_fresh(queue, class);
        queue_tell(plan->cluster, class->next, VERDICT_DEEP);
    }
    if (queue->fresh != NULL)
        queue_might_move(plan->planner);
}

/* With groups: jobs with a reason that were not come to this time. As many are told that as are
 * tried in one plan, and one for each new class since. */
static void tell_passed_by(struct plan *plan)
{
    struct queue *queue = &plan->planner->queue;
    struct queue_class *class;
    struct queue_class *next;

    DL_FOREACH_SAFE2(queue->told, class, next, told_next)
    {
        if (class->failed_in == queue->round)
            continue;
        queue_forget_told(queue, class);
        queue_tell(plan->cluster, class->next, VERDICT_DEEP);
    }
}

/* When a class came or went others are behind the depth that were not: they are told so. Or the
 * other way round: the next pass tries them, as if they were new. This is looked at last, when it
 * is known who stays. With groups a place is no fact: promises meanwhile decide which of them go
 * first, so only going through the queue tells (tell_passed_by). */
static void look_at_depth(struct plan *plan)
{
    struct queue *queue = &plan->planner->queue;
    struct queue_class *class;

    if (!queue->reordered || plan->planner->n_groups > 1)
        return;
    queue->reordered = false;
    for (uint32_t i = QUEUE_DEPTH; i < queue->n_open; i++) {
        class = queue_at(queue, i);
        if (class->deep && queue->moved)
            continue;
        if (class->deep)
            break; /* as are all behind it, but for new ones, which were told */
        class->deep = true;
        if (!class->fresh)
            queue_tell(plan->cluster, class->next, VERDICT_DEEP);
    }
    for (uint32_t i = MIN_OF(QUEUE_DEPTH, queue->n_open); i > 0; i--) {
        class = queue_at(queue, i - 1);
        class->deep = false;
        if (class->fresh || (queue->moved && class->next->plan.verdict != VERDICT_DEEP))
            continue;
        if (class->next->plan.verdict != VERDICT_DEEP)
            break;
        queue_try_again(queue, class);
        plan->cluster->plan_wanted = true;
    }
    queue->moved = false;
}

/* A job whose turn did not come any more keeps nothing of its promise: neither the places, on nodes
 * that may go, nor the words. */
static void tell_broken(struct plan *plan, struct job *const *promised, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct job *job = promised[i];
        const struct queue_class *class = job->plan.queue_class;

        if (class == NULL || job->plan.promised || job == plan->planner->queue.held)
            continue; /* it started, is promised room again, or its turn came */
        queue_forget_places(job);
        if (job->plan.verdict == VERDICT_PROMISED || job->plan.verdict == VERDICT_OVER_LOAD ||
            job->plan.verdict == VERDICT_HELD)
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

/* Sums tell again that it does not fit, even if all others give way, and that its reason is
 * true. */
static bool fails_by_count(struct plan *plan, const struct queue_class *class)
{
    const struct demand *demands = class->demands;
    size_t n = class->n_demands;

    return !plan_fits_by_count(plan, demands, n, true) &&
           !plan_fits_by_count(plan, demands, n, false) &&
           (class->hopeless != VERDICT_WAITS ||
            !plan_hold_keeps_out(plan, class->next, demands, n));
}

/* Since it failed so the last time no room has more, and the room kept for the held gang is the
 * same. That no node has other labels is another question. */
static bool has_no_more(const struct plan *plan, const struct queue_class *class)
{
    const struct planner *planner = plan->planner;

    return class->hopeless_in + 1 == planner->queue.round &&
           class->hopeless_beside == planner->queue.n_keeps &&
           plan->growths == planner->rooms.growths;
}

/* Its next job failed by sums alone the last time, and so it does now, and its reason is true
 * still: it fails again, and that is no news. Most of the queue: nothing else is looked at for it,
 * and not even sums where no room has more since. */
static bool is_hopeless(struct plan *plan, const struct queue_class *class)
{
    return class->hopeless != VERDICT_NONE && class->hopeless == class->next->plan.verdict &&
           plan->planner->rooms.holding && plan->planner->n_groups <= 1 && !class->fresh &&
           !class->told_never && class->fits_version == plan->cluster->offers_version &&
           (has_no_more(plan, class) || fails_by_count(plan, class));
}

/* Of those behind the held gang, while the room kept for that is off the rooms. With groups what is
 * lent decides as well. */
static void note_hopeless(const struct plan *plan, struct queue_class *class)
{
    const struct planner *planner = plan->planner;

    if (plan->looked || !planner->rooms.holding || planner->n_groups > 1 ||
        planner->queue.n_promised == PROMISES_MAX) {
        class->hopeless = VERDICT_NONE;
        return;
    }
    class->hopeless = class->next->plan.verdict;
    class->hopeless_in = planner->queue.round;
    class->hopeless_beside = planner->queue.n_keeps;
}

/* A group that comes to its guarantee on the way goes on among the others: a class that failed
 * while it went first does not fit there either. */
static enum outcome try_in_turn(struct plan *plan, struct queue_class *class)
{
    uint64_t round = plan->planner->queue.round;
    enum outcome outcome = FAILED;

    if (class->failed_in == round)
        return STARTED;
    plan->looked = false;
    if (is_hopeless(plan, class))
        class->deep = false;
    else
        outcome = try_next(plan, class);
    if (outcome != FAILED)
        return outcome;
    class->failed_in = round;
    note_hopeless(plan, class);
    return FAILED;
}

static void go_through(struct plan *plan)
{
    struct queue *queue = &plan->planner->queue;
    uint64_t n_assigned = plan->planner->n_assigned;
    struct job *promised[PROMISES_MAX];
    size_t n_promised = queue->n_promised;
    const struct queue_key all = { .rank = UINT32_MAX };
    struct queue_class *class;
    struct queue_key key;
    struct job *held = queue->held;
    unsigned failed = 0, left = 0;

    memcpy(promised, queue->promised, sizeof promised);
    queue->wanted = false;
    queue->round++;
    plan->check_hold = queue->hold_check;
    plan->growths = plan->planner->rooms.n_log == 0 ? queue->growths : NEVER_US;
    queue->growths = plan->planner->rooms.growths;
    capacity_roll_back(&plan->planner->rooms, 0);
    queue_reset(plan->cluster);
    plan_repair(plan);
    plan_drain_to_places(plan);
    plan_refusals_begin(plan);
    class = queue_after(plan->planner, NULL);
    while (class != NULL && failed < QUEUE_DEPTH) {
        bool fails;

        key = queue_key(plan->planner, class);
        fails = try_in_turn(plan, class) == FAILED; /* else the class may be gone */
        failed += fails;
        left += fails && class->never;
        class = fails ? queue_next(plan->planner, class, &key) : queue_after(plan->planner, &key);
    }
    if (class != NULL)
        go_deep(plan, &key);
    plan_refusals_end(plan);
    plan_hold_off(plan);
    tell_fresh(plan, class != NULL ? &key : &all);
    if (class != NULL)
        tell_passed_by(plan);
    if (class != NULL && left > 0)
        queue_might_move(plan->planner); /* as many more are before the depth */
    tell_broken(plan, promised, n_promised);
    if (held != NULL)
        tell_broken(plan, &held, 1);
    /* a later job was in nobody's way then but is now: once more, until it is stable */
    queue->hold_check = n_assigned != plan->planner->n_assigned;
    if (queue->hold_check || n_promised != queue->n_promised ||
        memcmp(promised, queue->promised, n_promised * sizeof(*promised)) != 0)
        queue_might_move(plan->planner);
}

static bool is_after(const struct queue *queue, const struct job *job,
                     const struct queue_class *class)
{
    const struct turn turn = queue_turn(queue, job);

    return job->spec->priority < class->priority ||
           (job->spec->priority == class->priority && turn_compare(&turn, &class->next_turn) > 0);
}

/* Somebody behind it has a promise, or nodes are kept for somebody behind it. With groups, promises
 * decide which of them go first, so the jobs behind the depth are not known. */
static bool goes_before(const struct planner *planner, const struct queue_class *class)
{
    const struct queue *queue = &planner->queue;

    if (planner->n_groups > 1)
        return queue->n_promised > 0 || queue->held != NULL ||
               (queue->n_open > QUEUE_DEPTH && queue_place(planner, class) < QUEUE_DEPTH);
    for (size_t i = 0; i < queue->n_promised; i++)
        if (is_after(queue, queue->promised[i], class))
            return true;
    return queue->held != NULL && is_after(queue, queue->held, class);
}

static void try_deep_alone(struct plan *plan, struct queue_class *class)
{
    struct queue *queue = &plan->planner->queue;
    bool started = try_deep(plan, class) == STARTED;

    plan_hold_off(plan);
    tell_fresh(plan, NULL);
    queue->hold_check = queue->hold_check || started;
    if (started) /* its like may fit as well */
        queue_might_move(plan->planner);
}

/* One new class; nothing came free, so nobody else would fit. */
static void try_alone(struct plan *plan, struct queue_class *class)
{
    struct queue *queue = &plan->planner->queue;
    uint64_t n_assigned = plan->planner->n_assigned;
    size_t n_promised = queue->n_promised;
    bool last;

    if (queue_place(plan->planner, class) >= QUEUE_DEPTH) {
        try_deep_alone(plan, class);
        return;
    }
    do {
        last = class->n_jobs == 1;
    } while (try_next(plan, class) != FAILED && !last && class->next != NULL &&
             queue_place(plan->planner, class) < QUEUE_DEPTH); /* where its next job stands */
    plan_hold_off(plan);
    queue->hold_check = queue->hold_check || n_assigned != plan->planner->n_assigned;
    /* the greedy search may go another way for others, and its group may not go first any more */
    if (n_assigned != plan->planner->n_assigned ||
        (plan->planner->n_groups > 1 && n_promised != queue->n_promised))
        queue_might_move(plan->planner);
}

void plan_queue_release(struct plan *plan)
{
    const struct queue *queue = &plan->planner->queue;

    for (size_t i = 0; i < queue->n_promised; i++) {
        const struct job *job = queue->promised[i];
        struct demand demands[JOB_ROLES_MAX];

        if (job->plan.held_back &&
            !waits_for_stops(plan, job, demands, gang_demands_of_job(job, demands)))
            queue_might_move(plan->planner);
    }
}

void plan_queue(struct plan *plan)
{
    struct queue *queue = &plan->planner->queue;

    shares_know(plan->cluster);
    /* several at once, or one that goes before a job with a promise or nodes: that is a matter of
     * order */
    if (queue->fresh != NULL &&
        (queue->fresh->fresh_next != NULL || goes_before(plan->planner, queue->fresh)))
        queue->wanted = true;
    if (queue->wanted)
        go_through(plan);
    else if (queue->fresh != NULL)
        try_alone(plan, queue->fresh);
    look_at_depth(plan);
}

bool plan_queue_waits(const struct cluster *cluster)
{
    const struct planner *planner = cluster->planner;

    return planner->queue.n_open > 0 || planner->queue.n_promised > 0 || cluster->lacking != NULL;
}
