/* SPDX-License-Identifier: Apache-2.0 */
/* learn.c - the jobs' own measurements, and the guesses from them */
#include "simulator/trace/learn.h"

#include <errno.h>
#include <math.h>

#include "shared/macro.h"
#include "simulator/trace/run_internal.h"

static struct learnt *learnt_of(const struct run *run, const struct run_job *job)
{
    return &run->learnt[job->learnt];
}

static const struct profile_learning *learning_of(const struct run_job *job)
{
    return job->trace->profile->learning;
}

/* The shape that it has; counts has room for all nodes. */
static struct shape shape_of(const struct run *run, const struct run_job *job)
{
    for (uint32_t i = 0; i < job->shares.n_items; i++)
        run->shape_counts[i] = job->shares.items[i].n;
    return (struct shape){ .counts = run->shape_counts,
                           .n_nodes = job->shares.n_items,
                           .n = job->shares.n };
}

static const struct goodput_gradient *gradient_of(const struct learnt *learnt,
                                                  const struct run_job *job)
{
    if (job->has_gradient)
        return &job->gradient;
    return learnt->has_gradient ? &learnt->gradient : NULL;
}

/* --- the beginning: who learns together --- */

/* family_of - the first job of its family, or itself */
static size_t family_of(const struct run *run, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (streq(run->trace->jobs[i].family, run->trace->jobs[at].family) &&
            run->trace->jobs[i].profile->batch == run->trace->jobs[at].profile->batch)
            return i;
    return at;
}

static int refuse(const struct run *run, const struct run_job *job)
{
    (void)edl_error_set(run->error, -EINVAL, "%s: the speeds of job %s (%s) cannot be learnt",
                        run->trace->name, job->trace->name, job->trace->profile->ops->name);
    return edl_error_remedy(run->error, "--speeds true");
}

int learn_begin(struct run *run)
{
    enum trace_speeds speeds = run->config->information.speeds;
    size_t n = run->trace->n;

    if (speeds != SPEEDS_LEARNT && speeds != SPEEDS_FAMILY)
        return 0;
    if (run->config->round_s <= 0) {
        (void)edl_error_set(run->error, -EINVAL, "speeds are learnt in rounds only");
        return edl_error_remedy(run->error, "--round 60s");
    }
    run->learnt = xcalloc(n, sizeof(*run->learnt));
    run->shape_counts = xcalloc(run->config->n_nodes, sizeof(*run->shape_counts));
    for (size_t i = 0; i < n; i++) {
        struct run_job *job = &run->jobs[i];
        uint32_t n_phases = run->trace->jobs[i].profile->n_phases;

        job->trace = &run->trace->jobs[i];
        if (learning_of(job) == NULL)
            return refuse(run, job);
        job->learns = true;
        job->learnt = speeds == SPEEDS_FAMILY ? family_of(run, i) : i;
        job->own_pace.step_s = NAN;
        job->own_pace.rate = xcalloc(n_phases, sizeof(double));
        job->own_pace.after_s = xcalloc(n_phases + 1, sizeof(double));
    }
    return 0;
}

void learn_end(struct run *run)
{
    for (size_t i = 0; i < run->trace->n; i++) {
        free(run->jobs[i].own_pace.rate);
        free(run->jobs[i].own_pace.after_s);
    }
    free(run->learnt);
    free(run->shape_counts);
}

/* --- measuring --- */

static bool is_same(const struct goodput_perf_point *a, const struct goodput_perf_point *b)
{
    return a->nodes == b->nodes && a->replicas == b->replicas && a->local_batch == b->local_batch;
}

static void take_point(struct learnt *learnt, const struct goodput_perf_point *point)
{
    for (int i = 0; i < learnt->n_points; i++)
        if (is_same(&learnt->points[i], point))
            return;
    if (learnt->n_points < GOODPUT_PERF_POINTS_MAX) {
        learnt->points[learnt->n_points++] = *point;
    } else {
        learnt->points[learnt->oldest] = *point;
        learnt->oldest = (learnt->oldest + 1) % GOODPUT_PERF_POINTS_MAX;
    }
    learnt->most = MAX_OF(learnt->most, point->replicas);
    (void)goodput_perf_fit(learnt->points, learnt->n_points, &learnt->perf);
}

static void take_gradient(struct learnt *learnt, struct run_job *job,
                          const struct goodput_gradient *gradient)
{
    job->gradient = *gradient;
    job->has_gradient = true;
    if (learnt->has_gradient && learnt->gradient_phase <= job->phase)
        return;
    learnt->gradient = *gradient;
    learnt->gradient_phase = job->phase;
    learnt->has_gradient = true;
}

static int go_on(struct run *run, struct run_job *job, bool measures)
{
    struct profile *profile = job->trace->profile;
    struct learnt *learnt = learnt_of(run, job);
    struct shape shape = shape_of(run, job);
    struct work_split split =
        learning_of(job)->choose(profile, learnt, gradient_of(learnt, job), &shape);
    struct goodput_perf_point point;
    struct goodput_gradient gradient;
    int r = learning_of(job)->measure(profile, &shape, split, job->phase, &point, &gradient,
                                      &job->own_pace.rate[job->phase], run->error);

    if (r < 0)
        return run_not_known(run, job);
    job->pace = &job->own_pace;
    if (measures) {
        take_point(learnt, &point);
        take_gradient(learnt, job, &gradient);
    }
    return 0;
}

int learn_settle(struct run *run, struct run_job *job)
{
    return go_on(run, job, false);
}

int learn_look(struct run *run, struct run_job *job)
{
    int r = go_on(run, job, true);

    return r < 0 ? r : go_on(run, job, false);
}

/* --- guessing --- */

static uint32_t nodes_of(const struct run *run, uint32_t n)
{
    return (n + run->config->per_node - 1) / run->config->per_node;
}

double learn_rate(const struct run *run, const struct run_job *job, uint32_t n)
{
    const struct learnt *learnt = learnt_of(run, job);
    double rate;

    if (learnt->n_points == 0)
        return NAN;
    rate = learning_of(job)->guess(job->trace->profile, learnt, gradient_of(learnt, job), n,
                                   nodes_of(run, n));
    return isfinite(rate) ? rate : 0;
}

uint32_t learn_most(const struct run *run, const struct run_job *job)
{
    return MAX_OF(LEARN_GROWTH * learnt_of(run, job)->most, job->min);
}
