/* SPDX-License-Identifier: Apache-2.0 */
/* api_events.c - what happened: one gap-free stream, read from the database, with a long poll */
#include "scheduler/api.h"

#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

#define EVENTS_MAX 1000 /* in one answer; ask again with after= the last revision */

static void add_event(const struct stored_event *event, void *userdata)
{
    json_t *item = json_pack("{s:I,s:I,s:s,s:s,s:s}", "revision", (json_int_t)event->revision,
                             "time_us", (json_int_t)event->time_us, "event", event->event, "node",
                             event->node, "text", event->text);

    if (item == NULL) /* its text was cut within a character */
        item = json_pack("{s:I,s:I,s:s,s:s,s:s}", "revision", (json_int_t)event->revision,
                         "time_us", (json_int_t)event->time_us, "event", event->event, "node",
                         event->node, "text", "(not UTF-8)");
    (void)json_object_set_new(item, "job_id",
                              event->job_id != 0 ? json_integer((json_int_t)event->job_id)
                                                 : json_null());
    (void)json_array_append_new(userdata, item);
}

struct poll_events {
    uint64_t after;
};

static bool poll_events(struct scheduler *scheduler, struct held *held, void *data, bool last)
{
    const struct poll_events *poll = data;
    struct edl_error error = { 0 };
    json_t *events = json_array();

    if (store_events(scheduler->store, 0, poll->after, EVENTS_MAX, add_event, events, &error) < 0) {
        json_decref(events);
        held_reply_error(held, &error);
        return true;
    }
    if (json_array_size(events) == 0 && !last) {
        json_decref(events);
        return false;
    }
    held_reply_json(held, 200, json_pack("{s:o}", "events", events));
    return true;
}

void api_events(struct http_request *request, void *userdata)
{
    struct edl_error error = { 0 };
    struct poll_events *poll;
    uint64_t after, deadline_us;

    if (http_request_query_u64(request, "after", 0, &after, &error) < 0 ||
        api_wait_us(request, 0, &deadline_us, &error) < 0) {
        http_reply_error(request, &error);
        return;
    }
    poll = xcalloc(1, sizeof *poll);
    poll->after = after;
    waiters_add(userdata, held_new(request), "events", deadline_us, poll_events, poll);
}

void api_job_events(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct job *job = api_job(scheduler, request);
    struct edl_error error = { 0 };
    json_t *events;
    uint64_t after;

    if (job == NULL)
        return;
    if (http_request_query_u64(request, "after", 0, &after, &error) < 0) {
        http_reply_error(request, &error);
        return;
    }
    events = json_array();
    if (store_events(scheduler->store, job->id, after, EVENTS_MAX, add_event, events, &error) < 0) {
        json_decref(events);
        http_reply_error(request, &error);
        return;
    }
    http_reply_json(request, 200, json_pack("{s:o}", "events", events));
}
