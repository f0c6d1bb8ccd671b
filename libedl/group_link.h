/* SPDX-License-Identifier: Apache-2.0 */
/* group_link.h - one connection between two ranks of a generation; nothing blocks
 *
 * Both directions move when group_link_send and group_link_receive are called. Bytes come before
 * the end: those that a rank sent before it died are read first. A send that fails does not end the
 * bytes that can still be read, so the reading side decides. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "libedl/group_frame.h"

struct edl_error;

/* A message on its way out. */
struct group_out {
    uint8_t head[GROUP_FRAME_BYTES];
    const uint8_t *body; /* borrowed until it is sent */
    size_t n;
    size_t ready; /* so many bytes of the body may go */
};

enum { GROUP_OUTS = 4 };

struct group_link {
    int fd;                      /* -1: there is none */
    bool is_connecting, is_deaf; /* the other end takes no more */

    struct group_out outs[GROUP_OUTS];
    unsigned first_out, n_outs;
    size_t sent;     /* of the first one, its head included */
    uint64_t n_sent; /* bytes of all */

    uint8_t head[GROUP_FRAME_BYTES];
    size_t n_head; /* bytes of it that are here */
    struct group_frame frame;
    size_t n_body; /* of the frame's bytes */
};

/* group_link_dial - -errno: nobody is there */
int group_link_dial(struct group_link *link, const char *address, uint16_t port);

/* group_link_take - of a connection that was accepted; the link's from now on */
void group_link_take(struct group_link *link, int fd);
void group_link_close(struct group_link *link);

/* group_link_put - a message; ready: bytes of its body that may go at once. Returns the message, to
 * make more of it ready. */
struct group_out *group_link_put(struct group_link *link, const struct group_frame *frame,
                                 const void *body, size_t ready);

/* group_link_send - 1: something went; 0: nothing can go now; -errno: nothing ever will */
int group_link_send(struct group_link *link);
bool group_link_has_out(const struct group_link *link);  /* that is ready to go */
bool group_link_is_empty(const struct group_link *link); /* all is sent */

/* group_link_head - 1: link->frame is here, its body follows; 0: not yet; -EPIPE: the other end
 * is gone; -EPROTO: with error */
int group_link_head(struct group_link *link, struct edl_error *error);

/* group_link_body - up to n bytes of the body: as read(2), but 0: not yet; -EPIPE: the end */
ssize_t group_link_body(struct group_link *link, void *to, size_t n);
bool group_link_has_body(const struct group_link *link); /* all of it came */

/* group_link_next - the message is done with, the next one may come */
void group_link_next(struct group_link *link);

/* group_link_listen - all addresses, this port; the socket or -errno */
int group_link_listen(uint16_t port);
int group_link_accept(int listen_fd); /* -EAGAIN: nobody; -errno */
