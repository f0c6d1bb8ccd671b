/* SPDX-License-Identifier: Apache-2.0 */
/* logs.c - sends what processes wrote
 *
 * A followed stream is a file, an offset and at most one call in flight: output that is written
 * meanwhile waits for its answer, so a talkative process costs the scheduler one request at a time.
 * inotify tells of new text. A failed call is tried again at the next kick. One that the scheduler
 * refuses (4xx) ends the stream until it is asked for again from another place. */
#include "agent/logs/logs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/layout.h"
#include "agent/link/link.h"
#include "agent/logs/log_file.h"
#include "agent/logs/log_times.h"
#include "agent/logs/log_trim.h"
#include "agent/link/orders.h"
#include "agent/processes/process_id_json.h"
#include "agent/logs/utf8.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define TAIL_TIMEOUT_US (2 * USEC_PER_SEC)
#define MARKS_MAX 64 /* of a call */

struct stream {
    struct logs *logs; /* borrowed */
    struct process_id id;
    bool tail;        /* one call, then on_tail */
    bool wanted;      /* mark of logs_follow */
    bool over;        /* everything was sent, or it was refused */
    uint64_t asked;   /* offset that was asked for */
    uint64_t most;    /* bytes of the end to begin with; NO_TAIL once begun */
    uint64_t offset;  /* next byte to send */
    uint64_t next;    /* offset after the call in flight */
    uint64_t dropped; /* bytes of the beginning that are not kept any more */
    bool last;        /* the call in flight is the last one */
    bool dated;       /* what came before the first call has its times with that */
    struct http_async_call *call;
    sd_event_source *watch;
    struct stream *prev, *next_stream;
};

struct logs {
    struct logs_config config;
    struct stream *streams; /* owned; utlist */
};

static void pump(struct stream *s);

static void stream_free(struct stream *s)
{
    DL_DELETE2(s->logs->streams, s, prev, next_stream);
    http_async_cancel(s->call);
    sd_event_source_disable_unref(s->watch);
    free(s);
}

static struct stream *stream_new(struct logs *logs, const struct process_id *id)
{
    struct stream *s = xcalloc(1, sizeof *s);

    s->logs = logs;
    s->id = *id;
    s->most = NO_TAIL;
    DL_APPEND2(logs->streams, s, prev, next_stream);
    return s;
}

/* pread_kept - what is still there of a chunk at s->offset, which moves on to it
 * Again, if the beginning was cut off while it was read: that reads as zeros. */
static ssize_t pread_kept(struct stream *s, int fd, uint64_t size, char raw[LOGS_CHUNK_BYTES])
{
    ssize_t n;

    do {
        s->dropped = log_held_from(fd, size);
        s->offset = MAX_OF(s->offset, s->dropped);
        n = pread(fd, raw, LOGS_CHUNK_BYTES, (off_t)s->offset);
    } while (n > 0 && log_held_from(fd, size) > s->offset);
    return n;
}

/* read_chunk - the next text of a stream as JSON; -ENOENT when there is no log (yet) */
static int read_chunk(struct stream *s, bool ended, json_t **ret)
{
    struct stat st;
    _cleanup_close_ int fd = log_file_open(s->logs->config.layout, &s->id, &st);
    _cleanup_free_ char *raw = NULL;
    _cleanup_free_ char *clean = NULL;
    size_t used, size;
    ssize_t n;

    if (fd < 0)
        return fd;
    /* A reader who comes late wants the end, not gigabytes before it. */
    s->offset = logs_first_byte(s->offset, s->most, (uint64_t)st.st_size);
    s->most = NO_TAIL;
    raw = xcalloc(1, LOGS_CHUNK_BYTES);
    clean = xcalloc(UTF8_GROWTH, LOGS_CHUNK_BYTES);
    n = pread_kept(s, fd, (uint64_t)st.st_size, raw);
    if (n == -1)
        return -errno;
    s->last = ended && s->offset + (uint64_t)n >= (uint64_t)st.st_size;
    used = utf8_sanitise(raw, (size_t)n, s->last, clean, &size);
    s->next = s->offset + used;
    *ret = json_stringn(clean, size);
    return 0;
}

static void finish_tail(struct stream *s, enum logs_tail tail)
{
    struct logs *logs = s->logs;
    struct process_id id = s->id;

    stream_free(s);
    logs->config.on_tail(&id, tail, logs->config.userdata);
}

/* finish - the call's outcome; s may be freed */
static void finish(struct stream *s, bool sent, bool refused)
{
    if (s->tail) {
        finish_tail(s, sent ? LOGS_TAIL_SENT : LOGS_TAIL_NOT_SENT);
        return;
    }
    if (refused)
        s->over = true;
    if (!sent)
        return; /* until the next kick */
    s->offset = s->next;
    s->over = s->last;
    pump(s);
}

static void on_answer(const struct http_answer *answer, void *userdata)
{
    struct stream *s = userdata;
    struct edl_error error;
    bool sent = http_answer_error(answer, &error) == 0;

    s->call = NULL;
    finish(s, sent,
           answer->failure == 0 && answer->status >= 400 && answer->status < 500 &&
               answer->status != 401 && answer->status != 429);
}

/* marks_of - [[offset, wall clock us], ...]: bytes before the offset were there by then. Of the
 * bytes that the next call has */
static json_t *marks_of(const struct stream *s)
{
    struct log_times times;
    json_t *array = json_array();
    uint64_t end, wall_us;
    size_t n = 0, step, at = 0;

    log_file_times(s->logs->config.layout, &s->id, &times);
    for (uint64_t offset = s->offset; offset < s->next; offset = end, n++)
        (void)log_times_at(&times, offset, &end);
    step = (n + MARKS_MAX - 1) / MARKS_MAX;
    for (uint64_t offset = s->offset; offset < s->next; offset = end) {
        wall_us = log_times_at(&times, offset, &end);
        end = MIN_OF(end, s->next);
        if (wall_us > 0 && (++at % step == 0 || end == s->next))
            (void)json_array_append_new(array,
                                        json_pack("[II]", (json_int_t)end, (json_int_t)wall_us));
    }
    log_times_clear(&times);
    return array;
}

/* send - false: could not even be started (s is as before) */
static bool send(struct stream *s, json_t *take_text)
{
    _cleanup_free_ char *path = text_format("/nodes/%s/logs", link_node(s->logs->config.link));
    _cleanup_free_ char *file = layout_log_path(s->logs->config.layout, &s->id);
    json_t *body = process_id_json(&s->id);
    struct edl_error error;
    int r;

    (void)json_object_set_new(body, "file", json_string(file));
    (void)json_object_set_new(body, "offset", json_integer((json_int_t)s->offset));
    (void)json_object_set_new(body, "next_offset", json_integer((json_int_t)s->next));
    (void)json_object_set_new(body, "end", json_boolean(s->last));
    (void)json_object_set_new(body, "text", take_text);
    if (s->dropped > 0)
        (void)json_object_set_new(body, "dropped_bytes", json_integer((json_int_t)s->dropped));
    if (s->last || !s->dated)
        (void)json_object_set_new(body, "marks", marks_of(s));
    s->dated = true;
    r = link_call(s->logs->config.link,
                  &(struct http_call){ .method = "POST",
                                       .path = path,
                                       .json = body,
                                       .timeout_us = s->tail ? TAIL_TIMEOUT_US : 0 },
                  on_answer, s, &s->call, &error);
    json_decref(body);
    return r == 0;
}

/* pump - sends what is there, unless a call is in flight or there is nothing new to say */
static void pump(struct stream *s)
{
    bool ended = s->logs->config.ended(&s->id, s->logs->config.userdata);
    json_t *text;

    if (s->call != NULL || s->over || read_chunk(s, ended, &text) < 0)
        return;
    if (s->next == s->offset && !s->last)
        json_decref(text);
    else
        (void)send(s, text);
}

static int on_written(sd_event_source *source, const struct inotify_event *event, void *userdata)
{
    (void)source;
    (void)event;
    pump(userdata);
    return 0;
}

/* watch - a log that is not there yet is looked for again at the next kick */
static void watch(struct stream *s)
{
    _cleanup_free_ char *path = layout_log_path(s->logs->config.layout, &s->id);

    if (s->watch == NULL)
        (void)sd_event_add_inotify(s->logs->config.event, &s->watch, path, IN_MODIFY, on_written,
                                   s);
}

struct logs *logs_new(const struct logs_config *config)
{
    struct logs *logs = xcalloc(1, sizeof *logs);

    logs->config = *config;
    return logs;
}

struct logs *logs_free(struct logs *logs)
{
    struct stream *s, *next;

    if (logs == NULL)
        return NULL;
    DL_FOREACH_SAFE2(logs->streams, s, next, next_stream)
    stream_free(s);
    free(logs);
    return NULL;
}

void logs_send_tail(struct logs *logs, const struct process_id *id, bool even_none)
{
    struct stream *s = stream_new(logs, id);
    json_t *text;
    int r;

    s->tail = true;
    s->most = LOGS_CHUNK_BYTES;
    r = read_chunk(s, true, &text);
    if (r == -ENOENT) {
        finish_tail(s, LOGS_TAIL_NONE);
    } else if (r == 0 && s->next == 0 && !even_none) {
        json_decref(text);
        finish_tail(s, LOGS_TAIL_NONE);
    } else if (r < 0 || !send(s, text)) {
        finish_tail(s, LOGS_TAIL_NOT_SENT);
    }
}

static struct stream *find(struct logs *logs, const struct process_id *id)
{
    struct stream *s;

    DL_FOREACH2(logs->streams, s, next_stream)
    if (!s->tail && process_id_equal(&s->id, id))
        return s;
    return NULL;
}

static void begin(struct stream *s, const struct orders_log *wanted)
{
    s->asked = wanted->after;
    s->offset = wanted->after;
    s->most = wanted->tail_bytes;
    s->over = s->dated = false;
    http_async_cancel(s->call);
    s->call = NULL;
}

void logs_follow(struct logs *logs, const struct orders_log *wanted, size_t n)
{
    struct stream *s, *next;

    DL_FOREACH2(logs->streams, s, next_stream)
    s->wanted = s->tail;
    for (size_t i = 0; i < n; i++) {
        s = find(logs, &wanted[i].id);
        if (s == NULL) {
            s = stream_new(logs, &wanted[i].id);
            begin(s, &wanted[i]);
        } else if (s->asked != wanted[i].after) { /* the scheduler lost or dropped something */
            begin(s, &wanted[i]);
        }
        s->wanted = true;
    }
    DL_FOREACH_SAFE2(logs->streams, s, next, next_stream)
    if (!s->wanted)
        stream_free(s);
    logs_kick(logs);
}

void logs_kick(struct logs *logs)
{
    struct stream *s;

    DL_FOREACH2(logs->streams, s, next_stream)
    {
        if (s->tail)
            continue;
        watch(s);
        pump(s);
    }
}
