/* SPDX-License-Identifier: Apache-2.0 */
/* search_tell.c - see search_tell.h */
#include "client/search_tell.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "client/job_view.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/search_core.h"
#include "client/search_jobs.h"
#include "client/search_view.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define OUTPUT_LINES 20 /* of a trial that failed: its traceback */

/* note - *ret_first: nothing was told of it; the state that was, else the one that is */
static int note(struct search_told *told, const struct search_job *newest, int state,
                bool *ret_first)
{
    struct search_told_job *job;
    int before;

    while (told->n <= newest->trial) {
        told->jobs = xreallocarray(told->jobs, told->n + 1, sizeof *told->jobs);
        told->jobs[told->n++] = (struct search_told_job){ .id = 0 };
    }
    job = &told->jobs[newest->trial];
    *ret_first = job->id != newest->id;
    before = *ret_first ? state : job->state;
    if (*ret_first)
        *job = (struct search_told_job){ .id = newest->id };
    job->state = state;
    return before;
}

/* take_best - whether a trial has a better result than all that were told */
static bool take_best(struct search_told *told, const struct search_space *space,
                      const struct search_trial *trial)
{
    double result = trial->state > SEARCH_TRIAL_RUNS && trial->state != SEARCH_TRIAL_FAILED
                        ? search_result(space, trial)
                        : NAN;

    if (isnan(result) || (space->is_maximised ? result <= told->best : result >= told->best))
        return false;
    told->best = result;
    return true;
}

void search_told_begin(struct search_told *told, const struct search_jobs *jobs,
                       const struct search_trials *trials)
{
    size_t under_way = 0;
    bool first;

    told->best = NAN;
    for (size_t i = 0; i < trials->n; i++) {
        (void)note(told, &trials->jobs[i].newest, (int)trials->trials[i].state, &first);
        told->jobs[trials->trials[i].number].was_stopped = trials->jobs[i].is_stopped;
        under_way += trials->trials[i].state <= SEARCH_TRIAL_RUNS && !trials->jobs[i].is_stopped;
        (void)take_best(told, jobs->record.space, &trials->trials[i]);
    }
    if (trials->n > 0)
        report_note("search %s goes on: %zu trial%s, %zu of them under way", jobs->name, trials->n,
                    PLURAL(trials->n), under_way);
}

void search_told_end(struct search_told *told)
{
    free(told->jobs);
    *told = (struct search_told){ .n = 0 };
}

bool search_told_before(const struct search_told *told, const struct search_trial_jobs *jobs)
{
    unsigned trial = jobs->newest.trial;

    return trial < told->n && told->jobs[trial].id == jobs->newest.id &&
           told->jobs[trial].was_stopped;
}

static void tell_start(const struct search_jobs *jobs, const struct search_trial *trial)
{
    _cleanup_free_ char *values = search_view_values(jobs->record.space, trial->values);

    if (trial->rung > 0)
        (void)fprintf(stderr, "trial %u, rung %u begins: %s\n", trial->number, trial->rung, values);
    else
        (void)fprintf(stderr, "trial %u runs: %s\n", trial->number, values);
}

static void tell_end(const struct search_jobs *jobs, const struct search_trial *trial,
                     const struct search_job *job, bool is_best)
{
    const struct search_space *space = jobs->record.space;
    double result = search_result(space, trial);

    if (trial->state == SEARCH_TRIAL_FAILED)
        (void)fprintf(stderr, "trial %u failed: %s\n", trial->number,
                      json_text(job->json, "reason"));
    else if (isnan(result))
        (void)fprintf(stderr, "trial %u ended and told no %s\n", trial->number, space->metric);
    else
        (void)fprintf(stderr, "trial %u: %s %.6g%s\n", trial->number, space->metric, result,
                      is_best ? ", the best so far" : "");
}

void search_tell_news(struct search_told *told, const struct search_jobs *jobs,
                      const struct search_trials *trials)
{
    for (size_t i = 0; i < trials->n; i++) {
        const struct search_trial *trial = &trials->trials[i];
        bool first, ended = trial->state > SEARCH_TRIAL_RUNS;
        int before = note(told, &trials->jobs[i].newest, (int)trial->state, &first);
        bool changed = first || before != (int)trial->state;

        if (changed && (trial->state == SEARCH_TRIAL_RUNS ||
                        (ended && (first || before == SEARCH_TRIAL_WAITS))))
            tell_start(jobs, trial);
        if (changed && ended)
            tell_end(jobs, trial, &trials->jobs[i].newest,
                     take_best(told, jobs->record.space, trial));
    }
}

int search_tell_stopped(const struct search_jobs *jobs)
{
    report_note("search %s was stopped; edl search resume %s goes on with it", jobs->name,
                jobs->name);
    return STATUS_FAILED;
}

static const struct search_trial_jobs *jobs_of(const struct search_trials *trials, unsigned number)
{
    for (size_t i = 0; i < trials->n; i++)
        if (trials->trials[i].number == number)
            return &trials->jobs[i];
    return NULL;
}

/* tell_output - of a trial that failed: its last lines have the traceback */
static void tell_output(struct server *server, const struct search_job *job)
{
    _cleanup_free_ char *id = text_format("%" PRIu64, job->id);
    struct log_request request = {
        .job = id, .has_tail = true, .tail = OUTPUT_LINES, .folds = true
    };

    (void)fprintf(stderr, "the last lines of trial %u, edl logs %s:\n", job->trial,
                  json_text(job->json, "name"));
    (void)fflush(stderr);
    (void)job_logs(server, &request, NULL);
    (void)fflush(stdout);
}

/* told_names - of the figures that a trial told, of which its metric is none; new string */
static char *told_names(const json_t *job)
{
    json_t *metrics = json_object_get(job, "metrics"), *value;
    char *names = xstrdup("");
    const char *name;

    json_object_foreach(metrics, name, value)
    {
        char *longer;

        if (name[0] == '_')
            continue;
        longer = text_format("%s%s%.40s", names, *names != '\0' ? ", " : "", name);
        free(names);
        names = longer;
    }
    return names;
}

static void tell_no_metric(const struct search_jobs *jobs, const struct search_job *job)
{
    const char *metric = jobs->record.space->metric;
    _cleanup_free_ char *names = told_names(job->json);
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -ENOENT, "trial %u ended and told no \"%s\"; it told %s",
                        job->trial, metric, *names != '\0' ? names : "nothing");
    (void)edl_error_remedy(&error,
                           "let the program call edl.progress({\"%s\": ...}), or name another "
                           "metric in the space",
                           metric);
    (void)report_error(&error);
}

int search_tell_end(struct server *server, const struct search_jobs *jobs,
                    const struct search_trials *trials, const struct search_actions *actions)
{
    const struct search_trial_jobs *shown =
        actions->trial != 0 ? jobs_of(trials, actions->trial) : NULL;

    if (shown != NULL && actions->end == SEARCH_END_NO_METRIC)
        tell_no_metric(jobs, &shown->newest);
    else if (shown != NULL && actions->end == SEARCH_END_FAILING) {
        struct edl_error error = { 0 };

        (void)edl_error_set(&error, -ECANCELED, "search %s ends: %s; trial %u: %s", jobs->name,
                            search_end_text(actions->end), shown->newest.trial,
                            json_text(shown->newest.json, "reason"));
        (void)edl_error_remedy(&error, "mend the program, then begin a search with another name");
        (void)report_error(&error);
        tell_output(server, &shown->newest);
    } else {
        report_note("search %s ends: %s", jobs->name, search_end_text(actions->end));
    }
    if (actions->best == 0)
        return STATUS_FAILED;
    search_view_best(jobs, trials, actions->best, stdout);
    return actions->end == SEARCH_END_FAILING || actions->end == SEARCH_END_NO_METRIC
               ? STATUS_FAILED
               : STATUS_OK;
}
