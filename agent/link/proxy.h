/* SPDX-License-Identifier: Apache-2.0 */
/* proxy.h - the socket of this node's processes (EDL_SOCKET): their calls, passed on in their name
 */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "agent/link/caller.h"

struct edl_error;
struct link;
struct process;
struct proxy;

struct proxy_limits {
    unsigned connections; /* to the socket at once */
    unsigned calls;       /* that are passed on at once */
};

struct proxy_config {
    sd_event *event;
    struct link *link; /* borrowed */
    const char *socket_path;
    struct proxy_limits limits;
    caller_lookup_fn lookup;  /* gives a struct process */
    caller_group_fn by_group; /* the same */
    /* it has saved what it wanted to; whether it is being stopped */
    bool (*checkpoint_done)(struct process *process, void *userdata);
    /* it is alive, and promises to say so again within that time; 0: no more */
    void (*alive)(struct process *process, uint64_t within_us, void *userdata);
    void *userdata;
};

int proxy_new(const struct proxy_config *config, struct proxy **ret, struct edl_error *error);
struct proxy *proxy_free(struct proxy *proxy);
