/* SPDX-License-Identifier: Apache-2.0 */
/* ports.h - the TCP ports of this machine that programs listen on */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port_set {
    uint64_t bits[1024]; /* port n: bit n % 64 of bits[n / 64] */
};

/* ports_listened - on whatever address, of IPv4 and IPv6; what cannot be learnt adds nothing */
void ports_listened(struct port_set *ret);

/* ports_ask - asks the kernel for the sockets that listen, and for no others (sock_diag(7)): costs
 * a fraction of a millisecond. 0, or -errno where that is not allowed or not in the kernel */
int ports_ask(struct port_set *ret);

/* ports_read - the same from the lists of all connections; folder: /proc/net. The kernel goes
 * through its whole table of connections for that: some 10 ms on a large machine. */
void ports_read(const char *folder, struct port_set *ret);

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
