/* SPDX-License-Identifier: Apache-2.0 */
/* own_address.c - at which of its addresses other machines reach this one */
#include "shared/own_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* Of documentation (RFC 5737, RFC 3849): on the way to everywhere else, and nobody is there. */
#define FAR_V4 "192.0.2.1"
#define FAR_V6 "2001:db8::1"
#define FAR_PORT 9 /* any will do */

static bool is_for_others(const union address *a)
{
    if (a->any.sa_family == AF_INET) {
        uint32_t host = ntohl(a->v4.sin_addr.s_addr);

        return host != INADDR_ANY && host >> 24 != IN_LOOPBACKNET && host >> 16 != 0xa9fe;
    }
    return a->any.sa_family == AF_INET6 && !IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr) &&
           !IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr) && !IN6_IS_ADDR_LINKLOCAL(&a->v6.sin6_addr);
}

static bool to_text(const union address *a, char ret[OWN_ADDRESS_MAX])
{
    const void *address =
        a->any.sa_family == AF_INET ? (const void *)&a->v4.sin_addr : &a->v6.sin6_addr;

    return (a->any.sa_family == AF_INET || a->any.sa_family == AF_INET6) &&
           inet_ntop(a->any.sa_family, address, ret, OWN_ADDRESS_MAX) != NULL;
}

static bool say(const union address *a, char ret[OWN_ADDRESS_MAX])
{
    return is_for_others(a) && to_text(a, ret);
}

/* on_the_way - connecting a datagram socket chooses the address and sends nothing */
static bool on_the_way(int family, char ret[OWN_ADDRESS_MAX])
{
    _cleanup_close_ int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    union address a = { .any.sa_family = (sa_family_t)family };
    socklen_t size = sizeof a;

    if (family == AF_INET) {
        a.v4.sin_port = htons(FAR_PORT);
        (void)inet_pton(AF_INET, FAR_V4, &a.v4.sin_addr);
        size = sizeof a.v4;
    } else {
        a.v6.sin6_port = htons(FAR_PORT);
        (void)inet_pton(AF_INET6, FAR_V6, &a.v6.sin6_addr);
        size = sizeof a.v6;
    }
    if (fd == -1 || connect(fd, &a.any, size) == -1)
        return false;
    size = sizeof a;
    return getsockname(fd, &a.any, &size) == 0 && say(&a, ret);
}

static bool of_an_interface(int family, char ret[OWN_ADDRESS_MAX])
{
    struct ifaddrs *all = NULL;
    bool found = false;

    if (getifaddrs(&all) == -1)
        return false;
    for (const struct ifaddrs *at = all; at != NULL && !found; at = at->ifa_next)
        found = at->ifa_addr != NULL && at->ifa_addr->sa_family == family &&
                (at->ifa_flags & IFF_UP) != 0 && say((const void *)at->ifa_addr, ret);
    freeifaddrs(all);
    return found;
}

bool own_address(int family, char ret[OWN_ADDRESS_MAX])
{
    static const int families[] = { AF_INET, AF_INET6 };

    ret[0] = '\0';
    for (size_t i = 0; i < ELEMENTS(families); i++)
        if ((family == AF_UNSPEC || family == families[i]) &&
            (on_the_way(families[i], ret) || of_an_interface(families[i], ret)))
            return true;
    return false;
}

bool own_address_serves(const char *text)
{
    union address v4 = { .any.sa_family = AF_INET }, v6 = { .any.sa_family = AF_INET6 };

    return (inet_pton(AF_INET, text, &v4.v4.sin_addr) == 1 && is_for_others(&v4)) ||
           (inet_pton(AF_INET6, text, &v6.v6.sin6_addr) == 1 && is_for_others(&v6));
}

bool own_interface(const char *address, char ret[IF_NAMESIZE])
{
    struct ifaddrs *all = NULL;
    char text[OWN_ADDRESS_MAX];
    bool found = false;

    if (getifaddrs(&all) == -1)
        return false;
    for (const struct ifaddrs *at = all; at != NULL && !found; at = at->ifa_next) {
        found = at->ifa_addr != NULL && to_text((const void *)at->ifa_addr, text) &&
                streq(text, address);
        if (found)
            (void)snprintf(ret, IF_NAMESIZE, "%s", at->ifa_name);
    }
    freeifaddrs(all);
    return found;
}
