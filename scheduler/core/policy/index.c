/* SPDX-License-Identifier: Apache-2.0 */
/* index.c - the order of the jobs, and the lists that they are in by it */
#include "scheduler/core/policy/index.h"

#include <stdlib.h>

#include "scheduler/core/base/tree.h"
#include "shared/macro.h"

#define RETURN_UNLESS_EQUAL(a, b)                                                                  \
    do {                                                                                           \
        if ((a) != (b))                                                                            \
            return (a) < (b) ? -1 : 1;                                                             \
    } while (0)

int policy_compare_requests(const struct policy_job *a, const struct policy_job *b)
{
    RETURN_UNLESS_EQUAL(a->gpus, b->gpus);
    RETURN_UNLESS_EQUAL(a->cpu_millicores, b->cpu_millicores);
    RETURN_UNLESS_EQUAL(a->memory_bytes, b->memory_bytes);
    RETURN_UNLESS_EQUAL(a->id, b->id);
    return 0;
}

struct request request_of_job(const struct policy_job *job)
{
    return (struct request){ job->cpu_millicores, job->memory_bytes, job->gpus, job->where,
                             job->group };
}

uint64_t request_amount(const struct request *request, enum policy_resource resource)
{
    switch (resource) {
    case POLICY_CPU:
        return request->cpu_millicores;
    case POLICY_MEMORY:
        return request->memory_bytes;
    default:
        return request->gpus;
    }
}

static struct entry *entry_at(const struct tree_node *node, int direction)
{
    return node == NULL ? NULL
                        : (struct entry *)((char *)node - offsetof(struct entry, place) -
                                           (size_t)direction * sizeof *node);
}

int index_compare(const struct entry *a, const struct entry *b, int direction)
{
    RETURN_UNLESS_EQUAL(a->score[direction], b->score[direction]);
    return policy_compare_requests(&a->plan, &b->plan);
}

static int compare_up(const struct tree_node *a, const struct tree_node *b)
{
    return index_compare(entry_at(a, UP), entry_at(b, UP), UP);
}

static int compare_down(const struct tree_node *a, const struct tree_node *b)
{
    return index_compare(entry_at(b, DOWN), entry_at(a, DOWN), DOWN);
}

static int compare_ranks_up(const struct tree_node *a, const struct tree_node *b)
{
    return index_compare(rank_at(a)->head, rank_at(b)->head, UP);
}

static int compare_ranks_down(const struct tree_node *a, const struct tree_node *b)
{
    return index_compare(rank_at(b)->head, rank_at(a)->head, DOWN);
}

static void update_least(struct tree_node *node)
{
    const struct tree_node *below[] = { node->left, node->right };
    struct extent *all = &rank_at(node)->all;

    *all = rank_at(node)->own;
    all->request.where = 0;
    for (size_t i = 0; i < ELEMENTS(below); i++) {
        const struct extent *other;

        if (below[i] == NULL)
            continue;
        other = &rank_at(below[i])->all;
        all->request.cpu_millicores =
            MIN_OF(all->request.cpu_millicores, other->request.cpu_millicores);
        all->request.memory_bytes = MIN_OF(all->request.memory_bytes, other->request.memory_bytes);
        all->request.gpus = MIN_OF(all->request.gpus, other->request.gpus);
        all->score = MIN_OF(all->score, other->score);
    }
}

static void update_most(struct tree_node *node)
{
    const struct tree_node *below[] = { node->left, node->right };
    struct extent *all = &rank_at(node)->all;

    *all = rank_at(node)->own;
    for (size_t i = 0; i < ELEMENTS(below); i++) {
        const struct extent *other;

        if (below[i] == NULL)
            continue;
        other = &rank_at(below[i])->all;
        all->request.cpu_millicores =
            MAX_OF(all->request.cpu_millicores, other->request.cpu_millicores);
        all->request.memory_bytes = MAX_OF(all->request.memory_bytes, other->request.memory_bytes);
        all->request.gpus = MAX_OF(all->request.gpus, other->request.gpus);
        all->score = MAX_OF(all->score, other->score);
    }
}

/* Its jobs in this list are others: it goes to the place of the first one. Its key in the order is
 * the one with which it got there: no job's plan changes while it is in a list. */
static void rank_refresh(struct policy_state *state, struct shape *shape, int list)
{
    struct entry *head = entry_at(tree_first(&shape->jobs[list]), list == UP ? UP : DOWN);
    struct rank *rank = &shape->ranks[list];
    struct tree *ranks = &state->ranks[shape->request.group][list];

    if (head == rank->head)
        return;
    tree_remove(ranks, &rank->tree);
    rank->head = head;
    if (head == NULL)
        return;
    rank->own.score = head->against[list == UP ? UP : DOWN];
    tree_insert(ranks, &rank->tree);
}

static struct shape *shape_of(struct policy_state *state, const struct policy_job *job)
{
    const struct request request = request_of_job(job);
    struct shape *shape;

    HASH_FIND(hh, state->shapes, &request, sizeof request, shape);
    if (shape != NULL)
        return shape;
    shape = xcalloc(1, sizeof *shape);
    shape->request = request;
    for (int list = 0; list < LISTS; list++) {
        shape->jobs[list].compare = list == UP ? compare_up : compare_down;
        shape->ranks[list].own.request = request;
    }
    HASH_ADD(hh, state->shapes, request, sizeof shape->request, shape);
    return shape;
}

static void shape_release(struct policy_state *state, struct shape *shape)
{
    if (--shape->n > 0)
        return;
    HASH_DEL(state->shapes, shape);
    free(shape);
}

static int down_list(const struct entry *entry)
{
    if (!entry->job.stable)
        return DOWN_UNSTABLE;
    return entry->job.rests ? DOWN_RESTING : DOWN;
}

static void take_out_of(struct policy_state *state, struct entry *entry, int list,
                        struct tree_node *place)
{
    struct rank *rank = &entry->shape->ranks[list];

    if (!tree_holds(place))
        return;
    if (rank->head == entry) { /* the shape's place depends on it */
        tree_remove(&state->ranks[entry->shape->request.group][list], &rank->tree);
        rank->head = NULL;
    }
    tree_remove(&entry->shape->jobs[list], place);
}

void index_take_out(struct policy_state *state, struct entry *entry)
{
    take_out_of(state, entry, UP, &entry->place[UP]);
    take_out_of(state, entry, down_list(entry), &entry->place[DOWN]);
}

/* A service that tells of its queue, under every policy: the last to take what is free, nobody
 * gives anything up for it, and it gives first. What has no work goes though nobody wants it. */
static void score_service(const struct policy_job *plan, struct policy_scores *ret)
{
    ret->up = plan->parallelism < plan->wanted ? SCORE_LAST : SCORE_NEVER;
    ret->down = plan->parallelism > plan->wanted ? SCORE_HARMFUL : SCORE_LAST;
    ret->taker = SCORE_NEVER;
    ret->giver = ret->down;
}

void index_file_in(struct policy_state *state, struct entry *entry)
{
    const struct policy_job *plan = &entry->plan;
    struct policy_scores scores;
    int down = down_list(entry);

    if (plan->wanted > 0)
        score_service(plan, &scores);
    else
        state->scoring->score(entry, &scores);
    entry->score[UP] = scores.up;
    entry->score[DOWN] = scores.down;
    entry->against[UP] = scores.taker;
    entry->against[DOWN] = scores.giver;
    if (!plan->pending && plan->parallelism < plan->max && scores.up != SCORE_NEVER)
        tree_insert(&entry->shape->jobs[UP], &entry->place[UP]);
    /* in a decision without a gang nobody looks at those that are not stable */
    if (!plan->pending && plan->parallelism > plan->min && !entry->stuck &&
        (down != DOWN_UNSTABLE || !entry->moved || state->n_pending > 0))
        tree_insert(&entry->shape->jobs[down], &entry->place[DOWN]);
    rank_refresh(state, entry->shape, UP);
    rank_refresh(state, entry->shape, down);
}

/* Out of every tree and sum; its shape is let go of. */
static void unfile(struct policy_state *state, struct entry *entry)
{
    index_take_out(state, entry);
    rank_refresh(state, entry->shape, UP);
    rank_refresh(state, entry->shape, down_list(entry));
    state->n_pending -= entry->job.pending;
    shape_release(state, entry->shape);
}

struct policy_state *index_new(const struct policy_scoring *scoring)
{
    struct policy_state *state = xcalloc(1, sizeof *state);

    state->scoring = scoring;
    for (uint32_t group = 0; group < POLICY_GROUPS_MAX; group++)
        for (int list = 0; list < LISTS; list++)
            state->ranks[group][list] = (struct tree){
                .compare = list == UP ? compare_ranks_up : compare_ranks_down,
                .update = list == UP ? update_least : update_most,
            };
    return state;
}

struct entry *index_find(const struct policy_state *state, uint64_t id)
{
    struct entry *entry;

    HASH_FIND(hh, state->entries, &id, sizeof id, entry);
    return entry;
}

void index_drop(struct policy_state *state, uint64_t id)
{
    struct entry *entry = index_find(state, id);

    if (entry == NULL)
        return;
    unfile(state, entry);
    if (state->scoring->forget != NULL)
        state->scoring->forget(state, entry);
    HASH_DEL(state->entries, entry);
    free(entry);
}

struct policy_state *index_free(struct policy_state *state)
{
    if (state == NULL)
        return NULL;
    while (state->entries != NULL)
        index_drop(state, state->entries->job.id);
    free(state);
    return NULL;
}

static bool is_same(const struct policy_job *a, const struct policy_job *b)
{
    return a->min == b->min && a->max == b->max && a->parallelism == b->parallelism &&
           a->stable == b->stable && a->rests == b->rests && a->pending == b->pending &&
           a->priority == b->priority && a->cpu_millicores == b->cpu_millicores &&
           a->memory_bytes == b->memory_bytes && a->gpus == b->gpus && a->where == b->where &&
           a->group == b->group && a->busy == b->busy && a->wanted == b->wanted;
}

static struct entry *entry_new(struct policy_state *state, uint64_t id)
{
    struct entry *entry = xcalloc(1, state->scoring->entry_size);

    entry->job.id = id;
    HASH_ADD(hh, state->entries, job.id, sizeof entry->job.id, entry);
    return entry;
}

void index_put(struct policy_state *state, const struct policy_job *job)
{
    struct entry *entry = index_find(state, job->id);
    bool known = entry != NULL;
    struct shape *shape;

    if (!known)
        entry = entry_new(state, job->id);
    if (known && is_same(&entry->job, job) &&
        (state->scoring->is_news == NULL || !state->scoring->is_news(entry, job)))
        return; /* told again, as most are */
    shape = shape_of(state, job);
    shape->n++; /* before the old one is let go of: it may be the same */
    if (known)
        unfile(state, entry);
    entry->job = *job;
    entry->job.learned = NULL; /* was borrowed */
    entry->job.known = NULL;
    entry->plan = entry->job;
    entry->shape = shape;
    if (state->scoring->told != NULL)
        state->scoring->told(state, entry, job);
    state->n_pending += job->pending;
    index_file_in(state, entry);
}

/* Shapes that are looked at: those of which somebody could give something of the resource. */
#define CHEAPEST_LOOKS 256

struct cheapest {
    enum policy_resource resource;
    bool (*is_of)(const struct entry *entry, enum policy_resource resource);
    unsigned looks;
};

static const struct entry *cheapest_in(const struct tree_node *at, struct cheapest *search)
{
    const struct rank *rank = rank_at(at);
    const struct entry *found;

    if (at == NULL || search->looks == 0 ||
        request_amount(&rank->all.request, search->resource) == 0)
        return NULL;
    search->looks--;
    found = cheapest_in(at->left, search);
    if (found != NULL)
        return found;
    if (request_amount(&rank->own.request, search->resource) > 0 &&
        search->is_of(rank->head, search->resource))
        return rank->head;
    return cheapest_in(at->right, search);
}

const struct entry *index_cheapest(const struct policy_state *state, enum policy_resource resource,
                                   bool (*is_of)(const struct entry *entry,
                                                 enum policy_resource resource))
{
    struct cheapest search = { .resource = resource, .is_of = is_of };
    const struct entry *cheapest = NULL;

    for (uint32_t group = 0; group < POLICY_GROUPS_MAX; group++)
        for (int list = DOWN; list <= DOWN_UNSTABLE; list++) {
            const struct entry *found;

            search.looks = CHEAPEST_LOOKS;
            found = cheapest_in(state->ranks[group][list].root, &search);

            if (found != NULL && (cheapest == NULL || index_compare(found, cheapest, DOWN) > 0))
                cheapest = found;
        }
    return cheapest;
}
