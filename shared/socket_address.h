/* SPDX-License-Identifier: Apache-2.0 */
/* socket_address.h - an address in digits in the form of sockets */
#pragma once

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

union socket_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* socket_address_parse - the size of *ret; 0 when text is no numeric IPv4 or IPv6 address */
socklen_t socket_address_parse(const char *text, uint16_t port, union socket_address *ret);
