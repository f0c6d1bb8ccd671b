/* SPDX-License-Identifier: Apache-2.0 */
/* distill_link.h - one connection to a teacher: whole frames in, frames out; nothing blocks */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

#include "libedl/distill_batch.h"
#include "shared/socket_address.h"
#include "shared/teacher_wire.h"

struct distill_out;

struct distill_link {
    int fd; /* -1: none */
    bool is_connecting;
    struct distill_out *outs; /* owned; utlist */
    size_t sent;              /* of the first of them */
    uint8_t head[TEACHER_HEADER_BYTES];
    size_t n_head;
    struct teacher_header header; /* of the frame that comes */
    uint8_t *body;                /* owned */
    size_t n_body, room;
};

/* distill_link_dial - 0: it is under way; -errno */
int distill_link_dial(struct distill_link *link, const union socket_address *to, socklen_t size);
void distill_link_close(struct distill_link *link);

/* distill_link_put - a frame whose body is copied */
void distill_link_put(struct distill_link *link, enum teacher_frame type, const void *body,
                      size_t size);

/* distill_link_put_task - a task; fields: the places in the batch of those that are sent. Their
 * values are sent from where they lie, and the batch is used until then. */
void distill_link_put_task(struct distill_link *link, struct distill_batch *batch, uint64_t task,
                           const size_t *fields, size_t n_fields);

bool distill_link_has_out(const struct distill_link *link);

/* distill_link_send - what goes without a wait; -errno: it broke, or could not be made */
int distill_link_send(struct distill_link *link);

/* distill_link_receive - 1: a frame is whole, in header and body until distill_link_next; 0: not
 * yet; -EPIPE: the end; -EPROTO: none of these frames, or one longer than most_bytes */
int distill_link_receive(struct distill_link *link, uint64_t most_bytes, struct edl_error *error);
void distill_link_next(struct distill_link *link);
