/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - a person's end of a session with a process of a job
 *
 * The scheduler is asked for it, two requests carry its bytes (shared/http_duplex.h), and frames
 * and windows (shared/session_frame.h) are its language. What the bytes are for is the caller's:
 * session_run.h for programs, forward.h for connections. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "shared/error.h"
#include "shared/session_frame.h"

struct server;
struct session;

/* Exit status of edl where the command has none to tell: no session, or one that broke. */
#define SESSION_BROKEN 255
#define SESSION_SIGNALLED 128 /* and the signal's number */

/* How it ended. */
struct session_end {
    int status;             /* of the command, 128 and the signal's number, or SESSION_BROKEN */
    bool exited;            /* the command did, by itself or by a signal */
    struct edl_error error; /* code 0: none; else what to tell */
};

/* Any of them may be NULL, but for on_end. They come from the loop. */
struct session_events {
    void (*on_ready)(void *userdata);
    /* what is taken of it is told by session_took; no more comes than the window allows */
    void (*on_data)(void *userdata, uint16_t channel, const uint8_t *data, size_t size);
    void (*on_eof)(void *userdata, uint16_t channel);
    void (*on_close)(void *userdata, uint16_t channel); /* of a forward: at once */
    /* of a channel of a forward; followed by on_close */
    void (*on_refused)(void *userdata, uint16_t channel, const struct edl_error *error);
    void (*on_note)(void *userdata, const char *text); /* without control characters */
    void (*on_room)(void *userdata);                   /* more can be sent somewhere */
    /* the last one; the session may be freed in it */
    void (*on_end)(void *userdata, const struct session_end *end);
    void *userdata;
};

/* session_open - asks for the session; body: of POST /jobs/{job}/sessions, consumed
 * STATUS_OK, or an enum status after the failure was printed. Borrows server until session_free. */
int session_open(struct server *server, sd_event *event, const char *job, json_t *take_body,
                 const struct session_events *events, struct session **ret);
struct session *session_free(struct session *session); /* breaks off what has not ended */

/* session_about - the scheduler's answer: process, node and so on; borrowed */
const json_t *session_about(const struct session *session);

/* session_room - bytes of a channel that can be sent now */
size_t session_room(const struct session *session, uint16_t channel);
/* session_send - size is not beyond the room */
void session_send(struct session *session, uint16_t channel, const void *data, size_t size);
void session_send_eof(struct session *session, uint16_t channel);
void session_send_size(struct session *session, const struct session_size *size);
void session_send_signal(struct session *session, int number);

/* session_took - so many bytes of on_data have gone on to where they belong */
void session_took(struct session *session, uint16_t channel, size_t size);

/* session_connect - in a forward: a new channel to that port. 0: as many as there may be are open
 */
uint16_t session_connect(struct session *session, uint16_t port);
/* session_disconnect - the channel is over; nothing of it is told any more */
void session_disconnect(struct session *session, uint16_t channel);
