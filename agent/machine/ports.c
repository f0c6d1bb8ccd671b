/* SPDX-License-Identifier: Apache-2.0 */
/* ports.c - see ports.h */
#include "agent/machine/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/layout.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define STATE_LISTEN 0x0A
#define ANSWER_MAX 32768 /* the kernel fills no more at a time */

/* ---- asked ---- */

static int send_question(int fd, uint8_t family)
{
    const struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 question;
    } message = { .header = { .nlmsg_len = sizeof message,
                              .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                              .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
                  .question = { .sdiag_family = family,
                                .sdiag_protocol = IPPROTO_TCP,
                                .idiag_states = 1U << STATE_LISTEN } };
    const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

    return sendto(fd, &message, sizeof message, 0, (const struct sockaddr *)&kernel,
                  sizeof kernel) == sizeof message
               ? 0
               : -errno;
}

/* take_message - 1: there are more to come, 0: it was the last one, or -errno */
static int take_message(const struct nlmsghdr *header, struct port_set *set)
{
    const struct inet_diag_msg *listener = NLMSG_DATA(header);
    const struct nlmsgerr *failure = NLMSG_DATA(header);

    if (header->nlmsg_type == NLMSG_DONE)
        return 0;
    if (header->nlmsg_type == NLMSG_ERROR)
        return header->nlmsg_len >= NLMSG_LENGTH(sizeof *failure) && failure->error < 0
                   ? failure->error
                   : -EPROTO;
    if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
        header->nlmsg_len >= NLMSG_LENGTH(sizeof *listener) &&
        listener->idiag_state == STATE_LISTEN)
        port_set_add(set, ntohs(listener->id.idiag_sport));
    return 1;
}

/* take_answer - as many messages as it has; returns as take_message does */
static int take_answer(int fd, struct port_set *set)
{
    _Alignas(struct nlmsghdr) char buffer[ANSWER_MAX];
    ssize_t n = recv(fd, buffer, sizeof buffer, 0);
    const struct nlmsghdr *header = (const void *)buffer;
    size_t left = n > 0 ? (size_t)n : 0;
    int r = 1;

    if (n <= 0)
        return n == 0 ? -EPROTO : errno == EINTR ? 1 : -errno;
    for (; r == 1 && NLMSG_OK(header, left); header = NLMSG_NEXT(header, left))
        r = take_message(header, set);
    return r;
}

int ports_ask(struct port_set *ret)
{
    static const uint8_t families[] = { AF_INET, AF_INET6 };
    _cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    int r = fd == -1 ? -errno : 0;

    *ret = (struct port_set){ 0 };
    for (size_t i = 0; r == 0 && i < ELEMENTS(families); i++) {
        r = send_question(fd, families[i]);
        if (r == 0)
            do
                r = take_answer(fd, ret);
            while (r == 1);
    }
    return r;
}

/* ---- read ---- */

/* read_list - the sockets that listen come before all others (proc_net(5)) */
static void read_list(const char *path, struct port_set *set)
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    char line[256];

    if (file == NULL || fgets(line, sizeof line, file) == NULL) /* what the columns mean */
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned port, state;

        /* sl: local address:port, remote address:port, state */
        if (sscanf(line, " %*u: %*32[0-9A-F]:%4x %*32[0-9A-F]:%*4x %2x", &port, &state) != 2 ||
            state != STATE_LISTEN)
            return;
        port_set_add(set, (uint16_t)port);
    }
}

void ports_read(const char *folder, struct port_set *ret)
{
    static const char *const names[] = { "tcp", "tcp6" };

    *ret = (struct port_set){ 0 };
    for (size_t i = 0; i < ELEMENTS(names); i++) {
        _cleanup_free_ char *path = text_format("%s/%s", folder, names[i]);

        read_list(path, ret);
    }
}

void ports_listened(struct port_set *ret)
{
    if (ports_ask(ret) < 0)
        ports_read("/proc/net", ret);
}
