/* SPDX-License-Identifier: Apache-2.0 */
/* session_listeners.h - whose socket would answer at a port of this node
 *
 * A session leads to ports of its process, and to none of the machine's own. The tables of the
 * kernel (/proc/PID/net/tcp, tcp6) name the inodes of sockets that listen; the descriptors of the
 * process name those that are its own. Used by: session_forward.c. Tests:
 * tests/unit/test_session_listeners.c */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SESSION_LISTENERS_MAX 256

/* One socket that listens at the port. */
struct session_listener {
    struct in6_addr address; /* of version 4: as ::ffff:a.b.c.d */
    bool is_v6;              /* of the table tcp6 */
    uint64_t inode;
};

struct session_listeners {
    struct session_listener list[SESSION_LISTENERS_MAX];
    size_t n;
    bool too_many; /* more than there is room for: nobody can tell */
};

/* session_listeners_take - a line of such a table; others than those that listen at the port are
 * passed over. Pure. */
void session_listeners_take(struct session_listeners *listeners, const char *line, bool is_v6,
                            uint16_t port);

/* session_listeners_at - of these, those of which one answers to a connection to address: the ones
 * at exactly that address, if any, else those at all addresses. Pure. */
void session_listeners_at(const struct session_listeners *listeners, const struct in6_addr *address,
                          struct session_listeners *ret);

/* session_listeners_read - of the network of process pid; 0, or -errno */
int session_listeners_read(pid_t pid, uint16_t port, struct session_listeners *ret);

/* A pidfd of the process, to be closed, if it is still the one that was meant; else -1 */
typedef int (*session_hold_fn)(pid_t pid, const void *userdata);

/* session_listeners_owned - whether each of them is held by one of the processes (and there is one)
 */
bool session_listeners_owned(const struct session_listeners *listeners, const pid_t *pids,
                             size_t n_pids, session_hold_fn hold, const void *userdata);
