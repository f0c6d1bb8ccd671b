/* SPDX-License-Identifier: Apache-2.0 */
/* helper.h - a program of ours that the agent keeps beside itself and talks to over a socket
 *
 * It ends when our end of the socket is closed. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct edl_error;

struct helper {
    int fd;    /* our end (SOCK_SEQPACKET); owned */
    int pidfd; /* of it, our unreaped child; owned */
};

/* helper_start - in a session of its own: what a terminal sends to the agent is not for it
 * argv[0] is a path; numbers: what its end of the socket is to be called there, which may be 0
 * (else it reads nothing) and 1. On failure nothing is left, and *ret is unchanged. */
int helper_start(const char *const *argv, const int *numbers, size_t n_numbers, struct helper *ret,
                 struct edl_error *error);
