/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - a trace under a policy: rounds, or one decision for each burst of events */
#include "simulator/trace/run.h"

#include <errno.h>
#include <math.h>

#include "shared/macro.h"
#include "simulator/trace/run_internal.h"

#define IDLE_ROUNDS 100000 /* nobody holds anything and nobody comes: so many, then it is stuck */

static int check_level(const struct run *run)
{
    const struct information *offered = &run->config->information;
    const char *missing = NULL;

    if ((run->policy->uses & USES_LENGTHS) != 0 && !offered->lengths)
        missing = "lengths";
    if ((run->policy->uses & USES_SPEEDS) != 0 && offered->speeds == SPEEDS_HIDDEN)
        missing = "speeds";
    if (missing == NULL)
        return 0;
    (void)edl_error_set(run->error, -EINVAL, "%s uses %s, which this level does not offer",
                        run->policy->name, missing);
    return edl_error_remedy(run->error, "another --level, or a table of its own");
}

static bool is_whole(double seconds)
{
    return seconds == floor(seconds);
}

static bool in_whole_seconds(const struct run *run, const struct run_job *job)
{
    return job->trace->profile->whole_seconds && run->config->round_s > 0 &&
           is_whole(run->config->round_s) && is_whole(run->config->restart_s);
}

static void note_end(struct run *run, const struct run_job *job)
{
    if (run->n_ended == run->ended_cap) {
        run->ended_cap = run->ended_cap > 0 ? 2 * run->ended_cap : 64;
        run->ended = xreallocarray(run->ended, run->ended_cap, sizeof(*run->ended));
    }
    run->ended[run->n_ended++] =
        (struct view_ended){ .family = job->trace->family, .work = job->progress };
}

/* advance - everybody who is here, to a moment; who ended gives back what he held */
static int advance(struct run *run, double to_s)
{
    size_t left = 0;

    run->result->used_s += (to_s - run->now_s) * (pool_capacity(&run->pool) - run->pool.n_free);
    for (size_t i = 0; i < run->n_active; i++) {
        struct run_job *job = run->active[i];

        if (job_advance(job, run, to_s, in_whole_seconds(run, job)) < 0)
            return -ERANGE; /* nobody looks at the run any more */
        if (!job->done) {
            run->active[left++] = job;
            continue;
        }
        pool_release(&run->pool, &job->shares);
        note_end(run, job);
        run->result->end_s = fmax(run->result->end_s, job->result->done_s);
    }
    run->n_active = left;
    run->now_s = to_s;
    return 0;
}

/* admit - who was submitted until now */
static void admit(struct run *run)
{
    while (run->next_job < run->trace->n &&
           run->jobs[run->next_job].trace->submit_s <= run->now_s) {
        struct run_job *job = &run->jobs[run->next_job++];

        (void)job_advance(job, run, run->now_s, false); /* it waits: nothing can fail */
        run->active[run->n_active++] = job;
    }
}

static void note_decision(struct run *run, uint64_t begin_ns)
{
    struct run_result *result = run->result;

    if (result->n_decisions == run->decisions_cap) {
        run->decisions_cap = run->decisions_cap ? 2 * run->decisions_cap : 1024;
        result->decisions_s =
            xreallocarray(result->decisions_s, run->decisions_cap, sizeof(double));
    }
    result->decisions_s[result->n_decisions++] =
        run->config->clock_ns != NULL ? 1e-9 * (double)(run->config->clock_ns() - begin_ns) : 0;
}

static int decide(struct run *run)
{
    uint64_t begin_ns;

    if (run->n_active == 0)
        return 0;
    run_look(run);
    begin_ns = run->config->clock_ns != NULL ? run->config->clock_ns() : 0;
    run->policy->decide(run->policy_state, &run->view, &run->plan);
    note_decision(run, begin_ns);
    return run_apply(run);
}

static int stuck(const struct run *run)
{
    (void)edl_error_set(run->error, -EINVAL, "%s leaves job %s of %s waiting for ever",
                        run->policy->name, run->active[0]->trace->name, run->trace->name);
    return edl_error_remedy(run->error, "a cluster that has room for it: --nodes");
}

static uint64_t max_turns(const struct run *run)
{
    return run->config->max_turns != 0 ? run->config->max_turns : RUN_TURNS(run->trace->n);
}

/* count_turn - a line is enough for a job that takes as long as it likes, also so long that a round
 * more is lost to rounding */
static int count_turn(struct run *run)
{
    const struct trace_job *job;

    if (run->turns_left-- > 0)
        return 0;
    job = run->n_active > 0 ? run->active[0]->trace : run->jobs[run->next_job].trace;
    (void)edl_error_set(run->error, -E2BIG,
                        "%s is not over after %llu decisions of %s, at %.4g s: job %s",
                        run->trace->name, (unsigned long long)max_turns(run), run->policy->name,
                        run->now_s, job->name);
    return edl_error_remedy(run->error, "look at its submit_s, speed and work (edl-trace(5))%s",
                            run->config->round_s > 0 ? ", or give a longer --round" : "");
}

static int play_rounds(struct run *run)
{
    uint32_t idle = 0;
    int r = 0;

    while (r == 0 && (run->n_active > 0 || run->next_job < run->trace->n)) {
        if (run->n_active == 0) { /* rounds in which nobody is here change nothing */
            double next_s = run->jobs[run->next_job].trace->submit_s;
            double rounds = floor((next_s - run->now_s) / run->config->round_s);

            run->now_s += fmax(rounds - 1, 0) * run->config->round_s;
        }
        r = count_turn(run);
        if (r == 0)
            r = advance(run, run->now_s + run->config->round_s);
        admit(run);
        if (r == 0)
            r = decide(run);
        idle = run->pool.n_free == pool_capacity(&run->pool) && run->n_active > 0 ? idle + 1 : 0;
        if (idle > IDLE_ROUNDS && run->next_job == run->trace->n)
            return stuck(run);
    }
    return r;
}

/* phase_end_s - when a job's speeds change; a millisecond ahead at least, whatever the last bit of
 * its progress says */
static double phase_end_s(const struct run *run, const struct run_job *job)
{
    double left;

    if (job->pace == NULL || job->trace->profile->n_phases == 1)
        return INFINITY;
    left = job_bounds(job)[job->phase + 1] - job->progress;
    return fmax(job->at_s + job->restart_left_s + left / job->pace->rate[job->phase],
                run->now_s + 1e-3);
}

/* next_event - the next submission, end, or moment that the policy asked for */
static double next_event(const struct run *run)
{
    double next_s = INFINITY;

    if (run->next_job < run->trace->n)
        next_s = run->jobs[run->next_job].trace->submit_s;
    for (size_t i = 0; i < run->n_active; i++)
        next_s = fmin(next_s, fmin(run->active[i]->end_s, phase_end_s(run, run->active[i])));
    if (run->policy->wake_s != NULL && run->n_active > 0)
        next_s = fmin(next_s, fmax(run->policy->wake_s(run->policy_state, &run->view), run->now_s));
    return next_s;
}

static int play_events(struct run *run)
{
    int r = 0;

    while (r == 0 && (run->n_active > 0 || run->next_job < run->trace->n)) {
        double next_s = next_event(run);

        if (isinf(next_s))
            return stuck(run);
        r = count_turn(run);
        if (r == 0)
            r = advance(run, next_s + run->config->window_s);
        admit(run);
        if (r == 0)
            r = decide(run);
    }
    return r;
}

unsigned run_uses(const struct trace_policy *policy, const struct information *offered)
{
    unsigned there = (offered->lengths ? USES_LENGTHS : 0) | (offered->history ? USES_HISTORY : 0) |
                     (offered->speeds != SPEEDS_HIDDEN ? USES_SPEEDS : 0);

    return policy->uses | (policy->profits & there);
}

static int begin(struct run *run)
{
    int r = check_level(run);

    if (r == 0)
        r = learn_begin(run);

    for (size_t i = 0; r == 0 && i < run->trace->n; i++) {
        run->jobs[i].result = &run->result->jobs[i];
        r = job_begin(&run->jobs[i], &run->trace->jobs[i], run, run->error);
    }
    run->view = (struct view){
        .round_s = run->config->round_s,
        .restart_s = run->config->restart_s,
        .n_nodes = run->config->n_nodes,
        .per_node = run->config->per_node,
        .capacity = pool_capacity(&run->pool),
        .uses = run_uses(run->policy, &run->config->information),
        .run = run,
    };
    if (r == 0 && run->policy->begin != NULL)
        run->policy_state = run->policy->begin(&run->view);
    return r;
}

static void done(struct run *run)
{
    if (run->policy_state != NULL && run->policy->end != NULL)
        run->policy->end(run->policy_state);
    for (size_t i = 0; i < run->trace->n; i++)
        shares_done(&run->jobs[i].shares);
    learn_end(run);
    free(run->ended);
    free(run->jobs);
    free(run->active);
    free(run->view_jobs);
    free(run->plan.counts);
    free(run->plan.pservers);
    free(run->plan.order);
    pool_done(&run->pool);
}

int run_trace(const struct trace *trace, const struct trace_policy *policy,
              const struct run_config *config, struct run_result *ret, struct edl_error *error)
{
    struct edl_error unseen = { 0 };
    struct run_result result = {
        .jobs = xcalloc(trace->n, sizeof(*result.jobs)),
        .n_jobs = trace->n,
        .first_s = trace->n > 0 ? trace->jobs[0].submit_s : 0,
    };
    struct run run = {
        .trace = trace,
        .policy = policy,
        .config = config,
        .result = &result,
        .jobs = xcalloc(trace->n, sizeof(*run.jobs)),
        .active = xcalloc(trace->n, sizeof(struct run_job *)),
        .error = error != NULL ? error : &unseen,
    };
    int r;

    run.turns_left = max_turns(&run);
    pool_init(&run.pool, config->n_nodes, config->per_node);
    r = begin(&run);
    if (r == 0)
        r = config->round_s > 0 ? play_rounds(&run) : play_events(&run);
    done(&run);
    if (r < 0) {
        run_result_done(&result);
        return r;
    }
    *ret = result;
    return 0;
}

void run_result_done(struct run_result *result)
{
    free(result->jobs);
    free(result->decisions_s);
}
