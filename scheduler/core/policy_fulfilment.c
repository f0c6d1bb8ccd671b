/* SPDX-License-Identifier: Apache-2.0 */
/* policy_fulfilment.c - the autoscaler of 2018: the least fulfilled job grows, the most fulfilled
 * one shrinks
 *
 * Fulfilment = (instances - min) / (max - min). Round after round, jobs in ascending order may grow
 * by one and, in descending order, must shrink by one while the cluster is over its load limit,
 * until a round changes nothing. The order is that of the instances granted now, not of those
 * planned, so it stays the same throughout.
 *
 * Differences from the original, each a defect there: the load limit holds for GPUs when growing
 * too (the original added and removed one GPU for ever); a job shrinks only if it holds something
 * of what is over its limit (GPUs that a fixed job holds made every other job grow and shrink for
 * ever); a growth takes room on a real node (the sign was wrong); instances that are being stopped
 * are not counted twice (the caller leaves them out of `requested`); equal jobs are ordered by id
 * (the sort was not stable).
 *
 * It ends: growth never passes a limit, so what is over can only become less. A job that grows
 * holds nothing that is over, so it does not shrink later in the same decision; every round but the
 * last therefore either takes one from the finite sum above the minima, or adds one to the finite
 * room below the limits.
 *
 * Index: jobs by what they request (a shape); of each shape those that could grow and those that
 * could shrink, in order, stable ones apart. A shape that does not fit is passed over as a whole.
 */
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
    struct policy_job job;
    struct shape *shape;
    int64_t planned; /* during a decision */
    bool moved;      /* in state->moved */
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
    bool blocked;                    /* no node has room for it, in this decision */
    struct shape *next, *prev;       /* state->shapes, in the order of the keys */
    UT_hash_handle hh;               /* k: key */
};

struct policy_state {
    struct entry *entries;
    struct shape *by_key, *shapes;
    uint32_t n_pending;
    struct entry *moved; /* during a decision */
};

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
    return policy_fulfilment_compare(&entry_at(a, UP)->job, &entry_at(b, UP)->job);
}

static int compare_down(const struct tree_node *a, const struct tree_node *b)
{
    return policy_fulfilment_compare(&entry_at(b, DOWN)->job, &entry_at(a, DOWN)->job);
}

static int compare_shapes(const struct shape *a, const struct shape *b)
{
    return memcmp(&a->key, &b->key, sizeof a->key);
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
    DL_INSERT_INORDER(state->shapes, shape, compare_shapes);
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

static void take_out(struct entry *entry, int direction)
{
    if (tree_holds(&entry->place[direction]))
        tree_remove(&entry->shape->jobs[direction][entry->job.stable], &entry->place[direction]);
}

static void file_in(struct entry *entry)
{
    const struct policy_job *job = &entry->job;

    if (job->pending)
        return;
    if (job->parallelism < job->max && !tree_holds(&entry->place[UP]))
        tree_insert(&entry->shape->jobs[UP][job->stable], &entry->place[UP]);
    if (job->parallelism > job->min && !tree_holds(&entry->place[DOWN]))
        tree_insert(&entry->shape->jobs[DOWN][job->stable], &entry->place[DOWN]);
}

/* Out of every tree and sum; its shape is let go of. */
static void unfile(struct policy_state *state, struct entry *entry)
{
    take_out(entry, UP);
    take_out(entry, DOWN);
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
    entry->shape = shape;
    state->n_pending += job->pending;
    file_in(entry);
}

/* --- a decision ----------------------------------------------------------------------------------
 */

struct decision {
    struct policy_state *state;
    struct policy_totals totals;
    const struct policy_ops *ops;
    void *userdata;
};

static void note_moved(struct policy_state *state, struct entry *entry)
{
    if (entry->moved)
        return;
    entry->moved = true;
    entry->planned = entry->job.parallelism;
    LL_PREPEND2(state->moved, entry, moved_next);
}

static struct entry *next_of(const struct shape *shape, int direction, bool stable,
                             const struct entry *after)
{
    const struct tree *tree = &shape->jobs[direction][stable];

    return entry_at(after == NULL ? tree_first(tree) : tree_after(tree, &after->place[direction]),
                    direction);
}

/* The next in the order of this direction after `after` (NULL: the first) of all shapes that may
 * move. Only stable jobs are candidates, unless a gang waits. */
static struct entry *next_entry(const struct decision *d, int direction, const struct entry *after)
{
    struct entry *best = NULL;
    const struct shape *shape;

    DL_FOREACH(d->state->shapes, shape)
    {
        const struct policy_job probe = { .cpu_millicores = shape->key.cpu_millicores,
                                          .memory_bytes = shape->key.memory_bytes,
                                          .gpus = (uint32_t)shape->key.gpus };

        if (direction == UP ? shape->blocked || !may_grow(&d->totals, &probe)
                            : !must_shrink(&d->totals, &probe))
            continue;
        for (int stable = d->state->n_pending > 0 ? 0 : 1; stable < 2; stable++) {
            struct entry *entry = next_of(shape, direction, stable, after);

            if (entry != NULL &&
                (best == NULL || shape->jobs[direction][0].compare(&entry->place[direction],
                                                                   &best->place[direction]) < 0))
                best = entry;
        }
    }
    return best;
}

/* One round of growth; true: something moved. */
static bool round_up(struct decision *d)
{
    struct policy_job last; /* where the round has come to: its entry may leave the tree */
    struct entry cursor;
    struct entry *entry = next_entry(d, UP, NULL);
    bool moved = false;

    while (entry != NULL) {
        last = entry->job;
        note_moved(d->state, entry);
        if (!d->ops->grow(d->userdata, entry->job.id)) {
            entry->shape->blocked = true;
        } else {
            account(&d->totals, &entry->job, 1);
            entry->planned++;
            moved = true;
            if (entry->planned >= (int64_t)entry->job.max)
                take_out(entry, UP);
        }
        cursor.job = last;
        entry = next_entry(d, UP, &cursor);
    }
    return moved;
}

static bool round_down(struct decision *d)
{
    struct policy_job last;
    struct entry cursor;
    struct entry *entry = next_entry(d, DOWN, NULL);
    bool moved = false;

    while (entry != NULL) {
        last = entry->job;
        note_moved(d->state, entry);
        if (!d->ops->shrink(d->userdata, entry->job.id)) {
            take_out(entry, DOWN);
        } else {
            account(&d->totals, &entry->job, -1);
            entry->planned--;
            moved = true;
            if (entry->planned <= (int64_t)entry->job.min)
                take_out(entry, DOWN);
            /* others that shrink for another resource may make room for it again */
            if (!tree_holds(&entry->place[UP]))
                tree_insert(&entry->shape->jobs[UP][entry->job.stable], &entry->place[UP]);
        }
        cursor.job = last;
        entry = next_entry(d, DOWN, &cursor);
    }
    return moved;
}

static void decide(struct policy_state *state, const struct policy_totals *totals,
                   const struct policy_ops *ops, void *userdata)
{
    struct decision d = { .state = state, .totals = *totals, .ops = ops, .userdata = userdata };
    struct entry *entry;
    struct shape *shape;
    bool moved = true;

    while (moved) {
        moved = round_up(&d);
        moved = round_down(&d) || moved;
    }
    DL_FOREACH(state->shapes, shape)
    shape->blocked = false;
    /* the trees are again what was put; the core will put what it moved */
    while (state->moved != NULL) {
        entry = state->moved;
        LL_DELETE2(state->moved, entry, moved_next);
        entry->moved = false;
        take_out(entry, UP);
        take_out(entry, DOWN);
        file_in(entry);
    }
}

const struct policy policy_fulfilment = {
    .name = "fulfilment",
    .summary = "the least fulfilled job grows first, the most fulfilled one shrinks first",
    .new = state_new,
    .free = state_free,
    .put = put,
    .drop = drop,
    .decide = decide,
};
