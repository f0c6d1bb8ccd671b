/* SPDX-License-Identifier: Apache-2.0 */
/* run_view.c - what a policy sees, and no more than that */
#include <math.h>

#include "shared/macro.h"
#include "simulator/trace/run_internal.h"

static void make_room(struct run *run)
{
    size_t n = run->n_active;

    if (n <= run->arrays_cap)
        return;
    run->arrays_cap = 2 * n;
    run->view_jobs = xreallocarray(run->view_jobs, run->arrays_cap, sizeof(*run->view_jobs));
    run->plan.counts = xreallocarray(run->plan.counts, run->arrays_cap, sizeof(uint32_t));
    run->plan.pservers = xreallocarray(run->plan.pservers, run->arrays_cap, sizeof(uint32_t));
    run->plan.order = xreallocarray(run->plan.order, run->arrays_cap, sizeof(uint32_t));
}

static void show_job(struct run *run, struct run_job *job, struct view_job *ret)
{
    const struct trace_job *trace = job->trace;

    *ret = (struct view_job){
        .id = (uint32_t)(job - run->jobs),
        .submit_s = trace->submit_s,
        .weight = trace->weight,
        .deadline_s = trace->deadline_s,
        .family = trace->family,
        .user = trace->user,
        .requested = job->requested,
        .min = job->min,
        .max = job->learns ? MIN_OF(job->max, learn_most(run, job)) : job->max,
        .held = job->shares.n,
        .pservers = job->pservers,
        .restarts = job->result->restarts,
        .attained_s = job->result->held_s,
        .run_s = job->run_s,
        .work = job->progress,
        .restart_left_s = job->restart_left_s,
        .counts = job->counts,
        .n_counts = job->n_counts,
        .speeds = job->learns ? 0 : job->phase + 1,
        .has_pservers = trace->profile->min > 1,
        .run_job = job,
    };
}

void run_look(struct run *run)
{
    make_room(run);
    for (size_t i = 0; i < run->n_active; i++) {
        show_job(run, run->active[i], &run->view_jobs[i]);
        run->plan.counts[i] = 0;
        run->plan.pservers[i] = 0;
        run->plan.order[i] = (uint32_t)i;
    }
    run->plan.placing = PLACE_MOST_FREE;
    run->view.now_s = run->now_s;
    run->view.jobs = run->view_jobs;
    run->view.n = run->n_active;
    run->view.ended = run->ended;
    run->view.n_ended = (run->view.uses & USES_HISTORY) != 0 ? run->n_ended : 0;
}

/* glance_at - -ERANGE where nothing was measured: to a policy such an amount has no speed */
static int glance_at(const struct view *view, size_t job, uint32_t n, uint32_t pservers,
                     struct glance *ret)
{
    const struct run_job *run_job = view->jobs[job].run_job;

    return profile_glance(run_job->trace->profile, n, pservers, view->per_node, run_job->phase,
                          ret);
}

double view_rate(const struct view *view, size_t job, uint32_t n)
{
    const struct run_job *run_job = view->jobs[job].run_job;
    struct glance glance;

    if ((view->uses & USES_SPEEDS) == 0)
        return NAN;
    if (run_job->learns)
        return learn_rate(view->run, run_job, n);
    return glance_at(view, job, n, 0, &glance) == 0 ? glance.rate : 0;
}

double view_speed(const struct view *view, size_t job, uint32_t n)
{
    const struct run_job *run_job = view->jobs[job].run_job;

    if (!run_job->learns)
        return view_rate(view, job, n) / run_job->one->rate[run_job->phase];
    if ((view->uses & USES_SPEEDS) == 0)
        return NAN;
    if (isnan(learn_rate(view->run, run_job, n)))
        return (double)n / run_job->min; /* nothing is known: the best is hoped for */
    return learn_rate(view->run, run_job, n) / learn_rate(view->run, run_job, run_job->min);
}

/* INFINITY while nothing is known of it, so that there is an order of all jobs */
static double learnt_remaining_s(const struct view *view, const struct run_job *job, uint32_t n)
{
    double rate = learn_rate(view->run, job, n);
    double left = job_bounds(job)[job->trace->profile->n_phases] - job->progress;

    return rate > 0 ? left / rate : INFINITY;
}

double view_remaining_s(const struct view *view, size_t job, uint32_t n)
{
    const unsigned both = USES_SPEEDS | USES_LENGTHS;
    const struct run_job *run_job = view->jobs[job].run_job;
    struct glance glance;

    if ((view->uses & both) != both)
        return NAN;
    if (run_job->learns)
        return learnt_remaining_s(view, run_job, n);
    if (glance_at(view, job, n, 0, &glance) < 0)
        return INFINITY;
    return job_remaining_s(run_job, glance.rate, glance.after_s);
}

double view_step_s(const struct view *view, size_t job, uint32_t n, uint32_t pservers)
{
    const struct run_job *run_job = view->jobs[job].run_job;
    struct glance glance;

    if ((view->uses & USES_SPEEDS) == 0)
        return NAN;
    if (run_job->learns && !isnan(learn_rate(view->run, run_job, n)))
        return 1 / learn_rate(view->run, run_job, n);
    if (run_job->learns) /* nothing is known yet: of an unknown unit */
        return 1 / view_speed(view, job, n);
    if (glance_at(view, job, n, pservers, &glance) < 0)
        return INFINITY;
    /* where batches change there is no step: the time of one unit of progress, as it is now */
    return isnan(glance.step_s) ? 1 / glance.rate : glance.step_s;
}

double view_steps_left(const struct view *view, size_t job)
{
    const struct run_job *run_job = view->jobs[job].run_job;
    const struct profile *profile = run_job->trace->profile;

    if ((view->uses & USES_LENGTHS) == 0)
        return NAN;
    if (profile->ops->epoch_steps != NULL && profile->batch > 0)
        return profile->ops->epoch_steps(profile, run_job->phase);
    return job_bounds(run_job)[profile->n_phases] - run_job->progress;
}

uint32_t view_next(const struct view_job *job, uint32_t n)
{
    if (job->counts == NULL)
        return n < job->max ? MAX_OF(n + 1, job->min) : 0;
    for (size_t i = 0; i < job->n_counts && job->counts[i] <= job->max; i++)
        if (job->counts[i] > n && job->counts[i] >= job->min)
            return job->counts[i];
    return 0;
}

uint32_t view_prev(const struct view_job *job, uint32_t n)
{
    uint32_t best = 0;

    if (job->counts == NULL)
        return n > job->min ? MIN_OF(n - 1, job->max) : 0;
    for (size_t i = 0; i < job->n_counts && job->counts[i] < n; i++)
        if (job->counts[i] >= job->min && job->counts[i] <= job->max)
            best = job->counts[i];
    return best;
}

uint32_t view_first(const struct view_job *job)
{
    uint32_t next = job->counts == NULL ? job->min : view_next(job, job->min - 1);

    return next != 0 ? next : job->min;
}
