/* SPDX-License-Identifier: Apache-2.0 */
/* job_series.c - see job_series.h */
#include "scheduler/history/job_series.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include "scheduler/calls/asking.h"
#include "scheduler/core/core.h"
#include "scheduler/history/sample.h"
#include "scheduler/history/series.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "scheduler/store/store_asked.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define SAVE_US (60 * USEC_PER_SEC)
#define SAVES_PER_TURN 16    /* a few milliseconds */
#define POINTS_OF_ALL 400000 /* in memory: 13 MB */

struct job_series {
    uint64_t job_id; /* key */
    struct series series;
    struct sampling sampling;
    uint64_t next_us;    /* boot time; no point is taken before */
    uint64_t unsaved_us; /* since then there is a point that is not stored; 0: there is none */
    bool ended;
    UT_hash_handle hh;
    struct job_series *unsaved_next, *unsaved_prev;
};

static struct job_series *find(const struct job_series_table *table, uint64_t job_id)
{
    struct job_series *found;

    HASH_FIND(hh, table->jobs, &job_id, sizeof job_id, found);
    return found;
}

static void set_saved(struct job_series_table *table, struct job_series *job)
{
    if (job->unsaved_us != 0)
        DL_DELETE2(table->unsaved, job, unsaved_prev, unsaved_next);
    job->unsaved_us = 0;
}

static void forget(struct job_series_table *table, struct job_series *job)
{
    set_saved(table, job);
    HASH_DEL(table->jobs, job);
    series_done(&job->series);
    free(job);
}

static void take_stored(const struct stored_series *stored, void *userdata)
{
    struct series *series = userdata;

    if (series_from_text(stored->points, series) < 0)
        return; /* why: it costs the curve of a job, and nothing else */
    series->period_us = MAX_OF(stored->period_us, SERIES_PERIOD_US);
    (void)snprintf(series->rate_of, sizeof series->rate_of, "%s", stored->rate_of);
    (void)snprintf(series->cost_name, sizeof series->cost_name, "%s", stored->cost_name);
}

static struct job_series *add(struct job_series_table *table, uint64_t job_id)
{
    struct job_series *added = xcalloc(1, sizeof *added);

    added->job_id = job_id;
    HASH_ADD(hh, table->jobs, job_id, sizeof added->job_id, added);
    return added;
}

/* --- of earlier runs --- */

/* read_back - -EINPROGRESS: the database is far away, and asked for it */
static int read_back(struct scheduler *scheduler, uint64_t job_id)
{
    struct series series = { .n = 0 };
    int r;

    if (find(&scheduler->series, job_id) != NULL)
        return 0;
    r = store_series(scheduler->store, job_id, take_stored, &series, NULL);
    if (r >= 0 ||
        !store_is_far(scheduler->store)) /* why: a near one that cannot be read stays so */
        add(&scheduler->series, job_id)->series = series;
    return r;
}

static void on_rows(void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct job_series_table *table = &scheduler->series;

    asking_begin(table->asking);
    for (size_t i = 0; i < table->n_wanted; i++)
        if (cluster_job(scheduler->cluster, table->wanted[i]) != NULL)
            (void)read_back(scheduler, table->wanted[i]);
    table->n_wanted = 0;
    (void)asking_end(table->asking, false, NULL);
}

/* ask_for - behind a report: those that are not here. Points of them are taken once they are. */
static void ask_for(struct scheduler *scheduler, const uint64_t *jobs, size_t n)
{
    struct job_series_table *table = &scheduler->series;
    bool asks = false;

    if (table->asking == NULL)
        table->asking = asking_new(scheduler, "job series", on_rows, scheduler);
    if (n == 0 || table->asking == NULL || asking_is_away(table->asking))
        return;
    asking_begin(table->asking);
    for (size_t i = 0; i < n; i++)
        asks |= read_back(scheduler, jobs[i]) == -EINPROGRESS;
    memcpy(table->wanted, jobs, n * sizeof *jobs);
    table->n_wanted = n;
    if (!asking_end(table->asking, asks, NULL))
        table->n_wanted = 0;
}

/* Jobs that a report has to read back; the next one does the rest. */
struct wanted {
    uint64_t jobs[JOB_SERIES_LOADS];
    size_t n;
};

/* NULL: it is one of wanted's, or would be of the next report's */
static struct job_series *find_or_add(struct scheduler *scheduler, const struct job *job,
                                      struct wanted *wanted)
{
    struct job_series_table *table = &scheduler->series;
    struct job_series *found = find(table, job->id);

    if (found != NULL)
        return found;
    if (job->started_wall_us >= table->begun_wall_us)
        return add(table, job->id);
    if (wanted->n == JOB_SERIES_LOADS)
        return NULL;
    wanted->jobs[wanted->n++] = job->id;
    if (store_is_far(scheduler->store))
        return NULL;
    (void)read_back(scheduler, job->id);
    return find(table, job->id);
}

static size_t points_of_one(const struct job_series_table *table)
{
    size_t share = POINTS_OF_ALL / MAX_OF(HASH_COUNT(table->jobs), 1);

    return MAX_OF(MIN_OF(share, (size_t)SERIES_POINTS_MAX), (size_t)SERIES_POINTS_LEAST);
}

static void take_point(struct scheduler *scheduler, struct job_series *to, const struct job *job,
                       struct instant now)
{
    struct job_series_table *table = &scheduler->series;
    struct series_point point;

    if (sample_take(&to->sampling, &to->series, job, &scheduler->progresses, now, &point) &&
        series_add(&to->series, &point, points_of_one(table)) && to->unsaved_us == 0) {
        to->unsaved_us = MAX_OF(now.now_us, UINT64_C(1));
        DL_APPEND2(table->unsaved, to, unsaved_prev, unsaved_next);
    }
    to->next_us = now.now_us + MAX_OF(to->series.period_us, SERIES_PERIOD_US);
}

static bool is_due(const struct job_series *job, uint64_t now_us)
{
    return job->ended || job->unsaved_us + SAVE_US <= now_us;
}

void job_series_report(struct scheduler *scheduler, const struct node_report *report)
{
    struct job_series_table *table = &scheduler->series;
    struct instant now = clock_instant();
    struct wanted wanted = { .n = 0 };
    uint64_t before = 0;

    if (table->begun_wall_us == 0)
        table->begun_wall_us = now.wall_us;
    for (size_t i = 0; i < report->n_processes; i++) {
        const struct job *job = report->processes[i].job_id != before
                                    ? cluster_job(scheduler->cluster, report->processes[i].job_id)
                                    : NULL;
        struct job_series *series;

        before = report->processes[i].job_id;
        if (job == NULL || job->started_wall_us == 0 || job_state_is_final(job->state))
            continue;
        series = find_or_add(scheduler, job, &wanted);
        if (series != NULL && now.now_us >= series->next_us)
            take_point(scheduler, series, job, now);
    }
    ask_for(scheduler, wanted.jobs, wanted.n);
    if (table->unsaved != NULL && is_due(table->unsaved, now.now_us))
        scheduler_touch(scheduler);
}

/* --- stored --- */

/* The job is over: its last point, and the last time that it is stored. One point is no curve. */
static void end(struct scheduler *scheduler, const struct job *job, struct instant now)
{
    struct job_series_table *table = &scheduler->series;
    struct job_series *found = find(table, job->id);

    if (found == NULL || found->ended)
        return;
    take_point(scheduler, found, job, now);
    if (found->unsaved_us == 0 || found->series.n < 2) {
        forget(table, found);
        return;
    }
    found->ended = true;
    DL_DELETE2(table->unsaved, found, unsaved_prev, unsaved_next);
    DL_PREPEND2(table->unsaved, found, unsaved_prev, unsaved_next);
}

static void seal(struct job_series_table *table, struct job_series *job)
{
    table->sealed = xreallocarray(table->sealed, table->n_sealed + 1, sizeof *table->sealed);
    table->sealed[table->n_sealed++] =
        (struct stored_series){ .job_id = job->job_id,
                                .rate_of = job->series.rate_of,
                                .cost_name = job->series.cost_name,
                                .period_us = MAX_OF(job->series.period_us, SERIES_PERIOD_US),
                                .points = series_to_text(&job->series) };
}

void job_series_seal(struct scheduler *scheduler, struct turn_records *records)
{
    struct job_series_table *table = &scheduler->series;
    struct instant now = clock_instant();
    struct job_series *job;

    for (size_t i = 0; i < records->n_effects; i++)
        if (effect_saves_job(&records->effects[i]) &&
            job_state_is_final(records->effects[i].job->state))
            end(scheduler, records->effects[i].job, now);
    DL_FOREACH2(table->unsaved, job, unsaved_next)
    {
        if (!scheduler->leaving.on &&
            (table->n_sealed >= SAVES_PER_TURN || !is_due(job, now.now_us)))
            break;
        seal(table, job);
    }
    records->series = table->sealed;
    records->n_series = table->n_sealed;
}

static void drop_sealed(struct job_series_table *table)
{
    for (size_t i = 0; i < table->n_sealed; i++)
        free((char *)(uintptr_t)table->sealed[i].points); /* why: ours, from series_to_text */
    free(table->sealed);
    table->sealed = NULL;
    table->n_sealed = 0;
}

void job_series_stored(struct job_series_table *table)
{
    for (size_t i = 0; i < table->n_sealed; i++) {
        struct job_series *job = find(table, table->sealed[i].job_id);

        if (job == NULL)
            continue;
        set_saved(table, job);
        if (job->ended)
            forget(table, job);
    }
    drop_sealed(table);
}

json_t *job_series_json(const struct job_series_table *table, uint64_t job_id)
{
    const struct job_series *found = find(table, job_id);

    return found != NULL && found->series.n > 0 ? series_to_json(&found->series) : NULL;
}

void job_series_done(struct job_series_table *table)
{
    struct job_series *job, *next;

    HASH_ITER(hh, table->jobs, job, next)
    forget(table, job);
    drop_sealed(table);
    table->asking = asking_free(table->asking);
    *table = (struct job_series_table){ .begun_wall_us = 0 };
}
