/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - one order to a slot, and how it ended */
#include "mpi/call.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/time.h>

#include "mpi/host_table.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/socket_address.h"

#define MEET_S 10 /* each step until the order is sent */

static int set_timeout(int fd, time_t s)
{
    const struct timeval limit = { .tv_sec = s };

    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == -1 ||
                   setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == -1
               ? -errno
               : 0;
}

static int connect_to(const struct mpi_slot_place *place, struct edl_error *error)
{
    union socket_address address;
    socklen_t size = socket_address_parse(place->address, place->port, &address);
    static const int on = 1;
    _cleanup_close_ int fd = -1;

    if (size == 0)
        return edl_error_set(error, -EINVAL, "\"%.60s\" is no address", place->address);
    fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1 || set_timeout(fd, MEET_S) < 0 || connect(fd, &address.any, size) == -1)
        return edl_error_errno(error, -EHOSTUNREACH, "instance %llu at %s:%u does not answer (%s)",
                               (unsigned long long)place->index, place->address, place->port,
                               strerror(errno));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return TAKE_FD(fd);
}

static int send_all(int fd, const void *bytes, size_t n)
{
    for (size_t sent = 0; sent < n;) {
        ssize_t some = send(fd, (const uint8_t *)bytes + sent, n - sent, MSG_NOSIGNAL);

        if (some == -1 && errno != EINTR)
            return -errno;
        sent += some > 0 ? (size_t)some : 0;
    }
    return 0;
}

static int receive_all(int fd, void *bytes, size_t n)
{
    for (size_t got = 0; got < n;) {
        ssize_t some = recv(fd, (uint8_t *)bytes + got, n - got, 0);

        if (some == 0)
            return -EPIPE;
        if (some == -1 && errno != EINTR)
            return -errno;
        got += some > 0 ? (size_t)some : 0;
    }
    return 0;
}

static int gone(const struct mpi_meeting *meeting, int r, struct edl_error *error)
{
    return edl_error_set(error, -EHOSTUNREACH, "instance %llu is gone or does not answer: %s",
                         (unsigned long long)meeting->index,
                         r == -EPIPE ? "it closed the connection" : strerror(-r));
}

/* meet - the other end is the slot */
static int meet(int fd, struct mpi_meeting *meeting, struct edl_error *error)
{
    uint8_t proof[JOB_PROOF_BYTES];
    int r = job_nonce_make(meeting->caller_nonce, error);

    if (r < 0)
        return r;
    r = receive_all(fd, meeting->slot_nonce, JOB_NONCE_BYTES);
    if (r == 0)
        r = send_all(fd, meeting->caller_nonce, JOB_NONCE_BYTES);
    if (r == 0)
        r = receive_all(fd, proof, sizeof proof);
    if (r < 0)
        return gone(meeting, r, error);
    return mpi_meeting_is_slot(meeting, proof)
               ? 0
               : edl_error_set(error, -EACCES,
                               "another program answers in the place of instance %llu",
                               (unsigned long long)meeting->index);
}

static int read_status(int fd, const struct mpi_meeting *meeting, struct edl_error *error)
{
    uint8_t bytes[MPI_STATUS_BYTES];
    int r = set_timeout(fd, 0);

    if (r == 0)
        r = receive_all(fd, bytes, sizeof bytes);
    if (r < 0)
        return gone(meeting, r, error);
    return mpi_meeting_is_status(meeting, bytes)
               ? bytes[0]
               : edl_error_set(error, -EACCES, "instance %llu does not prove how a command ended",
                               (unsigned long long)meeting->index);
}

int mpi_call(struct mpi_meeting *meeting, const struct mpi_slot_place *place,
             const struct mpi_order *order, struct edl_error *error)
{
    _cleanup_close_ int fd = connect_to(place, error);
    _cleanup_free_ uint8_t *bytes = NULL;
    size_t n = 0;
    int r;

    if (fd < 0)
        return fd;
    meeting->index = place->index;
    meeting->incarnation = place->incarnation;
    r = meet(fd, meeting, error);
    if (r == 0)
        r = mpi_meeting_put_order(meeting, order, &bytes, &n, error);
    if (r < 0)
        return r;
    r = send_all(fd, bytes, n);
    return r < 0 ? gone(meeting, r, error) : read_status(fd, meeting, error);
}
