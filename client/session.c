/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - see session.h
 *
 * A stream that ends without the frame that says how the command ended is broken, whatever else is
 * known: its status is SESSION_BROKEN, and the scheduler is asked why. */
#include "client/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/json_mask.h"
#include "client/json_read.h"
#include "client/job_view.h"
#include "client/report.h"
#include "client/server.h"
#include "client/terminal.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/http_duplex.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define PING_US (SESSION_PING_S * USEC_PER_SEC)
#define SILENCE_US (4 * PING_US) /* the other end says something once in SESSION_PING_S */
#define FAREWELL_US (500 * USEC_PER_MSEC)
#define WHY_US (2 * USEC_PER_SEC)
#define NOTE_MAX 1024
#define CHANNELS_MAX (SESSION_CHANNELS_MAX + SESSION_STDERR + 1)

/* Both directions of one channel. */
struct channel {
    bool open;
    uint16_t number;
    struct session_window out, in;
};

struct session {
    struct server *server; /* borrowed */
    sd_event *event;       /* borrowed */
    struct session_events events;
    json_t *about;                 /* owned */
    char *id;                      /* owned */
    struct http_duplex *duplex;    /* owned */
    sd_event_source *ping;         /* owned */
    struct session_reader *reader; /* owned */
    struct channel channels[CHANNELS_MAX];
    uint16_t last_number; /* of a connection */
    uint64_t heard_us;
    sd_event_source *farewell; /* owned; NULL until how is known */
    struct session_end how;
    bool calling, dead; /* freed by a callback */
    bool ended;
};

/* --- channels --- */

static struct channel *channel_find(struct session *session, uint16_t number)
{
    for (size_t i = 0; i < ELEMENTS(session->channels); i++)
        if (session->channels[i].open && session->channels[i].number == number)
            return &session->channels[i];
    return NULL;
}

static struct channel *channel_open(struct session *session, uint16_t number, size_t most)
{
    size_t n_open = 0, free_one = ELEMENTS(session->channels);

    for (size_t i = 0; i < ELEMENTS(session->channels); i++) {
        n_open += session->channels[i].open;
        if (!session->channels[i].open)
            free_one = i;
    }
    if (n_open >= most || free_one == ELEMENTS(session->channels))
        return NULL;
    session->channels[free_one] = (struct channel){ .open = true, .number = number };
    session_window_begin(&session->channels[free_one].out);
    session_window_begin(&session->channels[free_one].in);
    return &session->channels[free_one];
}

/* --- its end --- */

static void free_rest(struct session *session)
{
    free(session->reader);
    free(session);
}

static void enter(struct session *session)
{
    session->calling = true;
}

/* leave - also of what a callback has freed */
static void leave(struct session *session)
{
    session->calling = false;
    if (session->dead)
        free_rest(session);
}

static void end(struct session *session, const struct session_end *how)
{
    if (session->ended)
        return;
    session->ended = true;
    session->ping = sd_event_source_disable_unref(session->ping);
    session->farewell = sd_event_source_disable_unref(session->farewell);
    session->events.on_end(session->events.userdata, how);
}

/* end_broken - nothing tells how the command ended */
static void end_broken(struct session *session, const struct edl_error *error)
{
    end(session, &(struct session_end){ .status = SESSION_BROKEN, .error = *error });
}

/* take_reason - from what the scheduler knows of a session that is over */
static void take_reason(const json_t *state, const struct edl_error *broke, struct edl_error *ret)
{
    const char *reason = json_text(state, "reason"), *remedy = json_text(state, "remedy");

    if (streq(json_text(state, "state"), "ended") && *reason != '\0') {
        (void)edl_error_set(ret, -ECONNABORTED, "%s", reason);
        if (*remedy != '\0')
            (void)edl_error_remedy(ret, "%s", remedy);
    } else if (broke != NULL) {
        (void)edl_error_set(ret, -ECONNABORTED, "the session broke off: %s; the job goes on",
                            broke->text);
    } else {
        (void)edl_error_set(ret, -ECONNABORTED, "the session broke off; the job goes on");
    }
}

/* ask_why - the session is over, and the call holds up nothing but its end: once, for a moment, and
 * with the person's terminal given back */
static void ask_why(struct session *session, const struct edl_error *broke, struct edl_error *ret)
{
    _cleanup_free_ char *path = text_format("/sessions/%s", session->id);
    const struct http_call call = {
        .method = "GET", .path = path, .bearer_token = session->server->token, .timeout_us = WHY_US
    };
    struct http_answer answer = { 0 };

    terminal_leave();
    (void)http_client_call(session->server->http, &call, &answer);
    json_mask(answer.json);
    if (answer.failure == 0 && answer.status < 400) {
        take_reason(answer.json, broke, ret);
    } else if (answer.failure == 0 && answer.status == 404) {
        (void)edl_error_set(ret, -ECONNABORTED,
                            "the scheduler was restarted: the session is over; the job goes on");
        (void)edl_error_remedy(ret, "the same command again");
    } else if (session->server->servers.n > 1) {
        (void)edl_error_set(ret, -ECONNABORTED,
                            "the scheduler at %.100s does not lead any more, or cannot be reached: "
                            "the session is over; the job goes on",
                            session->server->base);
        (void)edl_error_remedy(ret, "the same command again: it finds the scheduler that leads");
    } else {
        (void)edl_error_set(ret, -ECONNABORTED,
                            "the scheduler cannot be reached: the session is over; the job goes "
                            "on");
        (void)edl_error_remedy(ret, "the same command, once the scheduler answers (edl ps)");
    }
    http_answer_clear(&answer);
}

static int on_farewell(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct session *session = userdata;

    (void)source;
    (void)time_us;
    enter(session);
    end(session, &session->how);
    leave(session);
    return 0;
}

/* end_told - the node has told how; the scheduler ends the stream by and by, and notes a regular
 * end if we are still here then */
static void end_told(struct session *session, const struct session_end *how)
{
    session->how = *how;
    if (session->farewell != NULL)
        return;
    if (sd_event_add_time_relative(session->event, &session->farewell, CLOCK_MONOTONIC, FAREWELL_US,
                                   0, on_farewell, session) < 0)
        end(session, how);
}

static void on_exit_frame(struct session *session, const struct session_frame *frame)
{
    struct session_end how = { .exited = true };

    if (frame->size != 2 || frame->data[0] > 1) {
        how = (struct session_end){ .status = SESSION_BROKEN };
        (void)edl_error_set(&how.error, -EBADMSG,
                            "the node told the end of the command in a way that is unknown here");
        (void)edl_error_remedy(&how.error, "upgrade edl");
    } else {
        how.status = frame->data[0] == 1 ? SESSION_SIGNALLED + frame->data[1] : frame->data[1];
    }
    end_told(session, &how);
}

/* read_error - of a frame: JSON in other people's words */
static int read_error(const struct session_frame *frame, struct edl_error *ret)
{
    _cleanup_json_ json_t *told = json_loadb((const char *)frame->data, frame->size, 0, NULL);
    uint64_t status;

    json_mask(told);
    status = json_u64(told, "code");
    (void)edl_error_set(ret, -ECONNABORTED, "%s",
                        *json_text(told, "text") != '\0' ? json_text(told, "text")
                                                         : "the node says no reason");
    if (*json_text(told, "remedy") != '\0')
        (void)edl_error_remedy(ret, "%s", json_text(told, "remedy"));
    return status >= 1 && status <= SESSION_BROKEN ? (int)status : SESSION_BROKEN;
}

static void on_error_frame(struct session *session, const struct session_frame *frame)
{
    struct session_end how = { 0 };

    how.status = read_error(frame, &how.error);
    if (frame->channel == 0) {
        end_told(session, &how);
        return;
    }
    if (channel_find(session, frame->channel) == NULL)
        return;
    if (session->events.on_refused != NULL)
        session->events.on_refused(session->events.userdata, frame->channel, &how.error);
    if (session->dead)
        return;
    session_disconnect(session, frame->channel);
    if (session->events.on_close != NULL)
        session->events.on_close(session->events.userdata, frame->channel);
}

/* --- frames --- */

static void on_data_frame(struct session *session, const struct session_frame *frame)
{
    struct channel *channel = channel_find(session, frame->channel);
    struct edl_error error = { 0 };

    if (channel == NULL) /* of a connection that is over here */
        return;
    if (!session_window_came(&channel->in, frame->size)) {
        (void)edl_error_set(&error, -EBADMSG, "more came than the window of the session allows");
        end_broken(session, &error);
    } else if (session->events.on_data != NULL) {
        session->events.on_data(session->events.userdata, frame->channel, frame->data, frame->size);
    } else {
        session_took(session, frame->channel, frame->size);
    }
}

static void on_eof_frame(struct session *session, const struct session_frame *frame)
{
    if (channel_find(session, frame->channel) != NULL && session->events.on_eof != NULL)
        session->events.on_eof(session->events.userdata, frame->channel);
}

static void on_close_frame(struct session *session, const struct session_frame *frame)
{
    if (channel_find(session, frame->channel) == NULL)
        return;
    session_disconnect(session, frame->channel);
    if (session->events.on_close != NULL)
        session->events.on_close(session->events.userdata, frame->channel);
}

static void on_note_frame(struct session *session, const struct session_frame *frame)
{
    char text[NOTE_MAX + 1];
    size_t size = MIN_OF(frame->size, (size_t)NOTE_MAX);

    memcpy(text, frame->data, size);
    text[size] = '\0';
    printable_mask(text, size, "");
    if (session->events.on_note != NULL)
        session->events.on_note(session->events.userdata, text);
}

static void on_ready_frame(struct session *session, const struct session_frame *frame)
{
    (void)frame;
    if (session->events.on_ready != NULL)
        session->events.on_ready(session->events.userdata);
}

static void on_window_frame(struct session *session, const struct session_frame *frame)
{
    struct channel *channel = channel_find(session, frame->channel);
    struct edl_error error = { 0 };
    uint32_t size = 0;

    if (channel == NULL)
        return;
    if (!session_frame_u32(frame, &size) || !session_window_granted(&channel->out, size)) {
        (void)edl_error_set(&error, -EBADMSG, "the session's window is not what it can be");
        end_broken(session, &error);
    } else if (session->events.on_room != NULL) {
        session->events.on_room(session->events.userdata);
    }
}

static void take_frame(struct session *session, const struct session_frame *frame)
{
    static void (*const takers[])(struct session *, const struct session_frame *) = {
        [SESSION_DATA] = on_data_frame,   [SESSION_EOF] = on_eof_frame,
        [SESSION_EXIT] = on_exit_frame,   [SESSION_ERROR] = on_error_frame,
        [SESSION_CLOSE] = on_close_frame, [SESSION_NOTE] = on_note_frame,
        [SESSION_READY] = on_ready_frame, [SESSION_WINDOW] = on_window_frame,
    };

    if (frame->type < ELEMENTS(takers) && takers[frame->type] != NULL)
        takers[frame->type](session, frame);
}

/* --- what the two requests tell --- */

static void on_bytes(void *userdata, const uint8_t *data, size_t size)
{
    struct session *session = userdata;
    struct session_frame frame;
    struct edl_error error = { 0 };
    int r = 1;

    session->heard_us = clock_read_us(CLOCK_BOOTTIME);
    enter(session);
    while (!session->dead && !session->ended &&
           (r = session_reader_take(session->reader, &data, &size, &frame, &error)) == 1)
        take_frame(session, &frame);
    if (r < 0 && !session->dead)
        end_broken(session, &error);
    leave(session);
}

static void on_duplex_room(void *userdata)
{
    struct session *session = userdata;

    enter(session);
    if (session->events.on_room != NULL && !session->ended)
        session->events.on_room(session->events.userdata);
    leave(session);
}

static void on_duplex_end(void *userdata, const struct edl_error *broke)
{
    struct session *session = userdata;
    struct edl_error error = { 0 };

    if (session->ended)
        return;
    enter(session);
    if (session->farewell != NULL) {
        end(session, &session->how);
    } else {
        ask_why(session, broke, &error);
        end_broken(session, &error);
    }
    leave(session);
}

static void send_frame(struct session *session, enum session_frame_type type, uint16_t channel,
                       const void *data, size_t size)
{
    uint8_t head[SESSION_HEAD_BYTES];

    if (session->ended)
        return;
    session_frame_head(type, channel, size, head);
    http_duplex_write(session->duplex, head, sizeof head);
    http_duplex_write(session->duplex, data, size);
}

static int on_ping(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct session *session = userdata;
    struct edl_error error = { 0 };

    if (clock_read_us(CLOCK_BOOTTIME) - time_us > PING_US) /* it was stopped, or asleep, itself */
        session->heard_us = clock_read_us(CLOCK_BOOTTIME);
    send_frame(session, SESSION_PING, 0, NULL, 0);
    (void)sd_event_source_set_time_relative(source, PING_US);
    (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    if (clock_read_us(CLOCK_BOOTTIME) - session->heard_us < SILENCE_US)
        return 0;
    (void)edl_error_set(&error, -ETIMEDOUT,
                        "nothing was heard of the node for %u s: the session is over; the job "
                        "may go on",
                        (unsigned)(SILENCE_US / USEC_PER_SEC));
    (void)edl_error_remedy(&error,
                           "the same command again; edl nodes tells whether the node is there");
    enter(session);
    end_broken(session, &error);
    leave(session);
    return 0;
}

/* --- what the caller asks for --- */

static int begin(struct session *session, sd_event *event)
{
    _cleanup_free_ char *in_path = text_format("/sessions/%s/in", session->id);
    _cleanup_free_ char *out_path = text_format("/sessions/%s/out", session->id);
    struct http_duplex_config config = { .event = event,
                                         .base = session->server->base,
                                         .ca_path = session->server->ca,
                                         .bearer_token = session->server->token,
                                         .in_path = in_path,
                                         .out_path = out_path,
                                         .on_data = on_bytes,
                                         .on_room = on_duplex_room,
                                         .on_end = on_duplex_end,
                                         .userdata = session };
    struct edl_error error = { 0 };
    int r = http_duplex_open(&config, &session->duplex, &error);

    if (r == 0)
        r = sd_event_add_time_relative(event, &session->ping, CLOCK_BOOTTIME, PING_US, USEC_PER_SEC,
                                       on_ping, session);
    session->heard_us = clock_read_us(CLOCK_BOOTTIME);
    if (r >= 0)
        return STATUS_OK;
    if (error.code == 0)
        (void)edl_error_errno(&error, r, "cannot put the session on the event loop");
    return report_error(&error);
}

static bool is_id(const char *text)
{
    return *text != '\0' && strlen(text) <= 64 && strspn(text, "0123456789abcdef") == strlen(text);
}

int session_open(struct server *server, sd_event *event, const char *job, json_t *take_body,
                 const struct session_events *events, struct session **ret)
{
    _cleanup_json_ json_t *body = take_body;
    _cleanup_json_ json_t *about = NULL;
    _cleanup_free_ char *path = job_path(job, "/sessions");
    struct edl_error error = { 0 };
    struct session *session;
    int status = server_request(server, "POST", path, body, &about);

    if (status != STATUS_OK)
        return status;
    if (!is_id(json_text(about, "session"))) {
        (void)edl_error_set(&error, EDL_EHTTP, "the scheduler's answer names no session");
        return report_error(&error);
    }
    session = xcalloc(1, sizeof *session);
    session->server = server;
    session->event = event;
    session->events = *events;
    session->id = xstrdup(json_text(about, "session"));
    session->about = TAKE_PTR(about);
    session->reader = xcalloc(1, sizeof *session->reader);
    if (!streq(json_text(body, "kind"), "forward"))
        for (int i = SESSION_STDIN; i <= SESSION_STDERR; i++)
            (void)channel_open(session, (uint16_t)i, CHANNELS_MAX);
    status = begin(session, event);
    if (status != STATUS_OK)
        session = session_free(session);
    else
        *ret = session;
    return status;
}

struct session *session_free(struct session *session)
{
    if (session == NULL)
        return NULL;
    session->ended = true;
    session->duplex = http_duplex_free(session->duplex);
    session->ping = sd_event_source_disable_unref(session->ping);
    session->farewell = sd_event_source_disable_unref(session->farewell);
    json_decref(TAKE_PTR(session->about));
    free(TAKE_PTR(session->id));
    if (session->calling)
        session->dead = true;
    else
        free_rest(session);
    return NULL;
}

const json_t *session_about(const struct session *session)
{
    return session->about;
}

size_t session_room(const struct session *session, uint16_t number)
{
    const struct channel *channel = channel_find((struct session *)session, number);
    size_t room;

    if (channel == NULL || session->ended)
        return 0;
    room = http_duplex_room(session->duplex);
    room -= MIN_OF(room, (size_t)SESSION_HEAD_BYTES);
    return MIN_OF(MIN_OF(room, (size_t)channel->out.may_send), (size_t)SESSION_DATA_MAX);
}

void session_send(struct session *session, uint16_t number, const void *data, size_t size)
{
    struct channel *channel = channel_find(session, number);

    if (channel == NULL || size == 0)
        return;
    session_window_sent(&channel->out, size);
    send_frame(session, SESSION_DATA, number, data, size);
}

void session_send_eof(struct session *session, uint16_t channel)
{
    send_frame(session, SESSION_EOF, channel, NULL, 0);
}

void session_send_size(struct session *session, const struct session_size *size)
{
    uint8_t data[8];

    session_put_size(size, data);
    send_frame(session, SESSION_RESIZE, 0, data, sizeof data);
}

void session_send_signal(struct session *session, int number)
{
    uint8_t data = (uint8_t)number;

    send_frame(session, SESSION_SIGNAL, 0, &data, 1);
}

void session_took(struct session *session, uint16_t number, size_t size)
{
    struct channel *channel = channel_find(session, number);
    uint8_t data[4];
    uint32_t told = channel != NULL ? session_window_taken(&channel->in, size) : 0;

    if (told == 0)
        return;
    session_put_u32(told, data);
    send_frame(session, SESSION_WINDOW, number, data, sizeof data);
}

uint16_t session_connect(struct session *session, uint16_t port)
{
    uint8_t data[2];

    do
        session->last_number++;
    while (session->last_number == 0 || channel_find(session, session->last_number) != NULL);
    if (channel_open(session, session->last_number, SESSION_CHANNELS_MAX) == NULL)
        return 0;
    session_put_u16(port, data);
    send_frame(session, SESSION_OPEN, session->last_number, data, sizeof data);
    return session->last_number;
}

void session_disconnect(struct session *session, uint16_t number)
{
    struct channel *channel = channel_find(session, number);

    if (channel == NULL)
        return;
    channel->open = false;
    send_frame(session, SESSION_CLOSE, number, NULL, 0);
}
