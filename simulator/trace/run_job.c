/* SPDX-License-Identifier: Apache-2.0 */
/* run_job.c - a job's progress with its places */
#include <errno.h>
#include <math.h>

#include "shared/macro.h"
#include "simulator/trace/run_internal.h"

const double *job_bounds(const struct run_job *job)
{
    const struct profile *profile = job->trace->profile;

    return profile->bounds != NULL ? profile->bounds : job->own_bounds;
}

static int too_small(const struct run_job *job, const struct run *run, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "%s: job %s needs %u instances, the cluster has %u",
                        run->trace->name, job->trace->name, job->min, pool_capacity(&run->pool));
    return edl_error_remedy(error, "more or larger nodes: --nodes");
}

/* at_or_below - the largest of the job's amounts which is not above n */
static uint32_t at_or_below(const struct run_job *job, uint32_t n)
{
    uint32_t best = job->n_counts > 0 ? job->counts[0] : n;

    for (size_t i = 0; i < job->n_counts && job->counts[i] <= n; i++)
        best = job->counts[i];
    return best;
}

/* has_gaps - between min and max, which are among the counts, some are missing */
static bool has_gaps(const struct run_job *job)
{
    size_t within = 0;

    for (size_t i = 0; i < job->n_counts; i++)
        within += job->counts[i] >= job->min && job->counts[i] <= job->max;
    return within != (size_t)job->max - job->min + 1;
}

/* set_amounts - on full nodes, no policy can choose what nobody measured */
static void set_amounts(struct run_job *job, const struct run *run)
{
    const struct trace_job *trace = job->trace;
    struct profile *profile = trace->profile;
    uint32_t capacity = pool_capacity(&run->pool);
    uint32_t most = MIN_OF(MIN_OF(trace->max, profile->max), capacity);

    job->counts = profile->counts;
    job->n_counts = profile->n_counts;
    if (job->counts == NULL)
        job->counts = profile_known(profile, capacity, run->pool.per_node, &job->n_counts);
    job->max = MAX_OF(at_or_below(job, most), job->min);
    job->requested = MAX_OF(MIN_OF(trace->requested, job->max), job->min);
    if (job->counts == profile->counts)
        return;
    job->requested = MAX_OF(at_or_below(job, job->requested), job->min);
    if (job->requested < MIN_OF(trace->requested, most))
        run->result->n_cut++;
    if (!has_gaps(job)) {
        job->counts = NULL;
        job->n_counts = 0;
    }
}

int job_begin(struct run_job *job, const struct trace_job *trace, const struct run *run,
              struct edl_error *error)
{
    struct profile *profile = trace->profile;
    uint32_t capacity = pool_capacity(&run->pool);

    job->trace = trace;
    job->min = MAX_OF(trace->min, profile->min);
    if (job->min > capacity)
        return too_small(job, run, error);
    set_amounts(job, run);
    job->own_bounds[1] = trace->work_steps;
    job->end_s = INFINITY;
    job->at_s = trace->submit_s;
    job->result->submit_s = trace->submit_s;
    job->result->start_s = job->result->done_s = NAN;
    job->one = profile_pace_of(profile, job->min, run->pool.per_node, error);
    if (job->one != NULL)
        return 0;
    edl_error_prefix(error, "%s, job %s: ", run->trace->name, trace->name);
    return -ERANGE;
}

/* spend - seconds with what it holds; served: at how many times the speed of the smallest amount */
static void spend(struct run_job *job, double seconds, double served)
{
    job->result->held_s += seconds * job->shares.n;
    job->result->served_s += seconds * served;
    job->run_s += seconds;
    job->at_s += seconds;
}

static void stand_still(struct run_job *job, double seconds)
{
    spend(job, seconds, 0);
    job->result->lost_s += seconds * job->shares.n;
    job->restart_left_s -= seconds;
}

/* pass_phase - to the end of the phase, which is within the seconds; returns what is left of them
 */
static double pass_phase(struct run_job *job, double seconds, double served, bool whole)
{
    double end = job_bounds(job)[job->phase + 1];
    double delta = (end - job->progress) / job->pace->rate[job->phase];

    /* to the even of two: as in the simulator whose figures these rounds give again */
    if (whole)
        delta = nearbyint(delta);
    delta = fmin(delta, seconds);
    spend(job, delta, served);
    job->progress = end;
    job->phase++;
    if (job->phase == job->trace->profile->n_phases) {
        job->done = true;
        job->result->done_s = job->at_s;
    }
    return seconds - delta;
}

/* One that is due by its own forecast is done, whatever the last bit of its progress says. */
static bool is_due(const struct run_job *job, double to_s, bool whole)
{
    return !whole && to_s >= job->end_s;
}

int job_advance(struct run_job *job, struct run *run, double to_s, bool whole)
{
    double seconds = to_s - job->at_s;
    bool due = is_due(job, to_s, whole);

    if (job->pace == NULL) {
        job->result->wait_s += seconds;
        job->at_s = to_s;
        return 0;
    }
    if (job->restart_left_s > 0) {
        double still = fmin(job->restart_left_s, seconds);

        stand_still(job, still);
        seconds -= still;
    }
    while ((seconds > 0 || due) && !job->done) {
        double rate, served;

        if (job->learns && learn_look(run, job) < 0)
            return -ERANGE;
        rate = job->pace->rate[job->phase];
        served = rate / job->one->rate[job->phase] * job->min;

        if (!due && job->progress + rate * seconds < job_bounds(job)[job->phase + 1]) {
            job->progress += rate * seconds;
            spend(job, seconds, served);
            break;
        }
        seconds = pass_phase(job, seconds, served, whole);
    }
    job->at_s = to_s;
    return 0;
}

double job_remaining_s(const struct run_job *job, double rate, double after_s)
{
    return (job_bounds(job)[job->phase + 1] - job->progress) / rate + after_s;
}

void job_predict(struct run_job *job)
{
    const struct pace *pace = job->pace;

    job->end_s = INFINITY;
    if (pace != NULL && !job->learns)
        job->end_s = job->at_s + job->restart_left_s +
                     job_remaining_s(job, pace->rate[job->phase], pace->after_s[job->phase + 1]);
}
