/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_connect.h - a TCP connection to a name: looked up, its addresses tried in turn, on a loop
 *
 * getent(1) looks names up, as getaddrinfo(3) blocks. An address that neither answers nor refuses
 * gets a second one beside it after two seconds; the first to come wins.
 * Used by: ssh_libssh2.c. Tests: tests/integration/320-ssh.sh. */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

struct edl_error;
struct ssh_connect;

struct ssh_connect_handlers {
    /* the name has addresses, which are tried from now on; not called for an address */
    void (*resolved)(void *userdata);
    /* fd belongs to the callee: connected, non-blocking. error_code < 0: none, -ENOENT when the
     * name has no address, else what the last address said. It may free the connect */
    void (*done)(void *userdata, int fd, int error_code);
};

/* ssh_connect_start - calls back from the loop only; no deadline but its owner's. patience is a
 * factor of the two seconds. Errors: of starting getent */
int ssh_connect_start(sd_event *event, const char *host, uint16_t port, double patience,
                      const struct ssh_connect_handlers *handlers, void *userdata,
                      struct ssh_connect **ret, struct edl_error *error);

/* ssh_connect_free - NULL is fine; returns NULL */
struct ssh_connect *ssh_connect_free(struct ssh_connect *this);
