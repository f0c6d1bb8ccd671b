/* SPDX-License-Identifier: Apache-2.0 */
/* own_socket_address.h - whether an address is one of this machine
 *
 * Used by: notice_send.c. Tests: tests/unit/test_webhook_guard.c. */
#pragma once

#include <stdbool.h>

struct sockaddr;

/* is_own_socket_address - IPv4 or IPv6; false also where no route leads there. Nothing is sent */
bool is_own_socket_address(const struct sockaddr *address);
