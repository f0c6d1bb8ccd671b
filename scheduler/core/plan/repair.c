/* SPDX-License-Identifier: Apache-2.0 */
/* repair.c - started jobs keep to their bounds and get what they lack
 *
 * All of it is about jobs that were touched or lack something; loops run over their own slots. */
#include "scheduler/core/plan/repair.h"

#include <utlist.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job_restarts.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/node_starts.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/exchange.h"
#include "scheduler/core/plan/give.h"
#include "scheduler/core/plan/half_gangs.h"
#include "scheduler/core/plan/move.h"
#include "scheduler/core/plan/pins.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/placement_pins.h"
#include "scheduler/core/plan/placement_types.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/plan/reserve.h"
#include "scheduler/core/plan/room.h"
#include "scheduler/core/plan/rooms.h"
#include "scheduler/core/plan/victims.h"

/* Linear in the job's slots, and only when something of the role broke down. */
uint32_t count_backing_off(const struct job *job, uint32_t role, struct instant now)
{
    uint32_t n = 0;

    for (uint32_t i = 0; job->counts[role].due > 0 && i < job->n_slots[role]; i++) {
        const struct slot *slot = &job->slots[role][i];

        n += slot->due && slot->live == NULL && slot->not_before_us > now.now_us;
    }
    return n;
}

/* One that is due and ready, else the lowest that is free. Stopping instances count: of a larger
 * maximum before, free slots are left over beside it. */
int next_slot(struct job *job, uint32_t role, struct instant now)
{
    if (job_count(job, role, true) >= job->spec->roles[role].max)
        return -1;
    for (uint32_t i = 0; job->counts[role].due > 0 && i < job->n_slots[role]; i++) {
        const struct slot *slot = &job->slots[role][i];

        if (slot->due && slot->live == NULL && !slot->finished && slot->not_before_us <= now.now_us)
            return (int)i;
    }
    return job->finishing && job_role_works(job, role) ? -1 : job_lowest_free(job, role);
}

struct failed_slot {
    struct failed_starts starts;
    const struct slot *slot;
};

bool could_not_start(const struct room *room, const void *userdata)
{
    const struct failed_starts *failed = userdata;

    return node_failed_to_start(room->node, failed->job, failed->now);
}

/* Where its job could not be started, or where its own program failed within seconds. */
static bool failed_there(const struct room *room, const void *userdata)
{
    const struct failed_slot *failed = userdata;

    return could_not_start(room, &failed->starts) ||
           slot_failed_at_once(failed->starts.job, failed->slot, room->node, failed->starts.now);
}

struct room *place_slot(struct plan *plan, const struct job *job, const struct slot *slot,
                        const struct want *want)
{
    const struct failed_slot failed = { .starts = { job, plan->now }, .slot = slot };
    struct want elsewhere = *want;
    struct near near = { 0 };
    struct room *room;

    near_job(&near, job);
    elsewhere.avoids = failed_there;
    elsewhere.userdata = &failed;
    room = slot->failures == 0 ? NULL : place_one(&plan->planner->rooms, &elsewhere, &near, true);
    if (room == NULL) { /* its program may do better a second time, a node's start does not */
        elsewhere.avoids = could_not_start;
        elsewhere.userdata = &failed.starts;
        room = place_one(&plan->planner->rooms, &elsewhere, &near, true);
    }
    return room != NULL ? room : place_one(&plan->planner->rooms, want, &near, true);
}

/* Slots in back-off keep their places: nobody takes a fresh slot to get around a back-off. */
uint32_t fill_role(struct plan *plan, struct job *job, uint32_t role, uint32_t wanted)
{
    struct want want = want_of_job(plan, job, role);
    uint32_t held = job_count(job, role, false) + count_backing_off(job, role, plan->now);

    if (job->spec->roles[role].nodes != NULL && held < wanted)
        return wanted - held - pins_fill(plan, job, role, wanted - held);
    for (; held < wanted; held++) {
        int index = next_slot(job, role, plan->now);
        struct room *room;

        if (index < 0)
            break;
        room = place_slot(plan, job, &job->slots[role][index], &want);
        if (room == NULL || !plan_assign(plan, job, role, (uint32_t)index, room->node))
            break;
    }
    return wanted > held ? wanted - held : 0;
}

static void trim(struct plan *plan, struct job *job, uint32_t role, uint32_t keep, bool ready)
{
    for (uint32_t i = job->n_slots[role]; i-- > 0 && job->counts[role].due > keep;) {
        const struct slot *slot = &job->slots[role][i];

        if (!slot->due || slot->live != NULL || (slot->not_before_us <= plan->now.now_us) != ready)
            continue;
        (void)plan_do(plan->cluster,
                      &(struct act){ .kind = ACT_FORGO, .job = job->id, .role = role, .index = i },
                      plan->now);
    }
}

void trim_due(struct plan *plan, struct job *job, uint32_t role, uint32_t keep)
{
    if (job->counts[role].due <= keep)
        return;
    trim(plan, job, role, keep, true); /* slots that could start and found no room */
    trim(plan, job, role, keep, false);
}

void job_set_lacking(struct cluster *cluster, struct job *job, bool lacking)
{
    if (planned_is(job)->lacking == lacking)
        return;
    planned_set(job, &planned_of(job)->lacking, lacking);
    job->planned->stuck_since_us = 0;
    if (lacking)
        DL_APPEND2(cluster->planner->lacking, job, planned->lacking_prev, planned->lacking_next);
    else
        DL_DELETE2(cluster->planner->lacking, job, planned->lacking_prev, planned->lacking_next);
    if (!lacking)
        plan_reserve_forget(job);
}

static bool lacks(const struct job *job)
{
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        if (job_count(job, r, false) < job_role_floor(job, r))
            return true;
    return false;
}

/* --- touched jobs
 * -------------------------------------------------------------------------------------- */

/* A finishing job keeps its instances, unless its bounds were lowered under them. */
static uint32_t floor_of(const struct job *job, uint32_t role)
{
    return MIN_OF(job_role_floor(job, role), job->spec->roles[role].max);
}

/* The gang comes first: nothing more than the minimum until it runs. */
static bool may_exceed_floor(const struct job *job, uint32_t role)
{
    return job_elastic_role(job) == (int)role && job->state != JOB_STARTING;
}

static void keep_bounds(struct plan *plan, struct job *job, uint32_t role)
{
    uint32_t most = may_exceed_floor(job, role) ? job->spec->roles[role].max : floor_of(job, role);
    uint32_t counted = job_count(job, role, false);

    for (; counted > most; counted--) {
        if (job->resize_why == NULL)
            plan_size(plan, job, RESIZE_BOUNDS, "%u are enough", most);
        plan_stop(plan, next_victim(job, role, false), false, CAUSE_SHRUNK,
                  "shrunk: its job wants fewer instances");
    }
    trim_due(plan, job, role, most - counted);
}

static void find_backoff(struct plan *plan, struct job *job)
{
    uint64_t first_us = NEVER_US;

    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; job->counts[r].due > 0 && i < job->n_slots[r]; i++) {
            const struct slot *slot = &job->slots[r][i];

            if (slot->due && slot->live == NULL && slot->not_before_us > plan->now.now_us)
                first_us = MIN_OF(first_us, slot->not_before_us);
        }
    deadline_set(&plan->cluster->deadlines, &job->backoff, DEADLINE_BACKOFF, first_us);
}

static bool is_leaving(const struct job *job)
{
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        if (job->counts[r].leaving > 0)
            return true;
    return false;
}

void plan_examine(struct plan *plan, struct job *job)
{
    bool lacked = planned_is(job)->lacking;

    if (job_is_started(job)) {
        for (uint32_t r = 0; r < job->spec->n_roles; r++)
            keep_bounds(plan, job, r);
        if (job->learned != NULL && lacks(job)) /* it cannot wait for a better place */
            job_exchange_fails(plan, job);
        find_backoff(plan, job);
        job_set_lacking(plan->cluster, job, lacks(job));
    } else {
        job_set_lacking(plan->cluster, job, false);
    }
    if (job_state_is_final(job->state))
        deadline_set(&plan->cluster->deadlines, &planned_of(job)->rest, DEADLINE_REST, NEVER_US);
    if (lacked || planned_is(job)->lacking || is_leaving(job))
        queue_might_move(plan->cluster); /* it is served before all that wait */
}

/* --- lacking jobs
 * -------------------------------------------------------------------------------------- */

/* false: there is none */
static bool keep_place(struct plan *plan, struct job *job, const struct demand *demand, uint32_t at)
{
    const struct want want = demand_want(demand, at);
    struct placed place = { .room = plan_reserved_before(plan, demand->role, &want),
                            .role = demand->role,
                            .need = want.need };
    struct near near = { 0 };

    near_job(&near, job);
    if (place.room == NULL)
        place.room = place_one(&plan->planner->rooms, &want, &near, false);
    if (place.room != NULL)
        plan_reserve(plan, job, &place);
    return place.room != NULL;
}

/* An instance in back-off, or one that still waits for its slot, gets its room reserved, at no
 * other job's cost.
 */
static void keep_places(struct plan *plan, struct job *job, struct demand demand, uint32_t n,
                        unsigned which)
{
    uint32_t slots[ROLE_INSTANCES_MAX];
    bool kept = true;

    demand.count = n;
    (void)pins_choose(plan, job, which, &demand, slots);
    for (uint32_t i = 0; i < demand.count && (kept || demand.pinned != NULL); i++)
        kept = keep_place(plan, job, &demand, i);
}

/* Nothing is moved for an instance that fits already: it is reserved first. false: some of it fits
 * nowhere */
static bool move_out_of_the_way(struct plan *plan, struct job *job, const struct demand *demand)
{
    bool all = true;

    for (uint32_t i = 0; i < demand->count && (all || demand->pinned != NULL); i++) {
        const struct want want = demand_want(demand, i);

        all = (keep_place(plan, job, demand, i) || plan_move(plan, job, &want)) && all;
    }
    return all;
}

static void set_waits(struct plan *plan, struct job *job, bool waits)
{
    const struct act act = { .kind = ACT_WAITS, .job = job->id, .n = waits };

    (void)plan_do(plan->cluster, &act, plan->now);
}

/* false: its minimum cannot be completed with the room that is there or is being freed */
static bool repair_role(struct plan *plan, struct job *job, uint32_t role, uint32_t wanted,
                        bool *waits)
{
    struct demand demand = { .role = role, .want = want_of_job(plan, job, role) };
    uint32_t slots[ROLE_INSTANCES_MAX];
    uint32_t backing_off;

    demand.count = fill_role(plan, job, role, wanted);
    backing_off = count_backing_off(job, role, plan->now);
    if (backing_off > 0)
        keep_places(plan, job, demand, MIN_OF(backing_off, wanted - job_count(job, role, false)),
                    PINS_BACKING_OFF);
    if (demand.count == 0)
        return true;
    if (next_slot(job, role, plan->now) < 0) {
        /* its slots are still being stopped */
        keep_places(plan, job, demand, demand.count, PINS_STOPPING);
        return true;
    }
    if (pins_choose(plan, job, PINS_READY | PINS_FREE, &demand, slots) == 0)
        return true;
    *waits = true;
    return plan_make_room(plan, job, &demand, 1) || move_out_of_the_way(plan, job, &demand);
}

/* An instance that left its place to one that is harder to place does not come back before that is
 * there (plan/move.c). */
size_t roles_hardest_first(const struct job *job, uint32_t ret[JOB_ROLES_MAX])
{
    size_t n = 0;

    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        const struct want want = want_of_slot(job, r, 0);
        size_t i = n++;

        for (; i > 0; i--) {
            const struct want other = want_of_slot(job, ret[i - 1], 0);

            if (!is_harder(&want, &other))
                break;
            ret[i] = ret[i - 1];
        }
        ret[i] = r;
    }
    return n;
}

static void repair(struct plan *plan, struct job *job)
{
    bool waits = false;
    bool stuck = false;
    uint32_t roles[JOB_ROLES_MAX];
    size_t n = roles_hardest_first(job, roles);

    plan_reserve_begin(plan, job);
    for (size_t i = 0; i < n; i++) {
        uint32_t wanted = job_role_floor(job, roles[i]);

        if (job_count(job, roles[i], false) < wanted)
            stuck = !repair_role(plan, job, roles[i], wanted, &waits) || stuck;
    }
    plan_reserve_end(plan);
    plan_note_stuck(plan, job, stuck);
    if (waits != job->waits_for_room) {
        set_waits(plan, job, waits);
        plan_touch(plan->cluster, job);
    }
    job_set_lacking(plan->cluster, job, lacks(job));
}

static int compare_ids(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a;
    const struct job *y = *(struct job *const *)b;

    return x->id < y->id ? -1 : x->id > y->id;
}

void jobs_sort(struct job **jobs, size_t n)
{
    qsort(jobs, n, sizeof(*jobs), compare_ids);
}

static int compare_ranks(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a;
    const struct job *y = *(struct job *const *)b;

    return x->spec->priority != y->spec->priority ? (x->spec->priority > y->spec->priority ? -1 : 1)
                                                  : compare_ids(a, b);
}

void plan_repair(struct plan *plan)
{
    struct job *job;
    struct job **jobs;
    size_t n = 0;

    DL_COUNT2(plan->planner->lacking, job, n, planned->lacking_next);
    jobs = xcalloc(n, sizeof(*jobs));
    n = 0;
    DL_FOREACH2(plan->planner->lacking, job, planned->lacking_next)
    jobs[n++] = job;
    qsort(jobs, n, sizeof(*jobs), compare_ranks);
    plan_half_gangs(plan, jobs, n);
    for (size_t i = 0; i < n; i++)
        if (planned_is(jobs[i])->lacking)
            repair(plan, jobs[i]);
    free(jobs);
}

/* --- the end of a plan
 * --------------------------------------------------------------------------------- */

static void finish_role(struct plan *plan, struct job *job, uint32_t role)
{
    uint32_t floor = floor_of(job, role);
    uint32_t wanted = floor;
    uint32_t counted;

    if (may_exceed_floor(job, role)) {
        wanted = job_count(job, role, false) + job_count_due(job, role);
        wanted = MAX_OF(MIN_OF(wanted, job->spec->roles[role].max), floor);
    }
    /* a repair above the minimum that finds no room is given up: the job would resize for ever */
    if (wanted > floor) {
        uint32_t short_of = fill_role(plan, job, role, wanted);

        if (short_of > 0)
            plan_size(plan, job, RESIZE_GIVEN_UP, "%u of it ended and find no room again",
                      short_of);
        wanted = MAX_OF(wanted - short_of, floor);
    }
    counted = job_count(job, role, false);
    if (counted + job_count_due(job, role) > wanted) {
        trim_due(plan, job, role, wanted - MIN_OF(wanted, counted));
        plan->cluster->plan_wanted = true; /* the policy may give it to somebody else */
    }
    plan_target(plan, job, role, wanted - job_gives(job, role));
}

void plan_finish(struct plan *plan, struct job *job)
{
    for (uint32_t r = 0; job_is_started(job) && r < job->spec->n_roles; r++)
        finish_role(plan, job, r);
    if (planned_is(job)->lacking && !lacks(job)) {
        job_set_lacking(plan->cluster, job, false);
        queue_might_move(plan->cluster); /* the room kept for it is free */
    }
    if (!planned_is(job)->lacking && job->waits_for_room)
        set_waits(plan, job, false);
    if (is_leaving(job))
        queue_might_move(plan->cluster); /* it changed since it was examined */
    (void)plan_do(plan->cluster, &(struct act){ .kind = ACT_SETTLE, .job = job->id }, plan->now);
}
