/* SPDX-License-Identifier: Apache-2.0 */
/* ps_link.c - one request and reply on one connection to a server, driven by poll */
#include "trainer/exchange/ps_link.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/patience.h"
#include "trainer/wire/low_water.h"

#define STOPPED_US (5 * USEC_PER_SEC)

static size_t total_of(const struct iovec *parts, size_t n)
{
    size_t total = 0;

    for (size_t i = 0; i < n; i++)
        total += parts[i].iov_len;
    return total;
}

void ps_link_start(struct ps_link *link, enum wire_type type, size_t head_bytes,
                   enum wire_type expected)
{
    struct wire_header header = { .type = type, .sequence = ++link->sequence };

    link->out[0] =
        (struct iovec){ .iov_base = link->head, .iov_len = WIRE_HEADER_BYTES + head_bytes };
    header.body_bytes = total_of(link->out, link->n_out) - WIRE_HEADER_BYTES;
    (void)wire_header_encode(&header, link->head);
    link->expected = expected;
    link->expected_bytes = total_of(link->in, link->n_in);
    link->in_header_got = 0;
    link->refused = false;
    link->state = PS_LINK_SENDING;
}

/* Takes n bytes off the front; returns what is left. */
static size_t advance(struct iovec *parts, size_t n_parts, size_t n)
{
    size_t left = 0;

    for (size_t i = 0; i < n_parts; i++) {
        size_t used = MIN_OF(n, parts[i].iov_len);

        parts[i].iov_base = (uint8_t *)parts[i].iov_base + used;
        parts[i].iov_len -= used;
        n -= used;
        left += parts[i].iov_len;
    }
    return left;
}

static int broke(const struct ps_link *link, int code, struct edl_error *error)
{
    return edl_error_set(error, EDL_EUNREACHABLE, "%s: %s", link->name,
                         code == -ENODATA ? "the connection was closed" : strerror(-code));
}

/* Returns 1 on progress, 0 when the socket is full, negative on failure. */
static int send_some(struct ps_link *link)
{
    struct msghdr message = { .msg_iov = link->out, .msg_iovlen = link->n_out };
    ssize_t n = sendmsg(link->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (advance(link->out, link->n_out, (size_t)n) == 0)
        link->state = PS_LINK_RECEIVING;
    return 1;
}

static int accept_header(struct ps_link *link, struct edl_error *error)
{
    struct wire_header header;
    int r = wire_header_decode(link->in_header, &header, error);

    if (r < 0)
        return r;
    if (header.sequence != link->sequence)
        return edl_error_set(error, -EINVAL, "reply to request %llu instead of %llu",
                             (unsigned long long)header.sequence,
                             (unsigned long long)link->sequence);
    if (header.type == WIRE_REFUSED && header.body_bytes <= sizeof link->refusal_bytes) {
        link->refused = true;
        link->expected_bytes = header.body_bytes;
        link->in[0] =
            (struct iovec){ .iov_base = link->refusal_bytes, .iov_len = header.body_bytes };
        link->n_in = 1;
        return 0;
    }
    if (header.type != link->expected || header.body_bytes != link->expected_bytes)
        return edl_error_set(error, -EINVAL, "%s of %llu bytes instead of %s of %llu",
                             wire_type_to_string(header.type),
                             (unsigned long long)header.body_bytes,
                             wire_type_to_string(link->expected),
                             (unsigned long long)link->expected_bytes);
    return 0;
}

static int finish(struct ps_link *link, struct edl_error *error)
{
    int r;

    low_water_set(link->fd, LOW_WATER_NONE, &link->low_water);
    link->state = PS_LINK_IDLE;
    if (!link->refused)
        return 1;
    r = wire_refused_decode(link->refusal_bytes, (size_t)link->expected_bytes, &link->refusal,
                            error);
    if (r < 0)
        return r;
    return edl_error_set(error, link->refusal.code, "%s refuses: %s", link->name,
                         link->refusal.text);
}

/* Returns 1 on progress, 0 when the socket is empty, negative (error set) on failure. */
static int receive_some(struct ps_link *link, struct edl_error *error)
{
    struct msghdr message = { .msg_iov = link->in, .msg_iovlen = link->n_in };
    bool in_header = link->in_header_got < WIRE_HEADER_BYTES;
    ssize_t n;
    int r;

    if (in_header)
        n = recv(link->fd, link->in_header + link->in_header_got,
                 WIRE_HEADER_BYTES - link->in_header_got, MSG_DONTWAIT);
    else
        n = recvmsg(link->fd, &message, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN && !in_header)
        low_water_set(link->fd, total_of(link->in, link->n_in), &link->low_water);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return broke(link, n == 0 ? -ENODATA : -errno, error);
    if (!in_header)
        return advance(link->in, link->n_in, (size_t)n) == 0 ? finish(link, error) : 1;
    link->in_header_got += (size_t)n;
    if (link->in_header_got < WIRE_HEADER_BYTES)
        return 1;
    r = accept_header(link, error);
    if (r < 0) {
        edl_error_prefix(error, "%s: ", link->name);
        return r;
    }
    return link->expected_bytes == 0 ? finish(link, error) : 1;
}

/* Everything that goes without waiting. Returns 1 on any progress. */
static int drive(struct ps_link *link, struct edl_error *error)
{
    int r = 1, progress = 0;

    while (link->state == PS_LINK_SENDING && r > 0) {
        r = send_some(link);
        if (r < 0)
            return broke(link, r, error);
        progress |= r;
    }
    r = 1;
    while (link->state == PS_LINK_RECEIVING && r > 0) {
        r = receive_some(link, error);
        if (r < 0)
            return r;
        progress |= r;
    }
    return progress;
}

/* Waits for one link that can go on; links are few, so the array is built each time. */
static int wait_any(const struct ps_link *links, uint32_t n, struct pollfd *polled,
                    struct patience *patience)
{
    uint64_t wait_us;
    nfds_t used = 0;

    for (uint32_t i = 0; i < n; i++)
        if (links[i].state != PS_LINK_IDLE)
            polled[used++] = (struct pollfd){
                .fd = links[i].fd,
                .events = links[i].state == PS_LINK_SENDING ? POLLOUT : POLLIN,
            };
    if (used == 0)
        return 0;
    if (patience_is_over(patience))
        return -ETIMEDOUT;
    wait_us = patience_plan(patience, USEC_PER_SEC, clock_read_us(CLOCK_BOOTTIME));
    if (poll(polled, used, (int)(wait_us / USEC_PER_MSEC + 1)) < 0 && errno != EINTR)
        return -errno;
    patience_spend(patience, clock_read_us(CLOCK_BOOTTIME));
    return 1;
}

int ps_links_run(struct ps_link *links, uint32_t n, uint64_t timeout_us, const struct ps_wait *wait,
                 struct edl_error *error)
{
    _cleanup_free_ struct pollfd *polled = xcalloc(n, sizeof *polled);
    struct patience patience = patience_of(timeout_us);
    bool stopped = false;
    int r;

    do {
        if (wait != NULL && wait->on_wait != NULL)
            wait->on_wait(wait->userdata);
        if (!stopped && wait != NULL && wait->stop != NULL && *wait->stop) {
            stopped = true;
            timeout_us = MIN_OF(timeout_us, STOPPED_US);
            patience = patience_of(timeout_us);
        }
        for (uint32_t i = 0; i < n; i++) {
            r = drive(&links[i], error);
            if (r < 0)
                return r;
            if (r > 0)
                patience = patience_of(timeout_us);
        }
        r = wait_any(links, n, polled, &patience);
    } while (r > 0);
    if (r == -ETIMEDOUT && stopped)
        return edl_error_set(error, -EINTR, "stopped while other trainers were waited for");
    if (r == -ETIMEDOUT)
        return edl_error_set(error, r, "no parameter server has answered for %llu s",
                             (unsigned long long)(timeout_us / USEC_PER_SEC));
    if (r < 0)
        return edl_error_errno(error, r, "cannot wait for the parameter servers");
    return 0;
}
