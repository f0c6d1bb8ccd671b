/* SPDX-License-Identifier: Apache-2.0 */
/* run_apply.c - the pool follows the plan: the jobs that keep their places, and those that are
 * placed anew */
#include <errno.h>
#include <math.h>

#include "shared/macro.h"
#include "simulator/trace/run_internal.h"

/* What a job held before; only those who changed have something here. */
struct before {
    struct share *items;
    uint32_t n_items, n, pservers;
    bool changes;
};

static bool keeps(const struct run *run, size_t i)
{
    const struct run_job *job = run->active[i];

    return run->plan.counts[i] == job->shares.n &&
           (job->shares.n == 0 || run->plan.pservers[i] == job->pservers);
}

static void let_go(struct run *run, size_t i, struct before *before)
{
    struct run_job *job = run->active[i];

    if (before->changes)
        return;
    before->changes = true;
    before->n_items = job->shares.n_items;
    before->n = job->shares.n;
    before->pservers = job->pservers;
    before->items = xcalloc(before->n_items, sizeof(*before->items));
    if (before->n_items > 0)
        memcpy(before->items, job->shares.items, before->n_items * sizeof(*before->items));
    pool_release(&run->pool, &job->shares);
}

static int check_plan(const struct run *run)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < run->n_active; i++) {
        const struct run_job *job = run->active[i]; /* not what is shown: see learn_most */
        uint32_t n = run->plan.counts[i];

        sum += n;
        if (n == 0 || (n >= job->min && n <= job->max))
            continue;
        return edl_error_set(run->error, -EINVAL, "%s gives job %s %u instances, not %u to %u",
                             run->policy->name, job->trace->name, n, job->min, job->max);
    }
    if (sum <= pool_capacity(&run->pool))
        return 0;
    return edl_error_set(run->error, -EINVAL, "%s gives out %lu instances of %u", run->policy->name,
                         (unsigned long)sum, pool_capacity(&run->pool));
}

static bool place(struct run *run, size_t i)
{
    uint32_t n = run->plan.counts[i];
    struct shares *ret = &run->active[i]->shares;

    if (run->plan.placing != PLACE_MOST_FREE && pool_whole(&run->pool, n, ret))
        return true;
    if (run->plan.placing == PLACE_ALIGNED)
        return false;
    pool_most_free(&run->pool, n, ret);
    return true;
}

/* place_all - who holds less than planned, in the plan's order; false: somebody would be split */
static bool place_all(struct run *run)
{
    for (size_t at = 0; at < run->n_active; at++) {
        size_t i = run->plan.order[at];

        if (run->plan.counts[i] > 0 && run->active[i]->shares.n == 0 && !place(run, i))
            return false;
    }
    return true;
}

/* align - everybody is placed anew, largest first: where he was if that is still free */
static void align(struct run *run, struct before *before)
{
    uint32_t largest = 0;

    for (size_t i = 0; i < run->n_active; i++) {
        let_go(run, i, &before[i]);
        pool_release(&run->pool, &run->active[i]->shares);
        largest = MAX_OF(largest, run->plan.counts[i]);
    }
    run->plan.placing = PLACE_WHOLE;
    for (uint32_t n = largest; n > 0; n--) {
        for (size_t i = 0; i < run->n_active; i++)
            if (run->plan.counts[i] == n && before[i].n == n)
                (void)pool_take(&run->pool, before[i].items, before[i].n_items,
                                &run->active[i]->shares);
        for (size_t i = 0; i < run->n_active; i++)
            if (run->plan.counts[i] == n && run->active[i]->shares.n == 0)
                (void)place(run, i);
    }
}

static bool same_place(const struct run_job *job, const struct before *before, uint32_t pservers)
{
    if (job->shares.n_items != before->n_items || pservers != before->pservers)
        return false;
    for (uint32_t i = 0; i < before->n_items; i++)
        if (job->shares.items[i].node != before->items[i].node ||
            job->shares.items[i].n != before->items[i].n)
            return false;
    return true;
}

int run_not_known(struct run *run, const struct run_job *job)
{
    edl_error_prefix(run->error, "%s, job %s of %s: ", run->policy->name, job->trace->name,
                     run->trace->name);
    if (run->error->code == -ERANGE)
        (void)edl_error_remedy(run->error,
                               "--nodes of as many places as were measured, a smaller max of the "
                               "job (edl-trace(5)), measurements of it, or --policy without %s",
                               run->policy->name);
    return run->error->code;
}

static int set_pace(struct run *run, struct run_job *job)
{
    uint32_t counts_few[16], *counts = counts_few;
    uint32_t n = job->shares.n_items;

    if (job->learns)
        return learn_settle(run, job);
    if (n > ELEMENTS(counts_few))
        counts = xcalloc(n, sizeof(*counts));
    for (uint32_t i = 0; i < n; i++)
        counts[i] = job->shares.items[i].n;
    job->pace = profile_pace(job->trace->profile,
                             &(struct shape){ .counts = counts,
                                              .n_nodes = n,
                                              .n = job->shares.n,
                                              .pservers = job->pservers },
                             run->error);
    if (counts != counts_few)
        free(counts);
    return job->pace != NULL ? 0 : run_not_known(run, job);
}

/* changed - what it means for the job that it was placed anew */
static int changed(struct run *run, size_t i)
{
    struct run_job *job = run->active[i];
    int r = 0;

    job->pservers = run->plan.pservers[i];
    job->pace = NULL;
    job->restart_left_s = 0;
    if (job->shares.n > 0) {
        r = set_pace(run, job);
        job->restart_left_s = run->config->restart_s;
        if (job->started)
            job->result->restarts++;
        else
            job->result->start_s = run->now_s;
        job->started = true;
    }
    if (r == 0)
        job_predict(job);
    return r;
}

int run_apply(struct run *run)
{
    struct before *before;
    int r = check_plan(run);

    if (r < 0)
        return r;
    before = xcalloc(run->n_active, sizeof(*before));
    for (size_t i = 0; i < run->n_active; i++)
        if (!keeps(run, i))
            let_go(run, i, &before[i]);
    if (!place_all(run))
        align(run, before);
    for (size_t i = 0; i < run->n_active; i++) {
        if (before[i].changes && r == 0 &&
            !same_place(run->active[i], &before[i], run->plan.pservers[i]))
            r = changed(run, i);
        free(before[i].items);
    }
    free(before);
    return r;
}
