/* SPDX-License-Identifier: Apache-2.0 */
/* figures.c - what came of a run in numbers */
#include "simulator/trace/figures.h"

#include <errno.h>
#include <math.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/trace/job_time.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/run.h"
#include "simulator/trace/trace.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

void sort_numbers(double *values, size_t n)
{
    if (n > 0)
        qsort(values, n, sizeof(*values), by_value);
}

double quantile(const double *sorted, size_t n, double part)
{
    double at = part * (double)(n - 1);
    size_t below = (size_t)at;

    if (n == 0)
        return NAN;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

static double mean(const double *values, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return n > 0 ? sum / (double)n : NAN;
}

static void set_times(const struct run_result *result, struct figures *ret)
{
    size_t n = result->n_jobs;
    double *values = xcalloc(n, sizeof(*values));

    for (size_t i = 0; i < n; i++)
        values[i] = result->jobs[i].done_s - result->jobs[i].submit_s;
    ret->completion_avg_s = mean(values, n);
    sort_numbers(values, n);
    ret->completion_p50_s = quantile(values, n, 0.5);
    ret->completion_p90_s = quantile(values, n, 0.9);
    ret->completion_p99_s = quantile(values, n, 0.99);
    for (size_t i = 0; i < n; i++)
        values[i] = result->jobs[i].wait_s;
    ret->waiting_avg_s = mean(values, n);
    sort_numbers(values, n);
    ret->waiting_p50_s = quantile(values, n, 0.5);
    ret->waiting_p90_s = quantile(values, n, 0.9);
    ret->waiting_p99_s = quantile(values, n, 0.99);
    free(values);
}

static void set_use(const struct run_config *config, const struct run_result *result,
                    struct figures *ret)
{
    double places = (double)config->n_nodes * config->per_node, served = 0, rescales = 0, lost = 0;

    for (size_t i = 0; i < result->n_jobs; i++) {
        served += result->jobs[i].served_s;
        rescales += result->jobs[i].restarts;
        lost += result->jobs[i].lost_s;
    }
    ret->makespan_s = result->end_s - result->first_s;
    ret->allocated = result->used_s / (places * ret->makespan_s);
    ret->effective = served / (places * ret->makespan_s);
    ret->rescales = rescales / (double)result->n_jobs;
    ret->rescale_cost_s = lost / (double)result->n_jobs;
}

static void set_decisions(const struct run_result *result, struct figures *ret)
{
    size_t n = result->n_decisions;
    double *values = xcalloc(n, sizeof(*values));

    if (n > 0)
        memcpy(values, result->decisions_s, n * sizeof(*values));
    sort_numbers(values, n);
    ret->decision_p50_s = quantile(values, n, 0.5);
    ret->decision_p99_s = quantile(values, n, 0.99);
    ret->decision_max_s = quantile(values, n, 1);
    free(values);
}

/* How many jobs were there, as a function of time that is constant between submissions and ends. */
struct crowd {
    double *begins, *ends; /* each sorted */
    double *begun, *ended; /* sums of those before */
    size_t n;
};

static double *sums_of(const double *values, size_t n)
{
    double *sums = xcalloc(n + 1, sizeof(*sums));

    for (size_t i = 0; i < n; i++)
        sums[i + 1] = sums[i] + values[i];
    return sums;
}

static struct crowd crowd_of(const struct run_result *result)
{
    struct crowd crowd = { .n = result->n_jobs };

    crowd.begins = xcalloc(crowd.n, sizeof(double));
    crowd.ends = xcalloc(crowd.n, sizeof(double));
    for (size_t i = 0; i < crowd.n; i++) {
        crowd.begins[i] = result->jobs[i].submit_s;
        crowd.ends[i] = result->jobs[i].done_s;
    }
    sort_numbers(crowd.begins, crowd.n);
    sort_numbers(crowd.ends, crowd.n);
    crowd.begun = sums_of(crowd.begins, crowd.n);
    crowd.ended = sums_of(crowd.ends, crowd.n);
    return crowd;
}

static void crowd_done(struct crowd *crowd)
{
    free(crowd->begins);
    free(crowd->ends);
    free(crowd->begun);
    free(crowd->ended);
}

/* excess - the sum of what a moment lies behind each of the values before it */
static double excess(const double *values, const double *sums, size_t n, double at_s)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (values[middle] < at_s)
            low = middle + 1;
        else
            high = middle;
    }
    return at_s * (double)low - sums[low];
}

/* crowd_until - jobs times seconds up to a moment */
static double crowd_until(const struct crowd *crowd, double at_s)
{
    return excess(crowd->begins, crowd->begun, crowd->n, at_s) -
           excess(crowd->ends, crowd->ended, crowd->n, at_s);
}

/* isolated_s - alone, with a share of the places */
static double isolated_s(const struct trace_job *job, double share, uint32_t capacity,
                         uint32_t per_node)
{
    uint32_t most = MIN_OF(job_most(job, capacity), (uint32_t)share);
    double sum = 0;

    for (uint32_t p = 0; p < job->profile->n_phases; p++)
        sum += job_best(job, p, most, per_node).time_s;
    return sum / fmin(1, share / job_least(job)) + ISOLATED_START_S;
}

static void set_fairness(const struct trace *trace, const struct run_config *config,
                         const struct run_result *result, struct figures *ret)
{
    uint32_t capacity = config->n_nodes * config->per_node;
    struct crowd crowd = crowd_of(result);
    size_t counted = 0, unfair = 0;

    ret->rho_worst = NAN;
    for (size_t i = 0; i < trace->n; i++) {
        const struct run_job_result *job = &result->jobs[i];
        double took_s = job->done_s - job->submit_s, there, rho;

        if (job_most(&trace->jobs[i], capacity) <= job_least(&trace->jobs[i]) || took_s <= 0)
            continue;
        there = (crowd_until(&crowd, job->done_s) - crowd_until(&crowd, job->submit_s)) / took_s;
        rho = took_s /
              isolated_s(&trace->jobs[i], capacity / fmax(there, 1), capacity, config->per_node);
        ret->rho_worst = fmax(ret->rho_worst, rho);
        counted++;
        unfair += rho > 1;
    }
    ret->unfair = counted > 0 ? (double)unfair / (double)counted : NAN;
    crowd_done(&crowd);
}

int figures_of(const struct trace *trace, const struct run_config *config,
               const struct run_result *result, struct figures *ret, struct edl_error *error)
{
    if (result->n_jobs == 0) {
        (void)edl_error_set(error, -EINVAL, "%s has no jobs", trace->name);
        return edl_error_remedy(error, "at least one line behind the names of the columns");
    }
    set_times(result, ret);
    set_use(config, result, ret);
    set_decisions(result, ret);
    set_fairness(trace, config, result, ret);
    return 0;
}

void figures_mean(const struct figures *figures, size_t n, struct figures *ret)
{
    double sums[FIGURES] = { 0 };

    for (size_t i = 0; i < n; i++) {
        double values[FIGURES];

        memcpy(values, &figures[i], sizeof(values));
        for (size_t f = 0; f < FIGURES; f++)
            sums[f] += values[f] / (double)n;
    }
    memcpy(ret, sums, sizeof(*ret));
}
