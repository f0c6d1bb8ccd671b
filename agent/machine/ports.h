/* SPDX-License-Identifier: Apache-2.0 */
/* ports.h - the TCP ports of this machine that programs listen on */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port_set {
    uint64_t bits[1024]; /* port n: bit n % 64 of bits[n / 64] */
};

/* ports_listened - on whatever address, of IPv4 and IPv6; folder: /proc/net. What cannot be read
 * adds nothing. Linear in the sockets that listen. */
void ports_listened(const char *folder, struct port_set *ret);

static inline bool port_set_has(const struct port_set *set, uint16_t port)
{
    return (set->bits[port / 64] & UINT64_C(1) << port % 64) != 0;
}

static inline void port_set_add(struct port_set *set, uint16_t port)
{
    set->bits[port / 64] |= UINT64_C(1) << port % 64;
}

static inline void port_set_remove(struct port_set *set, uint16_t port)
{
    set->bits[port / 64] &= ~(UINT64_C(1) << port % 64);
}
