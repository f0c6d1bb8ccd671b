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
 * too (the original added and removed one GPU for ever); the node that a growth was placed on
 * really loses what it gives (the sign was wrong); a growth needs a node with enough free GPUs as
 * well; instances that are being stopped are not counted twice (the caller leaves them out of
 * `requested`); equal jobs are ordered by id (the sort was not stable).
 *
 * Stop: a job shrinks only while the load is over a limit that no growth may pass, so no round
 * undoes another. */
#include "scheduler/core/policy.h"

#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"

static int64_t under_load(int64_t total, const struct policy_view *view)
{
    return total * view->max_load_permille / 1000;
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

static void account(struct policy_view *view, const struct policy_job *job, int change)
{
    view->cpu_requested_millicores += change * (int64_t)job->cpu_millicores;
    view->memory_requested_bytes += change * (int64_t)job->memory_bytes;
    view->gpu_requested += change * (int64_t)job->gpus;
}

static int shrink(struct policy_view *view, const struct policy_job *job, int64_t planned)
{
    bool over = view->cpu_requested_millicores > under_load(view->cpu_total_millicores, view) ||
                view->gpu_requested > under_load(view->gpu_total, view) ||
                view->memory_requested_bytes > view->memory_total_bytes;
    int change = planned > job->max || (over && planned > job->min) ? -1 : 0;

    account(view, job, change);
    return change;
}

static struct policy_node *first_fit(struct policy_node *nodes, size_t n,
                                     const struct policy_job *job)
{
    for (size_t i = 0; i < n; i++)
        if (nodes[i].cpu_idle_millicores >= (int64_t)job->cpu_millicores &&
            nodes[i].memory_free_bytes >= (int64_t)job->memory_bytes &&
            nodes[i].gpus_free >= (int64_t)job->gpus)
            return &nodes[i];
    return NULL;
}

static int grow(struct policy_view *view, struct policy_node *nodes, const struct policy_job *job,
                int64_t planned)
{
    struct policy_node *node;
    bool fits;

    if (planned >= job->max) {
        int change = (int)((int64_t)job->max - planned);

        account(view, job, change);
        return change;
    }
    node = first_fit(nodes, view->n_nodes, job);
    fits = under_load(view->cpu_total_millicores, view) - view->cpu_requested_millicores >=
               (int64_t)job->cpu_millicores &&
           (job->gpus == 0 ||
            under_load(view->gpu_total, view) - view->gpu_requested >= (int64_t)job->gpus) &&
           /* strictly more than the request, as the original has it */
           view->memory_total_bytes - view->memory_requested_bytes > (int64_t)job->memory_bytes;
    if (node == NULL || !fits)
        return 0;
    node->cpu_idle_millicores -= (int64_t)job->cpu_millicores;
    node->memory_free_bytes -= (int64_t)job->memory_bytes;
    node->gpus_free -= (int64_t)job->gpus;
    account(view, job, 1);
    return 1;
}

int policy_fulfilment_dry_run(struct policy_view *view, struct policy_node *nodes,
                              const struct policy_job *job, int32_t delta, bool down)
{
    int64_t planned = (int64_t)job->parallelism + delta;

    return down ? shrink(view, job, planned) : grow(view, nodes, job, planned);
}

static int compare_pointers(const void *a, const void *b)
{
    return policy_fulfilment_compare(*(const struct policy_job *const *)a,
                                     *(const struct policy_job *const *)b);
}

/* A pending job waits for its gang as a whole: it is no candidate, but its coming lets every other
 * be one. */
static size_t candidates(const struct policy_view *view, const struct policy_job **ret)
{
    bool any_pending = false;
    size_t n = 0;

    for (size_t i = 0; i < view->n_jobs; i++)
        any_pending = any_pending || view->jobs[i].pending;
    for (size_t i = 0; i < view->n_jobs; i++) {
        const struct policy_job *job = &view->jobs[i];

        /* bounds that were lowered under a job must be kept even by one that has a single size now
         */
        if ((job->min < job->max || job->parallelism > job->max) && !job->pending &&
            (job->stable || any_pending))
            ret[n++] = job;
    }
    qsort(ret, n, sizeof(*ret), compare_pointers);
    return n;
}

static void plan(const struct policy_view *view, uint32_t *ret_target)
{
    struct policy_view work = *view;
    struct policy_node *nodes = xcalloc(view->n_nodes, sizeof *nodes);
    const struct policy_job **order = xcalloc(view->n_jobs, sizeof(*order));
    int32_t *delta = xcalloc(view->n_jobs, sizeof *delta);
    size_t n = candidates(view, order);
    bool changed = n > 0;

    if (view->n_nodes > 0)
        memcpy(nodes, view->nodes, view->n_nodes * sizeof *nodes);
    while (changed) {
        changed = false;
        for (size_t i = 0; i < n; i++) {
            int32_t *d = &delta[order[i] - view->jobs];
            int change = policy_fulfilment_dry_run(&work, nodes, order[i], *d, false);

            *d += change;
            changed = changed || change != 0;
        }
        for (size_t i = n; i-- > 0;) {
            int32_t *d = &delta[order[i] - view->jobs];
            int change = policy_fulfilment_dry_run(&work, nodes, order[i], *d, true);

            *d += change;
            changed = changed || change != 0;
        }
    }
    for (size_t i = 0; i < view->n_jobs; i++) {
        const struct policy_job *job = &view->jobs[i];
        int64_t target = (int64_t)job->parallelism + delta[i];

        target = MAX_OF(target, (int64_t)job->min);
        ret_target[i] = job->pending ? job->min : (uint32_t)MIN_OF(target, (int64_t)job->max);
    }
    free(delta);
    free(order);
    free(nodes);
}

const struct policy policy_fulfilment = {
    .name = "fulfilment",
    .summary = "the least fulfilled job grows first, the most fulfilled one shrinks first",
    .plan = plan,
};
