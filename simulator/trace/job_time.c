/* SPDX-License-Identifier: Apache-2.0 */
/* job_time.c - how long a whole job takes with one amount */
#include "simulator/trace/job_time.h"

#include <math.h>

#include "shared/macro.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/trace.h"

double job_time_s(const struct trace_job *job, uint32_t n, uint32_t per_node)
{
    const struct pace *pace = profile_pace_of(job->profile, n, per_node, NULL);

    if (pace == NULL)
        return INFINITY;
    return job->profile->bounds != NULL ? pace->after_s[0] : job->work_steps / pace->rate[0];
}

double job_phase_s(const struct trace_job *job, uint32_t phase, uint32_t n, uint32_t per_node)
{
    const struct pace *pace = profile_pace_of(job->profile, n, per_node, NULL);
    const double *bounds = job->profile->bounds;

    if (pace == NULL)
        return INFINITY;
    return (bounds != NULL ? bounds[phase + 1] - bounds[phase] : job->work_steps) /
           pace->rate[phase];
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
