/* SPDX-License-Identifier: Apache-2.0 */
/* lease_keeper.c - program edl-lease-keeper: keeps leases while the scheduler cannot
 *
 * A scheduler that was stopped, or waits for its disk, answers no report. Its agents cannot know
 * that from a network that is cut, and would end their processes when the lease ends. So they ask
 * here as well: a process of its own, without disk or state, whose memory is locked, that does
 * nothing but note that a node was heard, and say so. What it notes the scheduler reads before it
 * calls a node lost (kept_word.h).
 *
 * It ends with the scheduler. Whether that is still there is looked at before each datagram is
 * taken: an answer to one that was sent after the scheduler's end would promise what the next one,
 * which does not know of it, need not keep. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/core/kept_word.h"
#include "scheduler/keeper_table.h"
#include "scheduler/listen_spec.h"
#include "shared/clock.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define ROUND 64 /* datagrams of one socket, before the others and the scheduler are looked at */

struct keeper {
    struct keeper_table *table;
    uint64_t newest_us[KEEPER_SLOTS];   /* sent_us of the last datagram taken */
    uint32_t generations[KEEPER_SLOTS]; /* of which newest_us is */
};

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

    return keep_read(KEEP_ASK, bytes, n, &ask) && ask.slot < KEEPER_SLOTS && is_new(keeper, &ask) &&
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

static int serve(struct keeper *keeper, unsigned n_sockets)
{
    struct pollfd fds[1 + LISTEN_MAX] = { { .fd = KEEPER_FD_ALIVE, .events = POLLIN } };

    for (unsigned i = 0; i < n_sockets; i++)
        fds[1 + i] = (struct pollfd){ .fd = KEEPER_FD_FIRST_SOCKET + (int)i, .events = POLLIN };
    for (;;) {
        if (poll(fds, 1 + n_sockets, -1) < 0 && errno != EINTR)
            return EXIT_FAILURE;
        for (unsigned i = 1; i <= n_sockets; i++)
            for (unsigned k = 0; k < ROUND && fds[0].revents == 0; k++) {
                if (fds[i].revents == 0 || !serve_one(keeper, fds[i].fd))
                    break;
                (void)poll(fds, 1, 0); /* is the scheduler there, still? */
            }
        if (fds[0].revents != 0)
            return EXIT_SUCCESS;
    }
}

int main(int argc, char **argv)
{
    static struct keeper keeper;
    uint64_t n_sockets = 0;

    log_init("edl-lease-keeper");
    if (argc == 2 && streq(argv[1], "--version")) {
        (void)printf("edl-lease-keeper %s\n", EDL_VERSION);
        return EXIT_SUCCESS;
    }
    if (argc != 2 || parse_u64(argv[1], &n_sockets) < 0 || n_sockets > LISTEN_MAX) {
        (void)fprintf(stderr,
                      "Usage: edl-lease-keeper SOCKETS\n"
                      "Keeps the leases of nodes while edl-scheduler is busy; started by it.\n");
        return 2;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    keeper.table =
        mmap(NULL, sizeof *keeper.table, PROT_READ | PROT_WRITE, MAP_SHARED, KEEPER_FD_TABLE, 0);
    if (keeper.table == MAP_FAILED) {
        log_error("the table of leases cannot be mapped: %s", strerror(errno));
        return EXIT_FAILURE;
    }
    if (mlockall(MCL_CURRENT | MCL_FUTURE) == -1)
        log_debug("its memory cannot be locked: %s", strerror(errno));
    return serve(&keeper, (unsigned)n_sockets);
}
