/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - the order of the waiting jobs
 *
 * Jobs that ask for exactly the same form a class: where the first of them does not fit, no other
 * does. Classes are in the order of their priority, then of the bill of their user (shares.c),
 * then of the turn of their next job (its submission, or job_turn.c, as the policy has it). Those
 * before `next` in a class are promised room already. Entering and leaving is O(log n).
 *
 * Each group of users has classes and an order of its own; those of groups that have less than is
 * guaranteed to them go before all others. Which groups these are is asked at every step through
 * the queue, so nothing is filed anew when a group's standing changes. */
#include "scheduler/core/plan/queue.h"

#include <utlist.h>

#include "scheduler/core/base/digest.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/base/tree.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/plan/group_levels.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/reason.h"

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
    return (struct turn){ .served = job->plan.queue_class->share->served,
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

static void free_class(struct queue_class *class)
{
    for (size_t d = 0; d < class->n_demands; d++)
        free(class->selectors[d]);
    free(class->selectors);
    free(class->demands);
    free(class);
}

void queue_done(struct queue *queue)
{
    struct queue_class *class;
    struct queue_class *next;

    free(queue->kept);
    HASH_ITER(hh, queue->classes, class, next)
    {
        HASH_DEL(queue->classes, class);
        free_class(class);
    }
    shares_forget(queue);
}

/* --- the request of a job
 * -------------------------------------------------------------------------------- */

static uint64_t digest_of(const struct job_spec *spec, uint32_t group)
{
    uint64_t hash =
        digest_number((uint64_t)(uint32_t)spec->priority, spec->n_roles + ((uint64_t)group << 32));

    for (size_t r = 0; r < spec->n_roles; r++) {
        const struct role_spec *role = &spec->roles[r];
        const struct labels *selector = role_selector(role);

        hash = digest_number(hash, role->min);
        hash = digest_number(hash, role->cpu_millicores);
        hash = digest_number(hash, role->memory_bytes);
        hash = digest_number(hash, role->gpus);
        hash = digest_number(hash, role->n_ports);
        for (uint32_t i = 0; i < selector->n; i++) {
            hash = digest_text(hash, selector->items[i].name);
            hash = digest_text(hash, selector->items[i].value);
        }
    }
    return hash;
}

static bool asks_the_same(const struct job_spec *a, const struct job_spec *b)
{
    if (a->priority != b->priority || a->n_roles != b->n_roles)
        return false;
    for (size_t r = 0; r < a->n_roles; r++) {
        const struct role_spec *x = &a->roles[r];
        const struct role_spec *y = &b->roles[r];

        /* the name decides about the order of placing */
        if (x->min != y->min || x->cpu_millicores != y->cpu_millicores ||
            x->memory_bytes != y->memory_bytes || x->gpus != y->gpus || x->n_ports != y->n_ports ||
            streq(x->name, "pserver") != streq(y->name, "pserver") || x->nodes != NULL ||
            y->nodes != NULL || !labels_equal(role_selector(x), role_selector(y)))
            return false;
    }
    return true;
}

/* With selectors of its own: its jobs come and go. */
static void keep_demands(struct queue_class *class, const struct job *job)
{
    struct demand demands[JOB_ROLES_MAX];

    class->n_demands = gang_demands_of_job(job, demands);
    class->demands = xcalloc(class->n_demands, sizeof *class->demands);
    class->selectors = xcalloc(class->n_demands, sizeof *class->selectors);
    for (size_t d = 0; d < class->n_demands; d++) {
        class->demands[d] = demands[d];
        if (demands[d].want.selector == NULL)
            continue;
        class->selectors[d] = xcalloc(1, sizeof *class->selectors[d]);
        *class->selectors[d] = *demands[d].want.selector;
        class->demands[d].want.selector = class->selectors[d];
    }
}

static struct least least_of(const struct job_spec *spec)
{
    struct least least = { 0 };

    for (size_t r = 0; r < spec->n_roles; r++) {
        const struct resources need = resources_of_role(&spec->roles[r]);

        if (spec->roles[r].min == 0)
            continue;
        resources_raise(&least.of_one, &need);
        resources_add(&least.total, &need, spec->roles[r].min);
    }
    return least;
}

/* --- the jobs of a class
 * ------------------------------------------------------------------------------- */

static struct job *job_at(const struct tree_node *node)
{
    return (struct job *)((char *)node - offsetof(struct job, plan.in_class));
}

static int compare_turns(const struct tree_node *a, const struct tree_node *b)
{
    const struct turn x = { 0, job_at(a)->turn_wall_us, job_at(a)->id };
    const struct turn y = { 0, job_at(b)->turn_wall_us, job_at(b)->id };

    return turn_compare(&x, &y);
}

static int compare_ids(const struct tree_node *a, const struct tree_node *b)
{
    return job_at(a)->id < job_at(b)->id ? -1 : job_at(a)->id > job_at(b)->id;
}

static uint32_t n_in(const struct tree_node *node)
{
    return node != NULL ? job_at(node)->plan.n_below : 0;
}

static void count_below(struct tree_node *node)
{
    job_at(node)->plan.n_below = 1 + n_in(node->left) + n_in(node->right);
}

/* --- classes
 * ---------------------------------------------------------------------------------------- */

/* A job that some nodes cannot run, or that names its nodes, is alike to no other: its class
 * borrows from the job's document. */
static bool is_alone(const struct job *job)
{
    bool alone = job->unfit != NULL;

    for (size_t r = 0; r < job->spec->n_roles; r++)
        alone = alone || job->spec->roles[r].nodes != NULL;
    return alone;
}

/* The class of such jobs, new if there is none. Two digests that collide are told apart by the
 * next free number. */
static struct queue_class *class_of(struct queue *queue, const struct job *job)
{
    struct share *share = share_find(queue, job);
    uint64_t digest = digest_text(digest_of(job->spec, job->plan.group), share->key.user);
    struct queue_class *class;

    if (is_alone(job))
        digest = digest_number(digest, job->id);

    for (;; digest++) {
        HASH_FIND(hh, queue->classes, &digest, sizeof digest, class);
        if (class == NULL)
            break;
        if (class->group == job->plan.group && class->share == share &&
            class->unfit == job->unfit && asks_the_same(class->jobs->spec, job->spec))
            return class;
    }
    class = xcalloc(1, sizeof *class);
    class->digest = digest;
    class->order = (struct tree){ .compare = queue->by_turn ? compare_turns : compare_ids,
                                  .update = count_below };
    class->group = job->plan.group;
    class->priority = job->spec->priority;
    class->least = least_of(job->spec);
    class->unfit = job->unfit;
    class->share = share;
    DL_APPEND2(share->classes, class, share_prev, share_next);
    keep_demands(class, job);
    HASH_ADD(hh, queue->classes, digest, sizeof class->digest, class);
    return class;
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

struct queue_class *queue_next(const struct planner *planner, const struct queue_class *class,
                               const struct queue_key *key)
{
    const struct queue_key now = queue_key(planner, class);

    if (planner->n_groups > 1 || !tree_holds(&class->tree) || queue_key_compare(&now, key) != 0)
        return queue_after(planner, key);
    return class->order_next;
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
    DL_DELETE2(queue->in_order[class->group], class, order_prev, order_next);
}

static void order_insert(struct queue *queue, struct queue_class *class)
{
    struct tree *order = &queue->order[class->group];
    struct queue_class **list = &queue->in_order[class->group];
    struct queue_class *after = (struct queue_class *)tree_after(order, &class->tree);

    queue->n_open++;
    tree_insert(order, &class->tree);
    if (after == NULL)
        DL_APPEND2(*list, class, order_prev, order_next);
    else
        DL_PREPEND_ELEM2(*list, after, class, order_prev, order_next);
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

static void set_next(struct queue *queue, struct queue_class *class, struct job *next)
{
    order_remove(queue, class);
    class->next = next;
    class->failed_in = 0;
    if (next == NULL || class->never)
        return;
    class->next_turn = queue_turn(queue, next);
    order_insert(queue, class);
}

uint32_t queue_before(const struct job *job)
{
    const struct tree *order = &job->plan.queue_class->order;
    const struct tree_node *at = order->root;
    uint32_t n = 0;

    while (at != NULL) {
        bool behind = order->compare(&job->plan.in_class, at) > 0;

        if (behind)
            n += 1 + n_in(at->left);
        at = behind ? at->right : at->left;
    }
    return n;
}

static void insert(struct queue_class *class, struct job *job)
{
    struct tree_node *after = tree_after(&class->order, &job->plan.in_class);

    tree_insert(&class->order, &job->plan.in_class);
    if (after == NULL)
        DL_APPEND2(class->jobs, job, plan.class_prev, plan.class_next);
    else
        DL_PREPEND_ELEM2(class->jobs, job_at(after), job, plan.class_prev, plan.class_next);
    class->n_jobs++;
}

void queue_might_move(struct cluster *cluster)
{
    cluster->queue_moves = true;
}

void queue_enter(struct cluster *cluster, struct job *job, bool tell)
{
    struct queue *queue = &cluster->planner->queue;
    struct queue_class *class = class_of(queue, job);
    struct job *passed = class->next;

    insert(class, job);
    queue->n_jobs++;
    job->plan.queue_class = class;
    share_enter(cluster, class->share, job, tell);
    if (cluster->first_queued == NULL || job->id < cluster->first_queued->id)
        cluster->first_queued = job;
    if (class->never) {
        class->next = class->jobs;
        if (tell)
            queue_tell(cluster, job, VERDICT_NEVER);
    } else if (class->next != NULL &&
               class->order.compare(&class->next->plan.in_class, &job->plan.in_class) < 0) {
        if (tell)
            queue_tell(cluster, job, VERDICT_BEHIND);
    } else {
        set_next(queue, class, job);
        if (tell && passed != NULL)
            queue_tell(cluster, passed, VERDICT_BEHIND);
        queue_might_move(cluster); /* a pass that went through the queue before has not tried it */
    }
}

static void drop_promise(struct cluster *cluster, struct job *job)
{
    struct queue *queue = &cluster->planner->queue;
    size_t kept = 0;

    if (!job->plan.promised)
        return;
    for (size_t i = 0; i < queue->n_promised; i++)
        if (queue->promised[i] != job)
            queue->promised[kept++] = queue->promised[i];
    queue->n_promised = kept;
    job->plan.promised = false;
    queue_might_move(cluster); /* its room is somebody else's now */
    job_touch(cluster, job);
}

void queue_forget_places(struct job *job)
{
    free(job->plan.places);
    job->plan.places = NULL;
    job->plan.n_places = 0;
}

void queue_leave(struct cluster *cluster, struct job *job)
{
    struct queue *queue = &cluster->planner->queue;
    struct queue_class *class = job->plan.queue_class;

    if (class == NULL)
        return;
    drop_promise(cluster, job);
    if (queue->held == job) {
        queue->held = NULL;
        queue_might_move(cluster); /* others may start where it was to go */
    }
    if (class->next == job)
        set_next(queue, class, job->plan.class_next);
    tree_remove(&class->order, &job->plan.in_class);
    DL_DELETE2(class->jobs, job, plan.class_prev, plan.class_next);
    queue_forget_places(job);
    queue->n_jobs--;
    share_leave(class->share);
    job->plan.queue_class = NULL;
    job->plan.verdict = VERDICT_NONE;
    if (--class->n_jobs > 0)
        return;
    if (class->never)
        DL_DELETE2(queue->never, class, never_prev, never_next);
    HASH_DEL(queue->classes, class);
    DL_DELETE2(class->share->classes, class, share_prev, share_next);
    free_class(class);
}

void queue_promise(struct cluster *cluster, struct job *job)
{
    struct queue *queue = &cluster->planner->queue;

    queue->promised[queue->n_promised++] = job;
    job->plan.promised = true;
    set_next(queue, job->plan.queue_class, job->plan.class_next);
    job_touch(cluster, job);
}

void queue_set_never(struct cluster *cluster, struct queue_class *class, bool never)
{
    struct queue *queue = &cluster->planner->queue;
    struct job *job;

    if (class->never == never)
        return;
    class->never = never;
    set_next(queue, class, class->jobs);
    if (!never) {
        DL_DELETE2(queue->never, class, never_prev, never_next);
        return;
    }
    class->told_never = true;
    DL_APPEND2(queue->never, class, never_prev, never_next);
    /* linear in its jobs, once: it is the truth about each of them */
    DL_FOREACH2(class->jobs, job, plan.class_next)
    queue_tell(cluster, job, VERDICT_NEVER);
}

void queue_tell_hope(struct cluster *cluster, struct queue_class *class)
{
    struct job *job;

    class->told_never = false;
    DL_FOREACH2(class->jobs, job, plan.class_next)
    if (job != class->next)
        queue_tell(cluster, job, VERDICT_BEHIND);
}

void queue_reset(struct cluster *cluster)
{
    struct queue *queue = &cluster->planner->queue;

    for (size_t i = 0; i < queue->n_promised; i++) {
        struct job *job = queue->promised[i];

        job->plan.promised = false;
        job_touch(cluster, job);
    }
    for (size_t i = 0; i < queue->n_promised; i++) {
        struct queue_class *class = queue->promised[i]->plan.queue_class;

        if (class->next != class->jobs)
            set_next(queue, class, class->jobs);
    }
    queue->n_promised = 0;
    queue->held = NULL;
    queue->hold_tried = false;
    if (queue->offers_version == cluster->offers_version)
        return;
    queue->offers_version = cluster->offers_version;
    while (queue->never != NULL)
        queue_set_never(cluster, queue->never, false);
}
