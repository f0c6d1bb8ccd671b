/* SPDX-License-Identifier: Apache-2.0 */
/* notice_json.c - see notice_json.h */
#include "scheduler/notices/notice_json.h"

#include <inttypes.h>
#include <stdio.h>

#include "scheduler/core/ask/first_error.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/notices.h"
#include "scheduler/core/model/time_limit.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "shared/rfc3339.h"

static void set(json_t *object, const char *key, json_t *take_value)
{
    (void)json_object_set_new(object, key, take_value);
}

/* A text that was cut within a character is not UTF-8 any more. */
static json_t *text_json(const char *text)
{
    json_t *json = json_string(text);

    return json != NULL ? json : json_string("(not UTF-8)");
}

static json_t *time_json(struct instant now, uint64_t wall_us)
{
    char text[RFC3339_MAX];

    return wall_us == 0 ? json_null()
                        : json_string(rfc3339_format(instant_shown_us(now, wall_us), text));
}

static json_t *first_error_json(const struct job *job)
{
    const struct process *first = job_first_error(job);

    if (first == NULL)
        return json_null();
    return json_pack("{s:o,s:s,s:o}", "process",
                     json_sprintf("%s-%u", job->spec->roles[first->role].name, first->index),
                     "node", first->node_name, "text", text_json(process_error_text(first)));
}

static json_t *array_json(const struct job *job, const struct array_notice *array)
{
    if (array == NULL)
        return json_null();
    return json_pack("{s:s,s:I,s:I,s:I,s:I,s:o}", "name", job_spec_array(job->spec), "jobs",
                     (json_int_t)array->n_jobs, "succeeded", (json_int_t)array->n_succeeded,
                     "failed", (json_int_t)array->n_failed, "killed", (json_int_t)array->n_killed,
                     "first_failed",
                     array->first_failed != 0 ? json_integer((json_int_t)array->first_failed)
                                              : json_null());
}

/* notice_id - the same for the same thing that happened, however often it is told. A job may be
 * queued again more than once. */
static json_t *notice_id(const struct job *job, enum notify_event event, const char *mark,
                         struct instant now)
{
    if (event == NOTIFY_REQUEUE)
        return json_sprintf("%s-%" PRIu64 "-requeue-%" PRIu64, mark, job->id, now.wall_us);
    return json_sprintf("%s-%" PRIu64 "-%s", mark, job->id, notify_event_to_string(event));
}

json_t *notice_to_json(const struct job *job, enum notify_event event,
                       const struct array_notice *array, const char *mark, struct instant now)
{
    json_t *json = json_object();

    set(json, "id", notice_id(job, event, mark, now));
    set(json, "event", json_string(notify_event_to_string(event)));
    set(json, "job", json_integer((json_int_t)job->id));
    set(json, "name", json_string(job->spec->name));
    set(json, "user", text_json(job->user));
    set(json, "state", json_string(job_state_to_string(job->state)));
    set(json, "reason_code", json_string(job->reason_code));
    set(json, "reason", text_json(job->reason));
    set(json, "array", array_json(job, array));
    set(json, "submitted_at", time_json(now, job->submitted_wall_us));
    set(json, "started_at", time_json(now, job->started_wall_us));
    set(json, "ended_at", time_json(now, job->ended_wall_us));
    set(json, "ran_s", json_integer((json_int_t)(job_run_us(job, now) / USEC_PER_SEC)));
    set(json, "first_error", first_error_json(job));
    if (array != NULL && event == NOTIFY_END)
        set(json, "see", json_sprintf("edl ps --all --array %s", job_spec_array(job->spec)));
    else
        set(json, "see", json_sprintf("edl logs %" PRIu64, job->id));
    return json;
}

char *notices_envelope(const char *lines, unsigned n_more, const char *id)
{
    size_t n = strlen(lines), size = n + strlen(id) + 128;
    char *text = xcalloc(1, size);
    int at = snprintf(text, size, "{\"version\":%d,\"id\":\"%s\",\"more\":%u,\"notices\":[",
                      NOTICE_VERSION, id, n_more);

    for (size_t i = 0; i < n; i++)
        if (lines[i] != '\n')
            text[at++] = lines[i];
        else if (i + 1 < n)
            text[at++] = ',';
    (void)snprintf(text + at, size - (size_t)at, "]}\n");
    return text;
}
