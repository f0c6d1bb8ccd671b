/* SPDX-License-Identifier: Apache-2.0 */
/* forecast.c - ?dry_run=1: the effects of a request, told from a copy of the core
 *
 * Nothing is stored, no turn follows. A request that asks for one is handled as a read is, between
 * two turns (dispatch.c), so it tells of the state on disk alone. A snapshot of the scheduler looks
 * ahead (snapshot.h), one forecast after the other: a caller waits for earlier ones, and nobody
 * else does. */
#include "scheduler/api/forecast.h"

#include <errno.h>
#include <utlist.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/api/api.h"
#include "scheduler/core/ask/admission.h"
#include "scheduler/core/ask/forecast.h"
#include "scheduler/core/core.h"
#include "scheduler/json/admission_json.h"
#include "scheduler/json/forecast_json.h"
#include "scheduler/scheduler.h"
#include "scheduler/snapshot.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/json_text.h"
#include "shared/macro.h"

/* One is made after the other. The larger the cluster, the more a step may cost and the earlier a
 * forecast gives up (it then says that it does not know), so that nobody waits long for an answer
 * to somebody else. */
#define STEPS_MIN 32
#define STEPS_MAX 1000
#define STEPS_TIMES_SIZE 100000 /* size: nodes and jobs that have not ended */

#define LIMIT_US (20 * USEC_PER_SEC) /* before its client gives up */
/* The larger the scheduler's memory, the longer it stands still for a snapshot: the time between
 * two of them is so many times as long. */
#define REST_TIMES 20
#define REST_ACCURACY_US USEC_PER_MSEC

static struct forecast_options bounded(const struct cluster *cluster)
{
    size_t size = 1 + HASH_COUNT(cluster_nodes(cluster));
    const struct job *job;

    DL_FOREACH2(cluster_active_jobs(cluster), job, active_next)
    size++;
    return (struct forecast_options){
        .steps_max = (uint32_t)MIN_OF(MAX_OF(STEPS_TIMES_SIZE / size, STEPS_MIN), STEPS_MAX)
    };
}

int api_dry_run(const struct http_request *request, bool *ret, struct edl_error *error)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = { { "1", true }, { "true", true }, { "0", false }, { "false", false } };
    const char *given = http_request_query(request, "dry_run");

    if (given == NULL) {
        *ret = false;
        return 0;
    }
    for (size_t i = 0; i < ELEMENTS(words); i++)
        if (streq(given, words[i].word)) {
            *ret = words[i].value;
            return 0;
        }
    (void)edl_error_set(error, -EINVAL, "dry_run=%s is not known", given);
    return edl_error_remedy(error, "dry_run=1, or leave it out to do it");
}

/* --- one forecast, beside the loop --- */

/* What is asked; all but the first is borrowed by the snapshot, which is taken at once. */
struct question {
    const struct cluster *cluster;
    struct instant now;
    const struct job_spec *spec; /* it is submitted; or NULL, and */
    const char *user;
    const struct archived_jobs *archived;
    json_t *ignored;       /* NULL: nothing */
    bool flat;             /* errors point into a document without "spec" */
    const struct job *job; /* it is changed; or NULL, and */
    const struct job_change *change;
    const struct node *node; /* is to have: */
    enum node_state state;
};

struct forecast_job {
    struct scheduler *scheduler;
    struct http_request *request; /* borrowed; NULL once it went away by itself */
    struct snapshot *snapshot;    /* owned */
    sd_event_source *rest;        /* owned; until the next one may be made; NULL: not yet */
    uint64_t next_us;             /* when that is (CLOCK_MONOTONIC) */
};

static int look_ahead(const struct question *question, struct forecast *ret,
                      struct edl_error *error)
{
    struct forecast_options options = bounded(question->cluster);

    if (question->spec != NULL)
        return cluster_forecast(question->cluster, question->spec, question->user,
                                question->archived, question->now, &options, ret, error);
    if (question->job != NULL)
        return cluster_forecast_change(question->cluster, question->job, question->change,
                                       question->now, &options, ret, error);
    return cluster_forecast_node(question->cluster, question->node, question->state, question->now,
                                 &options, ret, error);
}

static json_t *to_json(const struct question *question, const struct forecast *forecast)
{
    json_t *json = forecast_to_json(forecast);
    struct admission outlook;

    if (question->spec == NULL)
        return json;
    cluster_admission(question->cluster, question->spec, question->user, question->now, &outlook);
    (void)json_object_set_new(json, "outlook", admission_to_json(&outlook));
    (void)json_object_set_new(json, "ignored",
                              question->ignored != NULL ? json_incref(question->ignored)
                                                        : json_array());
    return json;
}

/* In the child: an edl_error, and behind it, when its code is 0, the forecast. */
static void compute(FILE *out, void *userdata)
{
    const struct question *question = userdata;
    struct forecast forecast = { 0 };
    struct edl_error error = { 0 };
    char *text = NULL;
    size_t size = 0;

    if (look_ahead(question, &forecast, &error) == 0)
        text = json_to_text(to_json(question, &forecast), &size);
    else if (question->flat)
        api_point_into_flat(&error);
    if (text == NULL && error.code == 0)
        (void)edl_error_set(&error, -EIO, "the forecast cannot be written as JSON");
    (void)fwrite(&error, sizeof error, 1, out);
    if (text != NULL)
        (void)fwrite(text, 1, size, out);
}

static int on_rested(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct scheduler *scheduler = userdata;

    (void)source;
    (void)usec;
    api_forecast_done(scheduler);
    dispatch_wake(scheduler);
    return 0;
}

static void reply(struct scheduler *scheduler, struct http_request *request, const char *answer,
                  size_t size, const struct edl_error *failure)
{
    struct edl_error error = *failure;

    if (answer != NULL)
        memcpy(&error, answer, sizeof error);
    if (error.code == 0 && auth_recheck(scheduler, request, &error) == 0)
        http_reply_bytes(request, 200, "application/json", answer + sizeof error,
                         size - sizeof error);
    else
        http_reply_error(request, &error);
}

static void on_done(const char *answer, size_t size, const struct edl_error *error, void *userdata)
{
    struct forecast_job *job = userdata;
    struct scheduler *scheduler = job->scheduler;
    struct http_request *request = TAKE_PTR(job->request);

    job->snapshot = NULL;
    if (request != NULL)
        reply(scheduler, request, size >= sizeof *error ? answer : NULL, size, error);
    if (sd_event_add_time(scheduler->event, &job->rest, CLOCK_MONOTONIC, job->next_us,
                          REST_ACCURACY_US, on_rested, scheduler) < 0)
        (void)on_rested(NULL, 0, scheduler);
}

static void on_gone(struct http_request *request, void *userdata)
{
    struct forecast_job *job = userdata;

    (void)request;
    job->request = NULL;
    if (job->snapshot != NULL)
        snapshot_end(job->snapshot);
}

static int start(struct scheduler *scheduler, struct http_request *request,
                 struct question *question, struct edl_error *error)
{
    struct forecast_job *job = xcalloc(1, sizeof *job);
    uint64_t begin_us = clock_read_us(CLOCK_MONOTONIC);
    uint64_t end_us;
    int r;

    *job = (struct forecast_job){ .scheduler = scheduler, .request = request };
    question->cluster = scheduler->cluster;
    question->now = clock_instant();
    /* userdata: the child's compute has the question, where it lies; done has the job */
    r = snapshot_start(scheduler->event, LIMIT_US, compute, question, on_done, job, &job->snapshot,
                       error);
    if (r < 0) {
        free(job);
        return r;
    }
    end_us = clock_read_us(CLOCK_MONOTONIC);
    job->next_us = end_us + REST_TIMES * (end_us - begin_us);
    scheduler->forecast = job;
    http_request_defer(request, on_gone, job);
    http_request_watch(request);
    return 0;
}

int api_forecast_submit(struct scheduler *scheduler, struct http_request *request,
                        const struct job_spec *spec, const char *user,
                        const struct archived_jobs *archived, json_t *ignored, bool flat,
                        struct edl_error *error)
{
    struct question question = {
        .spec = spec, .user = user, .archived = archived, .ignored = ignored, .flat = flat
    };

    return start(scheduler, request, &question, error);
}

int api_forecast_change(struct scheduler *scheduler, struct http_request *request,
                        const struct job *job, const struct job_change *change,
                        struct edl_error *error)
{
    struct question question = { .job = job, .change = change };

    return start(scheduler, request, &question, error);
}

int api_forecast_node(struct scheduler *scheduler, struct http_request *request,
                      const struct node *node, enum node_state state, struct edl_error *error)
{
    struct question question = { .node = node, .state = state };

    return start(scheduler, request, &question, error);
}

void api_forecast_done(struct scheduler *scheduler)
{
    struct forecast_job *job = TAKE_PTR(scheduler->forecast);

    if (job == NULL)
        return;
    (void)snapshot_free(job->snapshot);
    (void)sd_event_source_disable_unref(job->rest);
    free(job);
}
