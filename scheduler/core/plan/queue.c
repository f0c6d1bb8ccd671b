/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - the order of the waiting jobs
 *
 * Jobs that ask for exactly the same form a class: where the first of them does not fit, no other
 * does. Classes are in the order of their priority, then of the bill of their user (shares.c),
 * then of the turn of their next job (its submission, or job_turn.c, as the policy has it). Those
 * before `next` in a class are promised room already. Each plan files all that wait anew
 * (filing.c). While it goes through them, classes move as their next job starts, and as their
 * user's bill grows.
 *
 * Each group of users has classes and an order of its own; those of groups that have less than is
 * guaranteed to them go before all others. Which groups these are is asked at every step through
 * the queue, so nothing is filed anew when a group's standing changes. */
#include "scheduler/core/plan/queue.h"

#include <utlist.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/base/tree.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/waiting.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/group_levels.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/told.h"

int turn_compare(const struct turn *a, const struct turn *b)
{
    if (a->served != b->served)
        return a->served < b->served ? -1 : 1;
    if (a->wall_us != b->wall_us)
        return a->wall_us < b->wall_us ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

struct turn queue_turn(const struct queue *queue, const struct job *job)
{
    return (struct turn){ .served = planned_is(job)->class->share->served,
                          .wall_us = queue->by_turn ? job->turn_wall_us : 0,
                          .id = job->id };
}

static int compare(const struct tree_node *a, const struct tree_node *b)
{
    const struct queue_class *x = (const struct queue_class *)a;
    const struct queue_class *y = (const struct queue_class *)b;

    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return turn_compare(&x->next_turn, &y->next_turn);
}

static void update(struct tree_node *node)
{
    const struct tree_node *below[] = { node->left, node->right };
    struct queue_class *class = (struct queue_class *)node;
    struct least *least = &class->least_below;

    *least = class->least;
    for (size_t i = 0; i < ELEMENTS(below); i++) {
        const struct queue_class *other = (const struct queue_class *)below[i];

        if (other == NULL)
            continue;
        least->of_one = resources_lesser(&least->of_one, &other->least_below.of_one);
        least->total = resources_lesser(&least->total, &other->least_below.total);
    }
}

void queue_init(struct queue *queue, bool by_turn, bool fair)
{
    *queue = (struct queue){ .by_turn = by_turn, .fair = fair };
    for (size_t i = 0; i < ELEMENTS(queue->order); i++)
        queue->order[i] = (struct tree){ .compare = compare, .update = update };
}

void queue_forget(struct queue *queue)
{
    struct queue_class *class;
    struct queue_class *next;
    struct job *job;
    struct job *next_job;

    HASH_ITER(hh, queue->classes, class, next)
    {
        DL_FOREACH_SAFE2(class->jobs, job, next_job, planned->class_next)
        {
            planned_set_class(job, NULL);
            if (!job->filed)
                plan_forget_places(job);
        }
        HASH_DEL(queue->classes, class);
        free(class->demands);
        free(class);
    }
    for (size_t i = 0; i < ELEMENTS(queue->order); i++)
        queue->order[i].root = NULL, queue->order[i].n = 0;
    queue->n_jobs = queue->n_open = 0;
}

void queue_done(struct queue *queue)
{
    free(queue->kept);
    queue_forget(queue);
    shares_forget(queue);
}

/* --- places
 * -------------------------------------------------------------------------------------------- */

static bool may_fit(const struct least *least, const struct resources *most,
                    const struct resources *all)
{
    return resources_fit(most, &least->of_one) && resources_fit(all, &least->total);
}

/* As deep as the tree. */
static struct queue_class *find_after(struct tree_node *at, const struct queue_class *key,
                                      const struct resources *most, const struct resources *all)
{
    struct queue_class *class = (struct queue_class *)at;
    struct queue_class *found;

    if (at == NULL || !may_fit(&class->least_below, most, all))
        return NULL;
    if (compare(at, &key->tree) > 0) {
        found = find_after(at->left, key, most, all);
        if (found != NULL)
            return found;
        if (may_fit(&class->least, most, all))
            return class;
    }
    return find_after(at->right, key, most, all);
}

struct queue_key queue_key(const struct planner *planner, const struct queue_class *class)
{
    return (struct queue_key){ .rank = group_is_below(planner, class->group) ? 0 : 1,
                               .priority = class->priority,
                               .turn = class->next_turn };
}

int queue_key_compare(const struct queue_key *a, const struct queue_key *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    return turn_compare(&a->turn, &b->turn);
}

/* Of one group's classes those behind key: all, some or none of them, by how the group stands.
 * ret_from: the key of the order of classes, and nothing else of it, as this is asked at every
 * step. */
static bool starts_behind(const struct planner *planner, uint32_t group,
                          const struct queue_key *key, struct queue_class *ret_from)
{
    uint32_t rank = group_is_below(planner, group) ? 0 : 1;

    ret_from->priority = INT32_MAX; /* before all */
    ret_from->next_turn = (struct turn){ 0 };
    if (key != NULL && rank == key->rank) {
        ret_from->priority = key->priority;
        ret_from->next_turn = key->turn;
    }
    return key == NULL || rank >= key->rank;
}

static struct queue_class *earlier(const struct planner *planner, struct queue_class *a,
                                   struct queue_class *b)
{
    struct queue_key a_key, b_key;

    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    a_key = queue_key(planner, a);
    b_key = queue_key(planner, b);
    return queue_key_compare(&a_key, &b_key) < 0 ? a : b;
}

struct queue_class *queue_after(const struct planner *planner, const struct queue_key *key)
{
    struct queue_class *first = NULL;
    struct queue_class from;

    for (uint32_t g = 0; g < planner->n_groups; g++)
        if (planner->queue.order[g].root != NULL && starts_behind(planner, g, key, &from))
            first = earlier(planner, first,
                            (struct queue_class *)tree_after(&planner->queue.order[g], &from.tree));
    return first;
}

struct queue_class *queue_fitting_after(const struct planner *planner, const struct queue_key *key,
                                        const struct resources *most, const struct resources *all)
{
    struct queue_class *first = NULL;
    struct queue_class from;

    for (uint32_t g = 0; g < planner->n_groups; g++)
        if (starts_behind(planner, g, key, &from))
            first =
                earlier(planner, first, find_after(planner->queue.order[g].root, &from, most, all));
    return first;
}

static void order_remove(struct queue *queue, struct queue_class *class)
{
    if (!tree_holds(&class->tree))
        return;
    queue->n_open--;
    tree_remove(&queue->order[class->group], &class->tree);
}

static void order_insert(struct queue *queue, struct queue_class *class)
{
    queue->n_open++;
    tree_insert(&queue->order[class->group], &class->tree);
}

void queue_follow_share(struct queue *queue, struct share *share, bool moves)
{
    struct queue_class *class;

    DL_FOREACH2(share->classes, class, share_next)
    {
        bool stands = moves && tree_holds(&class->tree);

        if (stands)
            order_remove(queue, class);
        class->next_turn.served = share->served;
        if (stands)
            order_insert(queue, class);
    }
}

void queue_open(struct queue *queue, struct queue_class *class, struct job *next)
{
    order_remove(queue, class);
    class->next = next;
    class->failed_in = 0;
    if (next == NULL || class->never)
        return;
    class->next_turn = queue_turn(queue, next);
    order_insert(queue, class);
}

enum queue_verdict queue_behind(const struct queue_class *class)
{
    return class->limited != VERDICT_NONE ? class->limited : VERDICT_BEHIND;
}

uint32_t queue_before(const struct job *job)
{
    return planned_is(job)->before -
           MIN_OF(planned_is(job)->before, planned_is(job)->class->n_left);
}

void queue_might_move(struct cluster *cluster)
{
    cluster->planner->queue_moves = true;
}

void queue_leave(struct cluster *cluster, struct job *job)
{
    struct queue *queue = &cluster->planner->queue;
    struct queue_class *class = planned_is(job)->class;

    if (class->next == job)
        queue_open(queue, class, job->planned->class_next);
    DL_DELETE2(class->jobs, job, planned->class_prev, planned->class_next);
    class->n_jobs--;
    class->n_left++;
    queue->n_jobs--;
    share_leave(class->share);
    planned_set_class(job, NULL);
    plan_forget_places(job);
}

void queue_promise(struct cluster *cluster, struct job *job)
{
    struct queue *queue = &cluster->planner->queue;

    queue->promised[queue->n_promised++] = job;
    planned_promise(job, true);
    queue_open(queue, planned_is(job)->class, job->planned->class_next);
    plan_touch(cluster, job);
}

void queue_set_never(struct cluster *cluster, struct queue_class *class)
{
    struct job *job;

    class->never = class->told_never = true;
    queue_open(&cluster->planner->queue, class, class->jobs);
    /* linear in its jobs, once: it is the truth about each of them */
    DL_FOREACH2(class->jobs, job, planned->class_next)
    queue_tell(cluster, job, VERDICT_NEVER);
}

void queue_tell_hope(struct cluster *cluster, struct queue_class *class)
{
    struct job *job;

    class->told_never = false;
    DL_FOREACH2(class->jobs, job, planned->class_next)
    if (job != class->next)
        queue_tell(cluster, job, VERDICT_BEHIND);
}

/* Behind those of its class that were promised room it was to be tried first, and nobody told it
 * where it stands. If they fail now, nobody tries it. */
static void tell_passed(struct cluster *cluster, const struct queue_class *class)
{
    struct job *job = class->next;

    if (job != NULL && planned_verdict(job) == VERDICT_NONE)
        queue_tell(cluster, job, queue_behind(class));
}

void queue_reset(struct cluster *cluster)
{
    struct queue *queue = &cluster->planner->queue;

    for (size_t i = 0; i < queue->n_promised; i++) {
        struct job *job = queue->promised[i];

        planned_promise(job, false);
        plan_touch(cluster, job);
    }
    for (size_t i = 0; i < queue->n_promised; i++) {
        struct queue_class *class = planned_is(queue->promised[i])->class;

        if (class->next == class->jobs)
            continue;
        tell_passed(cluster, class);
        queue_open(queue, class, class->jobs);
    }
    queue->n_promised = 0;
    queue->held = NULL;
    queue->hold_tried = false;
}
