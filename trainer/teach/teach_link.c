/* SPDX-License-Identifier: Apache-2.0 */
/* teach_link.c - one student's connection at a teacher */
#include "trainer/teach/teach_link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/wire/keepalive.h"

#define FIRST_BODY_BYTES ((size_t)64 * 1024)
#define TURN_BYTES ((size_t)1024 * 1024) /* then others have their turn */
#define PIECES_MAX 32                    /* of one sendmsg */

struct outgoing {
    struct outgoing *next;
    uint8_t *bytes; /* owned */
    size_t size, sent;
};

struct teach_link {
    int fd;
    sd_event_source *source;
    uint32_t armed;
    const struct teach_link_events *events;
    void *userdata;

    uint8_t header_bytes[TEACHER_HEADER_BYTES];
    size_t header_got;
    struct teacher_header header;
    uint8_t *body;
    size_t body_got, body_room;

    struct outgoing *first, **end;
    int failure; /* of a send; told by the loop */
    uint64_t moved_us;
};

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata);

int teach_link_new(sd_event *event, int take_fd, const struct teach_link_events *events,
                   void *userdata, struct teach_link **ret, struct edl_error *error)
{
    struct teach_link *link = xcalloc(1, sizeof *link);
    static const int on = 1;
    int r;

    link->fd = take_fd;
    link->events = events;
    link->userdata = userdata;
    link->end = &link->first;
    link->armed = EPOLLIN;
    link->moved_us = clock_read_us(CLOCK_BOOTTIME);
    (void)setsockopt(take_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    keepalive_set(take_fd);
    r = sd_event_add_io(event, &link->source, take_fd, EPOLLIN, on_io, link);
    if (r < 0) {
        (void)teach_link_free(link);
        return edl_error_errno(error, r, "cannot watch a connection");
    }
    *ret = link;
    return 0;
}

struct teach_link *teach_link_free(struct teach_link *link)
{
    if (link == NULL)
        return NULL;
    link->source = sd_event_source_disable_unref(link->source);
    (void)safe_close(link->fd);
    while (link->first != NULL) {
        struct outgoing *gone = link->first;

        link->first = gone->next;
        free(gone->bytes);
        free(gone);
    }
    free(link->body);
    free(link);
    return NULL;
}

bool teach_link_sends(const struct teach_link *link)
{
    return link->first != NULL;
}

uint64_t teach_link_moved_us(const struct teach_link *link)
{
    return link->moved_us;
}

/* ---- out ---- */

static void arm(struct teach_link *link)
{
    const uint32_t events = EPOLLIN | (link->first != NULL ? (uint32_t)EPOLLOUT : 0);

    if (link->armed == events)
        return;
    (void)sd_event_source_set_io_events(link->source, events);
    link->armed = events;
}

static void sent(struct teach_link *link, size_t n)
{
    link->moved_us = clock_read_us(CLOCK_BOOTTIME);
    while (n > 0) {
        struct outgoing *first = link->first;
        const size_t part = MIN_OF(n, first->size - first->sent);

        first->sent += part;
        n -= part;
        if (first->sent < first->size)
            return;
        link->first = first->next;
        if (link->first == NULL)
            link->end = &link->first;
        free(first->bytes);
        free(first);
    }
}

/* write_some - until all is sent or the socket is full */
static void write_some(struct teach_link *link)
{
    while (link->first != NULL && link->failure == 0) {
        struct iovec pieces[PIECES_MAX];
        struct msghdr message = { .msg_iov = pieces };
        ssize_t n;

        for (struct outgoing *o = link->first; o != NULL && message.msg_iovlen < PIECES_MAX;
             o = o->next)
            pieces[message.msg_iovlen++] =
                (struct iovec){ .iov_base = o->bytes + o->sent, .iov_len = o->size - o->sent };
        n = sendmsg(link->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0)
            sent(link, (size_t)n);
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR)
            link->failure = -errno;
    }
}

void teach_link_send(struct teach_link *link, uint8_t *take_frame, size_t size)
{
    struct outgoing *o = xcalloc(1, sizeof *o);
    const bool waits = link->first != NULL;

    *o = (struct outgoing){ .bytes = take_frame, .size = size };
    *link->end = o;
    link->end = &o->next;
    if (!waits)
        write_some(link);
    arm(link); /* a failure is an event of the socket as well */
}

void teach_link_put(struct teach_link *link, enum teacher_frame type, const void *body, size_t size)
{
    uint8_t *frame = xcalloc(1, TEACHER_HEADER_BYTES + size);

    (void)teacher_header_encode(type, size, frame);
    if (size > 0)
        memcpy(frame + TEACHER_HEADER_BYTES, body, size);
    teach_link_send(link, frame, TEACHER_HEADER_BYTES + size);
}

void teach_link_last_word(struct teach_link *link, const char *text)
{
    teach_link_put(link, TEACHER_REFUSED, text, MIN_OF(strlen(text), (size_t)TEACHER_TEXT_MAX));
}

/* ---- in ---- */

/* receive - 1: *got is size; 0: the socket is empty; -ENODATA: the end; negative: it broke */
static int receive(struct teach_link *link, uint8_t *buffer, size_t size, size_t *got)
{
    while (*got < size) {
        ssize_t n = recv(link->fd, buffer + *got, size - *got, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        if (n == 0)
            return -ENODATA;
        *got += (size_t)n;
        link->moved_us = clock_read_us(CLOCK_BOOTTIME);
    }
    return 1;
}

/* make_room - for as much again as has come, no more than the frame has */
static int make_room(struct teach_link *link, struct edl_error *error)
{
    const size_t whole = (size_t)link->header.body_bytes;
    const size_t room = MIN_OF(MAX_OF(2 * link->body_got, FIRST_BODY_BYTES), whole);
    uint8_t *bigger;

    if (link->body_got < link->body_room || (link->body != NULL && link->body_room >= whole))
        return 0;
    bigger = realloc(link->body, MAX_OF(room, (size_t)8));
    if (bigger == NULL)
        return edl_error_set(error, -ENOMEM, "no memory for a frame");
    link->body = bigger;
    link->body_room = room;
    return 0;
}

/* read_body - as receive */
static int read_body(struct teach_link *link, size_t *io_turn, struct edl_error *error)
{
    const size_t whole = (size_t)link->header.body_bytes;
    int r = 1;

    do {
        const size_t before = link->body_got;

        r = make_room(link, error);
        if (r < 0)
            return r;
        r = receive(link, link->body, MIN_OF(link->body_room, whole), &link->body_got);
        *io_turn += link->body_got - before;
    } while (r > 0 && link->body_got < whole && *io_turn < TURN_BYTES);
    return r > 0 && link->body_got < whole ? 0 : r;
}

static int read_frame(struct teach_link *link, size_t *io_turn, struct edl_error *error)
{
    int r;

    if (link->header_got < TEACHER_HEADER_BYTES) {
        r = receive(link, link->header_bytes, TEACHER_HEADER_BYTES, &link->header_got);
        if (r <= 0)
            return r;
        r = teacher_header_decode(link->header_bytes, &link->header, error);
        if (r >= 0)
            r = link->events->on_header(link->userdata, &link->header, error);
        if (r < 0)
            return r;
        link->body_got = 0;
    }
    return read_body(link, io_turn, error);
}

uint8_t *teach_link_take_body(struct teach_link *link)
{
    uint8_t *body = link->body;

    link->body = NULL;
    link->body_room = 0;
    return body;
}

/* turn - frames until the socket is empty or others should have their turn; negative: close */
static int turn(struct teach_link *link, struct edl_error *error)
{
    size_t done = 0;

    while (done < TURN_BYTES) {
        int r = read_frame(link, &done, error);

        if (r <= 0)
            return r;
        done += TEACHER_HEADER_BYTES + 1024; /* what a frame costs beside its bytes */
        link->header_got = 0;
        r = link->events->on_frame(link->userdata, &link->header, link->body, error);
        if (r < 0)
            return r;
    }
    return 0;
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct teach_link *link = userdata;
    struct edl_error error = { 0 };
    const bool waited = link->first != NULL;
    int r = 0;

    (void)source;
    (void)fd;
    if (revents & EPOLLOUT)
        write_some(link);
    if (revents & (EPOLLIN | EPOLLHUP | EPOLLERR))
        r = turn(link, &error);
    if (r >= 0)
        r = link->failure;
    if (r >= 0) {
        arm(link);
        if (waited && link->first == NULL)
            link->events->on_sent(link->userdata);
        return 0;
    }
    if (error.code == 0 && r != -ENODATA && r != -ECONNRESET && r != -EPIPE)
        (void)edl_error_errno(&error, r, "the connection broke");
    link->events->on_closed(link->userdata, &error);
    return 0;
}
