/* SPDX-License-Identifier: Apache-2.0 */
/* ps_connection.h - one trainer's connection at a parameter server: whole frames in, replies out
 *
 * One request at a time: reading rests until the reply is written, so a peer that does not read
 * costs one buffer. A reply may point at memory of the server (the dense block of the table), which
 * is written from where it lies. Before that memory changes the owner calls ps_connection_detach.
 * That copies only the part that the socket has not taken yet (with one trainer at work that is
 * nothing, ever). */
#pragma once

#include "trainer/wire/wire.h"

#include <stdbool.h>
#include <systemd/sd-event.h>

struct edl_error;
struct ps_connection;

/* A frame came. Returns 0 (a reply was sent or is on its way) or negative: the connection is closed
 * after what was queued. body is 64-byte aligned and valid during the call. */
typedef int (*ps_frame_fn)(struct ps_connection *connection, const struct wire_header *header,
                           const uint8_t *body, void *userdata);

/* The connection has ended; the callee frees it. reason is for the log, NULL at a clean end. */
typedef void (*ps_closed_fn)(struct ps_connection *connection, const char *reason, void *userdata);

/* What the server knows of the peer; kept here because its life is the connection's. */
struct ps_peer {
    bool challenged; /* it said HELLO, and its proof is wanted */
    bool greeted;    /* it has proved that it is of the job */
    bool declared;
    uint32_t trainer;
    uint32_t n_shards; /* as its HELLO said */
    uint64_t incarnation;
    uint64_t accepted_us;
    struct wire_hello hello; /* what it is to prove */
    struct wire_challenge challenge;
    struct wire_past past; /* as it told last */
};

struct ps_connection_events {
    ps_frame_fn on_frame;
    ps_closed_fn on_closed;
    void *userdata;
};

int ps_connection_new(sd_event *event, int take_fd, const struct ps_connection_events *events,
                      struct ps_connection **ret, struct edl_error *error);
struct ps_connection *ps_connection_free(struct ps_connection *connection);

struct ps_peer *ps_connection_peer(struct ps_connection *connection);

/* ps_connection_set_limit - longest body accepted from now on (WIRE_CONTROL_MAX at first) */
void ps_connection_set_limit(struct ps_connection *connection, uint64_t max_body_bytes);

/* ps_connection_scratch - n floats for the rows of a reply, owned by the connection; NULL when out
 * of memory */
float *ps_connection_scratch(struct ps_connection *connection, size_t n);

/* ps_connection_reply - queues {header, head (copied, <= WIRE_CONTROL_MAX bytes), block, rows} and
 * writes what the socket takes now. block is borrowed until written or detached; rows is the
 * scratch. */
void ps_connection_reply(struct ps_connection *connection, enum wire_type type, const void *head,
                         size_t head_bytes, const float *block, size_t block_values,
                         const float *rows, size_t rows_values);

/* ps_connection_hold - on_frame answers later: the frame stays, and no other one is read. The end
 * of the connection is seen meanwhile. ps_connection_held - the body that is held, NULL: none is
 * ps_connection_release - its reply is queued; closes: the connection ends behind it */
void ps_connection_hold(struct ps_connection *connection);
const uint8_t *ps_connection_held(const struct ps_connection *connection, size_t *ret_size);
void ps_connection_release(struct ps_connection *connection, bool closes);

/* ps_connection_detach - what still points at borrowed memory is copied; -ENOMEM: close the
 * connection */
int ps_connection_detach(struct ps_connection *connection);
