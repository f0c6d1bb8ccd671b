/* SPDX-License-Identifier: Apache-2.0 */
/* policy_fulfilment.c - the autoscaler of 2018, mended: the least fulfilled job grows, the most
 * fulfilled one shrinks
 *
 * Fulfilment = (instances - min) / (max - min). While there is room below the load limit the least
 * fulfilled job grows by one; while the cluster is over its limit the most fulfilled one shrinks by
 * one; and when there is neither, one instance goes from the most to the least fulfilled as long as
 * the giver stays ahead by more than the move is worth.
 *
 * Differences from the original, each a defect there: the order follows what is planned (it was
 * that of before the decision, which made a round robin of it); a full cluster is shared anew (who
 * came first kept everything: Jain index 0.44 in the report of 2017); the load limit holds for GPUs
 * when growing too (it added and removed one GPU for ever); a job shrinks only if it holds
 * something of what is over its limit (GPUs that a fixed job holds made every other job grow and
 * shrink for ever); a growth takes room on a real node (the sign was wrong); instances that are
 * being stopped are not counted twice; equal jobs are ordered by id (the sort was not stable).
 *
 * Jobs that are not stable are not moved (unless a gang waits), as in the original; but what they
 * would be given is kept for them, and so is what will be free when those that are being stopped
 * are gone: otherwise whoever is ready first takes it and has to give it back.
 *
 * It ends: growth never passes a limit, so what is over can only become less, and who grows holds
 * nothing that is over; so growing and shrinking take turns at most as often as there are instances
 * above the minima. A transfer leaves the giver ahead of the taker: the sum of squares of the
 * fulfilments falls each time.
 *
 * Index: jobs by what they request (a shape); of each shape those that could grow and those that
 * could shrink, in order, stable ones apart. A shape that does not fit is passed over as a whole. A
 * transfer looks at pairs of shapes, of which a cluster has few. */
#include "scheduler/core/policy.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include "scheduler/core/tree.h"
#include "shared/macro.h"

enum { UP, DOWN, DIRECTIONS };

struct entry {
    struct tree_node place[DIRECTIONS]; /* UP: it could grow; DOWN: it could shrink */
    struct policy_job job;              /* as it was put */
    struct policy_job plan;             /* the same with what is planned, during a decision */
    struct shape *shape;
    bool stuck; /* nobody of it can be stopped, in this decision */
    bool moved; /* in state->moved */
    struct entry *moved_next;
    UT_hash_handle hh; /* k: job.id */
};

struct shape_key {
    uint64_t cpu_millicores, memory_bytes, gpus, where;
};

struct shape {
    struct shape_key key;
    struct tree jobs[DIRECTIONS][2]; /* [][stable] */
    uint32_t n;                      /* entries that refer to it */
    bool blocked;                    /* no node has room for it now, in this decision */
    struct shape *next, *prev;       /* state->shapes */
    UT_hash_handle hh;               /* k: key */
};

struct policy_state {
    struct entry *entries;
    struct shape *by_key, *shapes;
    uint32_t n_pending;
    struct entry *moved; /* during a decision */
};

/* A transfer costs a stop and a start: less than this part of a span is not worth it. */
#define WORTH_PPM 50000

static int64_t under_load(int64_t total, const struct policy_totals *totals)
{
    return total * totals->max_load_permille / 1000;
}

uint32_t policy_fulfilment_score_ppm(const struct policy_job *job)
{
    if (job->max <= job->min)
        return 1000000;
    if (job->parallelism <= job->min)
        return 0;
    return (uint32_t)((uint64_t)(job->parallelism - job->min) * 1000000 / (job->max - job->min));
}

#define RETURN_UNLESS_EQUAL(a, b)                                                                  \
    do {                                                                                           \
        if ((a) != (b))                                                                            \
            return (a) < (b) ? -1 : 1;                                                             \
    } while (0)

int policy_fulfilment_compare(const struct policy_job *a, const struct policy_job *b)
{
    RETURN_UNLESS_EQUAL(policy_fulfilment_score_ppm(a), policy_fulfilment_score_ppm(b));
    RETURN_UNLESS_EQUAL(a->gpus, b->gpus);
    RETURN_UNLESS_EQUAL(a->cpu_millicores, b->cpu_millicores);
    RETURN_UNLESS_EQUAL(a->memory_bytes, b->memory_bytes);
    RETURN_UNLESS_EQUAL(a->id, b->id);
    return 0;
}

/* --- what may be done: the rules of a single step ------------------------------------------------
 */

static void account(struct policy_totals *totals, const struct policy_job *job, int64_t change)
{
    totals->cpu_requested_millicores += change * (int64_t)job->cpu_millicores;
    totals->memory_requested_bytes += change * (int64_t)job->memory_bytes;
    totals->gpu_requested += change * (int64_t)job->gpus;
}

/* It holds something of what is over its limit. */
static bool must_shrink(const struct policy_totals *totals, const struct policy_job *job)
{
    return (job->cpu_millicores > 0 &&
            totals->cpu_requested_millicores > under_load(totals->cpu_total_millicores, totals)) ||
           (job->gpus > 0 && totals->gpu_requested > under_load(totals->gpu_total, totals)) ||
           (job->memory_bytes > 0 && totals->memory_requested_bytes > totals->memory_total_bytes);
}

static bool may_grow(const struct policy_totals *totals, const struct policy_job *job)
{
    return under_load(totals->cpu_total_millicores, totals) - totals->cpu_requested_millicores >=
               (int64_t)job->cpu_millicores &&
           (job->gpus == 0 ||
            under_load(totals->gpu_total, totals) - totals->gpu_requested >= (int64_t)job->gpus) &&
           /* strictly more than the request, as the original has it */
           totals->memory_total_bytes - totals->memory_requested_bytes > (int64_t)job->memory_bytes;
}

int policy_fulfilment_dry_run(struct policy_totals *totals, const struct policy_job *job,
                              int64_t planned, bool down, bool node_fits)
{
    int64_t change = 0;

    if (down)
        change = planned > job->max || (planned > job->min && must_shrink(totals, job)) ? -1 : 0;
    else if (planned >= job->max)
        change = (int64_t)job->max - planned;
    else if (node_fits && may_grow(totals, job))
        change = 1;
    account(totals, job, change);
    return (int)change;
}

/* --- the index -----------------------------------------------------------------------------------
 */

static struct entry *entry_at(const struct tree_node *node, int direction)
{
    return node == NULL ? NULL
                        : (struct entry *)((char *)node - offsetof(struct entry, place) -
                                           (size_t)direction * sizeof *node);
}

static int compare_up(const struct tree_node *a, const struct tree_node *b)
{
    return policy_fulfilment_compare(&entry_at(a, UP)->plan, &entry_at(b, UP)->plan);
}

static int compare_down(const struct tree_node *a, const struct tree_node *b)
{
    return policy_fulfilment_compare(&entry_at(b, DOWN)->plan, &entry_at(a, DOWN)->plan);
}

static struct shape *shape_of(struct policy_state *state, const struct policy_job *job)
{
    struct shape_key key = { job->cpu_millicores, job->memory_bytes, job->gpus, job->where };
    struct shape *shape;

    HASH_FIND(hh, state->by_key, &key, sizeof key, shape);
    if (shape != NULL)
        return shape;
    shape = xcalloc(1, sizeof *shape);
    shape->key = key;
    for (int stable = 0; stable < 2; stable++) {
        shape->jobs[UP][stable].compare = compare_up;
        shape->jobs[DOWN][stable].compare = compare_down;
    }
    HASH_ADD(hh, state->by_key, key, sizeof shape->key, shape);
    DL_APPEND(state->shapes, shape);
    return shape;
}

static void shape_release(struct policy_state *state, struct shape *shape)
{
    if (--shape->n > 0)
        return;
    HASH_DEL(state->by_key, shape);
    DL_DELETE(state->shapes, shape);
    free(shape);
}

static void take_out(struct entry *entry)
{
    for (int direction = 0; direction < DIRECTIONS; direction++)
        if (tree_holds(&entry->place[direction]))
            tree_remove(&entry->shape->jobs[direction][entry->job.stable],
                        &entry->place[direction]);
}

static void file_in(struct entry *entry)
{
    const struct policy_job *plan = &entry->plan;

    if (plan->pending)
        return;
    if (plan->parallelism < plan->max)
        tree_insert(&entry->shape->jobs[UP][plan->stable], &entry->place[UP]);
    if (plan->parallelism > plan->min && !entry->stuck)
        tree_insert(&entry->shape->jobs[DOWN][plan->stable], &entry->place[DOWN]);
}

/* Out of every tree and sum; its shape is let go of. */
static void unfile(struct policy_state *state, struct entry *entry)
{
    take_out(entry);
    state->n_pending -= entry->job.pending;
    shape_release(state, entry->shape);
}

static struct policy_state *state_new(void)
{
    return xcalloc(1, sizeof(struct policy_state));
}

static void drop(struct policy_state *state, uint64_t id)
{
    struct entry *entry;

    HASH_FIND(hh, state->entries, &id, sizeof id, entry);
    if (entry == NULL)
        return;
    unfile(state, entry);
    HASH_DEL(state->entries, entry);
    free(entry);
}

static struct policy_state *state_free(struct policy_state *state)
{
    if (state == NULL)
        return NULL;
    while (state->entries != NULL)
        drop(state, state->entries->job.id);
    free(state);
    return NULL;
}

static void put(struct policy_state *state, const struct policy_job *job)
{
    struct shape *shape = shape_of(state, job);
    struct entry *entry;

    shape->n++; /* before the old one is let go of: it may be the same */
    HASH_FIND(hh, state->entries, &job->id, sizeof job->id, entry);
    if (entry == NULL) {
        entry = xcalloc(1, sizeof *entry);
        entry->job.id = job->id;
        HASH_ADD(hh, state->entries, job.id, sizeof entry->job.id, entry);
    } else {
        unfile(state, entry);
    }
    entry->job = *job;
    entry->plan = *job;
    entry->shape = shape;
    state->n_pending += job->pending;
    file_in(entry);
}

/* --- a decision ----------------------------------------------------------------------------------
 */

struct decision {
    struct policy_state *state;
    struct policy_totals totals; /* with what is planned; stopping: less what it is kept for */
    struct policy_totals held;   /* with what was moved; requested: what is being stopped as well */
    const struct policy_ops *ops;
    void *userdata;
};

static struct policy_job request_of(const struct shape *shape)
{
    return (struct policy_job){ .cpu_millicores = shape->key.cpu_millicores,
                                .memory_bytes = shape->key.memory_bytes,
                                .gpus = (uint32_t)shape->key.gpus };
}

static struct entry *first(const struct shape *shape, int direction, bool stable)
{
    return entry_at(tree_first(&shape->jobs[direction][stable]), direction);
}

/* a comes before b (NULL: nobody) in the order of a direction */
static bool precedes(const struct entry *a, const struct entry *b, int direction)
{
    int order = b == NULL ? -1 : policy_fulfilment_compare(&a->plan, &b->plan);

    return direction == UP || b == NULL ? order < 0 : order > 0;
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
    take_out(entry);
    entry->plan.parallelism = (uint32_t)((int64_t)entry->plan.parallelism + change);
    file_in(entry);
    account(&d->totals, &entry->job, change);
}

/* What is being stopped will be enough for one of these. */
static bool will_be_free(const struct decision *d, const struct policy_job *request)
{
    return d->totals.cpu_stopping_millicores >= (int64_t)request->cpu_millicores &&
           d->totals.memory_stopping_bytes >= (int64_t)request->memory_bytes &&
           d->totals.gpu_stopping >= (int64_t)request->gpus;
}

static void keep_free(struct decision *d, const struct policy_job *request)
{
    d->totals.cpu_stopping_millicores -= (int64_t)request->cpu_millicores;
    d->totals.memory_stopping_bytes -= (int64_t)request->memory_bytes;
    d->totals.gpu_stopping -= (int64_t)request->gpus;
}

/* --- shapes in the order of their best candidate: a binary heap, so that a step does not look at
 * every shape again */

struct heads {
    struct shape **shapes; /* owned; [0] has the best head */
    size_t n;
    int direction;
    bool unstable_too;
};

/* the candidate of a shape that comes first in the direction, or NULL */
static struct entry *head_of(const struct heads *heads, const struct shape *shape)
{
    struct entry *best = first(shape, heads->direction, true);
    struct entry *other = heads->unstable_too ? first(shape, heads->direction, false) : NULL;

    return other != NULL && precedes(other, best, heads->direction) ? other : best;
}

static bool heads_before(const struct heads *heads, size_t a, size_t b)
{
    return precedes(head_of(heads, heads->shapes[a]), head_of(heads, heads->shapes[b]),
                    heads->direction);
}

static void heads_sink(struct heads *heads, size_t at)
{
    for (;;) {
        size_t best = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heads->n; child++)
            if (heads_before(heads, child, best))
                best = child;
        if (best == at)
            return;
        struct shape *shape = heads->shapes[at];

        heads->shapes[at] = heads->shapes[best];
        heads->shapes[best] = shape;
        at = best;
    }
}

static void heads_drop_first(struct heads *heads)
{
    heads->shapes[0] = heads->shapes[--heads->n];
    if (heads->n > 0)
        heads_sink(heads, 0);
}

/* what changed is the first one's head */
static void heads_update_first(struct heads *heads)
{
    if (head_of(heads, heads->shapes[0]) == NULL)
        heads_drop_first(heads);
    else
        heads_sink(heads, 0);
}

static struct heads heads_of(const struct decision *d, int direction, bool unstable_too,
                             bool (*fits)(const struct policy_totals *, const struct policy_job *))
{
    struct heads heads = { .direction = direction, .unstable_too = unstable_too };
    struct shape *shape;
    size_t n;

    DL_COUNT(d->state->shapes, shape, n);
    heads.shapes = xcalloc(n, sizeof(*heads.shapes));
    DL_FOREACH(d->state->shapes, shape)
    {
        const struct policy_job request = request_of(shape);

        if (head_of(&heads, shape) != NULL && fits(&d->totals, &request))
            heads.shapes[heads.n++] = shape;
    }
    for (size_t i = heads.n / 2; i-- > 0;)
        heads_sink(&heads, i);
    return heads;
}

/* One step for the least fulfilled job: true when it has one more, planned or placed. Limits and
 * room only become tighter, so a shape that fails is done with. */
static bool grow_one(struct decision *d, struct entry *entry)
{
    struct shape *shape = entry->shape;

    if (!may_grow(&d->totals, &entry->job))
        return false;
    /* what is being stopped counts until it is gone: the limit is never passed, not even for a
     * moment */
    if (!shape->blocked && !may_grow(&d->held, &entry->job))
        shape->blocked = true;
    if (!shape->blocked && may_move(d, entry)) {
        if (d->ops->grow(d->userdata, entry->job.id))
            account(&d->held, &entry->job, 1);
        else
            shape->blocked = true;
    }
    if (shape->blocked) {
        if (!will_be_free(d, &entry->job))
            return false;
        keep_free(d, &entry->job);
    }
    plan_change(d, entry, 1);
    return true;
}

static void grow_all(struct decision *d)
{
    struct heads heads = heads_of(d, UP, true, may_grow);

    while (heads.n > 0) {
        if (grow_one(d, head_of(&heads, heads.shapes[0])))
            heads_update_first(&heads);
        else
            heads_drop_first(&heads);
    }
    free(heads.shapes);
}

/* true: one was stopped */
static bool shrink_one(struct decision *d, struct entry *entry)
{
    if (d->ops->shrink(d->userdata, entry->job.id)) {
        plan_change(d, entry, -1);
        return true;
    }
    entry->stuck = true;
    plan_change(d, entry, 0);
    return false;
}

static bool shrink_all(struct decision *d)
{
    struct heads heads = heads_of(d, DOWN, d->state->n_pending > 0, must_shrink);
    bool moved = false;

    while (heads.n > 0) {
        struct entry *entry = head_of(&heads, heads.shapes[0]);

        if (must_shrink(&d->totals, &entry->job)) {
            moved = shrink_one(d, entry) || moved;
            heads_update_first(&heads);
        } else {
            heads_drop_first(&heads);
        }
    }
    free(heads.shapes);
    return moved;
}

/* An instance of one leaves room for an instance of the other in the same place. */
static bool covers(const struct shape *giver, const struct shape *taker)
{
    return giver->key.cpu_millicores >= taker->key.cpu_millicores &&
           giver->key.memory_bytes >= taker->key.memory_bytes &&
           giver->key.gpus >= taker->key.gpus &&
           (taker->key.where == 0 || taker->key.where == giver->key.where);
}

static uint32_t score_with(const struct policy_job *plan, int change)
{
    struct policy_job job = *plan;

    job.parallelism = (uint32_t)((int64_t)job.parallelism + change);
    return policy_fulfilment_score_ppm(&job);
}

/* After one instance went over, the giver is still ahead by more than a stop and a start are worth;
 * and it gives what it really has. */
static bool is_fair(const struct entry *giver, const struct entry *taker)
{
    return giver != taker && giver->plan.parallelism <= giver->job.parallelism &&
           score_with(&giver->plan, -1) > score_with(&taker->plan, 1) + WORTH_PPM;
}

static struct entry *giver_of(const struct decision *d, const struct entry *taker)
{
    struct entry *best = NULL;
    const struct shape *shape;

    DL_FOREACH(d->state->shapes, shape)
    {
        if (!covers(shape, taker->shape))
            continue;
        for (int stable = d->state->n_pending > 0 ? 0 : 1; stable < 2; stable++) {
            struct entry *entry = first(shape, DOWN, stable);

            if (entry != NULL && is_fair(entry, taker) && precedes(entry, best, DOWN))
                best = entry;
        }
    }
    return best;
}

/* What the richest giver of all would keep: who is not below that takes from nobody. */
static uint32_t richest(const struct decision *d)
{
    uint32_t most = 0;
    const struct shape *shape;

    DL_FOREACH(d->state->shapes, shape)
    for (int stable = d->state->n_pending > 0 ? 0 : 1; stable < 2; stable++) {
        const struct entry *entry = first(shape, DOWN, stable);

        if (entry != NULL)
            most = MAX_OF(most, score_with(&entry->plan, -1));
    }
    return most;
}

/* Full: from the most to the least fulfilled. Only the giving is done; what it frees is planned for
 * the taker, and the next decision that finds it free will give it to the least fulfilled. */
static bool transfer(struct decision *d)
{
    uint32_t most = richest(d);
    const struct shape *shape;

    DL_FOREACH(d->state->shapes, shape)
    {
        for (int stable = 0; stable < 2; stable++) {
            struct entry *taker = first(shape, UP, stable);
            struct entry *giver;

            if (taker == NULL || score_with(&taker->plan, 1) + WORTH_PPM >= most)
                continue;
            giver = giver_of(d, taker);
            if (giver == NULL)
                continue;
            if (shrink_one(d, giver))
                plan_change(d, taker, 1);
            return true;
        }
    }
    return false;
}

static void decide(struct policy_state *state, const struct policy_totals *totals,
                   const struct policy_ops *ops, void *userdata)
{
    struct decision d = {
        .state = state, .totals = *totals, .held = *totals, .ops = ops, .userdata = userdata
    };
    struct entry *entry;
    struct shape *shape;

    d.held.cpu_requested_millicores += totals->cpu_stopping_millicores;
    d.held.memory_requested_bytes += totals->memory_stopping_bytes;
    d.held.gpu_requested += totals->gpu_stopping;
    do
        grow_all(&d);
    while (shrink_all(&d));
    while (transfer(&d))
        continue;
    DL_FOREACH(state->shapes, shape)
    shape->blocked = false;
    /* the index is again what was put; the core will put what it moved */
    while (state->moved != NULL) {
        entry = state->moved;
        LL_DELETE2(state->moved, entry, moved_next);
        take_out(entry);
        entry->moved = false;
        entry->stuck = false;
        entry->plan = entry->job;
        file_in(entry);
    }
}

const struct policy policy_fulfilment = {
    .name = "fulfilment",
    .summary = "the least fulfilled job grows, the most fulfilled one shrinks",
    .new = state_new,
    .free = state_free,
    .put = put,
    .drop = drop,
    .decide = decide,
};
