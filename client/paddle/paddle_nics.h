/* SPDX-License-Identifier: Apache-2.0 */
/* paddle_nics.h - where a server by hand listens: --nics=eth0,eth1 */
#pragma once

struct edl_error;

#define PADDLE_ADDRESS_SIZE 64

/* paddle_nics_address - the first address, IPv4 before IPv6, of the first of these interfaces that
 * has one; without names 127.0.0.1. -EINVAL with the interfaces that there are
 * preferred: the address by which others know this machine, if one of the interfaces has it; NULL:
 * none. Loopback has all that begin with 127. */
int paddle_nics_address(const char *nics, const char *preferred, char ret[PADDLE_ADDRESS_SIZE],
                        struct edl_error *error);
