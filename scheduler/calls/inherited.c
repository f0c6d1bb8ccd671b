/* SPDX-License-Identifier: Apache-2.0 */
/* inherited.c - see inherited.h */
#include "scheduler/calls/inherited.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include "shared/error.h"
#include "shared/socket_address.h"

union passed_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

int inherited_find(struct inherited *ret, struct edl_error *error)
{
    *ret = (struct inherited){ .n = sd_listen_fds(1) };
    if (ret->n < 0)
        return edl_error_errno(error, ret->n, "LISTEN_FDS");
    if (ret->n > LISTEN_MAX)
        return edl_error_set(error, -E2BIG,
                             "LISTEN_FDS=%d: the service manager passes more sockets than the %d "
                             "that are possible",
                             ret->n, LISTEN_MAX);
    return 0;
}

static bool is_tcp(int fd, const struct listen_spec *spec)
{
    union socket_address a;
    socklen_t size = socket_address_parse(spec->address, spec->port, &a);

    return size > 0 && spec->port != 0 &&
           sd_is_socket_sockaddr(fd, SOCK_STREAM, &a.any, size, 1) > 0;
}

int inherited_take(struct inherited *inherited, const struct listen_spec *spec)
{
    for (int i = 0; i < inherited->n; i++) {
        int fd = SD_LISTEN_FDS_START + i;

        if (inherited->taken[i] ||
            !(spec->is_unix ? sd_is_socket_unix(fd, SOCK_STREAM, 1, spec->address, 0) > 0
                            : is_tcp(fd, spec)))
            continue;
        (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        inherited->taken[i] = true;
        return fd;
    }
    return -1;
}

static void describe(int fd, char *ret, size_t size)
{
    union passed_address a = { .v6 = { 0 } };
    socklen_t length = sizeof a;
    char text[INET6_ADDRSTRLEN] = "";

    (void)snprintf(ret, size, "descriptor %d, which is no socket", fd);
    if (getsockname(fd, &a.any, &length) == -1)
        return;
    if (a.any.sa_family == AF_INET)
        (void)snprintf(ret, size, "%s:%u", inet_ntop(AF_INET, &a.v4.sin_addr, text, sizeof text),
                       (unsigned)ntohs(a.v4.sin_port));
    else if (a.any.sa_family == AF_INET6)
        (void)snprintf(ret, size, "[%s]:%u",
                       inet_ntop(AF_INET6, &a.v6.sin6_addr, text, sizeof text),
                       (unsigned)ntohs(a.v6.sin6_port));
    else if (a.any.sa_family == AF_UNIX)
        (void)snprintf(ret, size, "unix:%.*s", (int)sizeof a.local.sun_path, a.local.sun_path);
}

int inherited_check(const struct inherited *inherited, struct edl_error *error)
{
    char where[sizeof(struct sockaddr_un) + 16];

    for (int i = 0; i < inherited->n; i++) {
        if (inherited->taken[i])
            continue;
        describe(SD_LISTEN_FDS_START + i, where, sizeof where);
        (void)edl_error_set(error, -EINVAL,
                            "the service manager listens on %s, and no listen names it", where);
        return edl_error_remedy(error,
                                "add it to listen in scheduler.conf, or take it out of the unit: "
                                "systemctl edit edl-scheduler.socket");
    }
    return 0;
}
