/* SPDX-License-Identifier: Apache-2.0 */
/* spawn_server.h - makes supervisors by fork(2) alone, for one agent
 *
 * To execute a program costs several times what the rest of a short process does. So the agent
 * starts one server (edl-supervisor --serve), which forks a supervisor for each request. Both ends
 * of the socket (SOCK_SEQPACKET) are of one build: the agent starts the server itself.
 *
 * A request is a spawn_request with the path behind it; the answer is a spawn_reply, in any order.
 * The supervisor itself sends it, with a pidfd of itself as SCM_RIGHTS, before it does anything
 * else: no number is looked up that could have been recycled, and the agent knows it before its
 * program can call. */
#pragma once

#include <limits.h>
#include <stdint.h>

#define SPAWN_SERVER_FD 3 /* in the server: its end of the socket */

struct spawn_request {
    uint64_t number;     /* chosen by the agent, repeated in the answer */
    char path[PATH_MAX]; /* of the process folder; sent as far as its NUL */
};

struct spawn_reply {
    uint64_t number;
    int32_t pid;          /* of the supervisor; 0: there is none */
    int32_t error_number; /* why there is none */
};

/* spawn_server_run - until the agent closes its end: 0, or -errno. Its supervisors live on. */
int spawn_server_run(int fd);
