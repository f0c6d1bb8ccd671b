/* SPDX-License-Identifier: Apache-2.0 */
/* policy_goodput.c - instances go where they shorten the sum of completion times most
 *
 * What each job is to have is worked out by policy_goodput_division.c from what was learnt of its
 * speed at different sizes, of the work that is left in it, and of what a resize costs it. Here it
 * is carried out, under the rules of policy_fulfilment.c: no limit is passed, not even for a
 * moment; who is not stable is not moved unless a gang waits, but what it is to have is kept for
 * it; and what is being stopped is given to nobody twice.
 *
 * In this order: while the cluster is over a limit, whoever holds something of it and loses least
 * shrinks; who has less than it is to have grows where there is room; and when there is none, one
 * instance goes from who has more than it is to have to who has less, if what is freed is large
 * enough and in the right place. Room that no node offers to whom it was meant for is left to
 * others, but never to one whose instance it could have had: that one would have to give it back.
 *
 * It ends: growth goes to targets that are fixed for a decision, what is above a target only gives,
 * and room that is left over only becomes less. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>

#include "scheduler/core/goodput_allocate.h"
#include "scheduler/core/policy_goodput_division.h"
#include "shared/macro.h"

#define REFUSALS_MAX 64
/* What is measured varies by more than that. */
#define STILL_AS_FAST 0.9

struct entry {
    struct goodput_share share; /* first */
    struct policy_job job;      /* as it was put */
    bool refused;               /* no node has room for it, in this decision */
    bool stuck;                 /* nobody of it can be stopped, in this decision */
    UT_hash_handle hh;          /* k: job.id */
};

struct policy_state {
    struct entry *entries; /* owned */
    uint32_t n_pending;
    struct goodput_share **shares; /* owned: all but those that wait for their gang */
    size_t n_shares, cap_shares;
    double price; /* of the last decision */
};

struct decision {
    struct policy_state *state;
    struct policy_totals totals; /* with what is planned */
    struct policy_totals held;   /* with what was moved, and what is being stopped */
    struct policy_group groups[POLICY_GROUPS_MAX]; /* with what is planned */
    const struct entry *refusals[REFUSALS_MAX];
    size_t n_refusals;
    const struct policy_ops *ops;
    void *userdata;
};

/* --- what is known of the jobs -------------------------------------------------------------------
 */

static struct policy_state *state_new(void)
{
    return xcalloc(1, sizeof(struct policy_state));
}

static struct entry *find(const struct policy_state *state, uint64_t id)
{
    struct entry *entry;

    HASH_FIND(hh, state->entries, &id, sizeof id, entry);
    return entry;
}

static void drop(struct policy_state *state, uint64_t id)
{
    struct entry *entry = find(state, id);

    if (entry == NULL)
        return;
    state->n_pending -= entry->job.pending;
    HASH_DEL(state->entries, entry);
    free(entry);
}

static struct policy_state *state_free(struct policy_state *state)
{
    struct entry *entry, *next;

    if (state == NULL)
        return NULL;
    HASH_ITER(hh, state->entries, entry, next)
    {
        drop(state, entry->job.id);
    }
    free(state->shares);
    free(state);
    return NULL;
}

static void put(struct policy_state *state, const struct policy_job *job)
{
    struct entry *entry = find(state, job->id);

    if (entry == NULL) {
        entry = xcalloc(1, sizeof *entry);
        entry->job.id = job->id;
        HASH_ADD(hh, state->entries, job.id, sizeof entry->job.id, entry);
    } else {
        state->n_pending -= entry->job.pending;
    }
    entry->job = *job;
    state->n_pending += job->pending;
    goodput_share_init(&entry->share, &entry->job);
    entry->job.learned = NULL; /* was borrowed */
}

static struct entry *entry_of(const struct goodput_share *share)
{
    return (struct entry *)share;
}

static void gather(struct policy_state *state)
{
    struct entry *entry, *next;

    if (state->cap_shares < HASH_COUNT(state->entries)) {
        state->cap_shares = 2 * (size_t)HASH_COUNT(state->entries);
        state->shares =
            xreallocarray(state->shares, state->cap_shares, sizeof(struct goodput_share *));
    }
    state->n_shares = 0;
    HASH_ITER(hh, state->entries, entry, next)
    {
        entry->refused = entry->stuck = false;
        entry->share.plan = entry->job.parallelism;
        if (!entry->job.pending)
            state->shares[state->n_shares++] = &entry->share;
    }
}

/* --- limits --------------------------------------------------------------------------------------
 */

static bool step_is_due(const struct policy_totals *totals, const struct policy_job *job, bool down)
{
    struct policy_totals copy = *totals;
    struct policy_job boundless = *job;

    boundless.min = 0;
    boundless.max = UINT32_MAX;
    return policy_fulfilment_dry_run(&copy, &boundless, 1, down, true) != 0;
}

static bool may_grow(const struct policy_totals *totals, const struct policy_job *job)
{
    return step_is_due(totals, job, false);
}

static bool holds_what_is_over(const struct policy_totals *totals, const struct policy_job *job)
{
    return step_is_due(totals, job, true);
}

static void account(struct policy_totals *totals, const struct policy_job *job, int64_t change)
{
    totals->cpu_requested_millicores += change * (int64_t)job->cpu_millicores;
    totals->memory_requested_bytes += change * (int64_t)job->memory_bytes;
    totals->gpu_requested += change * (int64_t)job->gpus;
}

static void plan_change(struct decision *d, struct goodput_share *share, int change)
{
    const struct policy_job *job = share->job;

    share->plan = (uint32_t)((int64_t)share->plan + change);
    account(&d->totals, job, change);
    d->groups[job->group].cpu_millicores += change * (int64_t)job->cpu_millicores;
    d->groups[job->group].gpus += change * (int64_t)job->gpus;
}

static int64_t level_with(const struct decision *d, const struct policy_job *job, int change)
{
    struct policy_group group = d->groups[job->group];

    if (d->totals.groups == NULL)
        return 0;
    group.cpu_millicores += change * (int64_t)job->cpu_millicores;
    group.gpus += change * (int64_t)job->gpus;
    return policy_group_level(&group, d->totals.cpu_total_millicores, d->totals.gpu_total);
}

static bool may_move(const struct decision *d, const struct goodput_share *share)
{
    return share->job->stable || d->state->n_pending > 0;
}

/* An instance of a leaves room for one of b, in the same place. */
static bool covers(const struct policy_job *a, const struct policy_job *b)
{
    return a->cpu_millicores >= b->cpu_millicores && a->memory_bytes >= b->memory_bytes &&
           a->gpus >= b->gpus && (b->where == 0 || a->where == b->where);
}

static bool is_refused(const struct decision *d, const struct policy_job *job)
{
    for (size_t i = 0; i < d->n_refusals; i++)
        if (covers(job, &d->refusals[i]->job))
            return true;
    return false;
}

static void refuse(struct decision *d, struct goodput_share *share)
{
    struct entry *entry = entry_of(share);

    entry->refused = true;
    if (d->n_refusals < REFUSALS_MAX)
        d->refusals[d->n_refusals++] = entry;
}

static bool will_be_free(const struct decision *d, const struct policy_job *job)
{
    return d->totals.cpu_stopping_millicores >= (int64_t)job->cpu_millicores &&
           d->totals.memory_stopping_bytes >= (int64_t)job->memory_bytes &&
           d->totals.gpu_stopping >= (int64_t)job->gpus;
}

static void keep_free(struct decision *d, const struct policy_job *job)
{
    d->totals.cpu_stopping_millicores -= (int64_t)job->cpu_millicores;
    d->totals.memory_stopping_bytes -= (int64_t)job->memory_bytes;
    d->totals.gpu_stopping -= (int64_t)job->gpus;
}

/* --- growth --------------------------------------------------------------------------------------
 */

/* One step; false: there is no room, now or soon, and it need not be asked again. */
static bool grow_one(struct decision *d, struct goodput_share *share)
{
    const struct policy_job *job = share->job;
    bool room;

    if (!may_grow(&d->totals, job))
        return false;
    room = may_grow(&d->held, job) && !is_refused(d, job);
    if (room && may_move(d, share)) {
        room = d->ops->grow(d->userdata, job->id);
        if (room)
            account(&d->held, job, 1);
        else
            refuse(d, share);
    }
    if (!room) {
        if (!will_be_free(d, job))
            return false;
        keep_free(d, job);
    }
    plan_change(d, share, 1);
    return true;
}

/* a goes before b: the poorer group, then to whom its part of the cluster brings more */
static bool takes_before(const struct decision *d, const struct goodput_share *a,
                         const struct goodput_share *b)
{
    double a_worth, b_worth;

    if (a->job->group != b->job->group) {
        int64_t a_level = level_with(d, a->job, 0), b_level = level_with(d, b->job, 0);

        if (a_level != b_level)
            return a_level < b_level;
    }
    a_worth = goodput_worth_at(a, a->plan + 1);
    b_worth = goodput_worth_at(b, b->plan + 1);
    return a_worth != b_worth ? a_worth > b_worth : a->job->id < b->job->id;
}

static struct goodput_share *next_taker(const struct decision *d)
{
    struct goodput_share *best = NULL;

    for (size_t i = 0; i < d->state->n_shares; i++) {
        struct goodput_share *share = d->state->shares[i];

        if (!share->closed && share->plan < share->target &&
            (best == NULL || takes_before(d, share, best)))
            best = share;
    }
    return best;
}

static void open_all(struct decision *d)
{
    for (size_t i = 0; i < d->state->n_shares; i++)
        d->state->shares[i]->closed = false;
}

/* Limits only become tighter while jobs grow: whom they do not let grow now need not be asked. */
static void close_who_cannot_grow(struct decision *d)
{
    for (size_t i = 0; i < d->state->n_shares; i++) {
        struct goodput_share *share = d->state->shares[i];

        share->closed =
            share->closed || share->plan >= share->target || !may_grow(&d->totals, share->job);
    }
}

static void grow_open_ones(struct decision *d)
{
    struct goodput_share *share;

    close_who_cannot_grow(d);
    while ((share = next_taker(d)) != NULL) {
        if (grow_one(d, share))
            continue;
        share->closed = true;
        close_who_cannot_grow(d);
    }
}

static void grow_to_targets(struct decision *d)
{
    open_all(d);
    grow_open_ones(d);
}

static double fastest_up_to(const struct goodput_curve *curve, int at)
{
    double most = 0;

    for (int i = 0; i <= at; i++)
        most = fmax(most, curve->points[i].speed);
    return most;
}

/* Room that nobody is to have, because it does not pay or because no node has it for whom it was
 * meant for, is of use still: a job that grows does not stand still meanwhile, and what it has
 * beyond its target it gives as soon as somebody is to have it. Only who was measured to be slower
 * with more leaves it: what was never tried is tried. */
static void use_what_is_left(struct decision *d)
{
    struct goodput_share *share;

    for (size_t i = 0; i < d->state->n_shares; i++) {
        int at, next;

        share = d->state->shares[i];
        at = goodput_curve_at(&share->curve, share->plan);
        next = at + 1;
        share->closed = true;
        if (at < 0 || next >= share->curve.n || share->plan < share->target ||
            is_refused(d, share->job) ||
            (share->curve.points[next].instances <= share->measured &&
             share->curve.points[next].speed < STILL_AS_FAST * fastest_up_to(&share->curve, at)))
            continue;
        share->target = share->curve.points[next].instances;
        share->closed = false;
    }
    grow_open_ones(d);
}

/* --- giving --------------------------------------------------------------------------------------
 */

static bool shrink_one(struct decision *d, struct goodput_share *share)
{
    if (!d->ops->shrink(d->userdata, share->job->id)) {
        entry_of(share)->stuck = true;
        return false;
    }
    plan_change(d, share, -1);
    return true;
}

static bool can_give(const struct decision *d, const struct goodput_share *share)
{
    /* what it really has */
    return share->plan > share->job->min && share->plan <= share->job->parallelism &&
           may_move(d, share) && !entry_of(share)->stuck;
}

/* a goes before b: the richer group, who has more than it is to have, then who loses less */
static bool gives_before(const struct decision *d, const struct goodput_share *a,
                         const struct goodput_share *b)
{
    double a_worth, b_worth;

    if (a->job->group != b->job->group) {
        int64_t a_level = level_with(d, a->job, 0), b_level = level_with(d, b->job, 0);

        if (a_level != b_level)
            return a_level > b_level;
    }
    if ((a->plan > a->target) != (b->plan > b->target))
        return a->plan > a->target;
    a_worth = goodput_worth_at(a, a->plan);
    b_worth = goodput_worth_at(b, b->plan);
    return a_worth != b_worth ? a_worth < b_worth : a->job->id > b->job->id;
}

static void shrink_what_is_over(struct decision *d)
{
    for (;;) {
        struct goodput_share *best = NULL;

        for (size_t i = 0; i < d->state->n_shares; i++) {
            struct goodput_share *share = d->state->shares[i];

            if (can_give(d, share) && holds_what_is_over(&d->totals, share->job) &&
                (best == NULL || gives_before(d, share, best)))
                best = share;
        }
        if (best == NULL)
            return;
        (void)shrink_one(d, best);
    }
}

/* Who has more than it is to have, and could give what this one is to have */
static struct goodput_share *giver_for(const struct decision *d, const struct goodput_share *taker)
{
    struct goodput_share *best = NULL;

    for (size_t i = 0; i < d->state->n_shares; i++) {
        struct goodput_share *share = d->state->shares[i];
        bool other_group = share->job->group != taker->job->group;

        if (share->plan <= share->target || !can_give(d, share) ||
            !covers(share->job, taker->job) ||
            (other_group && level_with(d, share->job, -1) < level_with(d, taker->job, 1)))
            continue;
        if (best == NULL || gives_before(d, share, best))
            best = share;
    }
    return best;
}

static bool somebody_gives(const struct decision *d)
{
    for (size_t i = 0; i < d->state->n_shares; i++)
        if (d->state->shares[i]->plan > d->state->shares[i]->target &&
            can_give(d, d->state->shares[i]))
            return true;
    return false;
}

/* Only the giving is done; what it frees is planned for the taker, and the next decision that finds
 * it free gives it to whoever is to have it then. */
static void transfer(struct decision *d)
{
    struct goodput_share *taker;

    open_all(d);
    if (!somebody_gives(d))
        return;
    while ((taker = next_taker(d)) != NULL) {
        struct goodput_share *giver = giver_for(d, taker);

        if (giver == NULL)
            taker->closed = true;
        else if (shrink_one(d, giver))
            plan_change(d, taker, 1);
    }
}

static void decide(struct policy_state *state, const struct policy_totals *totals,
                   const struct policy_ops *ops, void *userdata)
{
    struct decision d = {
        .state = state, .totals = *totals, .held = *totals, .ops = ops, .userdata = userdata
    };

    if (totals->groups != NULL)
        memcpy(d.groups, totals->groups, totals->n_groups * sizeof *d.groups);
    d.held.cpu_requested_millicores += totals->cpu_stopping_millicores;
    d.held.memory_requested_bytes += totals->memory_stopping_bytes;
    d.held.gpu_requested += totals->gpu_stopping;
    gather(state);
    goodput_divide(state->shares, state->n_shares, totals, state->n_pending > 0, &state->price);
    shrink_what_is_over(&d);
    grow_to_targets(&d);
    transfer(&d);
    use_what_is_left(&d);
}

static void explain(const struct policy_state *state, uint64_t id, char *buffer, size_t size)
{
    const struct entry *entry = find(state, id);
    int at;

    if (entry == NULL) {
        (void)snprintf(buffer, size, "goodput");
        return;
    }
    at = goodput_curve_within(&entry->share.curve, entry->share.target);
    (void)snprintf(buffer, size, "to have %u: speed %.2f, weight %.3g, price %.3g",
                   entry->share.target, at < 0 ? 0 : entry->share.curve.points[at].speed,
                   entry->share.a, state->price);
}

/* Nothing is known here of what a job would lose: who has the largest part of its span above its
 * minimum gives first. */
static int compare_givers(const struct policy_job *a, const struct policy_job *b)
{
    uint64_t a_span = a->max - a->min, b_span = b->max - b->min;
    uint64_t a_part = (uint64_t)(a->parallelism - a->min) * b_span;
    uint64_t b_part = (uint64_t)(b->parallelism - b->min) * a_span;

    if (a_span == 0 || b_span == 0) /* who cannot give is last */
        return (a_span == 0) - (b_span == 0);
    return a_part > b_part ? -1 : a_part < b_part;
}

const struct policy policy_goodput = {
    .name = "goodput",
    .summary = "instances go where they shorten the sum of completion times most",
    .learns = true,
    .new = state_new,
    .free = state_free,
    .put = put,
    .drop = drop,
    .decide = decide,
    .explain = explain,
    .compare_givers = compare_givers,
};
