/* SPDX-License-Identifier: Apache-2.0 */
/* socket_address.c - an address in digits in the form of sockets */
#include "shared/socket_address.h"

#include <arpa/inet.h>

socklen_t socket_address_parse(const char *text, uint16_t port, union socket_address *ret)
{
    *ret = (union socket_address){ .v6 = { 0 } };
    if (inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1) {
        ret->v4.sin_family = AF_INET;
        ret->v4.sin_port = htons(port);
        return sizeof ret->v4;
    }
    if (inet_pton(AF_INET6, text, &ret->v6.sin6_addr) == 1) {
        ret->v6.sin6_family = AF_INET6;
        ret->v6.sin6_port = htons(port);
        return sizeof ret->v6;
    }
    return 0;
}
