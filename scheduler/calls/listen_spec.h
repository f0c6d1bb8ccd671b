/* SPDX-License-Identifier: Apache-2.0 */
/* listen_spec.h - where to listen, as --listen says it
 *
 * ADDRESS:PORT speaks TLS unless the address is loopback; https://ADDRESS:PORT speaks it there as
 * well; unix:/PATH is a socket for this machine. There is no way to speak plain HTTP to other
 * machines. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct edl_error;

#define LISTEN_MAX 8

struct listen_spec {
    char address[108]; /* numeric; or the path of a Unix socket */
    uint16_t port;     /* 0: any */
    uint16_t mode;     /* of the Unix socket */
    bool is_unix, tls;
};

/* listen_spec_parse - "127.0.0.1:7010", "[::]:0", "localhost:7010", "https://127.0.0.1:7010",
 * "unix:/run/edl/scheduler.sock,mode=0666". -EINVAL with remedy */
int listen_spec_parse(const char *text, struct listen_spec *ret, struct edl_error *error);

/* listen_spec_is_wildcard - 0.0.0.0 or ::, every address of the machine */
bool listen_spec_is_wildcard(const struct listen_spec *spec);

/* listen_spec_url - "https://10.0.0.1:7010", "unix:/path"; host NULL: the spec's own address */
void listen_spec_url(const struct listen_spec *spec, const char *host, char *ret, unsigned size);
