/* SPDX-License-Identifier: Apache-2.0 */
/* session_wire.h - the node's end of a session: frames over two requests to the scheduler
 *
 * Used by: edl-session. */
#pragma once

#include <stddef.h>
#include <systemd/sd-event.h>

#include "shared/session_frame.h"

struct edl_error;
struct session_config;
struct session_wire;

struct session_wire_config {
    sd_event *event;
    const struct session_config *session; /* borrowed */
    /* what the person sent; from the loop */
    void (*on_frame)(void *userdata, const struct session_frame *frame);
    void (*on_room)(void *userdata); /* session_wire_room was 0, and is not */
    void (*on_sent)(void *userdata); /* all that was written before session_wire_finish is there */
    /* the person, or the scheduler, is gone; once */
    void (*on_end)(void *userdata, const struct edl_error *error);
    void *userdata;
};

int session_wire_open(const struct session_wire_config *config, struct session_wire **ret,
                      struct edl_error *error);

/* session_wire_room - bytes of data that may be sent now, in one frame */
size_t session_wire_room(const struct session_wire *wire);

/* session_wire_send - data is copied; at most SESSION_DATA_MAX */
void session_wire_send(struct session_wire *wire, enum session_frame_type type, unsigned channel,
                       const void *data, size_t size);
void session_wire_note(struct session_wire *wire, const char *text);
/* session_wire_error - of a channel; code: the status for the person */
void session_wire_error(struct session_wire *wire, unsigned channel, const struct edl_error *why,
                        int code);
void session_wire_window(struct session_wire *wire, unsigned channel, uint32_t size);

/* session_wire_finish - the last frame was sent */
void session_wire_finish(struct session_wire *wire);

/* Accepts NULL, returns NULL. */
struct session_wire *session_wire_free(struct session_wire *wire);
