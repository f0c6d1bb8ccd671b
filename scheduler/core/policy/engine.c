/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - a decision, step by step
 *
 * Jobs that are not stable are not moved (unless a gang waits); but the room that they would be
 * given is kept for them, and so is the room that stopping ones will free: otherwise the job that
 * is ready first takes it and has to give it back. A job that rests, since it was moved a moment
 * ago, neither gives nor takes in a transfer; it grows into free room, and shrinks where a limit is
 * passed.
 *
 * It ends: growth never passes a limit, so the excess can only become less, and a growing job holds
 * no resource that is over; so growing and shrinking take turns at most as often as there are
 * instances above the minima. A transfer leaves the giver ahead of the taker, which is the policy's
 * promise to make something of: the sum that it raises with each transfer must have a bound.
 *
 * The index (policy/index.h) finds the next job without a look at those that no limit lets move: a
 * decision with nothing to do is O(log n). That no node has room for a request holds for every
 * larger one as well, and so does that nobody could give way to it. */
#include "scheduler/core/policy/engine.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/core/base/tree.h"
#include "scheduler/core/policy/index.h"
#include "scheduler/core/policy/limits.h"
#include "scheduler/core/policy/policy.h"
#include "shared/macro.h"

/* Requests that were refused and are remembered in a decision: those that a smaller refused one
 * does not stand for, of which a cluster has a handful. More are asked for again. */
#define REFUSALS_MAX 64
/* Takers for whom a giver is searched in vain, and shapes that are looked at for that, before a
 * decision gives up. Only takers of whom none asks for less than another in every respect get so
 * far; they are the least served ones, and a transfer is never urgent: it may wait until one of
 * those has moved. */
#define TAKERS_MAX 32
#define LOOKS_MAX 4096

/* --- a decision ----------------------------------------------------------------------------------
 */

/* A request that was in vain: a job that wants as much or more, and is no less bound to certain
 * nodes, need not ask. */
struct refusals {
    struct extent items[REFUSALS_MAX];
    size_t n;
};

struct decision {
    struct policy_state *state;
    struct policy_group groups[POLICY_GROUPS_MAX]; /* with planned moves */
    uint32_t n_groups;
    struct policy_totals
        totals; /* with planned moves; stopping: less the part that is kept for others */
    struct policy_totals held; /* with the moves so far; requested: stopping instances as well */
    struct refusals no_room;   /* no node has room for it */
    const struct policy_ops *ops;
    void *userdata;
};

/* In the order of UP; NULL: before all. */
struct cursor {
    const struct entry *at; /* borrowed */
    bool past;              /* beyond it, else from it on */
};

static bool amounts_cover(const struct request *a, const struct request *b)
{
    return a->cpu_millicores >= b->cpu_millicores && a->memory_bytes >= b->memory_bytes &&
           a->gpus >= b->gpus;
}

/* a is as hard to satisfy as b */
static bool is_as_hard(const struct extent *a, const struct extent *b)
{
    return amounts_cover(&a->request, &b->request) && a->score >= b->score &&
           (b->request.where == 0 || a->request.where == b->request.where);
}

static bool is_refused(const struct refusals *refusals, const struct extent *wanted)
{
    for (size_t i = 0; i < refusals->n; i++)
        if (is_as_hard(wanted, &refusals->items[i]))
            return true;
    return false;
}

static void refuse(struct refusals *refusals, const struct extent *wanted)
{
    size_t kept = 0;

    for (size_t i = 0; i < refusals->n; i++)
        if (!is_as_hard(&refusals->items[i], wanted))
            refusals->items[kept++] = refusals->items[i];
    refusals->n = kept;
    if (kept < REFUSALS_MAX)
        refusals->items[refusals->n++] = *wanted;
}

static bool is_at_or_after(const struct rank *rank, const struct cursor *cursor)
{
    int order = cursor->at == NULL ? 1 : index_compare(rank->head, cursor->at, UP);

    return cursor->past ? order > 0 : order >= 0;
}

static bool may_move(const struct decision *d, const struct entry *entry)
{
    return entry->job.stable || d->state->n_pending > 0;
}

static void plan_change(struct decision *d, struct entry *entry, int change)
{
    if (!entry->moved) {
        entry->moved = true;
        LL_PREPEND2(d->state->moved, entry, moved_next);
    }
    index_take_out(d->state, entry);
    entry->plan.parallelism = (uint32_t)((int64_t)entry->plan.parallelism + change);
    index_file_in(d->state, entry);
    policy_account(&d->totals, &entry->job, change);
    d->groups[entry->job.group].cpu_millicores += change * (int64_t)entry->job.cpu_millicores;
    d->groups[entry->job.group].gpus += change * (int64_t)entry->job.gpus;
}

/* Its group's place among the groups once it has so many instances more. */
static int64_t level_with(const struct decision *d, const struct request *request, int change)
{
    struct policy_group group = d->groups[request->group];

    group.cpu_millicores += change * (int64_t)request->cpu_millicores;
    group.gpus += change * (int64_t)request->gpus;
    return policy_group_level(&group, d->totals.cpu_total_millicores, d->totals.gpu_total);
}

static int64_t level_of(const struct decision *d, uint32_t group)
{
    return level_with(d, &(struct request){ .group = group }, 0);
}

/* The stopping instances will be enough for one of these. */
static bool will_be_free(const struct decision *d, const struct request *request)
{
    return d->totals.cpu_stopping_millicores >= (int64_t)request->cpu_millicores &&
           d->totals.memory_stopping_bytes >= (int64_t)request->memory_bytes &&
           d->totals.gpu_stopping >= (int64_t)request->gpus;
}

static void keep_free(struct decision *d, const struct request *request)
{
    d->totals.cpu_stopping_millicores -= (int64_t)request->cpu_millicores;
    d->totals.memory_stopping_bytes -= (int64_t)request->memory_bytes;
    d->totals.gpu_stopping -= (int64_t)request->gpus;
}

static bool has_room(const struct decision *d, const struct request *request)
{
    const struct extent wanted = { .request = *request };

    /* a stopping instance counts until it is gone: the limit is never passed, not even for a
     * moment */
    return policy_may_grow(&d->held, request) && !is_refused(&d->no_room, &wanted);
}

/* One more, planned or placed. A request that fails for one fails for each job that asks for
 * more. */
static bool could_grow(const struct decision *d, const struct request *request)
{
    return policy_may_grow(&d->totals, request) &&
           (has_room(d, request) || will_be_free(d, request));
}

/* The lowest from the cursor on that could grow, or NULL. */
static struct rank *next_grower(const struct decision *d, const struct tree_node *at,
                                const struct cursor *cursor)
{
    struct rank *rank = rank_at(at);

    if (at == NULL || !could_grow(d, &rank->all.request))
        return NULL;
    if (is_at_or_after(rank, cursor)) {
        struct rank *found = next_grower(d, at->left, cursor);

        if (found != NULL)
            return found;
        if (could_grow(d, &rank->own.request))
            return rank;
    }
    return next_grower(d, at->right, cursor);
}

static bool keep_one(struct decision *d, struct entry *entry)
{
    return d->ops->keep != NULL && d->ops->keep(d->userdata, entry->job.id);
}

/* One step for the lowest job: true when it has one more, planned or placed. */
static bool grow_one(struct decision *d, struct entry *entry)
{
    const struct extent wanted = { .request = entry->shape->request };
    bool room = has_room(d, &wanted.request);

    if (will_be_free(d, &wanted.request) && keep_one(d, entry)) {
        keep_free(d, &wanted.request);
        plan_change(d, entry, 1);
        return true;
    }
    if (room && may_move(d, entry)) {
        room = d->ops->grow(d->userdata, entry->job.id);
        if (room)
            policy_account(&d->held, &entry->job, 1);
        else
            refuse(&d->no_room, &wanted);
    }
    if (!room) {
        if (!will_be_free(d, &wanted.request))
            return false;
        keep_free(d, &wanted.request);
    }
    plan_change(d, entry, 1);
    return true;
}

/* How far the growth of a group has come. */
struct progress {
    struct entry at; /* as it was before it grew */
    bool begun, past, over;
};

/* Of the groups in which somebody may still grow that with the least beyond its guarantee, or
 * n_groups. */
static uint32_t poorest(const struct decision *d, const struct progress *progress)
{
    uint32_t best = d->n_groups;
    int64_t least = 0;

    for (uint32_t g = 0; g < d->n_groups; g++) {
        int64_t level = progress[g].over ? 0 : level_of(d, g);

        if (progress[g].over || (best < d->n_groups && level >= least))
            continue;
        best = g;
        least = level;
    }
    return best;
}

/* Limits and room only become tighter, and a job that grew comes later in the order: nobody before
 * the cursor could grow. */
static void grow_all(struct decision *d)
{
    struct progress progress[POLICY_GROUPS_MAX];
    uint32_t g;

    for (g = 0; g < d->n_groups; g++)
        progress[g].begun = progress[g].past = progress[g].over = false;
    while ((g = poorest(d, progress)) < d->n_groups) {
        struct progress *of = &progress[g];
        const struct cursor cursor = { .at = of->begun ? &of->at : NULL, .past = of->past };
        struct rank *rank = next_grower(d, d->state->ranks[g][UP].root, &cursor);

        of->over = rank == NULL;
        if (rank == NULL)
            continue;
        of->begun = true;
        of->at = *rank->head;
        of->past = !grow_one(d, rank->head);
    }
}

/* true: one was stopped, or is about to be given */
static bool take_one(struct decision *d, struct entry *entry,
                     bool (*take)(void *userdata, uint64_t job))
{
    if (take(d->userdata, entry->job.id)) {
        plan_change(d, entry, -1);
        return true;
    }
    entry->stuck = true;
    plan_change(d, entry, 0);
    return false;
}

static bool shrink_one(struct decision *d, struct entry *entry)
{
    return take_one(d, entry, d->ops->shrink);
}

/* A growth may wait until an instance of the giver is done with its task; a gang may not. */
static bool give_one(struct decision *d, struct entry *entry)
{
    bool patient = d->ops->give != NULL && d->state->n_pending == 0;

    return take_one(d, entry, patient ? d->ops->give : d->ops->shrink);
}

/* The highest that holds something of a resource that is over its limit, or NULL. */
static struct entry *next_shrinker(const struct decision *d, const struct tree_node *at)
{
    const struct rank *rank = rank_at(at);
    struct entry *found;

    if (at == NULL || !policy_must_shrink(&d->totals, &rank->all.request))
        return NULL;
    found = next_shrinker(d, at->left);
    if (found != NULL)
        return found;
    return policy_must_shrink(&d->totals, &rank->own.request) ? rank->head
                                                              : next_shrinker(d, at->right);
}

/* Of the first ones of two lists: the first in the order of DOWN. */
static struct entry *first_of(struct entry *a, struct entry *b)
{
    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    return index_compare(b, a, DOWN) > 0 ? b : a;
}

/* The lists of those who give: a gang takes from all. */
static int last_down_list(const struct decision *d)
{
    return d->state->n_pending > 0 ? DOWN_UNSTABLE : DOWN;
}

/* Of the group with the most beyond its guarantee that has somebody who holds what is over. */
static struct entry *next_over(const struct decision *d)
{
    struct entry *best = NULL;
    int64_t most = 0;

    for (uint32_t g = 0; g < d->n_groups; g++) {
        struct entry *entry = NULL;
        int64_t level;

        for (int list = DOWN; list <= MAX_OF(last_down_list(d), DOWN_RESTING); list++)
            entry = first_of(entry, next_shrinker(d, d->state->ranks[g][list].root));
        if (entry == NULL)
            continue;
        level = level_of(d, g);
        if (best != NULL && level <= most)
            continue;
        best = entry;
        most = level;
    }
    return best;
}

static bool shrink_all(struct decision *d)
{
    struct entry *entry;
    bool moved = false;

    while ((entry = next_over(d)) != NULL)
        moved = shrink_one(d, entry) || moved;
    return moved;
}

/* A job that is better off with less, or NULL */
static struct entry *next_harmed(const struct decision *d)
{
    for (uint32_t g = 0; g < d->n_groups; g++) {
        const struct tree_node *first = tree_first(&d->state->ranks[g][DOWN]);
        struct entry *entry = first != NULL ? rank_at(first)->head : NULL;

        if (entry != NULL && entry->score[DOWN] == SCORE_HARMFUL &&
            entry->plan.parallelism <= entry->job.parallelism)
            return entry;
    }
    return NULL;
}

static void shrink_harmed(struct decision *d)
{
    struct entry *entry;

    while ((entry = next_harmed(d)) != NULL)
        (void)give_one(d, entry);
}

/* An instance of it leaves room for the wanted one in the same place, and is fair to give. */
static bool could_give(const struct extent *giver, const struct extent *wanted)
{
    return amounts_cover(&giver->request, &wanted->request) &&
           (wanted->free_of_score || giver->score > wanted->score);
}

/* The highest who could give what is wanted, or NULL. */
static struct entry *next_giver(const struct tree_node *at, const struct extent *wanted,
                                unsigned *looks)
{
    const struct rank *rank = rank_at(at);
    uint64_t where = wanted->request.where;
    struct entry *found;

    if (at == NULL || *looks == 0 || !could_give(&rank->all, wanted))
        return NULL;
    --*looks;
    found = next_giver(at->left, wanted, looks);
    if (found != NULL)
        return found;
    if (could_give(&rank->own, wanted) && (where == 0 || where == rank->own.request.where) &&
        /* it gives what it really has */
        rank->head->plan.parallelism <= rank->head->job.parallelism)
        return rank->head;
    return next_giver(at->right, wanted, looks);
}

/* The lowest from the cursor on that could take from the richest and was not refused. */
static struct rank *next_taker(const struct tree_node *at, const struct cursor *cursor,
                               uint32_t richest_score, const struct refusals *refusals)
{
    struct rank *rank = rank_at(at);

    if (at == NULL || richest_score <= rank->all.score || is_refused(refusals, &rank->all))
        return NULL;
    if (is_at_or_after(rank, cursor)) {
        struct rank *found = next_taker(at->left, cursor, richest_score, refusals);

        if (found != NULL)
            return found;
        if (richest_score > rank->own.score && !is_refused(refusals, &rank->own))
            return rank;
    }
    return next_taker(at->right, cursor, richest_score, refusals);
}

/* The score that the richest giver of a group would keep: a job not below it takes from nobody in
 * the group. */
static uint32_t richest(const struct decision *d, uint32_t group)
{
    uint32_t most = 0;

    for (int list = DOWN; list <= last_down_list(d); list++) {
        const struct tree_node *root = d->state->ranks[group][list].root;

        if (root != NULL && rank_at(root)->all.score > most)
            most = rank_at(root)->all.score;
    }
    return most;
}

/* Between two groups how well each job is served decides nothing: any giver is ahead of it. */
static struct extent asked_of_others(const struct extent *own)
{
    struct extent wanted = *own;

    wanted.free_of_score = true;
    return wanted;
}

/* After it the group that gave is not behind the one that took: it would not have it back. */
static bool is_fair(const struct decision *d, const struct entry *giver, const struct rank *taker)
{
    return level_with(d, &giver->shape->request, -1) >= level_with(d, &taker->own.request, 1);
}

/* Full: within a group from the most to the lowest, between two from the one with most beyond its
 * guarantee to the one with least. Only the giving is done; the freed room is planned for the
 * taker, and the next decision that finds it free will give it to the job that is next then. */
static bool transfer(struct decision *d, uint32_t from, uint32_t to, unsigned *looks)
{
    const bool same = from == to;
    const uint32_t richest_score = same ? richest(d, from) : SCORE_NEVER;
    struct refusals nobody_gives = { .n = 0 };
    struct cursor cursor = { 0 };
    struct rank *taker;

    for (int tries = TAKERS_MAX; tries > 0 && *looks > 0; tries--) {
        struct extent wanted;
        struct entry *giver = NULL;

        taker = next_taker(d->state->ranks[to][UP].root, &cursor, richest_score, &nobody_gives);
        if (taker == NULL)
            return false;
        cursor = (struct cursor){ .at = taker->head, .past = true };
        if (taker->head->job.rests && d->state->n_pending == 0)
            continue; /* nobody else of its shape is to have before it what it may want again */
        wanted = same ? taker->own : asked_of_others(&taker->own);
        for (int list = DOWN; list <= last_down_list(d); list++)
            giver = first_of(giver, next_giver(d->state->ranks[from][list].root, &wanted, looks));
        if (giver != NULL && (same || is_fair(d, giver, taker))) {
            struct entry *receiver = taker->head;

            d->state->gives_to = same ? NULL : d->groups[to].name;
            if (give_one(d, giver))
                plan_change(d, receiver, 1);
            d->state->gives_to = NULL;
            return true;
        }
        refuse(&nobody_gives, &taker->own);
    }
    return false;
}

/* The pairs of groups that are furthest apart come first. */
static bool transfer_between(struct decision *d)
{
    uint32_t order[POLICY_GROUPS_MAX]; /* the poorest first */
    int64_t levels[POLICY_GROUPS_MAX];
    unsigned looks = LOOKS_MAX;

    for (uint32_t g = 0; g < d->n_groups; g++) {
        uint32_t i = g;

        levels[g] = level_of(d, g);
        for (; i > 0 && levels[order[i - 1]] > levels[g]; i--)
            order[i] = order[i - 1];
        order[i] = g;
    }
    for (uint32_t t = 0; t < d->n_groups; t++)
        for (uint32_t f = d->n_groups; f-- > t + 1 && levels[order[f]] > levels[order[t]];)
            if (transfer(d, order[f], order[t], &looks))
                return true;
    return false;
}

static bool transfer_within(struct decision *d)
{
    for (uint32_t g = 0; g < d->n_groups; g++) {
        unsigned looks = LOOKS_MAX;

        if (transfer(d, g, g, &looks))
            return true;
    }
    return false;
}

void policy_engine_decide(struct policy_state *state, const struct policy_totals *totals,
                          const struct policy_ops *ops, void *userdata)
{
    struct decision d = {
        .state = state, .totals = *totals, .held = *totals, .ops = ops, .userdata = userdata
    };
    struct entry *entry;

    if (state->scoring->prepare != NULL)
        state->scoring->prepare(state, totals);
    d.n_groups = MAX_OF(totals->n_groups, 1U);
    if (totals->groups != NULL)
        memcpy(d.groups, totals->groups, d.n_groups * sizeof *d.groups);
    d.held.cpu_requested_millicores += totals->cpu_stopping_millicores;
    d.held.memory_requested_bytes += totals->memory_stopping_bytes;
    d.held.gpu_requested += totals->gpu_stopping;
    state->planned = &d.totals;
    do
        grow_all(&d);
    while (shrink_all(&d));
    while (transfer_between(&d) || transfer_within(&d))
        continue;
    shrink_harmed(&d);
    state->planned = NULL;
    /* the index is again what was put; the core will put what it moved */
    while (state->moved != NULL) {
        entry = state->moved;
        LL_DELETE2(state->moved, entry, moved_next);
        index_take_out(state, entry);
        entry->moved = false;
        entry->stuck = false;
        entry->plan = entry->job;
        index_file_in(state, entry);
    }
}

void policy_engine_note_taker(const struct policy_state *state, char *buffer, size_t size)
{
    if (state->gives_to != NULL)
        (void)snprintf(buffer, size, ", for %s%s",
                       *state->gives_to != '\0' ? "group " : "users of no group", state->gives_to);
}
