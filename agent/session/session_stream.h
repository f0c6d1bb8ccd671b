/* SPDX-License-Identifier: Apache-2.0 */
/* session_stream.h - one direction of a channel: between a descriptor of this node and frames
 *
 * Nothing is read that may not be sent, and nothing is taken that cannot be written: windows
 * (session_frame.h) and the room of the wire bound both. Used by: session_program.c,
 * session_attach.c, session_forward.c. Tests: tests/unit/test_session_stream.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "shared/session_frame.h"

struct session_wire;

typedef void (*session_stream_fn)(void *userdata);

/* From a descriptor to the person. */
struct session_outlet {
    struct session_wire *wire; /* borrowed */
    unsigned channel;
    int fd; /* owned; -1: it is over, and SESSION_EOF was sent */
    sd_event_source *readable;
    struct session_window window;
    bool bounded; /* left bytes are read yet, and no more */
    size_t left;
    sd_event_source *quiet; /* NULL, or of a terminal: it runs while nothing new is there to read */
    session_stream_fn over; /* once; may free the outlet */
    void *userdata;
};

/* From the person to a descriptor. */
struct session_inlet {
    struct session_wire *wire; /* borrowed */
    unsigned channel;
    int fd; /* owned; -1: nobody reads: what comes is dropped */
    bool is_socket, is_terminal;
    bool ended; /* SESSION_EOF came; the descriptor goes when all is written */
    sd_event_source *writable;
    struct session_window window;
    uint8_t *data; /* owned; from `from` to `size` waits */
    size_t from, size, room;
    session_stream_fn over; /* the descriptor is gone; may free the inlet; NULL: nobody asks */
    void *userdata;
};

/* session_outlet_open - take_fd is non-blocking, and owned also when this fails */
int session_outlet_open(struct session_outlet *outlet, sd_event *event, struct session_wire *wire,
                        unsigned channel, int take_fd, session_stream_fn over, void *userdata);
/* session_outlet_granted - SESSION_WINDOW came; false: the person is none of ours */
bool session_outlet_granted(struct session_outlet *outlet, uint32_t size);
/* session_outlet_go_on - the wire has room */
void session_outlet_go_on(struct session_outlet *outlet);
/* session_outlet_bound - no one is left who is to be heard: what is there now, and no more */
void session_outlet_bound(struct session_outlet *outlet);
/* session_outlet_bound_terminal - likewise of the master of a terminal, which does not say how much
 * the kernel has of it */
void session_outlet_bound_terminal(struct session_outlet *outlet);
void session_outlet_close(struct session_outlet *outlet);

/* session_inlet_open - as session_outlet_open; what it is, and over, the caller sets after it */
int session_inlet_open(struct session_inlet *inlet, sd_event *event, struct session_wire *wire,
                       unsigned channel, int take_fd);
/* session_inlet_take - false: more than may come */
bool session_inlet_take(struct session_inlet *inlet, const uint8_t *data, size_t size);
void session_inlet_end(struct session_inlet *inlet);
void session_inlet_close(struct session_inlet *inlet);
