/* SPDX-License-Identifier: Apache-2.0 */
/* forecast.c - what a change would do to the cluster as it is
 *
 * A change is a call on a copy of the cluster and the question whether it is done. The copy is
 * played forward (forecast_play.c) until it is, and then until its consequences have settled. */
#include "scheduler/core/ask/forecast.h"

#include <stdio.h>

#include "scheduler/core/ask/forecast_play.h"
#include "scheduler/core/ask/forecast_run.h"
#include "scheduler/core/events/node_report.h"
#include "scheduler/core/events/submit.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/past_refusals.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "scheduler/core/model/waiting.h"
#include "scheduler/core/ask/reason.h"
#include "scheduler/core/submission.h"
#include "scheduler/core/plan/fits.h"
#include "shared/error.h"
#include "shared/macro.h"

#define SETTLE_MAX_US (600 * USEC_PER_SEC)

const char *forecast_verdict_to_string(enum forecast_verdict verdict)
{
    static const char *const texts[] = {
        [FORECAST_NOW] = "now",         [FORECAST_AFTER_SHRINKING] = "after-shrinking",
        [FORECAST_LATER] = "later",     [FORECAST_AFTER_END] = "after-end",
        [FORECAST_UNKNOWN] = "unknown", [FORECAST_NEVER] = "never",
    };

    return texts[verdict];
}

/* forecast_done - frees what it owns; one that was never filled in must be zero */
void forecast_done(struct forecast *forecast)
{
    for (size_t i = 0; i < forecast->n_roles; i++)
        free(forecast->roles[i].victims);
    free(forecast->roles);
    free(forecast->placements);
    *forecast = (struct forecast){ 0 };
}

/* --- the play --- */

/* Its minimum, less what has ended well, is more than these nodes hold when nothing else is there.
 */
static bool never_fits(const struct run *run)
{
    const struct job *job = run->subject;

    if (job == NULL || run->play.cluster->nodes == NULL)
        return false;
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        if (job_count_finished(job, r) > 0)
            return false;
    return job_is_refused(run->play.cluster, job) || !spec_fits_ever(run->play.cluster, job->spec);
}

/* Not one whose deadline came while it waited. */
static bool has_started(const struct job *job)
{
    return job->state != JOB_QUEUED && !job_state_is_final(job->state);
}

/* They ask for the same and start in their order. */
static void look_at_array(struct run *run)
{
    struct forecast_array *array = &run->forecast->array;
    uint32_t before = run->n_started;

    while (run->n_started < run->n_array &&
           has_started(cluster_job(run->play.cluster, run->subject->id + run->n_started)))
        run->n_started++;
    if (before == 0 && run->n_started > 0)
        array->first_least_us = run->play.now.now_us - run->begin.now_us;
}

static void wait_until_done(struct run *run, bool with_ends)
{
    for (;;) {
        look_at_array(run);
        if (run->change->is_done(run) || run->never)
            break;
        if (with_ends && !run->noted && play_end_is_next(&run->play))
            note_waiting(run);
        if (!play_step(&run->play, with_ends))
            break;
    }
    run->done = run->change->is_done(run);
}

static void settle(struct run *run)
{
    struct play *play = &run->play;

    play->until_us = MIN_OF(play->until_us, play->now.now_us + SETTLE_MAX_US);
    while (!play_is_settled(play) && play_step(play, false))
        ;
}

static bool anybody_stops(const struct forecast *forecast)
{
    for (size_t i = 0; i < forecast->n_roles; i++)
        if (forecast->roles[i].n_victims > 0)
            return true;
    return false;
}

static enum forecast_verdict judge(const struct run *run)
{
    if (!run->done)
        return run->never ? FORECAST_NEVER : FORECAST_UNKNOWN;
    if (run->play.now.now_us == run->begin.now_us)
        return FORECAST_NOW;
    if (run->play.ended != NULL)
        return FORECAST_AFTER_END;
    return anybody_stops(run->forecast) ? FORECAST_AFTER_SHRINKING : FORECAST_LATER;
}

/* How a change is played. */
struct outlook {
    bool longest;    /* every stop takes the whole grace */
    bool with_ends;  /* jobs end */
    bool knows_ends; /* out: of some job it is known when it ends */
};

/* One play of the change; *ret is filled in but for the longest wait. */
static int play_change(const struct cluster *cluster, const struct change *change,
                       struct instant now, const struct forecast_options *options,
                       struct outlook *outlook, struct forecast *ret, struct edl_error *error)
{
    struct run run = { .change = change, .cluster = cluster, .begin = now, .forecast = ret };
    int r = play_init(&run.play, cluster, now, options, outlook->longest, error);

    if (r < 0)
        return r;
    r = change->apply(change, run.play.cluster, now, &run.subject, error);
    if (r < 0) {
        play_done(&run.play);
        return r;
    }
    run.n_array = run.subject != NULL && change->spec != NULL ? change->spec->array.n : 0;
    *ret = (struct forecast){
        .wait_least_us = NEVER_US,
        .wait_most_us = NEVER_US,
        .array = { .n_jobs = run.n_array, .first_least_us = NEVER_US, .first_most_us = NEVER_US }
    };
    outlook->knows_ends = run.play.n_ends > 0;
    if (outlook->knows_ends &&
        !outlook->with_ends) /* a change that takes longer may as well wait for an end */
        run.play.until_us = MIN_OF(run.play.until_us, now.now_us + SETTLE_MAX_US);
    run.never = never_fits(&run);
    note_begin(&run);
    play_plan(&run.play);
    wait_until_done(&run, outlook->with_ends);
    ret->verdict = judge(&run);
    if (run.done) {
        ret->wait_least_us = run.play.now.now_us - now.now_us;
        note_done(&run);
        forecast_explain(&run);
        settle(&run);
        note_settled(&run);
    } else {
        if (!run.noted)
            note_waiting(&run);
        forecast_explain(&run);
    }
    note_end(&run);
    play_done(&run.play);
    return 0;
}

static int forecast_change(const struct cluster *cluster, const struct change *change,
                           struct instant now, const struct forecast_options *options,
                           struct forecast *ret, struct edl_error *error)
{
    static const struct forecast_options defaults = { 0 };
    struct outlook outlook = { .longest = false };
    struct forecast longest = { 0 };
    int r;

    if (options == NULL)
        options = &defaults;
    r = play_change(cluster, change, now, options, &outlook, ret, error);
    if (r == 0 && ret->verdict == FORECAST_UNKNOWN && outlook.knows_ends) {
        /* only now: a job that happens to end is no cause of a change that comes without its end as
         * well */
        forecast_done(ret);
        outlook.with_ends = true;
        r = play_change(cluster, change, now, options, &outlook, ret, error);
    }
    if (r < 0)
        return r;
    outlook.longest = true;
    if (ret->array.first_least_us == 0)
        ret->array.first_most_us = 0;
    if (ret->verdict == FORECAST_NOW) {
        ret->wait_most_us = 0;
    } else if ((ret->wait_least_us != NEVER_US || ret->array.first_least_us != NEVER_US) &&
               play_change(cluster, change, now, options, &outlook, &longest, NULL) == 0) {
        /* another order of stops may by chance be the faster one */
        ret->wait_most_us = MAX_OF(longest.wait_least_us, ret->wait_least_us);
        ret->array.first_most_us = MAX_OF(longest.array.first_least_us, ret->array.first_least_us);
    }
    forecast_done(&longest);
    return 0;
}

/* --- the changes --- */

/* Its class in the queue is no longer true. */
static void expect_refusals(struct cluster *copy, struct job *job, struct instant now)
{
    bool waits = job->filed;

    if (!past_refusals_any(copy) || job->state != JOB_QUEUED)
        return;
    if (waits)
        job_unfile(copy, job);
    job_expect_refusals(copy, job, now);
    if (waits)
        job_file(copy, job);
}

static int apply_submit(const struct change *change, struct cluster *copy, struct instant now,
                        struct job **ret_subject, struct edl_error *error)
{
    struct job_spec *spec = job_spec_copy(change->spec);
    int r = submit_resolved(copy, spec, change->user, now, ret_subject, error);

    if (r < 0)
        (void)job_spec_free(spec);
    for (uint32_t i = 0; r == 0 && i < MAX_OF(change->spec->array.n, 1U); i++)
        expect_refusals(copy, cluster_job(copy, (*ret_subject)->id + i), now);
    return r;
}

static bool is_started(const struct run *run)
{
    return run->n_array > 0 ? run->n_started == run->n_array : has_started(run->subject);
}

static uint32_t jobs_to_play(const struct job_spec *spec)
{
    uint64_t most = FORECAST_INSTANCES_MAX / MAX_OF(job_spec_instances(spec), (uint64_t)1);

    return (uint32_t)MIN_OF(spec->array.n, MAX_OF(most, (uint64_t)1));
}

static void tell_of_array(struct forecast *forecast, uint32_t n_jobs)
{
    size_t used = strlen(forecast->reason);

    forecast->array.n_played = forecast->array.n_jobs;
    forecast->array.n_jobs = n_jobs;
    if (forecast->array.n_played < n_jobs)
        (void)snprintf(forecast->reason + used, sizeof forecast->reason - used,
                       "; looked at were the first %u of %u job%s", forecast->array.n_played,
                       n_jobs, PLURAL(n_jobs));
}

/* cluster_forecast - see forecast.h */
int cluster_forecast(const struct cluster *cluster, const struct job_spec *spec, const char *user,
                     const struct archived_jobs *archived, struct instant now,
                     const struct forecast_options *options, struct forecast *ret,
                     struct edl_error *error)
{
    struct job_spec *own = job_spec_copy(spec);
    bool is_array = spec->array.n > 0;
    uint32_t n_jobs = spec->array.n;
    const struct change change = { .apply = apply_submit,
                                   .is_done = is_started,
                                   .now_text = is_array ? "there is room for the minimum of each"
                                                        : "there is room for its minimum",
                                   .later_text =
                                       is_array ? "stopping processes already make room for them"
                                                : "stopping processes already make room for it",
                                   .spec = own,
                                   .user = user };
    int r = submit_prepare(cluster, own, user, archived, now, error);

    if (r == 0) {
        own->array.n = jobs_to_play(own);
        r = forecast_change(cluster, &change, now, options, ret, error);
    }
    if (r == 0 && is_array)
        tell_of_array(ret, n_jobs);
    (void)job_spec_free(own);
    return r;
}

static int apply_job_change(const struct change *change, struct cluster *copy, struct instant now,
                            struct job **ret_subject, struct edl_error *error)
{
    *ret_subject = cluster_job(copy, change->job_id);
    return cluster_change_job(copy, *ret_subject, change->job_change, now, error);
}

static bool is_resized(const struct run *run)
{
    const struct tracked *tracked = run_tracked(run, run->subject);

    return tracked->was_queued ? is_started(run) : run->subject->state == JOB_RUNNING;
}

/* cluster_forecast_change - see forecast.h */
int cluster_forecast_change(const struct cluster *cluster, const struct job *job,
                            const struct job_change *job_change, struct instant now,
                            const struct forecast_options *options, struct forecast *ret,
                            struct edl_error *error)
{
    const struct change change = { .apply = apply_job_change,
                                   .is_done = is_resized,
                                   .now_text = "it keeps the size that it has",
                                   .later_text = "there is room for its new size",
                                   .job_id = job->id,
                                   .job_change = job_change };

    if (job_state_is_final(job->state)) /* the copy knows none of them */
        return edl_error_set(error, EDL_EBADTRANSITION, "job %s is %s", job->spec->name,
                             job_state_to_string(job->state));
    return forecast_change(cluster, &change, now, options, ret, error);
}

static int apply_node(const struct change *change, struct cluster *copy, struct instant now,
                      struct job **ret_subject, struct edl_error *error)
{
    (void)ret_subject;
    return cluster_set_node_state(copy, cluster_node(copy, change->node), change->state, now,
                                  error);
}

static bool is_node_changed(const struct run *run)
{
    const struct node *node = cluster_node(run->play.cluster, run->change->node);
    const struct tracked *tracked;

    if (run->change->state == NODE_DRAINING && node->processes != NULL)
        return false;
    for (tracked = run->tracked; tracked != NULL; tracked = tracked->hh.next)
        if (tracked_lacks(tracked))
            return false;
    return true;
}

/* cluster_forecast_node - see forecast.h */
int cluster_forecast_node(const struct cluster *cluster, const struct node *node,
                          enum node_state state, struct instant now,
                          const struct forecast_options *options, struct forecast *ret,
                          struct edl_error *error)
{
    const struct change change = { .apply = apply_node,
                                   .is_done = is_node_changed,
                                   .now_text = "no process has to stop for it",
                                   .later_text = "only processes that stop already have to leave",
                                   .node = node->name,
                                   .state = state };

    return forecast_change(cluster, &change, now, options, ret, error);
}
