/* SPDX-License-Identifier: Apache-2.0 */
/* forward.h - ports of this machine that lead into a process of a job, over one session
 *
 * Each connection is a channel. An end of one direction is an end of that direction at the other
 * side too. FORWARD_CONNECTIONS are carried at once; more wait in the kernel's queue. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "shared/session_frame.h"

struct edl_error;
struct forward;
struct server;
struct session_end;
struct session_name;

#define FORWARD_CONNECTIONS SESSION_CHANNELS_MAX
#define FORWARD_PORTS_MAX 16

struct forward_port {
    uint16_t local; /* 0: any that is free */
    uint16_t remote;
};

/* forward_port_read - "8888", or "80:8888" as LOCAL:REMOTE; -EINVAL with error */
int forward_port_read(const char *text, struct forward_port *ret, struct edl_error *error);

struct forward_config {
    sd_event *event;
    struct server *server;
    const struct session_name *name;
    const char *address; /* that is listened at; NULL: loopback, of both families */
    const struct forward_port *ports;
    size_t n_ports;
    void (*on_ready)(void *userdata); /* the node takes connections; may be NULL */
    void (*on_end)(void *userdata, const struct session_end *end);
    void *userdata;
};

/* forward_listen - the first half of forward_open, for a process that is not there yet: config's
 * name may be NULL, and connections wait */
int forward_listen(const struct forward_config *config, struct forward **ret);

/* forward_begin - the second half: remote is that of the first port. Prints failures. Enum status;
 * forward is the caller's to free in any case */
int forward_begin(struct forward *forward, const struct session_name *name, uint16_t remote);

/* forward_open - listens, and asks for the session; prints failures. Enum status */
int forward_open(const struct forward_config *config, struct forward **ret);
struct forward *forward_free(struct forward *forward);

/* forward_local_port - at which port of this machine ports[i] is */
uint16_t forward_local_port(const struct forward *forward, size_t i);
