/* SPDX-License-Identifier: Apache-2.0 */
/* pserver_listen.c - the listening socket of a parameter server */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "trainer/server/pserver.h"

static int bind_one(const struct addrinfo *address, uint16_t *ret_port)
{
    _cleanup_close_ int fd =
        socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    static const int on = 1;
    struct sockaddr_storage bound = { 0 };
    socklen_t size = sizeof bound;

    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &size) < 0)
        return -errno;
    *ret_port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                                  : ((struct sockaddr_in *)&bound)->sin_port);
    return TAKE_FD(fd);
}

int pserver_listen(const char *host, uint16_t port, uint16_t *ret_port, struct edl_error *error)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    struct addrinfo *found = NULL;
    char service[8];
    int r;

    (void)snprintf(service, sizeof service, "%u", port);
    r = getaddrinfo(host, service, &hints, &found);
    if (r != 0)
        return edl_error_set(error, -EADDRNOTAVAIL, "cannot resolve %s: %s", host, gai_strerror(r));
    r = bind_one(found, ret_port);
    freeaddrinfo(found);
    if (r < 0)
        return edl_error_errno(error, r, "cannot listen on %s port %u", host, port);
    return r;
}
