/* SPDX-License-Identifier: Apache-2.0 */
/* distill_link.c - one connection to a teacher */
#include "libedl/distill_link.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>
#include <utlist.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define GONE_MS 10000 /* a machine that is gone sends no end of its connections */
#define PARTS_MOST 64 /* of one sendmsg */
#define ROOM_FIRST 65536
#define TURN_BYTES (UINT64_C(4) << 20) /* then others have their turn */

/* Bytes to be sent: of their own, or values of a batch. */
struct distill_out {
    const uint8_t *bytes;
    size_t n;
    uint8_t *own;                /* NULL: they lie in batch */
    struct distill_batch *batch; /* used; NULL: they are own */
    struct distill_out *prev, *next;
};

static void tune(int fd)
{
    static const struct {
        int level, option, value;
    } options[] = { { IPPROTO_TCP, TCP_NODELAY, 1 },   { IPPROTO_TCP, TCP_USER_TIMEOUT, GONE_MS },
                    { SOL_SOCKET, SO_KEEPALIVE, 1 },   { IPPROTO_TCP, TCP_KEEPIDLE, 4 },
                    { IPPROTO_TCP, TCP_KEEPINTVL, 2 }, { IPPROTO_TCP, TCP_KEEPCNT, 3 } };

    for (size_t i = 0; i < ELEMENTS(options); i++)
        (void)setsockopt(fd, options[i].level, options[i].option, &options[i].value,
                         sizeof options[i].value);
}

int distill_link_dial(struct distill_link *link, const union socket_address *to, socklen_t size)
{
    _cleanup_close_ int fd =
        socket(to->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    *link = (struct distill_link){ .fd = -1 };
    if (fd < 0)
        return -errno;
    tune(fd);
    if (connect(fd, &to->any, size) < 0 && errno != EINPROGRESS)
        return -errno;
    link->is_connecting = true;
    link->fd = TAKE_FD(fd);
    return 0;
}

static void out_free(struct distill_link *link, struct distill_out *out)
{
    DL_DELETE(link->outs, out);
    distill_batch_release(out->batch);
    free(out->own);
    free(out);
}

void distill_link_close(struct distill_link *link)
{
    while (link->outs != NULL)
        out_free(link, link->outs);
    (void)safe_close(link->fd);
    free(link->body);
    *link = (struct distill_link){ .fd = -1 };
}

/* ---- out ---- */

static void put_own(struct distill_link *link, const void *bytes, size_t n)
{
    struct distill_out *out = xcalloc(1, sizeof *out);

    out->own = xcalloc(1, n);
    memcpy(out->own, bytes, n);
    out->bytes = out->own;
    out->n = n;
    DL_APPEND(link->outs, out);
}

static void put_values(struct distill_link *link, struct distill_batch *batch, const void *bytes,
                       size_t n)
{
    struct distill_out *out = xcalloc(1, sizeof *out);

    *out = (struct distill_out){ .bytes = bytes, .n = n, .batch = distill_batch_use(batch) };
    DL_APPEND(link->outs, out);
}

void distill_link_put(struct distill_link *link, enum teacher_frame type, const void *body,
                      size_t size)
{
    uint8_t frame[TEACHER_HEADER_BYTES + TEACHER_HELLO_BYTES_MAX];
    size_t n = teacher_header_encode(type, size, frame);

    if (size > TEACHER_HELLO_BYTES_MAX)
        abort(); /* a fault of this program: a student sends no longer one */
    if (size > 0)
        memcpy(frame + n, body, size);
    put_own(link, frame, n + size);
}

void distill_link_put_task(struct distill_link *link, struct distill_batch *batch, uint64_t task,
                           const size_t *fields, size_t n_fields)
{
    /* what stands before the values of a field: zeros behind the field before, and its head */
    uint8_t head[TEACHER_HEADER_BYTES + TEACHER_ID_BYTES + TEACHER_TENSORS_HEAD_BYTES +
                 TEACHER_TENSOR_HEAD_MAX];
    struct teacher_tensor tensor;
    uint64_t bytes = TEACHER_ID_BYTES + TEACHER_TENSORS_HEAD_BYTES;
    size_t n, values = 0;

    for (size_t i = 0; i < n_fields; i++) {
        distill_task_field(batch, task, fields[i], &tensor);
        bytes += teacher_tensors_bytes(&tensor, 1) - TEACHER_TENSORS_HEAD_BYTES;
    }
    n = teacher_header_encode(TEACHER_TASK, bytes, head);
    n += teacher_id_encode(task, head + n);
    n += teacher_tensors_head_encode((uint32_t)n_fields, head + n);
    for (size_t i = 0; i < n_fields; i++) {
        distill_task_field(batch, task, fields[i], &tensor);
        n += teacher_tensor_head_encode(&tensor, head + n);
        put_own(link, head, n);
        values = (size_t)(tensor.n_values * teacher_type_bytes(tensor.type));
        if (values > 0)
            put_values(link, batch, tensor.values, values);
        n = teacher_padding(values);
        memset(head, 0, n);
    }
    if (n > 0)
        put_own(link, head, n);
}

bool distill_link_has_out(const struct distill_link *link)
{
    return link->fd >= 0 && (link->is_connecting || link->outs != NULL);
}

static void sent_some(struct distill_link *link, size_t n)
{
    link->sent += n;
    while (link->outs != NULL && link->sent >= link->outs->n) {
        link->sent -= link->outs->n;
        out_free(link, link->outs);
    }
}

static ssize_t send_some(struct distill_link *link)
{
    struct iovec parts[PARTS_MOST];
    struct msghdr message = { .msg_iov = parts };
    size_t skip = link->sent;
    struct distill_out *out;

    DL_FOREACH(link->outs, out)
    {
        parts[message.msg_iovlen++] =
            (struct iovec){ (uint8_t *)(uintptr_t)out->bytes + skip, out->n - skip };
        skip = 0;
        if (message.msg_iovlen == PARTS_MOST)
            break;
    }
    return sendmsg(link->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* connected - 0 once it is; -EAGAIN; -errno: it failed */
static int connected(struct distill_link *link)
{
    struct pollfd p = { .fd = link->fd, .events = POLLOUT };
    int failure = 0;
    socklen_t size = sizeof failure;

    if (!link->is_connecting)
        return 0;
    if (poll(&p, 1, 0) <= 0)
        return -EAGAIN;
    if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &failure, &size) < 0)
        return -errno;
    link->is_connecting = failure != 0;
    return -failure;
}

int distill_link_send(struct distill_link *link)
{
    int r = connected(link);

    if (r < 0)
        return r == -EAGAIN ? 0 : r;
    while (link->outs != NULL) {
        ssize_t n = send_some(link);

        if (n >= 0)
            sent_some(link, (size_t)n);
        else if (errno != EINTR)
            return errno == EAGAIN ? 0 : -errno;
    }
    return 0;
}

/* ---- in ---- */

/* receive_some - bytes, 0: none yet, or negative */
static ssize_t receive_some(struct distill_link *link, void *to, size_t n)
{
    ssize_t r;

    do
        r = recv(link->fd, to, n, MSG_DONTWAIT);
    while (r < 0 && errno == EINTR);
    if (r > 0)
        return r;
    return r < 0 && errno == EAGAIN ? 0 : -EPIPE;
}

/* make_room - only as bytes come: a frame that says it is long makes nobody allocate */
static void make_room(struct distill_link *link)
{
    uint64_t whole = link->header.body_bytes;

    if (link->n_body < link->room)
        return;
    link->room = (size_t)MIN_OF(MAX_OF(2 * (uint64_t)link->room, ROOM_FIRST), whole);
    link->body = xreallocarray(link->body, link->room, 1);
}

static int receive_head(struct distill_link *link, uint64_t most_bytes, struct edl_error *error)
{
    while (link->n_head < TEACHER_HEADER_BYTES) {
        ssize_t n =
            receive_some(link, link->head + link->n_head, TEACHER_HEADER_BYTES - link->n_head);

        if (n <= 0)
            return (int)n;
        link->n_head += (size_t)n;
        if (link->n_head < TEACHER_HEADER_BYTES)
            continue;
        if (teacher_header_decode(link->head, &link->header, error) < 0)
            return -EPROTO;
        if (link->header.body_bytes > most_bytes)
            return edl_error_set(error, -EPROTO, "%s of %llu bytes is too long here",
                                 teacher_frame_to_string(link->header.type),
                                 (unsigned long long)link->header.body_bytes);
    }
    return 1;
}

int distill_link_receive(struct distill_link *link, uint64_t most_bytes, struct edl_error *error)
{
    uint64_t taken = 0;
    int r = link->is_connecting ? 0 : receive_head(link, most_bytes, error);

    if (r <= 0)
        return r;
    if (link->body == NULL)
        link->body = xcalloc(1, 1); /* of a frame without any, too */
    while (link->n_body < link->header.body_bytes) {
        ssize_t n;

        if (taken >= TURN_BYTES)
            return 0;
        make_room(link);
        n = receive_some(link, link->body + link->n_body, link->room - link->n_body);
        if (n <= 0)
            return (int)n;
        link->n_body += (size_t)n;
        taken += (uint64_t)n;
    }
    return 1;
}

void distill_link_next(struct distill_link *link)
{
    link->n_head = link->n_body = link->room = 0;
    free(link->body);
    link->body = NULL;
}
