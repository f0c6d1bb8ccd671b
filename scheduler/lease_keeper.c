/* SPDX-License-Identifier: Apache-2.0 */
/* lease_keeper.c - program edl-lease-keeper: keeps leases while the scheduler cannot
 *
 * A scheduler that was stopped, waits for its disk, or is restarted answers no report. Its agents
 * cannot know that from a network that is cut, and would end their processes when the lease ends.
 * So they ask here as well: a process of its own, without disk or state, whose memory is locked,
 * that does nothing but note that a node was heard, and say so. What it notes the scheduler reads
 * before it calls a node lost (kept_word.h).
 *
 * It outlives its scheduler, but not for long, and ends when the next one calls: that gives full
 * leases only after it was told so, which outlast whatever was promised here. Who cannot call,
 * because it is on another machine, waits for as long as this one may answer (keeper_record.h).
 * Hence the time is looked at behind each datagram that was taken, not before: whatever stops this
 * process in between, a question that is answered was sent before that look. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/core/events/kept_word.h"
#include "scheduler/keeper_table.h"
#include "scheduler/listen_spec.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/log.h"
#include "shared/macro.h"

#define ROUND 64 /* datagrams of one socket, before the others and the scheduler are looked at */

struct keeper {
    struct keeper_table *table; /* mapped; NULL: nobody was served yet */
    int call_fd;                /* owned: of the scheduler; -1: there is none */
    int sockets[LISTEN_MAX];    /* owned */
    unsigned n_sockets;
    uint64_t seen_us;                   /* the scheduler was there */
    uint64_t until_us;                  /* without it: nothing is answered any more */
    uint64_t newest_us[KEEPER_SLOTS];   /* sent_us of the last datagram taken */
    uint32_t generations[KEEPER_SLOTS]; /* of which newest_us is */
};

static uint64_t now(void)
{
    return clock_read_us(CLOCK_BOOTTIME);
}

/* --- the scheduler --- */

/* What it was started by may wait for the end of its output. */
static void leave_output(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = 0; null >= 0 && fd <= 2; fd++)
        (void)dup2(null, fd);
    (void)safe_close(null);
}

static void be_alone(struct keeper *keeper)
{
    keeper->call_fd = safe_close(keeper->call_fd);
    keeper->until_us = keeper->seen_us + KEEPER_ALONE_US;
    log_info("the scheduler has ended: leases are kept for %d s at most",
             (int)(KEEPER_ALONE_US / USEC_PER_SEC));
    leave_output();
}

/* may_answer - a question that was taken already */
static bool may_answer(struct keeper *keeper)
{
    struct pollfd call = { .fd = keeper->call_fd, .events = POLLIN };
    uint64_t now_us = now();

    if (call.fd >= 0 && poll(&call, 1, 0) == 0) {
        keeper->seen_us = now_us;
        return true;
    }
    if (call.fd >= 0)
        be_alone(keeper);
    return now_us < keeper->until_us;
}

static bool is_new(const struct keeper *keeper, const struct keep_datagram *ask)
{
    return keeper->generations[ask->slot] != ask->generation ||
           keeper->newest_us[ask->slot] < ask->sent_us;
}

/* renew - false: the scheduler closed the word of its slot */
static bool renew(struct keeper *keeper, const struct keep_datagram *ask)
{
    if (!kept_renew(&keeper->table->words[ask->slot], ask->generation,
                    clock_read_us(CLOCK_BOOTTIME)))
        return false;
    keeper->newest_us[ask->slot] = ask->sent_us;
    keeper->generations[ask->slot] = ask->generation;
    return true;
}

/* answer - whether there is one, in its place */
static bool answer(struct keeper *keeper, uint8_t bytes[KEEP_DATAGRAM_BYTES], size_t n)
{
    uint8_t key[KEEP_KEY_BYTES];
    struct keep_datagram ask;

    return keep_read(KEEP_ASK, bytes, n, &ask) && ask.slot < KEEPER_SLOTS && may_answer(keeper) &&
           is_new(keeper, &ask) &&
           keep_key_of(keeper->table->master, ask.slot, ask.generation, key) == 0 &&
           keep_is_true(bytes, key) && renew(keeper, &ask) &&
           keep_write(KEEP_KEPT, &ask, key, bytes) == 0;
}

/* The answer leaves from the address that was asked, of which a machine may have many: the control
 * message that came with the question goes back with it, by whatever interface leads there. */
static void any_interface(struct msghdr *message)
{
    struct cmsghdr *part = CMSG_FIRSTHDR(message);

    if (part != NULL && part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO)
        ((struct in_pktinfo *)(void *)CMSG_DATA(part))->ipi_ifindex = 0;
    if (part != NULL && part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_PKTINFO)
        ((struct in6_pktinfo *)(void *)CMSG_DATA(part))->ipi6_ifindex = 0;
}

static bool serve_one(struct keeper *keeper, int fd)
{
    uint8_t bytes[KEEP_DATAGRAM_BYTES + 1];
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
    struct sockaddr_in6 from;
    struct iovec part = { .iov_base = bytes, .iov_len = sizeof bytes };
    struct msghdr message = { .msg_name = &from,
                              .msg_namelen = sizeof from,
                              .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control,
                              .msg_controllen = sizeof control };
    ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT);

    if (n < 0)
        return false;
    if (!answer(keeper, bytes, (size_t)n))
        return true;
    any_interface(&message);
    part.iov_len = KEEP_DATAGRAM_BYTES;
    (void)sendmsg(fd, &message, MSG_DONTWAIT); /* lost like any datagram: it is asked again */
    return true;
}

/* --- calls --- */

/* take_all - the descriptors of one message; how many, -1: it is none */
static int take_all(int from, int ret[KEEPER_PASSED_MAX])
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(KEEPER_PASSED_MAX * sizeof(int))];
    char byte;
    struct iovec part = { .iov_base = &byte, .iov_len = 1 };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
    };
    const struct cmsghdr *passed;

    if (recvmsg(from, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
        return -1;
    passed = CMSG_FIRSTHDR(&message);
    if (passed == NULL || passed->cmsg_level != SOL_SOCKET || passed->cmsg_type != SCM_RIGHTS ||
        (message.msg_flags & MSG_CTRUNC) != 0)
        return -1;
    memcpy(ret, CMSG_DATA(passed), passed->cmsg_len - CMSG_LEN(0));
    return (int)((passed->cmsg_len - CMSG_LEN(0)) / sizeof(int));
}

/* take_table - what the scheduler sends; false: that makes no sense, or it has gone */
static bool take_table(struct keeper *keeper)
{
    int passed[KEEPER_PASSED_MAX];
    int n = take_all(keeper->call_fd, passed);
    void *table;

    if (n <= KEEPER_PASSED_SOCKETS)
        return false;
    table = mmap(NULL, sizeof *keeper->table, PROT_READ | PROT_WRITE, MAP_SHARED,
                 passed[KEEPER_PASSED_TABLE], 0);
    if (table == MAP_FAILED) {
        log_error("the table of leases cannot be mapped: %s", strerror(errno));
        return false;
    }
    (void)safe_close(passed[KEEPER_PASSED_TABLE]);
    keeper->table = table;
    keeper->n_sockets = (unsigned)(n - KEEPER_PASSED_SOCKETS);
    memcpy(keeper->sockets, passed + KEEPER_PASSED_SOCKETS, keeper->n_sockets * sizeof(int));
    keeper->seen_us = now();
    return true;
}

/* take_call - there is no other; whether to go on */
static bool take_call(struct keeper *keeper)
{
    int fd = accept4(KEEPER_FD_LISTEN, NULL, NULL, SOCK_CLOEXEC);
    const char says = keeper->table == NULL ? KEEPER_READY : KEEPER_ENDS;

    if (fd == -1)
        return true;
    if (keeper->table != NULL) /* from here on nobody is answered */
        for (unsigned i = 0; i < keeper->n_sockets; i++)
            (void)safe_close(keeper->sockets[i]);
    (void)send(fd, &says, 1, MSG_NOSIGNAL);
    keeper->call_fd = fd;
    return keeper->table == NULL;
}

static int wait_ms(const struct keeper *keeper)
{
    uint64_t now_us = now();

    if (keeper->call_fd >= 0)
        return -1;
    return now_us < keeper->until_us ? (int)((keeper->until_us - now_us) / USEC_PER_MSEC) + 1 : 0;
}

/* look - at the calls, after a poll; whether to go on */
static bool look(struct keeper *keeper, const struct pollfd *listener, const struct pollfd *call)
{
    if (call->revents != 0 && keeper->table == NULL)
        return take_table(keeper);
    if (listener->revents != 0 && !take_call(keeper))
        return false;
    return keeper->call_fd >= 0 || now() < keeper->until_us;
}

static int serve(struct keeper *keeper)
{
    struct pollfd fds[2 + LISTEN_MAX];

    for (;;) {
        unsigned n = keeper->n_sockets;

        fds[0] =
            (struct pollfd){ .fd = keeper->call_fd < 0 ? KEEPER_FD_LISTEN : -1, .events = POLLIN };
        fds[1] = (struct pollfd){ .fd = keeper->call_fd, .events = POLLIN };
        for (unsigned i = 0; i < n; i++)
            fds[2 + i] = (struct pollfd){ .fd = keeper->sockets[i], .events = POLLIN };
        if (poll(fds, 2 + n, wait_ms(keeper)) < 0) {
            if (errno != EINTR)
                return EXIT_FAILURE;
            continue;
        }
        if (fds[1].revents != 0 && keeper->table != NULL)
            be_alone(keeper);
        if (!look(keeper, &fds[0], &fds[1]))
            return EXIT_SUCCESS;
        for (unsigned i = 0; i < n; i++)
            for (unsigned k = 0; k < ROUND && fds[2 + i].revents != 0; k++)
                if (!serve_one(keeper, fds[2 + i].fd))
                    break;
    }
}

static bool is_called(void)
{
    int is_listener = 0;
    socklen_t size = sizeof is_listener;

    return getsockopt(KEEPER_FD_LISTEN, SOL_SOCKET, SO_ACCEPTCONN, &is_listener, &size) == 0 &&
           is_listener != 0;
}

int main(int argc, char **argv)
{
    static struct keeper keeper = { .call_fd = -1 };

    log_init("edl-lease-keeper");
    if (argc == 2 && streq(argv[1], "--version")) {
        (void)printf("edl-lease-keeper %s\n", EDL_VERSION);
        return EXIT_SUCCESS;
    }
    if (argc != 1 || !is_called()) {
        (void)fprintf(stderr,
                      "Usage: edl-lease-keeper\n"
                      "Keeps the leases of nodes while edl-scheduler is busy or away; started by\n"
                      "edl-lease-keeper.socket, or by edl-scheduler.\n");
        return 2;
    }
    if (mlockall(MCL_CURRENT | MCL_FUTURE) == -1)
        log_debug("its memory cannot be locked: %s", strerror(errno));
    keeper.until_us = now() + KEEPER_ALONE_US;
    return serve(&keeper);
}
