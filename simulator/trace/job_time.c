/* SPDX-License-Identifier: Apache-2.0 */
/* job_time.c - how long a job takes with the best of its amounts */
#include "simulator/trace/job_time.h"

#include <math.h>

#include "shared/macro.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/trace.h"

/* phase_s - of one amount; INFINITY where nothing is known of that */
static double phase_s(const struct trace_job *job, uint32_t phase, uint32_t n, uint32_t per_node)
{
    const double *bounds = job->profile->bounds;
    struct glance glance;

    if (profile_glance(job->profile, n, 0, per_node, phase, &glance) < 0)
        return INFINITY;
    return (bounds != NULL ? bounds[phase + 1] - bounds[phase] : job->work_steps) / glance.rate;
}

struct job_best job_best(const struct trace_job *job, uint32_t phase, uint32_t most,
                         uint32_t per_node)
{
    struct job_best best = { .time_s = INFINITY, .size_s = INFINITY };
    uint32_t least = job_least(job);

    if (job->profile->ops->rises) /* nothing between the two is better */
        return (struct job_best){
            .time_s = phase_s(job, phase, MAX_OF(least, most), per_node),
            .size_s = phase_s(job, phase, least, per_node) * least,
        };
    for (uint32_t n = least; n != 0; n = job_next(job, n, most)) {
        double time_s = phase_s(job, phase, n, per_node);

        best.time_s = fmin(best.time_s, time_s);
        best.size_s = fmin(best.size_s, time_s * n);
    }
    return best;
}

uint32_t job_least(const struct trace_job *job)
{
    return MAX_OF(job->min, job->profile->min);
}

uint32_t job_next(const struct trace_job *job, uint32_t n, uint32_t most)
{
    const struct profile *profile = job->profile;

    if (profile->counts == NULL)
        return n < most ? n + 1 : 0;
    for (size_t i = 0; i < profile->n_counts && profile->counts[i] <= most; i++)
        if (profile->counts[i] > n)
            return profile->counts[i];
    return 0;
}

uint32_t job_most(const struct trace_job *job, uint32_t capacity)
{
    uint32_t most = MIN_OF(MIN_OF(job->max, job->profile->max), capacity);
    uint32_t best = job_least(job);

    if (best > capacity)
        return 0;
    if (job->profile->counts == NULL)
        return MAX_OF(best, most);
    for (uint32_t n = best; n != 0; n = job_next(job, n, most))
        best = n;
    return best;
}
