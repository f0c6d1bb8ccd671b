/* SPDX-License-Identifier: Apache-2.0 */
/* ps_connection.c - one trainer's connection at a parameter server: whole frames in, replies out */
#include "trainer/wire/keepalive.h"
#include "trainer/server/ps_connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/wire/low_water.h"

#define HEAD_MAX (WIRE_HEADER_BYTES + WIRE_DECLARE_MAX)

_Static_assert(HEAD_MAX >= WIRE_HEADER_BYTES + WIRE_REFUSED_MAX, "a refusal must fit");

enum { OUT_HEAD, OUT_BLOCK, OUT_ROWS, OUT_PARTS };

struct ps_connection {
    int fd;
    sd_event_source *source;
    uint32_t armed; /* epoll events asked for */
    struct ps_connection_events events;
    struct ps_peer peer;

    uint8_t header_bytes[WIRE_HEADER_BYTES];
    struct wire_header header;
    size_t header_got, body_got;
    int low_water;
    uint8_t *body;
    size_t body_capacity;
    uint64_t body_max;

    uint8_t head[HEAD_MAX];
    struct iovec out[OUT_PARTS];
    bool writing;
    bool holding; /* a frame is answered later */
    bool closing; /* after what is queued */
    float *scratch;
    size_t scratch_capacity;
    void *detached; /* copy of borrowed memory */
};

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata);

int ps_connection_new(sd_event *event, int take_fd, const struct ps_connection_events *events,
                      struct ps_connection **ret, struct edl_error *error)
{
    struct ps_connection *connection = xcalloc(1, sizeof *connection);
    static const int on = 1;
    int r;

    connection->fd = take_fd;
    connection->events = *events;
    connection->body_max = WIRE_CONTROL_MAX;
    connection->armed = EPOLLIN;
    connection->low_water = LOW_WATER_NONE;
    connection->peer.accepted_us = clock_read_us(CLOCK_BOOTTIME);
    /* Buffers are left to the kernel: setting SO_SNDBUF or SO_RCVBUF would switch off its
     * autotuning, which goes further than an unprivileged process may ask for. */
    (void)setsockopt(take_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    keepalive_set(take_fd);
    r = sd_event_add_io(event, &connection->source, take_fd, EPOLLIN, on_io, connection);
    if (r < 0) {
        (void)ps_connection_free(connection);
        return edl_error_errno(error, r, "cannot watch a connection");
    }
    *ret = connection;
    return 0;
}

struct ps_connection *ps_connection_free(struct ps_connection *connection)
{
    if (connection == NULL)
        return NULL;
    connection->source = sd_event_source_disable_unref(connection->source);
    (void)safe_close(connection->fd);
    free(connection->body);
    free(connection->scratch);
    free(connection->detached);
    free(connection);
    return NULL;
}

struct ps_peer *ps_connection_peer(struct ps_connection *connection)
{
    return &connection->peer;
}

void ps_connection_set_limit(struct ps_connection *connection, uint64_t max_body_bytes)
{
    connection->body_max = MAX_OF(max_body_bytes, WIRE_CONTROL_MAX);
}

float *ps_connection_scratch(struct ps_connection *connection, size_t n)
{
    if (n > connection->scratch_capacity || connection->scratch == NULL) {
        float *bigger = reallocarray(connection->scratch, n + 1, sizeof *bigger);

        if (bigger == NULL)
            return NULL;
        connection->scratch = bigger;
        connection->scratch_capacity = n + 1;
    }
    return connection->scratch;
}

static void arm(struct ps_connection *connection, uint32_t events)
{
    if (connection->armed == events)
        return;
    (void)sd_event_source_set_io_events(connection->source, events);
    connection->armed = events;
}

/* Returns 1 when all is written, 0 when the socket is full, negative on failure. */
static int write_some(struct ps_connection *connection)
{
    for (;;) {
        struct msghdr message = { .msg_iov = connection->out, .msg_iovlen = OUT_PARTS };
        ssize_t n = sendmsg(connection->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        size_t left = 0;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0)
            return -errno;
        for (size_t i = 0; i < OUT_PARTS; i++) {
            size_t used = MIN_OF((size_t)n, connection->out[i].iov_len);

            connection->out[i].iov_base = (uint8_t *)connection->out[i].iov_base + used;
            connection->out[i].iov_len -= used;
            n -= (ssize_t)used;
            left += connection->out[i].iov_len;
        }
        if (left == 0)
            return 1;
    }
}

static int flush(struct ps_connection *connection)
{
    int r = write_some(connection);

    if (r > 0) {
        connection->writing = false;
        free(connection->detached);
        connection->detached = NULL;
    }
    return r;
}

void ps_connection_reply(struct ps_connection *connection, enum wire_type type, const void *head,
                         size_t head_bytes, const float *block, size_t block_values,
                         const float *rows, size_t rows_values)
{
    struct wire_header header = { .type = type,
                                  .sequence = connection->header.sequence,
                                  .body_bytes =
                                      head_bytes + 4 * ((uint64_t)block_values + rows_values) };
    size_t used = wire_header_encode(&header, connection->head);

    if (head_bytes > 0)
        memcpy(connection->head + used, head, head_bytes);
    connection->out[OUT_HEAD] =
        (struct iovec){ .iov_base = connection->head, .iov_len = used + head_bytes };
    connection->out[OUT_BLOCK] = (struct iovec){ .iov_base = (void *)(uintptr_t)block,
                                                 .iov_len = block_values * sizeof(float) };
    connection->out[OUT_ROWS] = (struct iovec){ .iov_base = (void *)(uintptr_t)rows,
                                                .iov_len = rows_values * sizeof(float) };
    connection->writing = true;
}

int ps_connection_detach(struct ps_connection *connection)
{
    struct iovec *block = &connection->out[OUT_BLOCK];

    if (!connection->writing || block->iov_len == 0 || connection->detached != NULL)
        return 0;
    connection->detached = malloc(block->iov_len);
    if (connection->detached == NULL)
        return -ENOMEM;
    memcpy(connection->detached, block->iov_base, block->iov_len);
    block->iov_base = connection->detached;
    return 0;
}

static int start_body(struct ps_connection *connection, struct edl_error *error)
{
    int r = wire_header_decode(connection->header_bytes, &connection->header, error);

    if (r < 0)
        return r;
    if (connection->header.body_bytes > connection->body_max)
        return edl_error_set(error, -EINVAL, "%s frame of %llu bytes; %llu are allowed here",
                             wire_type_to_string(connection->header.type),
                             (unsigned long long)connection->header.body_bytes,
                             (unsigned long long)connection->body_max);
    if (connection->header.body_bytes > connection->body_capacity) {
        size_t capacity = ((size_t)connection->header.body_bytes + 63) & ~(size_t)63;

        free(connection->body);
        connection->body_capacity = 0;
        connection->body = aligned_alloc(64, capacity);
        if (connection->body == NULL)
            return edl_error_set(error, -ENOMEM, "no memory for a frame");
        connection->body_capacity = capacity;
    }
    return 0;
}

/* Returns 1 when *got reached size, 0 when the socket is empty, -ENODATA at the end, negative on
 * failure. */
static int receive(int fd, uint8_t *buffer, size_t size, size_t *got)
{
    while (*got < size) {
        ssize_t n = recv(fd, buffer + *got, size - *got, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -ENODATA;
        *got += (size_t)n;
    }
    return 1;
}

/* Returns 1 when a whole frame lies there, else as receive. */
static int read_frame(struct ps_connection *connection, struct edl_error *error)
{
    int r;

    if (connection->header_got < WIRE_HEADER_BYTES) {
        r = receive(connection->fd, connection->header_bytes, WIRE_HEADER_BYTES,
                    &connection->header_got);
        if (r <= 0)
            return r;
        r = start_body(connection, error);
        if (r < 0)
            return r;
        connection->body_got = 0;
    }
    r = receive(connection->fd, connection->body, (size_t)connection->header.body_bytes,
                &connection->body_got);
    low_water_set(connection->fd,
                  r == 0 ? (size_t)connection->header.body_bytes - connection->body_got
                         : LOW_WATER_NONE,
                  &connection->low_water);
    return r;
}

/* One frame and its reply. Returns 1 to go on, 0 to wait for the socket, negative to close. */
static int turn(struct ps_connection *connection, struct edl_error *error)
{
    int r;

    if (!connection->writing) {
        r = read_frame(connection, error);
        if (r <= 0)
            return r;
        connection->header_got = 0;
        r = connection->events.on_frame(connection, &connection->header, connection->body,
                                        connection->events.userdata);
        connection->closing |= r < 0;
        if (connection->holding)
            return 0;
        if (!connection->writing)
            return r < 0 ? r : 1;
    }
    r = flush(connection);
    if (r > 0 && connection->closing)
        return -ECONNABORTED;
    return r;
}

static uint32_t wanted(const struct ps_connection *connection)
{
    if (connection->holding)
        return EPOLLRDHUP;
    return connection->writing ? EPOLLOUT : EPOLLIN;
}

void ps_connection_hold(struct ps_connection *connection)
{
    connection->holding = true;
}

const uint8_t *ps_connection_held(const struct ps_connection *connection, size_t *ret_size)
{
    *ret_size = (size_t)connection->header.body_bytes;
    return connection->holding ? connection->body : NULL;
}

void ps_connection_release(struct ps_connection *connection, bool closes)
{
    connection->holding = false;
    connection->closing |= closes;
    arm(connection, wanted(connection));
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct ps_connection *connection = userdata;
    struct edl_error error = { 0 };
    int r;

    (void)source;
    (void)fd;
    if (connection->holding) {
        if ((revents & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0)
            return 0;
        connection->events.on_closed(connection, NULL, connection->events.userdata);
        return 0;
    }
    /* A turn ends where the socket does: several trainers are served frame by frame, in turn. */
    r = turn(connection, &error);
    if (r >= 0) {
        arm(connection, wanted(connection));
        return 0;
    }
    if (error.code == 0 && r != -ENODATA && r != -ECONNABORTED)
        (void)edl_error_errno(&error, r, "connection broke");
    if (r == -ENODATA && connection->header_got > 0)
        (void)edl_error_set(&error, r, "connection ended within a frame");
    connection->events.on_closed(connection, error.code != 0 ? error.text : NULL,
                                 connection->events.userdata);
    return 0;
}
