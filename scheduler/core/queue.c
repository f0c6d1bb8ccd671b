/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - the order of the waiting jobs
 *
 * Jobs that ask for exactly the same form a class: where the first of them does not fit, no other
 * does. Classes are in the order of their priority, then of the submission of their next job; those
 * before `next` in a class are promised room already. Entering and leaving is O(log n) (a job that
 * comes back with other bounds walks to its place among its like).
 *
 * Each group of users has classes and an order of its own; those of groups that have less than is
 * guaranteed to them go before all others. Which groups these are is asked at every step through
 * the queue, so nothing is filed anew when a group's standing changes. */
#include "scheduler/core/plan_internal.h"

#include <utlist.h>

static int compare(const struct tree_node *a, const struct tree_node *b)
{
    const struct queue_class *x = (const struct queue_class *)a;
    const struct queue_class *y = (const struct queue_class *)b;

    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return x->next_id < y->next_id ? -1 : x->next_id > y->next_id;
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

void queue_init(struct queue *queue)
{
    *queue = (struct queue){ .wanted = true };
    for (size_t i = 0; i < ELEMENTS(queue->order); i++)
        queue->order[i] = (struct tree){ .compare = compare, .update = update };
}

void queue_done(struct queue *queue)
{
    struct queue_class *class;
    struct queue_class *next;

    free(queue->kept);
    HASH_ITER(hh, queue->classes, class, next)
    {
        HASH_DEL(queue->classes, class);
        free(class);
    }
}

/* --- what a job asks for
 * -------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

uint64_t digest_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = mix(hash, (unsigned char)*text);
    return mix(hash, 0);
}

static uint64_t digest_of(const struct job_spec *spec, uint32_t group)
{
    uint64_t hash =
        mix((uint64_t)(uint32_t)spec->priority, spec->n_roles + ((uint64_t)group << 32));

    for (size_t r = 0; r < spec->n_roles; r++) {
        const struct role_spec *role = &spec->roles[r];
        const struct labels *selector = role_selector(role);

        hash = mix(hash, role->min);
        hash = mix(hash, role->cpu_millicores);
        hash = mix(hash, role->memory_bytes);
        hash = mix(hash, role->gpus);
        hash = mix(hash, role->n_ports);
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
            streq(x->name, "pserver") != streq(y->name, "pserver") ||
            !labels_equal(role_selector(x), role_selector(y)))
            return false;
    }
    return true;
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

/* The class of such jobs, new if there is none. Two digests that collide are told apart by the
 * next free number. */
static struct queue_class *class_of(struct queue *queue, const struct job *job)
{
    uint64_t digest = digest_of(job->spec, job->plan.group);
    struct queue_class *class;

    for (;; digest++) {
        HASH_FIND(hh, queue->classes, &digest, sizeof digest, class);
        if (class == NULL)
            break;
        if (class->group == job->plan.group && asks_the_same(class->jobs->spec, job->spec))
            return class;
    }
    class = xcalloc(1, sizeof *class);
    class->digest = digest;
    class->group = job->plan.group;
    class->priority = job->spec->priority;
    class->least = least_of(job->spec);
    HASH_ADD(hh, queue->classes, digest, sizeof class->digest, class);
    return class;
}

/* --- places
 * -------------------------------------------------------------------------------------------- */

void queue_forget_fresh(struct queue *queue, struct queue_class *class)
{
    if (!class->fresh)
        return;
    class->fresh = false;
    DL_DELETE2(queue->fresh, class, fresh_prev, fresh_next);
}

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
                               .id = class->next_id };
}

int queue_key_compare(const struct queue_key *a, const struct queue_key *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Of one group's classes those behind key: all, some or none of them, by how the group stands. */
static bool starts_behind(const struct planner *planner, uint32_t group,
                          const struct queue_key *key, struct queue_class *ret_from)
{
    uint32_t rank = group_is_below(planner, group) ? 0 : 1;

    *ret_from = (struct queue_class){ .priority = INT32_MAX }; /* before all */
    if (key != NULL && rank == key->rank)
        *ret_from = (struct queue_class){ .priority = key->priority, .next_id = key->id };
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

static void set_next(struct queue *queue, struct queue_class *class, struct job *next)
{
    queue->n_open -= tree_holds(&class->tree);
    tree_remove(&queue->order[class->group], &class->tree);
    class->next = next;
    if (next == NULL || class->never) {
        queue_forget_fresh(queue, class);
        return;
    }
    class->next_id = next->id;
    tree_insert(&queue->order[class->group], &class->tree);
    queue->n_open++;
    if (!class->fresh) {
        class->fresh = true;
        DL_APPEND2(queue->fresh, class, fresh_prev, fresh_next);
    }
}

static void insert_by_id(struct queue_class *class, struct job *job)
{
    struct job *before = class->jobs != NULL ? class->jobs->plan.class_prev : NULL;

    while (before != NULL && before->id > job->id)
        before = before == class->jobs ? NULL : before->plan.class_prev;
    if (before == NULL)
        DL_PREPEND2(class->jobs, job, plan.class_prev, plan.class_next);
    else
        DL_APPEND_ELEM2(class->jobs, before, job, plan.class_prev, plan.class_next);
    class->n_jobs++;
}

void queue_might_move(struct planner *planner)
{
    planner->queue.wanted = true;
}

void queue_enter(struct cluster *cluster, struct job *job, bool tell)
{
    struct queue *queue = &cluster->planner->queue;
    struct queue_class *class = class_of(queue, job);
    bool has_promises = class->n_jobs > 0 && class->jobs != class->next;

    insert_by_id(class, job);
    job->plan.queue_class = class;
    if (cluster->first_queued == NULL || job->id < cluster->first_queued->id)
        cluster->first_queued = job;
    if (class->never) {
        class->next = class->jobs;
        if (tell)
            queue_tell(cluster, job, VERDICT_NEVER);
    } else if (class->next != NULL && class->next->id < job->id) {
        if (tell)
            queue_tell(cluster, job, VERDICT_BEHIND);
    } else {
        set_next(queue, class, job);
        /* it came back and others of its class have a promise: who is before whom is looked at
         * afresh */
        queue->wanted = queue->wanted || (has_promises && job->plan.class_next != NULL);
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
    queue->wanted = true; /* its room is somebody else's now */
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
        queue->wanted = true; /* others may start where it was to go */
    }
    if (class->next == job)
        set_next(queue, class, job->plan.class_next);
    DL_DELETE2(class->jobs, job, plan.class_prev, plan.class_next);
    queue_forget_places(job);
    job->plan.queue_class = NULL;
    job->plan.verdict = VERDICT_NONE;
    if (--class->n_jobs > 0)
        return;
    if (class->never)
        DL_DELETE2(queue->never, class, never_prev, never_next);
    HASH_DEL(queue->classes, class);
    free(class);
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
