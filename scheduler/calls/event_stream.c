/* SPDX-License-Identifier: Apache-2.0 */
/* event_stream.c - see event_stream.h
 *
 * No field `event`: a browser's EventSource hands unnamed messages to onmessage, named ones only to
 * listeners that know the name. What kind of event it is stands in the data. */
#include "scheduler/calls/event_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/calls/asking.h"
#include "scheduler/calls/dispatch.h"
#include "scheduler/json/event_json.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/json_text.h"
#include "shared/macro.h"

#define PIECE_EVENTS 100 /* read at once; some 30 KiB */
#define BEAT_US (15 * USEC_PER_SEC)
#define BEAT_ACCURACY_US USEC_PER_SEC
#define RETRY_LINE "retry: 1000\n\n" /* so long a browser waits before it connects again, ms */

struct event_stream {
    struct scheduler *scheduler;  /* borrowed */
    struct http_request *request; /* borrowed: who reads; there until on_gone */
    struct http_stream *http;     /* its own until on_gone */
    sd_event_source *beat;        /* owned */
    struct asking *asking;        /* owned; NULL: it reads a database that is near */
    bool news;                    /* there may be some since its reads were sent */
    uint64_t after;               /* revision of the last event that was written */
    char user[USER_NAME_MAX + 1]; /* whose it is */
    bool beating;                 /* write something, so that a reader who left is noticed */
    struct event_stream *next, *prev;
};

static void write_event(const struct stored_event *event, void *userdata)
{
    struct event_stream *stream = userdata;
    json_t *json = event_to_json(event);
    char *data = json_to_text(json, NULL); /* no line feed in it: one line of data */
    char head[48];
    int n = snprintf(head, sizeof head, "id: %" PRIu64 "\ndata: ", event->revision);

    http_stream_write(stream->http, head, (size_t)n);
    http_stream_write(stream->http, data, strlen(data));
    http_stream_write(stream->http, "\n\n", 2);
    stream->after = event->revision;
    stream->beating = false;
    free(data);
    json_decref(json);
}

static int write_piece(struct event_stream *stream, struct edl_error *error)
{
    struct store *store = stream->scheduler->store;
    struct event_bounds bounds;
    int r = auth_recheck(stream->scheduler, stream->request, error);

    if (r == 0)
        r = store_bounds_of_page(store, 0, stream->after, PIECE_EVENTS, &bounds, error);
    if (r == 0)
        r = event_after_check(&bounds, stream->after, error);
    if (r == 0)
        r = store_events(store, 0, stream->after, PIECE_EVENTS, write_event, stream, error);
    return r;
}

static int look(struct event_stream *stream, struct edl_error *error)
{
    int r;

    asking_begin(stream->asking);
    r = write_piece(stream, error);
    return asking_end(stream->asking, r == -EINPROGRESS, error) ? 0 : r;
}

/* Its rows may be older than the news. */
static int look_for_news(struct event_stream *stream, struct edl_error *error)
{
    bool news = stream->news;
    int r;

    stream->news = asking_is_away(stream->asking);
    if (stream->news)
        return 0;
    r = look(stream, error);
    if (r < 0 || !news)
        return r;
    stream->news = asking_is_away(stream->asking); /* that was a further round of the same look */
    return stream->news ? 0 : look(stream, error);
}

static void on_room(struct http_stream *http, void *userdata)
{
    struct event_stream *stream = userdata;
    struct edl_error error = { 0 };

    if (look_for_news(stream, &error) < 0) {
        http_stream_end(http); /* asked again, the reader is told what is wrong */
        return;
    }
    if (stream->beating)
        http_stream_write(http, ":\n\n", 3);
    stream->beating = false;
}

static void on_rows(void *userdata)
{
    struct event_stream *stream = userdata;

    http_stream_wake(stream->http);
}

static int on_beat(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct event_stream *stream = userdata;

    (void)usec;
    stream->beating = true;
    http_stream_wake(stream->http);
    (void)sd_event_source_set_time_relative(source, BEAT_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void on_gone(struct http_stream *http, void *userdata)
{
    struct event_stream *stream = userdata;

    (void)http;
    (void)sd_event_source_disable_unref(stream->beat);
    stream->asking = asking_free(stream->asking);
    DL_DELETE(stream->scheduler->event_streams, stream);
    stream->scheduler->n_event_streams--;
    free(stream);
}

/* Some are left for admins, and nobody else has more than a part. */
static int check_number(const struct scheduler *scheduler, const struct caller *caller,
                        struct edl_error *error)
{
    unsigned most = EVENT_STREAMS_MAX - (caller->role < USER_ADMIN ? EVENT_STREAMS_RESERVED : 0);
    const struct event_stream *stream;
    unsigned n = 0;
    int r = 0;

    DL_FOREACH(scheduler->event_streams, stream)
    n += streq(stream->user, caller->user);
    if (scheduler->n_event_streams >= most)
        r = edl_error_set(error, -EAGAIN, "as many event streams as may be are there already: %u",
                          scheduler->n_event_streams);
    else if (caller->role < USER_ADMIN && n >= EVENT_STREAMS_USER_MAX)
        r = edl_error_set(error, EDL_ETOOMANY,
                          "as many event streams of %s as may be are there already: %u",
                          caller->user, n);
    return r == 0
               ? 0
               : edl_error_remedy(error, "use the long poll: GET /events?after=REVISION&wait=30");
}

void event_stream_new(struct scheduler *scheduler, struct http_request *request, uint64_t after)
{
    struct event_stream *stream;
    struct caller caller = { .user = "" };
    struct edl_error error = { 0 };
    char name[FAIR_NAME_MAX];

    (void)auth_caller(scheduler, request, &caller);
    if (check_number(scheduler, &caller, &error) < 0) {
        http_reply_error(request, &error);
        return;
    }
    stream = xcalloc(1, sizeof *stream);
    stream->scheduler = scheduler;
    stream->request = request;
    memcpy(stream->user, caller.user, sizeof stream->user);
    stream->after = after;
    dispatch_caller(scheduler, request, name);
    stream->asking = asking_new(scheduler, name, on_rows, stream);
    DL_APPEND(scheduler->event_streams, stream);
    scheduler->n_event_streams++;
    http_reply_header(request, "Cache-Control", "no-store");
    http_reply_header(request, "X-Accel-Buffering", "no"); /* a proxy must not wait for more */
    stream->http =
        http_stream_begin(request, 200, "text/event-stream",
                          &(struct http_stream_config){
                              .on_room = on_room, .on_gone = on_gone, .userdata = stream });
    http_stream_write(stream->http, RETRY_LINE, strlen(RETRY_LINE));
    if (sd_event_add_time_relative(scheduler->event, &stream->beat, CLOCK_MONOTONIC, BEAT_US,
                                   BEAT_ACCURACY_US, on_beat, stream) < 0)
        http_stream_end(stream->http); /* without it a reader who left would stay for ever */
}

void event_streams_wake(struct scheduler *scheduler)
{
    struct event_stream *stream;

    DL_FOREACH(scheduler->event_streams, stream)
    http_stream_wake(stream->http);
}

void event_streams_end(struct scheduler *scheduler)
{
    struct event_stream *stream;

    DL_FOREACH(scheduler->event_streams, stream)
    http_stream_end(stream->http);
}
