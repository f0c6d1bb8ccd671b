/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - what happened: one gap-free history, read from the database; a page, a long poll
 * or a stream of server-sent events
 *
 * Revisions rise, and are consecutive but where a backup was restored: they go on from a number far
 * beyond then. Nothing is ever written between two that are there. So a reader who holds the events
 * behind its revision misses nothing, over restarts and restores as well. A revision that is no
 * longer there is answered with 410 and the revision to go on from. */
#include "scheduler/api/api.h"

#include <errno.h>

#include "scheduler/json/event_json.h"
#include "scheduler/calls/event_stream.h"
#include "scheduler/api/page.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "shared/parse.h"

struct poll_events {
    uint64_t job_id; /* 0: all */
    uint64_t after, limit;
};

static void add_event(const struct stored_event *event, void *userdata)
{
    (void)json_array_append_new(userdata, event_to_json(event));
}

/* *ret: the answer; NULL when there is nothing new. */
static int read_page(struct store *store, const struct poll_events *poll, json_t **ret,
                     struct edl_error *error)
{
    json_t *events = json_array();
    struct event_bounds bounds;
    int r = store_bounds_of_page(store, poll->job_id, poll->after, (uint32_t)poll->limit, &bounds,
                                 error);

    if (r == 0)
        r = store_events(store, poll->job_id, poll->after, (uint32_t)poll->limit, add_event, events,
                         error);
    if (r == 0)
        *ret = json_pack("{s:O,s:I,s:I}", "events", events, "oldest", (json_int_t)bounds.oldest,
                         "newest", (json_int_t)bounds.newest);
    json_decref(events);
    return r;
}

static bool poll_events(struct scheduler *scheduler, struct held *held, void *data, bool last)
{
    struct edl_error error = { 0 };
    json_t *page;

    if (read_page(scheduler->store, data, &page, &error) < 0) {
        held_reply_error(held, &error);
        return true;
    }
    if (json_array_size(json_object_get(page, "events")) == 0 && !last) {
        json_decref(page);
        return false;
    }
    held_reply_json(held, 200, page);
    return true;
}

/* Where to begin: what a browser's EventSource says when it connects again counts more than the
 * address it was given. Without either: with the oldest event there is. */
static int read_after(const struct http_request *request, const struct event_bounds *bounds,
                      uint64_t *ret, struct edl_error *error)
{
    const char *last = http_request_header(request, "Last-Event-ID");

    if (last == NULL || last[0] == '\0')
        return http_request_query_u64(request, "after", bounds->oldest - 1, ret, error);
    if (parse_u64(last, ret) == 0)
        return 0;
    return edl_error_set(error, -EINVAL, "the Last-Event-ID \"%.40s\" is no revision", last);
}

/* read_question - and how far events reach */
static int read_question(struct scheduler *scheduler, const struct http_request *request,
                         struct poll_events *ret, struct event_bounds *ret_bounds,
                         struct edl_error *error)
{
    const struct event_bounds all = { .oldest = 1 };
    int r = page_limit(request, &ret->limit, error);

    if (r == 0)
        r = read_after(request, &all, &ret->after, error);
    if (r == 0)
        r = store_bounds_of_page(scheduler->store, 0, ret->after, (uint32_t)ret->limit, ret_bounds,
                                 error);
    return r == 0 ? read_after(request, ret_bounds, &ret->after, error) : r;
}

static bool wants_stream(const struct http_request *request)
{
    const char *accept = http_request_header(request, "Accept");

    return accept != NULL && strcasestr(accept, "text/event-stream") != NULL;
}

void api_events(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };
    struct event_bounds bounds;
    struct poll_events poll = { 0 };
    uint64_t deadline_us;
    int r = read_question(scheduler, request, &poll, &bounds, &error);

    if (r == 0)
        r = api_wait_us(request, 0, &deadline_us, &error);
    if (r < 0) {
        http_reply_error(request, &error);
    } else if (event_after_check(&bounds, poll.after, &error) < 0) {
        uint64_t usable = event_after_usable(&bounds, poll.after);

        http_reply_problem(request, &error, json_pack("{s:I}", "after", (json_int_t)usable));
    } else if (wants_stream(request)) {
        event_stream_new(scheduler, request, poll.after);
    } else {
        struct poll_events *copy = xcalloc(1, sizeof *copy);

        *copy = poll;
        waiters_add(scheduler, held_new(request), "events", deadline_us, poll_events, copy);
    }
}

void api_job_events(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct job *job = api_job(scheduler, request);
    struct poll_events poll = { 0 };
    struct edl_error error = { 0 };
    json_t *page;
    int r;

    if (job == NULL)
        return;
    poll.job_id = job->id;
    r = http_request_query_u64(request, "after", 0, &poll.after, &error);
    if (r == 0)
        r = page_limit(request, &poll.limit, &error);
    if (r == 0)
        r = read_page(scheduler->store, &poll, &page, &error);
    if (r < 0)
        http_reply_error(request, &error);
    else
        http_reply_json(request, 200, page);
}
