/* SPDX-License-Identifier: Apache-2.0 */
/* file_reads.c - see file_reads.h
 *
 *   asked -> streaming -> gone        (asked: its first piece decides the status of the answer)
 *
 * A piece is the agent's request, kept unanswered with its body. When the client's connection has
 * room the body is written to it, and the agent hears that it may bring the next one. */
#include "scheduler/nodes/file_reads.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/core/core.h"
#include "scheduler/scheduler.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/fair_share.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define SILENCE_US (20 * USEC_PER_SEC)
#define ACCURACY_US (100 * USEC_PER_MSEC)
#define REASON_BYTES_MAX 300

struct file_read {
    struct scheduler *scheduler; /* borrowed */
    uint64_t id;
    char node[NODE_NAME_MAX + 1];
    char user[USER_NAME_MAX + 1];
    char owner[USER_NAME_MAX + 1]; /* "": anybody */
    const char *type;              /* static */
    json_t *order;                 /* owned */
    struct http_request *client;   /* borrowed; NULL: it has left, or was refused */
    struct http_stream *stream;    /* its own until on_gone; NULL: nothing has come yet */
    struct http_request *piece;    /* borrowed: the agent's, unanswered; NULL: none is here */
    bool last;                     /* no other piece comes */
    uint64_t offset;               /* bytes that came */
    sd_event_source *silence;      /* owned; armed while a piece is waited for */
    struct file_read *next, *prev;
};

static void wake_node(struct scheduler *scheduler, const char *name)
{
    struct node *node = cluster_node(scheduler->cluster, name);
    char topic[TOPIC_MAX];

    if (node == NULL)
        return;
    node->orders_version++;
    (void)snprintf(topic, sizeof topic, "orders/%s", name);
    scheduler_notify(scheduler, topic);
}

static void refuse_piece(struct http_request *piece)
{
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, EDL_ECOMPACTED, "nobody waits for that any more");
    http_reply_error(piece, &error);
}

/* read_end - forgets it: its client has its answer or has left */
static void read_end(struct file_read *read)
{
    struct scheduler *scheduler = read->scheduler;

    DL_DELETE(scheduler->file_reads.list, read);
    scheduler->file_reads.n--;
    (void)sd_event_source_disable_unref(read->silence);
    if (read->piece != NULL)
        refuse_piece(read->piece);
    if (!read->last)
        wake_node(scheduler, read->node); /* its agent reads on for nobody */
    json_decref(read->order);
    free(read);
}

/* read_fail - the client hears why, or, behind the first piece, that the answer is cut off */
static void read_fail(struct file_read *read, const struct edl_error *error)
{
    if (read->stream != NULL) {
        http_stream_break(read->stream); /* on_gone follows */
        return;
    }
    if (read->client != NULL)
        http_reply_error(read->client, error);
    read_end(read);
}

static int on_silence(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct file_read *read = userdata;
    struct edl_error error = { 0 };

    (void)source;
    (void)usec;
    (void)edl_error_set(&error, -ETIMEDOUT, "node %s, which has the files, does not answer",
                        read->node);
    (void)edl_error_remedy(&error, "`edl nodes %s` tells how it is; the same command goes on later",
                           read->node);
    read_fail(read, &error);
    return 0;
}

static void await_piece(struct file_read *read)
{
    (void)sd_event_source_set_time_relative(read->silence, SILENCE_US);
    (void)sd_event_source_set_enabled(read->silence, SD_EVENT_ONESHOT);
}

/* ---- the client ---- */

/* A user who was lowered or removed since gets no more of it. */
static int check_caller(const struct file_read *read, struct edl_error *error)
{
    struct caller caller = { .role = USER_NOBODY };
    int r = auth_recheck(read->scheduler, read->client, error);

    if (r < 0 || read->owner[0] == '\0')
        return r;
    (void)auth_caller(read->scheduler, read->client, &caller);
    return caller.role >= USER_ADMIN || streq(caller.user, read->owner)
               ? 0
               : edl_error_set(error, -EACCES, "it belongs to %s", read->owner);
}

static void on_room(struct http_stream *stream, void *userdata)
{
    struct file_read *read = userdata;
    struct http_request *piece = TAKE_PTR(read->piece);
    const char *body;
    size_t size;

    if (piece == NULL)
        return;
    if (check_caller(read, NULL) < 0) {
        refuse_piece(piece);
        http_stream_break(stream);
        return;
    }
    body = http_request_body(piece, &size);
    http_stream_write(stream, body, size);
    http_reply_json(piece, 204, NULL);
    if (read->last)
        http_stream_end(stream);
    else
        await_piece(read);
}

static void on_stream_gone(struct http_stream *stream, void *userdata)
{
    (void)stream;
    read_end(userdata);
}

static void on_client_gone(struct http_request *request, void *userdata)
{
    struct file_read *read = userdata;

    (void)request;
    read->client = NULL;
    read_end(read);
}

static int check_number(const struct scheduler *scheduler, const struct file_ask *ask, bool admin,
                        struct edl_error *error)
{
    const struct file_read *read;
    unsigned n = 0;

    DL_FOREACH(scheduler->file_reads.list, read)
    n += streq(read->user, ask->user);
    if (fair_share_has_room(n, scheduler->file_reads.n, FILE_READS_MAX) &&
        (admin || n < FILE_READS_USER_MAX))
        return 0;
    (void)edl_error_set(error, EDL_ETOOMANY,
                        "as many files as may be are on their way already: %u, %u of them to %s",
                        scheduler->file_reads.n, n, ask->user);
    return edl_error_remedy(error, "ask again when one of them has come");
}

int file_read_begin(struct scheduler *scheduler, struct http_request *request,
                    const struct file_ask *ask, struct edl_error *error)
{
    struct file_reads *reads = &scheduler->file_reads;
    struct caller caller = { .role = USER_NOBODY };
    struct file_read *read;
    int r;

    (void)auth_caller(scheduler, request, &caller);
    r = check_number(scheduler, ask, caller.role >= USER_ADMIN, error);
    if (r < 0) {
        json_decref(ask->order);
        return r;
    }
    read = xcalloc(1, sizeof *read);
    r = sd_event_add_time_relative(scheduler->event, &read->silence, CLOCK_BOOTTIME, SILENCE_US,
                                   ACCURACY_US, on_silence, read);
    if (r < 0) {
        json_decref(ask->order);
        free(read);
        return edl_error_errno(error, r, "the event loop");
    }
    read->scheduler = scheduler;
    reads->last_id = MAX_OF(reads->last_id + 1, clock_instant().wall_us);
    read->id = reads->last_id;
    (void)snprintf(read->node, sizeof read->node, "%s", ask->node);
    (void)snprintf(read->user, sizeof read->user, "%s", ask->user);
    (void)snprintf(read->owner, sizeof read->owner, "%s", ask->owner != NULL ? ask->owner : "");
    read->type = ask->type;
    read->order = ask->order;
    read->client = request;
    (void)json_object_set_new(read->order, "read", json_integer((json_int_t)read->id));
    (void)json_object_set_new(read->order, "user", json_string(read->user));
    DL_APPEND(reads->list, read);
    reads->n++;
    http_request_defer(request, on_client_gone, read);
    http_request_watch(request);
    wake_node(scheduler, read->node);
    return 0;
}

/* ---- the node ---- */

void file_reads_order(const struct scheduler *scheduler, const char *node, json_t *orders)
{
    const struct file_read *read;
    json_t *array = NULL;

    DL_FOREACH(scheduler->file_reads.list, read)
    {
        if (read->last || !streq(read->node, node))
            continue;
        if (array == NULL)
            array = json_array();
        (void)json_array_append(array, read->order);
    }
    if (array != NULL)
        (void)json_object_set_new(orders, "reads", array);
}

static const struct {
    const char *word;
    int code;  /* of a failure; 0: none */
    bool last; /* no other piece follows */
} states[] = {
    { "more", 0, false },          { "end", 0, true },
    { "gone", -ENOENT, true },     { "denied", -EACCES, true },
    { "failed", EDL_EHTTP, true },
};

static int find_state(const struct http_request *request, size_t *ret, struct edl_error *error)
{
    const char *word = http_request_query(request, "state");

    for (size_t i = 0; word != NULL && i < ELEMENTS(states); i++) {
        if (streq(states[i].word, word)) {
            *ret = i;
            return 0;
        }
    }
    return edl_error_set(error, -EINVAL, "state is none of more, end, gone, denied and failed");
}

/* begin_answer - once there is something to tell: until then a failure has a status of its own */
static void begin_answer(struct file_read *read)
{
    if (read->stream != NULL)
        return;
    http_reply_header(read->client, "Cache-Control", "no-store");
    read->stream = http_stream_begin(read->client, 200, read->type,
                                     &(struct http_stream_config){ .on_room = on_room,
                                                                   .on_gone = on_stream_gone,
                                                                   .measured = true,
                                                                   .userdata = read });
}

static void on_piece_gone(struct http_request *request, void *userdata)
{
    struct file_read *read = userdata;
    struct edl_error error = { 0 };

    (void)request;
    read->piece = NULL;
    (void)edl_error_set(&error, EDL_EHTTP, "node %s broke off", read->node);
    read_fail(read, &error);
}

static void take_failure(struct file_read *read, struct http_request *request, int code)
{
    struct edl_error error = { 0 };
    char text[REASON_BYTES_MAX + 1];
    size_t size;
    const char *body = http_request_body(request, &size);

    (void)snprintf(text, sizeof text, "%.*s", (int)MIN_OF(size, sizeof text - 1), body);
    printable_mask(text, strlen(text), "");
    (void)edl_error_set(&error, code, "node %s: %s", read->node, text);
    http_reply_json(request, 204, NULL);
    read->last = true;
    read_fail(read, &error);
}

static int check_piece(const struct file_read *read, const struct http_request *request,
                       struct edl_error *error)
{
    uint64_t offset;
    int r = http_request_query_u64(request, "offset", 0, &offset, error);

    if (r < 0)
        return r;
    if (read->piece != NULL || read->last)
        return edl_error_set(error, EDL_EBADTRANSITION, "another piece has not gone out yet");
    if (offset != read->offset)
        return edl_error_set(error, EDL_EBADTRANSITION,
                             "byte %" PRIu64 " follows, and not byte %" PRIu64, read->offset,
                             offset);
    return 0;
}

static struct file_read *find(const struct scheduler *scheduler, const char *node, uint64_t id)
{
    struct file_read *read;

    DL_FOREACH(scheduler->file_reads.list, read)
    if (read->id == id && streq(read->node, node))
        return read;
    return NULL;
}

/* take_bytes - none and more to come: the node is still at it */
static void take_bytes(struct file_read *read, struct http_request *request, bool last)
{
    size_t size;

    (void)http_request_body(request, &size);
    if (size == 0 && !last) {
        await_piece(read);
        http_reply_json(request, 204, NULL);
        return;
    }
    (void)sd_event_source_set_enabled(read->silence, SD_EVENT_OFF);
    read->offset += size;
    read->last = last;
    read->piece = request;
    http_request_defer(request, on_piece_gone, read);
    begin_answer(read);
    http_stream_wake(read->stream);
}

void file_read_take(struct scheduler *scheduler, struct http_request *request, const char *node,
                    uint64_t id)
{
    struct file_read *read = find(scheduler, node, id);
    struct edl_error error = { 0 };
    size_t state = 0;
    int r = find_state(request, &state, &error);

    if (r < 0 || read == NULL) {
        if (r < 0)
            http_reply_error(request, &error);
        else
            refuse_piece(request);
        return;
    }
    r = check_piece(read, request, &error);
    if (r == 0)
        r = check_caller(read, &error);
    if (r < 0) { /* an agent that was started again begins anew: the two do not fit together */
        http_reply_error(request, &error);
        read_fail(read, &error);
    } else if (states[state].code != 0) {
        take_failure(read, request, states[state].code);
    } else {
        take_bytes(read, request, states[state].last);
    }
}

void file_reads_done(struct scheduler *scheduler)
{
    struct file_read *read, *next;

    DL_FOREACH_SAFE(scheduler->file_reads.list, read, next)
    {
        read->last = true; /* nobody is woken any more */
        read->piece = NULL;
        read_end(read);
    }
}
