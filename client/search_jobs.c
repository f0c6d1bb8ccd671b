/* SPDX-License-Identifier: Apache-2.0 */
/* search_jobs.c - see search_jobs.h */
#include "client/search_jobs.h"

#include <inttypes.h>
#include <math.h>

#include "client/job_view.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/search_space.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define CURVE "_curve"

/* ---- jobs ---- */

static size_t place_of(const struct search_jobs *jobs, uint64_t id)
{
    size_t low = 0, high = jobs->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (jobs->jobs[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool search_jobs_has(const struct search_jobs *jobs, uint64_t id)
{
    size_t at = place_of(jobs, id);

    return at < jobs->n && jobs->jobs[at].id == id;
}

/* read_number - a whole number that a trial can have; its owner may have written anything */
static bool read_number(const json_t *trial, const char *name, unsigned max, unsigned *ret)
{
    json_int_t value = json_integer_value(json_object_get(trial, name));

    if (value < 0 || value > (json_int_t)max)
        return false;
    *ret = (unsigned)value;
    return true;
}

bool search_jobs_take(struct search_jobs *jobs, const json_t *job)
{
    const json_t *trial = json_object_get(job, "trial");
    struct search_job taken = { .id = json_u64(job, "id") };
    size_t at = place_of(jobs, taken.id);

    if (trial == NULL || !streq(json_text(trial, "search"), jobs->name) ||
        !streq(json_text(job, "user"), jobs->user) ||
        !read_number(trial, "trial", SEARCH_TRIALS_MAX, &taken.trial) || taken.trial == 0 ||
        !read_number(trial, "rung", SEARCH_RUNGS_MAX, &taken.rung) ||
        !read_number(trial, "attempt", SEARCH_TRIALS_MAX, &taken.attempt))
        return false;
    taken.json = json_incref((json_t *)(uintptr_t)job); /* why: only its count changes */
    if (at < jobs->n && jobs->jobs[at].id == taken.id) {
        json_decref(jobs->jobs[at].json);
        jobs->jobs[at] = taken;
        return true;
    }
    jobs->jobs = xreallocarray(jobs->jobs, jobs->n + 1, sizeof *jobs->jobs);
    memmove(&jobs->jobs[at + 1], &jobs->jobs[at], (jobs->n - at) * sizeof *jobs->jobs);
    jobs->jobs[at] = taken;
    jobs->n++;
    return true;
}

int search_jobs_look(struct server *server, struct search_jobs *jobs, uint64_t id, bool *ret_ours)
{
    _cleanup_json_ json_t *job = NULL;
    int status = server_get(server, &job, "/jobs/%" PRIu64, id);
    bool ours = status == STATUS_OK && search_jobs_take(jobs, job);

    if (ret_ours != NULL)
        *ret_ours = ours;
    return status;
}

static int read_record(struct server *server, struct search_jobs *jobs)
{
    _cleanup_json_ json_t *job = NULL;
    struct edl_error error = { 0 };
    int status = server_get(server, &job, "/jobs/%" PRIu64, jobs->jobs[0].id);
    const json_t *env = json_object_get(json_object_get(job, "spec"), "env");

    if (status != STATUS_OK)
        return status;
    return search_record_parse(json_text(env, SEARCH_RECORD_VARIABLE), &jobs->record, &error) < 0
               ? report_error(&error)
               : STATUS_OK;
}

static void take_page(const json_t *page, void *userdata)
{
    struct search_jobs *jobs = userdata;
    size_t i;
    json_t *job;

    json_array_foreach(json_object_get(page, "jobs"), i, job)
    {
        (void)search_jobs_take(jobs, job);
    }
}

int search_jobs_read(struct server *server, const char *name, struct search_jobs *ret)
{
    struct search_jobs jobs = { .name = xstrdup(name) };
    _cleanup_free_ char *segment = text_url_segment(name);
    _cleanup_free_ char *user = NULL, *path = NULL;
    _cleanup_json_ json_t *caller = NULL;
    int status = server_get(server, &caller, "/whoami");

    jobs.user = xstrdup(json_text(caller, "user"));
    user = text_url_segment(jobs.user);
    path = text_format("/jobs?state=all&name=%s-&user=%s", segment, user);
    if (status == STATUS_OK)
        status = server_pages(server, path, take_page, &jobs);
    if (status == STATUS_OK && jobs.n > 0)
        status = read_record(server, &jobs);
    if (status == STATUS_OK)
        *ret = jobs;
    else
        search_jobs_clear(&jobs);
    return status;
}

void search_jobs_clear(struct search_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++)
        json_decref(jobs->jobs[i].json);
    free(jobs->jobs);
    free(jobs->name);
    free(jobs->user);
    search_record_clear(&jobs->record);
    *jobs = (struct search_jobs){ .n = 0 };
}

/* ---- trials ---- */

static bool is_killed_for(const json_t *job, const char *reason)
{
    return streq(json_text(job, "intent"), "killed") && streq(json_text(job, "reason"), reason);
}

bool search_job_is_stopped(const json_t *job)
{
    return is_killed_for(job, SEARCH_STOPPED);
}

static enum search_trial_state state_of(const json_t *job)
{
    static const struct {
        const char *word;
        enum search_trial_state state;
    } states[] = {
        { "queued", SEARCH_TRIAL_WAITS },
        { "succeeded", SEARCH_TRIAL_DONE },
        { "failed", SEARCH_TRIAL_FAILED },
        { "killed", SEARCH_TRIAL_FAILED },
    };

    if (search_job_is_stopped(job))
        return SEARCH_TRIAL_WAITS;
    if (is_killed_for(job, SEARCH_REACHED))
        return SEARCH_TRIAL_DONE;
    for (size_t i = 0; i < ELEMENTS(states); i++)
        if (streq(json_text(job, "state"), states[i].word))
            return states[i].state;
    return SEARCH_TRIAL_RUNS;
}

static double core_s_of(const json_t *job)
{
    json_t *kinds = json_object_get(job, "usage"), *one;
    const char *kind;
    double sum = 0;

    json_object_foreach(kinds, kind, one)
    {
        sum += json_number_value(json_object_get(one, "cpu_core_seconds"));
    }
    return sum;
}

/* The figures of one trial, from all of its jobs. */
struct gathered {
    struct search_point *points;
    size_t n;
};

static void add_point(struct gathered *to, unsigned rung, const json_t *at, const json_t *value)
{
    if (!json_is_number(value))
        return;
    to->points = xreallocarray(to->points, to->n + 1, sizeof *to->points);
    to->points[to->n++] =
        (struct search_point){ .rung = rung,
                               .resource = json_is_number(at) ? json_number_value(at) : NAN,
                               .value = json_number_value(value) };
}

/* add_points - the way of the metric, as edl.progress() keeps it, else its last value: a program in
 * another language tells that alone */
static void add_points(struct gathered *to, const struct search_space *space,
                       const struct search_job *job)
{
    const json_t *metrics = json_object_get(job->json, "metrics");
    const json_t *curve = json_object_get(metrics, CURVE);
    size_t before = to->n, i;
    json_t *pair;

    json_array_foreach(curve, i, pair)
    {
        add_point(to, job->rung, json_array_get(pair, 0), json_array_get(pair, 1));
    }
    if (to->n == before)
        add_point(to, job->rung,
                  space->resource.name[0] != '\0' ? json_object_get(metrics, space->resource.name)
                                                  : NULL,
                  json_object_get(metrics, space->metric));
}

static int by_trial(const void *a, const void *b)
{
    const struct search_job *const *left = a, *const *right = b;

    if ((*left)->trial != (*right)->trial)
        return (*left)->trial < (*right)->trial ? -1 : 1;
    if ((*left)->rung != (*right)->rung)
        return (*left)->rung < (*right)->rung ? -1 : 1;
    return (*left)->id < (*right)->id ? -1 : (*left)->id > (*right)->id;
}

/* add_trial - of the n jobs of one trial, by their rungs; one whose values are none of the space is
 * left out */
static void add_trial(struct search_trials *to, const struct search_space *space,
                      const struct search_job *const *jobs, size_t n)
{
    const struct search_job *newest = jobs[n - 1];
    const json_t *told = json_object_get(json_object_get(newest->json, "trial"), "parameters");
    double *values = xcalloc(space->n_parameters, sizeof *values);
    struct gathered gathered = { .n = 0 };
    struct search_trial trial = { .number = newest->trial,
                                  .rung = newest->rung,
                                  .state = state_of(newest->json),
                                  .values = values };

    if (search_values_from_json(space, told, values, NULL) < 0) {
        free(values);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        trial.core_s += core_s_of(jobs[i]->json);
        if (i + 1 == n || jobs[i + 1]->rung != jobs[i]->rung)
            add_points(&gathered, space, jobs[i]);
    }
    trial.points = gathered.points;
    trial.n_points = gathered.n;
    json_incref(newest->json);
    to->trials[to->n] = trial;
    to->jobs[to->n++] = (struct search_trial_jobs){
        .newest = *newest,
        .is_stopped = search_job_is_stopped(newest->json),
        .is_ending = streq(json_text(newest->json, "state"), "stopping"),
    };
}

void search_trials_make(const struct search_jobs *jobs, struct search_trials *ret)
{
    _cleanup_free_ const struct search_job **sorted = xcalloc(jobs->n, sizeof(*sorted));
    size_t first = 0;

    *ret = (struct search_trials){ .trials = xcalloc(jobs->n, sizeof *ret->trials),
                                   .jobs = xcalloc(jobs->n, sizeof *ret->jobs) };
    for (size_t i = 0; i < jobs->n; i++) {
        uint64_t submitted_us = json_u64(jobs->jobs[i].json, "submitted_us");

        sorted[i] = &jobs->jobs[i];
        if (ret->first_us == 0 || submitted_us < ret->first_us)
            ret->first_us = submitted_us;
    }
    qsort(sorted, jobs->n, sizeof(*sorted), by_trial);
    for (size_t i = 0; i < jobs->n; i++)
        if (i + 1 == jobs->n || sorted[i + 1]->trial != sorted[i]->trial) {
            add_trial(ret, jobs->record.space, &sorted[first], i + 1 - first);
            first = i + 1;
        }
}

void search_trials_clear(struct search_trials *trials)
{
    for (size_t i = 0; i < trials->n; i++) { /* why the casts: ours, from add_trial */
        free((double *)(uintptr_t)trials->trials[i].values);
        free((struct search_point *)(uintptr_t)trials->trials[i].points);
        json_decref(trials->jobs[i].newest.json);
    }
    free(trials->trials);
    free(trials->jobs);
    *trials = (struct search_trials){ .n = 0 };
}

struct search_history search_trials_history(const struct search_trials *trials, uint64_t now_us)
{
    double elapsed_s = trials->first_us != 0 && now_us > trials->first_us
                           ? (double)(now_us - trials->first_us) / (double)USEC_PER_SEC
                           : 0;

    return (struct search_history){ .trials = trials->trials,
                                    .n_trials = trials->n,
                                    .elapsed_s = elapsed_s };
}
