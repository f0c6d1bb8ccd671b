/* SPDX-License-Identifier: Apache-2.0 */
/* group_link.c - one connection between two ranks of a generation; nothing blocks */
#include "libedl/group_link.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/uio.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/socket_address.h"

/* A machine that is gone sends no end of its connections: they end after so long. */
#define GONE_MS 1000

/* why no SO_SNDBUF: a fixed size switches off the kernel's own, which is better */
static void tune(int fd)
{
    int one = 1;
    unsigned gone_ms = GONE_MS;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone_ms, sizeof gone_ms);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &one, sizeof one);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &one, sizeof one);
}

void group_link_take(struct group_link *link, int fd)
{
    *link = (struct group_link){ .fd = fd };
    tune(fd);
}

int group_link_dial(struct group_link *link, const char *address, uint16_t port)
{
    union socket_address to;
    socklen_t size = socket_address_parse(address, port, &to);
    _cleanup_close_ int fd = -1;

    if (size == 0)
        return -EINVAL;
    fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    group_link_take(link, -1);
    tune(fd);
    if (connect(fd, &to.any, size) < 0) {
        if (errno != EINPROGRESS)
            return -errno;
        link->is_connecting = true;
    }
    link->fd = TAKE_FD(fd);
    return 0;
}

void group_link_close(struct group_link *link)
{
    int fd = link->fd;

    *link = (struct group_link){ .fd = -1 };
    (void)safe_close(fd);
}

struct group_out *group_link_put(struct group_link *link, const struct group_frame *frame,
                                 const void *body, size_t ready)
{
    struct group_out *out;

    if (link->n_outs == GROUP_OUTS)
        abort(); /* a fault of this program: a step has fewer */
    out = &link->outs[(link->first_out + link->n_outs++) % GROUP_OUTS];
    group_frame_encode(frame, out->head);
    out->body = body;
    out->n = frame->bytes;
    out->ready = ready;
    return out;
}

/* ---- out ---- */

static bool is_connected(struct group_link *link)
{
    struct pollfd p = { .fd = link->fd, .events = POLLOUT };
    int error = 0;
    socklen_t size = sizeof error;

    if (!link->is_connecting)
        return true;
    if (poll(&p, 1, 0) <= 0)
        return false;
    if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error != 0)
        link->is_deaf = true;
    link->is_connecting = false;
    return !link->is_deaf;
}

bool group_link_has_out(const struct group_link *link)
{
    const struct group_out *out = &link->outs[link->first_out];

    return link->fd >= 0 && !link->is_deaf &&
           (link->is_connecting ||
            (link->n_outs > 0 && link->sent < GROUP_FRAME_BYTES + out->ready));
}

bool group_link_is_empty(const struct group_link *link)
{
    return link->n_outs == 0;
}

static ssize_t send_some(struct group_link *link, const struct group_out *out)
{
    struct iovec parts[2];
    struct msghdr message = { .msg_iov = parts };
    size_t head = MIN_OF(link->sent, (size_t)GROUP_FRAME_BYTES);
    size_t body = link->sent - head;

    if (head < GROUP_FRAME_BYTES)
        parts[message.msg_iovlen++] =
            (struct iovec){ (uint8_t *)(uintptr_t)out->head + head, GROUP_FRAME_BYTES - head };
    if (body < out->ready)
        parts[message.msg_iovlen++] =
            (struct iovec){ (uint8_t *)(uintptr_t)out->body + body, out->ready - body };
    return sendmsg(link->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int group_link_send(struct group_link *link)
{
    bool moved = false;

    if (link->fd < 0)
        return 0;
    if (!is_connected(link) || link->is_deaf) /* also of one that was found to be so before */
        return link->is_deaf ? -EPIPE : 0;
    while (link->n_outs > 0) {
        struct group_out *out = &link->outs[link->first_out];
        ssize_t n;

        if (link->sent == GROUP_FRAME_BYTES + out->n) {
            link->first_out = (link->first_out + 1) % GROUP_OUTS;
            link->n_outs--;
            link->sent = 0;
            moved = true;
            continue;
        }
        if (link->sent >= GROUP_FRAME_BYTES + out->ready)
            break;
        n = send_some(link, out);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            link->is_deaf = true;
            return -EPIPE;
        }
        link->sent += (size_t)n;
        link->n_sent += (size_t)n;
        moved = true;
    }
    return moved;
}

/* ---- in ---- */

/* read_some - bytes; 0: none yet; -EPIPE: no more will come */
static ssize_t read_some(struct group_link *link, void *to, size_t n)
{
    ssize_t r;

    if (link->fd < 0)
        return -EPIPE;
    if (link->is_connecting && !is_connected(link) && !link->is_deaf)
        return 0;
    do
        r = recv(link->fd, to, n, MSG_DONTWAIT);
    while (r < 0 && errno == EINTR);
    if (r > 0)
        return r;
    return r < 0 && errno == EAGAIN ? 0 : -EPIPE;
}

int group_link_head(struct group_link *link, struct edl_error *error)
{
    ssize_t r;

    while (link->n_head < GROUP_FRAME_BYTES) {
        r = read_some(link, link->head + link->n_head, GROUP_FRAME_BYTES - link->n_head);
        if (r <= 0)
            return (int)r;
        link->n_head += (size_t)r;
        if (link->n_head == GROUP_FRAME_BYTES) {
            link->n_body = 0;
            r = group_frame_decode(link->head, &link->frame, error);
            if (r < 0)
                return (int)r;
        }
    }
    return 1;
}

ssize_t group_link_body(struct group_link *link, void *to, size_t n)
{
    uint64_t left = link->frame.bytes - link->n_body;
    ssize_t r = left > 0 ? read_some(link, to, (size_t)MIN_OF(left, (uint64_t)n)) : 0;

    if (r > 0)
        link->n_body += (size_t)r;
    return r;
}

bool group_link_has_body(const struct group_link *link)
{
    return link->n_body == link->frame.bytes;
}

void group_link_next(struct group_link *link)
{
    link->n_head = link->n_body = 0;
}

/* ---- listening ---- */

int group_link_listen(uint16_t port)
{
    struct sockaddr_in6 any = { .sin6_family = AF_INET6,
                                .sin6_port = htons(port),
                                .sin6_addr = IN6ADDR_ANY_INIT };
    struct sockaddr_in any4 = { .sin_family = AF_INET, .sin_port = htons(port) };
    _cleanup_close_ int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int one = 1, zero = 0, r;

    if (fd >= 0) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        r = bind(fd, (const struct sockaddr *)&any, sizeof any);
    } else { /* a machine without IPv6 */
        fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0)
            return -errno;
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        r = bind(fd, (const struct sockaddr *)&any4, sizeof any4);
    }
    if (r < 0 || listen(fd, SOMAXCONN) < 0)
        return -errno;
    return TAKE_FD(fd);
}

int group_link_accept(int listen_fd)
{
    int fd;

    do
        fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    return fd < 0 ? -errno : fd;
}
