/* SPDX-License-Identifier: Apache-2.0 */
/* filing.c - each plan makes the order of the jobs that wait
 *
 * The model knows the jobs that wait (model/waiting.c), and nothing of their order. A plan puts
 * them in classes by their requests, each class in the order of its turns. Findings about a job
 * stay with it: where it stands, whether it fits empty nodes. A class has them from its members.
 * The classes stay until the next plan makes new ones, for questions in between. A job of theirs
 * that is over meanwhile is not archived before.
 *
 * Linear in the jobs that wait, and a sort of them. It is done again within a plan only when
 * somebody came to wait in it. */
#include "scheduler/core/plan/filing.h"

#include <stdlib.h>
#include <utlist.h>

#include "scheduler/core/base/digest.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/plan/array_room.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/plan/told.h"
#include "scheduler/core/plan/shares.h"

/* --- the request of a job --- */

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
        hash = digest_number(hash, role->n_ports * 2 + role->spread);
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
            x->spread != y->spread || streq(x->name, "pserver") != streq(y->name, "pserver") ||
            x->nodes != NULL || y->nodes != NULL ||
            !labels_equal(role_selector(x), role_selector(y)))
            return false;
    }
    return true;
}

/* A job that some nodes cannot run, or that names its nodes, is alike to no other. */
static bool is_alone(const struct job *job)
{
    bool alone = job->unfit != NULL;

    for (size_t r = 0; r < job->spec->n_roles; r++)
        alone = alone || job->spec->roles[r].nodes != NULL;
    return alone;
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

/* NULL: there is none yet. Two digests that collide are told apart by the next free number.
 * ret_digest: its own. */
static struct queue_class *find_class(const struct queue *queue, const struct job *job,
                                      const struct share_key *key, uint64_t *ret_digest)
{
    uint64_t digest = digest_text(digest_of(job->spec, job->group), key->user);
    struct queue_class *class;

    if (is_alone(job))
        digest = digest_number(digest, job->id);
    if (array_room_key(job) != 0)
        digest = digest_number(digest, array_room_key(job));
    if (queue->has_owners)
        digest = digest_text(digest, job->user);
    for (;; digest++) {
        HASH_FIND(hh, queue->classes, &digest, sizeof digest, class);
        if (class == NULL ||
            (class->group == job->group && class->unfit == job->unfit && class->n_jobs > 0 &&
             array_room_key(class->jobs) == array_room_key(job) &&
             (!queue->has_owners || streq(class->jobs->user, job->user)) &&
             memcmp(&class->share->key, key, sizeof *key) == 0 &&
             asks_the_same(class->jobs->spec, job->spec)))
            break;
    }
    *ret_digest = digest;
    return class;
}

const struct queue_class *queue_class_like(const struct queue *queue, const struct job *job)
{
    const struct share_key key = share_key_of(queue, job);
    uint64_t digest;

    return find_class(queue, job, &key, &digest);
}

/* --- the classes --- */

/* Of a job that waits. */
struct entry {
    struct job *job;
    struct share *share; /* borrowed: of its user */
};

static int compare_entries(const void *a, const void *b)
{
    const struct job *x = ((const struct entry *)a)->job;
    const struct job *y = ((const struct entry *)b)->job;

    if (x->turn_wall_us != y->turn_wall_us)
        return x->turn_wall_us < y->turn_wall_us ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static struct queue_class *class_new(struct queue *queue, const struct job *job,
                                     struct share *share, uint64_t digest)
{
    struct queue_class *class = xcalloc(1, sizeof *class);
    struct demand demands[JOB_ROLES_MAX];

    class->digest = digest;
    class->group = job->group;
    class->priority = job->spec->priority;
    class->least = least_of(job->spec);
    class->unfit = job->unfit;
    class->share = share;
    DL_APPEND2(share->classes, class, share_prev, share_next);
    class->n_demands = gang_demands_of_job(job, demands);
    class->demands = xcalloc(class->n_demands, sizeof *class->demands);
    memcpy(class->demands, demands, class->n_demands * sizeof *demands);
    HASH_ADD(hh, queue->classes, digest, sizeof class->digest, class);
    return class;
}

/* Behind those that are there. */
static void append(struct cluster *cluster, struct job *job, struct share *share)
{
    struct queue *queue = &cluster->planner->queue;
    uint64_t digest;
    struct queue_class *class = find_class(queue, job, &share->key, &digest);

    if (class == NULL)
        class = class_new(queue, job, share, digest);
    if (planned_verdict(job) == VERDICT_NONE) /* the findings about it are over */
        planned_of(job)->fits_version = 0;
    if (planned_verdict(job) == VERDICT_NONE ||
        (!planned_promised(job) && job != queue->held)) /* it was filed anew, and told already */
        plan_forget_places(job);
    planned_of(job)->before = class->n_jobs++;
    DL_APPEND2(class->jobs, job, planned->class_prev, planned->class_next);
    planned_set_class(job, class);
    queue->n_jobs++;
    class->told_never = class->told_never || planned_verdict(job) == VERDICT_NEVER;
    if (planned_verdict(job) == VERDICT_OWNER || planned_verdict(job) == VERDICT_ARRAY)
        class->limited = planned_verdict(job);
    if (planned_is(job)->fits_version == cluster->offers_version) {
        class->fits_version = planned_is(job)->fits_version;
        class->fits_ever = planned_is(job)->fits_ever;
    }
}

/* A job that came is told where it stands, and so is the one that stood where it stands now. */
static void tell_new(struct cluster *cluster, const struct queue_class *class)
{
    const struct job *first = class->never ? NULL : class->next;
    enum queue_verdict behind = queue_behind(class);
    bool passed = first != NULL && planned_verdict(first) == VERDICT_NONE;
    struct job *job;

    DL_FOREACH2(class->jobs, job, planned->class_next)
    {
        if (job == first || planned_promised(job))
            continue;
        if (planned_verdict(job) == VERDICT_NONE) {
            queue_tell(cluster, job, class->never ? VERDICT_NEVER : behind);
        } else if (passed) {
            queue_tell(cluster, job, behind);
            passed = false;
        }
    }
}

static void open_class(struct cluster *cluster, struct queue_class *class)
{
    struct job *next = class->jobs;

    while (next != NULL && planned_promised(next))
        next = next->planned->class_next;
    class->never = class->told_never && class->fits_ever == FIT_NEVER &&
                   class->fits_version == cluster->offers_version;
    queue_open(&cluster->planner->queue, class, class->never ? class->jobs : next);
    tell_new(cluster, class);
}

/* Those that left since lose their promise. */
static void forget_left(struct queue *queue)
{
    size_t kept = 0;

    for (size_t i = 0; i < queue->n_promised; i++)
        if (planned_promised(queue->promised[i]))
            queue->promised[kept++] = queue->promised[i];
    queue->n_promised = kept;
    if (queue->held != NULL && planned_verdict(queue->held) == VERDICT_NONE)
        queue->held = NULL;
}

static size_t list_waiting(struct cluster *cluster, struct entry *entries)
{
    struct job *job;
    size_t n = 0;

    DL_FOREACH2(cluster->active, job, active_next)
    if (job->filed)
        entries[n++].job = job;
    return n;
}

void queue_file(struct cluster *cluster, struct instant now)
{
    struct queue *queue = &cluster->planner->queue;
    struct entry *entries = xcalloc(cluster->n_filed, sizeof *entries);
    struct queue_class *class;
    size_t n;

    n = list_waiting(cluster, entries);
    cluster->files_changed = false;
    queue->has_owners = cluster->planner->n_owners > 0;
    forget_left(queue);
    queue_forget(queue);
    shares_begin(cluster, now);
    for (size_t i = 0; i < n; i++)
        entries[i].share = share_enter(queue, entries[i].job);
    for (size_t i = 0; i < n; i++)
        share_join(cluster, entries[i].share, entries[i].job, now);
    if (queue->by_turn)
        qsort(entries, n, sizeof *entries, compare_entries);
    for (size_t i = 0; i < n; i++)
        append(cluster, entries[i].job, entries[i].share);
    shares_tidy(queue);
    for (class = queue->classes; class != NULL; class = class->hh.next)
        open_class(cluster, class);
    free(entries);
}
