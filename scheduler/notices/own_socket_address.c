/* SPDX-License-Identifier: Apache-2.0 */
/* own_socket_address.c - see own_socket_address.h
 *
 * The kernel is asked with which source it would call: an address of its own it calls by itself. */
#include "scheduler/notices/own_socket_address.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "shared/cleanup.h"

#define DISCARD_PORT 9 /* a datagram socket that is connected sends nothing */

union any_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

bool is_own_socket_address(const struct sockaddr *address)
{
    bool is_v6 = address->sa_family == AF_INET6;
    union any_address to = { .any.sa_family = AF_UNSPEC }, source = to;
    socklen_t size = is_v6 ? sizeof to.v6 : sizeof to.v4;
    _cleanup_close_ int fd = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    memcpy(&to, address, size);
    if (is_v6)
        to.v6.sin6_port = htons(DISCARD_PORT);
    else
        to.v4.sin_port = htons(DISCARD_PORT);
    if (fd == -1 || connect(fd, &to.any, size) == -1 || getsockname(fd, &source.any, &size) == -1)
        return false;
    return is_v6 ? memcmp(&to.v6.sin6_addr, &source.v6.sin6_addr, sizeof to.v6.sin6_addr) == 0
                 : to.v4.sin_addr.s_addr == source.v4.sin_addr.s_addr;
}
