/* SPDX-License-Identifier: Apache-2.0 */
/* host_port.h - host:port, or [IPv6]:port, as a user writes it; pure */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* host_port_parse - the host without its brackets into host, and the port
 * text: size bytes, with or without a NUL behind them. -EINVAL: it is none, or the host does not
 * fit; both outputs are untouched then. Port 0 is taken. */
int host_port_parse(const char *text, size_t size, char *host, size_t host_size,
                    uint16_t *ret_port);
