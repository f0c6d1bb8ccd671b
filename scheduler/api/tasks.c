/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.c - what processes call: where the others are, the model, figures; for tasks themselves
 * see api/lease.c
 *
 * Every call but the readers' names its process; the core refuses one that is not the live
 * incarnation. */
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/api/api.h"
#include "scheduler/calls/body.h"
#include "scheduler/core/core.h"
#include "scheduler/json/job_json.h"
#include "scheduler/scheduler.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/json_text.h"
#include "shared/macro.h"

#define PATH_BYTES_MAX 4095
#define SOURCE_BYTES_MAX 32

void api_job_tasks(struct http_request *request, void *userdata)
{
    const struct job *job = api_job_to_read(userdata, request);

    if (job != NULL)
        http_reply_json(request, 200, job_tasks_to_json(job));
}

void api_job_metrics(struct http_request *request, void *userdata)
{
    const struct job *job = api_job(userdata, request);

    if (job != NULL)
        http_reply_json(request, 200, json_pack("{s:o}", "metrics", job_metrics_to_json(job)));
}

static int compare_index(const struct process *a, const struct process *b)
{
    return (a->index > b->index) - (a->index < b->index);
}

static int compare_hosts(const void *a, const void *b)
{
    return compare_index(*(const struct process *const *)a, *(const struct process *const *)b);
}

/* Live ones by index. */
static json_t *hosts_of(const struct job *job, uint32_t role)
{
    _cleanup_free_ const struct process **live =
        xcalloc(job_count(job, role, true) + 1, sizeof(*live));
    const struct process *process;
    json_t *hosts = json_array();
    size_t n = 0;

    DL_FOREACH2(job->processes, process, job_next)
    if (process->role == role && !process_state_is_final(process->state))
        live[n++] = process;
    qsort(live, n, sizeof(*live), compare_hosts);
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(
            hosts, json_pack("{s:I,s:I,s:s,s:s,s:o,s:o,s:s}", "index", (json_int_t)live[i]->index,
                             "incarnation", (json_int_t)live[i]->incarnation, "node",
                             live[i]->node_name, "address", process_address(live[i]), "ports",
                             ports_to_json(live[i]), "gpus", gpus_to_json(live[i]->gpu_mask),
                             "state", process_state_to_string(live[i]->state)));
    return hosts;
}

void api_job_hosts(struct http_request *request, void *userdata)
{
    const struct job *job = api_job_to_read(userdata, request);
    const char *name = http_request_query(request, "role");
    struct edl_error error = { 0 };
    int role;

    if (job == NULL)
        return;
    role = job_spec_role(job->spec, name != NULL ? name : "trainer");
    if (role < 0) {
        (void)edl_error_set(&error, -ENOENT, "job %s has no role \"%s\"", job->spec->name,
                            name != NULL ? name : "trainer");
        http_reply_error(request, &error);
        return;
    }
    http_reply_json(request, 200,
                    json_pack("{s:s,s:I,s:o}", "role", job->spec->roles[role].name, "want",
                              (json_int_t)job->target[role], "hosts",
                              hosts_of(job, (uint32_t)role)));
}

void api_process_call(struct http_request *request, struct scheduler *scheduler, process_call_fn fn)
{
    struct edl_error error = { 0 };
    struct process *process;
    json_t *body = NULL;
    json_t *json = NULL;

    if (auth_process(scheduler, request, &process, &error) == 0 &&
        body_object(request, &body, &error) == 0)
        json = fn(scheduler, process, body, &error);
    json_decref(body);
    if (json == NULL)
        refuse_after_commit(scheduler, request, &error);
    else
        held_after_commit(scheduler, held_new(request), 200, json);
}

static json_t *call_save_model(struct scheduler *scheduler, struct process *process,
                               const json_t *body, struct edl_error *error)
{
    struct body_field must = { .object = body, .at = "", .required = true };
    struct body_field may = { .object = body, .at = "" };
    const char *path = NULL;
    bool saved = false, save_model = false;

    if (body_bool(&must, "saved", &saved, error) < 0 ||
        body_reported(&may, "path", PATH_BYTES_MAX, &path, error) < 0)
        return NULL;
    if (!saved &&
        cluster_ask_to_save(scheduler->cluster, process, clock_instant(), &save_model, error) < 0)
        return NULL;
    if (!saved)
        return json_pack("{s:b}", "save_model", (int)save_model);
    if (cluster_model_saved(scheduler->cluster, process, path, clock_instant(), error) < 0)
        return NULL;
    return json_object();
}

/* A program's own metrics are a part of what everybody reads. */
#define METRICS_DEPTH_MAX 16

static bool is_flat(const json_t *value, int depth)
{
    json_t *all = (json_t *)(uintptr_t)value; /* why: jansson's type; nothing is changed */
    const char *key;
    json_t *part;
    size_t i;

    if (depth < 0)
        return false;
    json_array_foreach(value, i, part)
    {
        if (!is_flat(part, depth - 1))
            return false;
    }
    json_object_foreach(all, key, part)
    {
        if (!is_flat(part, depth - 1))
            return false;
    }
    return true;
}

static json_t *call_metrics(struct scheduler *scheduler, struct process *process,
                            const json_t *body, struct edl_error *error)
{
    _cleanup_free_ char *text = NULL;

    if (!is_flat(body, METRICS_DEPTH_MAX)) {
        (void)edl_error_set(error, -EINVAL, "metrics are nested deeper than %d", METRICS_DEPTH_MAX);
        (void)edl_error_remedy(error, "report numbers by name: {\"loss\": 0.3}");
        return NULL;
    }
    text = json_to_text(body, NULL);
    if (text == NULL)
        abort(); /* why: only out of memory gets here; see macro.h */
    if (cluster_set_metrics(scheduler->cluster, process, text, clock_instant(), error) < 0)
        return NULL;
    return json_object();
}

static int read_recovered(const json_t *body, struct recovered *ret, struct edl_error *error)
{
    const struct body_field must = { .object = body, .at = "", .required = true };
    const struct body_field may = { .object = body, .at = "" };
    const struct {
        const char *key;
        uint64_t *number;
    } numbers[] = {
        { "lost", &ret->lost },
        { "of", &ret->of },
        { "told", &ret->told },
        { "told_of", &ret->told_of },
        { "rows_missing", &ret->rows_missing },
        { "rows", &ret->rows },
    };
    const char *word = NULL;
    int r = body_string(&must, "source", SOURCE_BYTES_MAX, &word, error);
    int source;

    if (r < 0)
        return r;
    source = recovered_source_of(word);
    if (source < 0)
        return edl_error_at(error, -EINVAL, "/source",
                            "checkpoint, trainers, start-values or nothing is expected");
    ret->source = (enum recovered_source)source;
    for (size_t i = 0; r >= 0 && i < ELEMENTS(numbers); i++)
        r = body_u64(&may, numbers[i].key, RECOVERED_MOST, numbers[i].number, error);
    return r;
}

static json_t *call_recovered(struct scheduler *scheduler, struct process *process,
                              const json_t *body, struct edl_error *error)
{
    struct recovered told = { 0 };

    if (read_recovered(body, &told, error) < 0 ||
        cluster_recovered(scheduler->cluster, process, &told, clock_instant(), error) < 0)
        return NULL;
    return json_object();
}

void api_recovered(struct http_request *request, void *userdata)
{
    api_process_call(request, userdata, call_recovered);
}

void api_save_model(struct http_request *request, void *userdata)
{
    api_process_call(request, userdata, call_save_model);
}

void api_metrics(struct http_request *request, void *userdata)
{
    api_process_call(request, userdata, call_metrics);
}
