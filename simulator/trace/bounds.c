/* SPDX-License-Identifier: Apache-2.0 */
/* bounds.c - what no policy can beat on this trace: simple, and far off where jobs are long */
#include <errno.h>
#include <math.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/trace/figures.h"
#include "simulator/trace/job_time.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/run.h"
#include "simulator/trace/trace.h"

/* best_of - of each phase by itself: what is best changes while a job's batches grow */
static struct job_best best_of(const struct trace_job *job, uint32_t capacity, uint32_t per_node)
{
    struct job_best sum = { 0 };
    uint32_t most = job_most(job, capacity);

    for (uint32_t p = 0; p < job->profile->n_phases; p++) {
        struct job_best best = job_best(job, p, most, per_node);

        sum.time_s += best.time_s;
        sum.size_s += best.size_s;
    }
    return sum;
}

/* A heap of what is left of each job, the least on top. */
static void heap_put(double *heap, size_t n, double value)
{
    size_t i = n;

    for (; i > 0 && heap[(i - 1) / 2] > value; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = value;
}

static void heap_sink(double *heap, size_t n, double value)
{
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= value)
            break;
        heap[i] = heap[child];
    }
    heap[i] = value;
}

/* work_until - the least that is left is worked on first; returns the sum of the ends */
static double work_until(double *heap, size_t *n, double *now_s, double until_s)
{
    double ends = 0;

    while (*n > 0 && *now_s + heap[0] <= until_s) {
        *now_s += heap[0];
        ends += *now_s;
        (*n)--;
        heap_sink(heap, *n, heap[*n]);
    }
    if (*n > 0)
        heap[0] -= until_s - *now_s;
    *now_s = fmax(*now_s, until_s);
    return ends;
}

/* srpt_avg_s - shortest remaining first on one machine; sizes in seconds of that machine */
static double srpt_avg_s(const struct trace *trace, const double *sizes_s)
{
    double *heap = xcalloc(trace->n, sizeof(*heap)), now_s = 0, sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < trace->n; i++) {
        sum += work_until(heap, &n, &now_s, trace->jobs[i].submit_s);
        heap_put(heap, n++, sizes_s[i]);
        sum -= trace->jobs[i].submit_s;
    }
    while (n > 0) { /* to the end, without an infinity in sight */
        now_s += heap[0];
        sum += now_s;
        n--;
        heap_sink(heap, n, heap[n]);
    }
    free(heap);
    return sum / (double)trace->n;
}

/* refuse - a job for which there is nothing in this cluster, whatever the policy */
static int refuse(const struct trace *trace, const struct trace_job *job,
                  const struct run_config *config, struct edl_error *error)
{
    uint32_t capacity = config->n_nodes * config->per_node, least = job_least(job);

    if (least > capacity) {
        (void)edl_error_set(error, -EINVAL, "%s: job %s needs %u instances, the cluster has %u",
                            trace->name, job->name, least, capacity);
        return edl_error_remedy(error, "more or larger nodes: --nodes");
    }
    (void)profile_pace_of(job->profile, least, config->per_node, error); /* for its words */
    edl_error_prefix(error, "%s, job %s: ", trace->name, job->name);
    return -ERANGE;
}

int bounds_of(const struct trace *trace, const struct run_config *config, struct bounds *ret,
              struct edl_error *error)
{
    uint32_t capacity = config->n_nodes * config->per_node;
    double *sizes_s = xcalloc(trace->n, sizeof(*sizes_s));
    double work_s = 0, last_s = 0, shortest = 0;

    if (trace->n == 0) {
        free(sizes_s);
        (void)edl_error_set(error, -EINVAL, "%s has no jobs", trace->name);
        return edl_error_remedy(error, "at least one line behind the names of the columns");
    }
    for (size_t i = 0; i < trace->n; i++) {
        struct job_best best = best_of(&trace->jobs[i], capacity, config->per_node);

        if (!isfinite(best.size_s)) {
            free(sizes_s);
            return refuse(trace, &trace->jobs[i], config, error);
        }
        sizes_s[i] = best.size_s / capacity;
        work_s += sizes_s[i];
        shortest += best.time_s;
        last_s = fmax(last_s, trace->jobs[i].submit_s - trace->jobs[0].submit_s + best.time_s);
    }
    ret->shortest_avg_s = shortest / (double)trace->n;
    ret->srpt_avg_s = srpt_avg_s(trace, sizes_s);
    ret->makespan_s = fmax(work_s, last_s);
    free(sizes_s);
    return 0;
}
