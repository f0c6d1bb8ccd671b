/* SPDX-License-Identifier: Apache-2.0 */
/* placement.c - where an instance goes
 *
 * On the fastest nodes that have room, as far as it is known that nodes differ (node_speed.h). Of
 * those by the side of its job: on a node that runs some of it already, else in the same rack, else
 * where it fits best (capacity.h: the tightest hole, GPUs spared). A gang goes to one node as a
 * whole if one holds it; else instance by instance, pservers first, so that trainers settle around
 * them; and where that fails once more packed tightly: the hardest to place first, each where it
 * fits best, fast or not. Of two roles all ways to mix them are tried last (placement_pair.c).
 * Instances that have a node of their own (placement_pins.c) are placed before all that. A gang
 * that is to spread goes to idle nodes first, if there is one for each of it.
 * Looking near costs NEAR_MAX nodes at most; the rest are searches in the index. */
#include "scheduler/core/plan/placement.h"

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/placement_pair.h"
#include "scheduler/core/plan/placement_pins.h"

#define WHOLE_STEPS 4 /* a factor of 1.8 */

struct want want_of_role(const struct role_spec *role)
{
    return (struct want){ .need = resources_of_role(role), .selector = role->selector };
}

struct want want_of(const struct job *job, uint32_t role)
{
    struct want want = want_of_role(&job->spec->roles[role]);

    want.unfit = job->unfit;
    want.unfit_roles = UINT32_C(1) << role;
    return want;
}

struct want want_of_slot(const struct job *job, uint32_t role, uint32_t index)
{
    struct want want = want_of(job, role);

    want.only = role_node(&job->spec->roles[role], index);
    return want;
}

void near_add(struct near *near, struct room *room)
{
    for (size_t i = 0; i < near->n; i++)
        if (near->rooms[i] == room)
            return;
    if (near->n < NEAR_MAX) {
        near->rooms[near->n++] = room;
        return;
    }
    near->rooms[near->next] = room; /* the oldest is full most likely */
    near->next = (near->next + 1) % NEAR_MAX;
}

void near_job(struct near *near, const struct job *job)
{
    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        uint32_t left = job->counts[r].live;

        for (uint32_t i = 0; left > 0 && i < job->n_slots[r] && near->n < NEAR_MAX; i++) {
            const struct process *process = job->slots[r][i].live;

            if (process == NULL)
                continue;
            left--;
            if (room_is_listed(process->node->room))
                near_add(near, process->node->room);
        }
    }
}

static struct room *fit_near(const struct capacity *capacity, const struct near *near,
                             const struct want *want, bool now)
{
    struct room *best = NULL;

    for (size_t i = 0; i < near->n; i++)
        if (room_fits(capacity, near->rooms[i], want, now) &&
            (best == NULL || room_compare(near->rooms[i], best) < 0))
            best = near->rooms[i];
    return best;
}

/* The rest there is nothing, or enough for another one. */
static bool leaves_no_rest(const struct room *room, const struct resources *need)
{
    int64_t rest = room->later.cpu_millicores - need->cpu_millicores;

    return rest == 0 || rest >= need->cpu_millicores;
}

/* Being near is worth much, but not a hole that nobody can use: the tightest hole is then taken. */
static struct room *near_or_tighter(const struct capacity *capacity, const struct want *want,
                                    struct room *near, bool now)
{
    struct room *best;

    if (near == NULL || leaves_no_rest(near, &want->need))
        return near;
    best = capacity_best_fit(capacity, want, now);
    return best != NULL && best->later.cpu_millicores < near->later.cpu_millicores ? best : near;
}

static struct room *place_beside(const struct capacity *capacity, const struct want *want,
                                 const struct near *near, bool now)
{
    struct room *room = fit_near(capacity, near, want, now);
    struct want here = *want;

    room = near_or_tighter(capacity, want, room, now);
    if (room == NULL && near->n > 0) {
        here.rack = labels_get(near->rooms[0]->labels, LABEL_RACK);
        if (here.rack != NULL)
            room = capacity_best_fit(capacity, &here, now);
    }
    return room != NULL ? room : capacity_best_fit(capacity, want, now);
}

/* A slow node beside the job holds it up more than a faster one further away. */
struct room *place_one(const struct capacity *capacity, const struct want *want,
                       const struct near *near, bool now)
{
    struct want fastest = *want;
    struct room *room;

    if (want->only != NULL)
        return capacity_best_fit(capacity, want, now);
    if (want->any_speed || !capacity_has_levels(capacity, want_kind(want)))
        return place_beside(capacity, want, near, now);
    room = capacity_best_fit(capacity, want, now);
    if (room == NULL)
        return NULL;
    fastest.of = capacity_classes_like(capacity, want, room);
    return place_beside(capacity, &fastest, near, now);
}

/* a role with one node only, then pservers, then the larger CPU, then the larger memory */
static bool demand_before(const struct job_spec *spec, const struct demand *a,
                          const struct demand *b)
{
    const struct resources *x = &a->want.need;
    const struct resources *y = &b->want.need;
    bool a_pserver = streq(spec->roles[a->role].name, "pserver");
    bool b_pserver = streq(spec->roles[b->role].name, "pserver");

    if ((a->pinned != NULL) != (b->pinned != NULL))
        return a->pinned != NULL;
    if (a_pserver != b_pserver)
        return a_pserver;
    if (x->cpu_millicores != y->cpu_millicores)
        return x->cpu_millicores > y->cpu_millicores;
    return x->memory_bytes > y->memory_bytes;
}

size_t gang_demands(const struct job_spec *spec, struct demand ret[JOB_ROLES_MAX])
{
    size_t n = 0;

    for (uint32_t r = 0; r < spec->n_roles; r++) {
        struct demand demand = { .role = r,
                                 .count = spec->roles[r].min,
                                 .spread = spec->roles[r].spread,
                                 .want = want_of_role(&spec->roles[r]) };
        size_t i = n++;

        if (spec->roles[r].nodes != NULL) {
            demand.pinned = &spec->roles[r];
            demand.want.only = role_node(&spec->roles[r], 0);
        }
        for (; i > 0 && demand_before(spec, &demand, &ret[i - 1]); i--)
            ret[i] = ret[i - 1];
        ret[i] = demand;
    }
    return n;
}

size_t gang_demands_of_job(const struct job *job, struct demand ret[JOB_ROLES_MAX])
{
    size_t n = gang_demands(job->spec, ret);

    for (size_t i = 0; i < n; i++)
        ret[i].want = want_of_slot(job, ret[i].role, 0);
    return n;
}

size_t gang_size(const struct demand *demands, size_t n)
{
    size_t size = 0;

    for (size_t i = 0; i < n; i++)
        size += demands[i].count;
    return size;
}

struct resources gang_total(const struct demand *demands, size_t n)
{
    struct resources total = { 0 };

    for (size_t i = 0; i < n; i++)
        resources_add(&total, &demands[i].want.need, demands[i].count);
    return total;
}

static bool minds_types(const struct want *want)
{
    for (uint32_t t = 1; t < GPU_TYPES_MAX; t++)
        if (want->order.step[t] != want->order.step[0])
            return true;
    return false;
}

/* To be together on one node is worth a little speed, but no other type of GPU by far. */
static bool is_worth_it(const struct capacity *capacity, const struct demand *demands, size_t n,
                        const struct room *whole, bool now)
{
    for (size_t i = 0; i < n; i++) {
        const struct want *want = &demands[i].want;
        const struct room *alone;

        if (want->need.gpus == 0 || want->any_speed || !minds_types(want))
            continue;
        alone = capacity_best_fit(capacity, want, now);
        if (alone != NULL && want_worth(want, alone) > want_worth(want, whole) + WHOLE_STEPS)
            return false;
    }
    return true;
}

struct room *place_whole(const struct capacity *capacity, const struct demand *demands, size_t n,
                         bool now)
{
    struct want all = { .need = gang_total(demands, n), .selector = demands[0].want.selector };
    struct room *room;

    if (demands_pin(demands, n))
        return NULL;
    all.unfit = demands[0].want.unfit;
    for (size_t i = 0; i < n; i++)
        all.unfit_roles |= demands[i].want.unfit_roles;
    for (size_t i = 0; i < n; i++)
        if (demands[i].want.need.gpus > 0)
            all.order = demands[i].want.order;
    for (size_t i = 1; i < n; i++) {
        const struct labels *selector = demands[i].want.selector;

        if ((selector == NULL) != (all.selector == NULL) ||
            (selector != NULL && !labels_equal(selector, all.selector)))
            return NULL; /* its roles ask for different nodes */
    }
    room = capacity_best_fit(capacity, &all, now);
    return room != NULL && is_worth_it(capacity, demands, n, room, now) ? room : NULL;
}

static bool is_larger(const struct resources *a, const struct resources *b)
{
    if (a->gpus != b->gpus)
        return a->gpus > b->gpus;
    if (a->cpu_millicores != b->cpu_millicores)
        return a->cpu_millicores > b->cpu_millicores;
    return a->memory_bytes > b->memory_bytes;
}

bool is_harder(const struct want *a, const struct want *b)
{
    size_t a_labels = a->selector != NULL ? a->selector->n : 0;
    size_t b_labels = b->selector != NULL ? b->selector->n : 0;

    if ((a->only != NULL) != (b->only != NULL))
        return a->only != NULL;
    return a_labels != b_labels ? a_labels > b_labels : is_larger(&a->need, &b->need);
}

void demands_hardest_first(const struct demand *demands, size_t n, struct demand ret[JOB_ROLES_MAX])
{
    for (size_t d = 0; d < n; d++) {
        size_t i = d;

        for (; i > 0 && is_harder(&demands[d].want, &ret[i - 1].want); i--)
            ret[i] = ret[i - 1];
        ret[i] = demands[d];
    }
}

void place_in(struct capacity *capacity, struct room *room, const struct demand *demands, size_t n,
              bool now, struct placed *placed)
{
    for (size_t d = 0; d < n; d++) {
        const struct resources *need = &demands[d].want.need;
        struct resources sum = gang_total(&demands[d], 1);

        if (demands[d].count == 0)
            continue;
        capacity_take(capacity, room, &sum, now);
        for (uint32_t i = 0; placed != NULL && i < demands[d].count; i++)
            *placed++ = (struct placed){ .room = room, .role = demands[d].role, .need = *need };
    }
}

static bool is_in_use(const struct room *room)
{
    return room->later.cpu_millicores < room->facts.most.cpu_millicores ||
           room->later.memory_bytes < room->facts.most.memory_bytes;
}

/* Rooms of which nothing is taken, as many as are wanted. */
struct idle {
    const struct capacity *capacity; /* borrowed */
    const struct want *want;         /* borrowed */
    bool now;
    struct room **rooms; /* owned */
    uint32_t n, wanted;
};

static bool note_idle(struct room *room, void *userdata)
{
    struct idle *idle = userdata;

    if (!is_in_use(room) && room_fits(idle->capacity, room, idle->want, idle->now))
        idle->rooms[idle->n++] = room;
    return idle->n < idle->wanted;
}

/* Each instance of a role that asks for it has an idle node to itself. Nothing of a node in use is
 * taken for that. false: there are not so many, or nobody asks, and nothing is taken */
static bool place_spread(struct capacity *capacity, const struct demand *demands, size_t n,
                         bool now, struct placed *placed)
{
    const struct demand *demand = &demands[0];
    struct idle idle = {
        .capacity = capacity, .want = &demand->want, .now = now, .wanted = demand->count
    };

    if (n != 1 || !demand->spread || demand->count < 2)
        return false;
    idle.rooms = xcalloc(demand->count, sizeof(*idle.rooms));
    capacity_each_open(capacity, &demand->want.need, now, note_idle, &idle);
    for (uint32_t i = 0; idle.n == idle.wanted && i < idle.n; i++) {
        capacity_take(capacity, idle.rooms[i], &demand->want.need, now);
        if (placed != NULL)
            placed[i] = (struct placed){ .room = idle.rooms[i],
                                         .role = demand->role,
                                         .need = demand->want.need };
    }
    free(idle.rooms);
    return idle.n == idle.wanted;
}

static bool place_all(struct capacity *capacity, const struct demand *demands, size_t n, bool now,
                      bool packed, struct placed *placed)
{
    size_t mark = capacity_mark(capacity);
    struct near near = { 0 };
    struct room *whole = packed ? NULL : place_whole(capacity, demands, n, now);
    size_t n_placed = 0;

    if (whole != NULL) {
        place_in(capacity, whole, demands, n, now, placed);
        return true;
    }
    for (size_t d = 0; d < n; d++)
        for (uint32_t i = 0; i < demands[d].count; i++) {
            struct room *room = place_one(capacity, &demands[d].want, &near, now);

            if (room == NULL) {
                capacity_roll_back(capacity, mark);
                return false;
            }
            capacity_take(capacity, room, &demands[d].want.need, now);
            if (!packed)
                near_add(&near, room);
            if (placed != NULL)
                placed[n_placed++] = (struct placed){ .room = room,
                                                      .role = demands[d].role,
                                                      .need = demands[d].want.need };
        }
    return true;
}

bool gang_fits_by_count(const struct capacity *capacity, const struct demand *demands, size_t n,
                        bool now)
{
    for (size_t d = 0; d < n; d++)
        if (!demand_fits(capacity, &demands[d], now))
            return false;
    return true;
}

/* As if all types of GPU were alike, where they are not. */
static bool place_whatever_type(struct capacity *capacity, const struct demand *demands, size_t n,
                                bool now, struct placed *placed)
{
    struct demand alike[JOB_ROLES_MAX];
    bool minds = false;

    for (size_t d = 0; d < n; d++) {
        minds |= minds_types(&demands[d].want);
        alike[d] = demands[d];
        alike[d].want.order = (struct gpu_order){ 0 };
    }
    return minds && place_all(capacity, alike, n, now, false, placed);
}

static bool place_unpinned(struct capacity *capacity, const struct demand *demands, size_t n,
                           bool now, struct placed *placed)
{
    struct demand packed[JOB_ROLES_MAX];

    /* most gangs that do not fit fail here, before anything is taken and put back */
    if (!gang_fits_by_count(capacity, demands, n, now))
        return false;
    if (place_spread(capacity, demands, n, now, placed) ||
        place_all(capacity, demands, n, now, false, placed))
        return true;
    if (n < 2) /* of one size any order is the best */
        return false;
    if (place_whatever_type(capacity, demands, n, now, placed))
        return true;
    demands_hardest_first(demands, n, packed);
    for (size_t d = 0; d < n; d++) /* to run at all counts for more than to run fast */
        packed[d].want.any_speed = true;
    return place_all(capacity, packed, n, now, true, placed) ||
           (n == 2 && place_pair(capacity, demands, now, placed));
}

bool place_gang(struct capacity *capacity, const struct demand *demands, size_t n, bool now,
                struct placed *placed)
{
    size_t mark = capacity_mark(capacity);
    struct demand rest[JOB_ROLES_MAX];
    size_t n_rest = 0, n_placed;

    if (!demands_pin(demands, n))
        return place_unpinned(capacity, demands, n, now, placed);
    if (!place_pins(capacity, demands, n, now, placed, &n_placed))
        return false;
    for (size_t d = 0; d < n; d++)
        if (demands[d].pinned == NULL)
            rest[n_rest++] = demands[d];
    if (n_rest == 0 ||
        place_unpinned(capacity, rest, n_rest, now, placed != NULL ? placed + n_placed : NULL))
        return true;
    capacity_roll_back(capacity, mark);
    return false;
}
