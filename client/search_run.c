/* SPDX-License-Identifier: Apache-2.0 */
/* search_run.c - see search_run.h */
#include "client/search_run.h"

#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>

#include "client/job_view.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/search_core.h"
#include "client/search_jobs.h"
#include "client/search_submit.h"
#include "client/search_tell.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define WAIT_S 20
#define LOOK_US ((WAIT_S - 1) * USEC_PER_SEC)
#define RETRY_MS 500
#define OUTAGE_MAX_US (600 * USEC_PER_SEC)
#define GONE 410
#define BROKEN 500 /* from here on: its disk is full, it begins or ends */

struct run {
    struct server *server;
    struct search_jobs *jobs;
    uint64_t eager, revision, heard_us, looked_us;
    bool is_full; /* its user has as many jobs as may be: nothing is submitted until one ends */
    struct search_told told;
};

/* ---- what changed ---- */

/* take_event - of a job of ours. Those of another edl search of the same name are known when this
 * one comes to submit them. */
static int take_event(struct run *run, const json_t *event, bool *ret_news)
{
    uint64_t id = json_u64(event, "job_id");
    int status = id != 0 && search_jobs_has(run->jobs, id)
                     ? search_jobs_look(run->server, run->jobs, id, ret_news)
                     : STATUS_OK;

    if (status == STATUS_OK) /* else it is looked at again */
        run->revision = json_u64(event, "revision");
    return status;
}

static int read_anew(struct run *run)
{
    struct search_jobs fresh;
    int status = search_jobs_read(run->server, run->jobs->name, &fresh);

    if (status != STATUS_OK)
        return status;
    search_jobs_clear(run->jobs);
    *run->jobs = fresh;
    return STATUS_OK;
}

/* look_at_running - now and then, whatever else happens: a trial whose program goes on behind its
 * rung makes no event when it comes there, nor does a budget that is used up */
static int look_at_running(struct run *run, bool *ret_news)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    int status = STATUS_OK;

    if (now_us - run->looked_us < LOOK_US)
        return STATUS_OK;
    for (size_t i = 0; i < run->jobs->n && status == STATUS_OK; i++)
        if (streq(json_text(run->jobs->jobs[i].json, "state"), "running"))
            status = search_jobs_look(run->server, run->jobs, run->jobs->jobs[i].id, NULL);
    if (status == STATUS_OK)
        run->looked_us = now_us;
    *ret_news = true;
    return status;
}

static int lost(const struct run *run)
{
    struct edl_error error = { 0 };

    if (clock_read_us(CLOCK_BOOTTIME) - run->heard_us < OUTAGE_MAX_US) {
        (void)poll(NULL, 0, RETRY_MS);
        return STATUS_OK;
    }
    (void)edl_error_set(&error, EDL_EUNREACHABLE, "the server at %s cannot be reached",
                        run->server->base);
    (void)edl_error_remedy(&error, "edl search resume %s, once it can: trials go on meanwhile",
                           run->jobs->name);
    return report_error(&error);
}

/* wait_for_news - until a job of ours has changed, or some time has passed */
static int wait_for_news(struct run *run)
{
    bool news = false;
    int status = STATUS_OK;

    while (!news && status == STATUS_OK) {
        _cleanup_free_ char *path =
            text_format("/events?after=%" PRIu64 "&wait=%d", run->revision, WAIT_S);
        struct http_call call = { .method = "GET", .path = path };
        struct http_answer answer = { 0 };
        const json_t *events;
        size_t i;
        json_t *event;

        status = server_call(run->server, &call, &answer);
        if (status == STATUS_OK)
            run->heard_us = clock_read_us(CLOCK_BOOTTIME);
        events = json_object_get(answer.json, "events");
        json_array_foreach(events, i, event)
        {
            if (status == STATUS_OK)
                status = take_event(run, event, &news);
        }
        if (status == STATUS_OK)
            status = look_at_running(run, &news);
        if (status == STATUS_FAILED && answer.status == GONE) {
            status = read_anew(run);
            if (status == STATUS_OK) /* else the jobs are read again */
                run->revision = json_u64(answer.json, "after");
            news = true;
        }
        if (status == STATUS_NO_SERVER || (status == STATUS_FAILED && answer.status >= BROKEN))
            status = lost(run);
        else if (status == STATUS_FAILED && answer.status >= 400)
            status = report_answer(&answer);
        http_answer_clear(&answer);
    }
    return status;
}

/* ---- what is done ---- */

/* was_stopped - by somebody, since this search goes on here */
static bool was_stopped(const struct run *run, const struct search_trials *trials)
{
    for (size_t i = 0; i < trials->n; i++)
        if (trials->jobs[i].is_stopped && !search_told_before(&run->told, &trials->jobs[i]))
            return true;
    return false;
}

static int submit(struct run *run, const struct search_action *action, unsigned attempt,
                  const double *values, unsigned *ret_n)
{
    bool full = false;
    int status = search_submit(run->server, run->jobs, action, attempt, values, &full);

    run->is_full |= full;
    *ret_n += status == STATUS_OK && !full;
    return status;
}

/* start_again - those that were stopped with the search, as far as there is room */
static int start_again(struct run *run, const struct search_trials *trials, unsigned *room,
                       unsigned *ret_n)
{
    const struct search_space *space = run->jobs->record.space;
    int status = STATUS_OK;

    for (size_t i = 0; i<trials->n && * room> 0 && status == STATUS_OK && !run->is_full; i++) {
        const struct search_trial *trial = &trials->trials[i];
        const struct search_trial_jobs *jobs = &trials->jobs[i];
        struct search_action action = { .act = SEARCH_CONTINUE,
                                        .number = trial->number,
                                        .rung = trial->rung,
                                        .resource = search_rung_resource(space, trial->rung) };

        if (!jobs->is_stopped || jobs->is_ending)
            continue;
        status = submit(run, &action, jobs->newest.attempt + 1, trial->values, ret_n);
        --*room;
    }
    return status;
}

static const struct search_trial *trial_of(const struct search_trials *trials, unsigned number,
                                           const struct search_trial_jobs **ret_jobs)
{
    for (size_t i = 0; i < trials->n; i++)
        if (trials->trials[i].number == number) {
            *ret_jobs = &trials->jobs[i];
            return &trials->trials[i];
        }
    return NULL;
}

static int act(struct run *run, const struct search_trials *trials,
               const struct search_action *action, unsigned *ret_n)
{
    const struct search_trial_jobs *jobs = NULL;
    const struct search_trial *trial = trial_of(trials, action->number, &jobs);

    if (action->act == SEARCH_START)
        return run->is_full ? STATUS_OK : submit(run, action, 0, action->values, ret_n);
    if (trial == NULL)
        return STATUS_OK;
    if (action->act == SEARCH_CONTINUE)
        return run->is_full ? STATUS_OK : submit(run, action, 0, trial->values, ret_n);
    if (jobs->is_ending || json_u64(jobs->newest.json, "ended_us") != 0)
        return STATUS_OK;
    return search_end_job(run->server, jobs->newest.id, SEARCH_REACHED);
}

static int act_all(struct run *run, const struct search_trials *trials,
                   const struct search_actions *actions, unsigned *ret_n)
{
    int status = STATUS_OK;

    for (size_t i = 0; i < actions->n && status == STATUS_OK; i++)
        status = act(run, trials, &actions->actions[i], ret_n);
    return status;
}

static unsigned room_of(const struct run *run, const struct search_trials *trials)
{
    uint64_t waiting = 0;

    for (size_t i = 0; i < trials->n; i++)
        waiting += trials->trials[i].state == SEARCH_TRIAL_WAITS && !trials->jobs[i].is_stopped;
    return run->eager > waiting ? (unsigned)(run->eager - waiting) : 0;
}

static bool some_are_under_way(const struct search_trials *trials)
{
    for (size_t i = 0; i < trials->n; i++)
        if (trials->trials[i].state <= SEARCH_TRIAL_RUNS)
            return true;
    return false;
}

/* step - what is to be done now; *ret_n: so many were submitted. *ret_over: nothing is left */
static int step(struct run *run, unsigned *ret_n, bool *ret_over)
{
    struct search_trials trials;
    struct search_actions actions = { .n = 0 };
    struct search_history history;
    int status;
    unsigned room;

    search_trials_make(run->jobs, &trials);
    history = search_trials_history(&trials, clock_read_us(CLOCK_REALTIME));
    if (was_stopped(run, &trials)) {
        *ret_over = true;
        status = search_tell_stopped(run->jobs);
        search_trials_clear(&trials);
        return status;
    }
    search_tell_news(&run->told, run->jobs, &trials);
    room = room_of(run, &trials);
    status = start_again(run, &trials, &room, ret_n);
    if (status == STATUS_OK) {
        search_next(run->jobs->record.space, &history, room, &actions);
        status = act_all(run, &trials, &actions, ret_n);
    }
    if (status == STATUS_OK && actions.end != SEARCH_GOES_ON && *ret_n == 0 &&
        (!some_are_under_way(&trials) || actions.n > 0)) {
        *ret_over = true;
        status = search_tell_end(run->server, run->jobs, &trials, &actions);
    }
    search_actions_clear(&actions);
    search_trials_clear(&trials);
    return status;
}

int search_run(struct server *server, struct search_jobs *jobs, uint64_t eager)
{
    struct run run = { .server = server, .jobs = jobs, .eager = eager };
    struct search_trials trials;
    bool over = false;
    int status = server_event_revision(server, &run.revision); /* first: nothing is missed then */

    run.heard_us = run.looked_us = clock_read_us(CLOCK_BOOTTIME);
    if (status == STATUS_OK && jobs->n > 0)
        status = read_anew(&run);
    search_trials_make(jobs, &trials);
    search_told_begin(&run.told, jobs, &trials);
    search_trials_clear(&trials);
    while (status == STATUS_OK && !over) {
        unsigned n = 0;

        status = step(&run, &n, &over);
        if (status == STATUS_NO_SERVER) { /* its calls are made again, to one effect */
            status = lost(&run);
            continue;
        }
        if (status == STATUS_OK && !over && n == 0)
            status = wait_for_news(&run);
        if (n == 0)
            run.is_full = false;
    }
    search_told_end(&run.told);
    return status;
}
