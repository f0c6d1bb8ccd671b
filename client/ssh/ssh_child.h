/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_child.h - a program with a pipe for each of its streams
 *
 * Used by: ssh_collect.c, ssh_program.c. Tests: tests/integration/320-ssh.sh. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

struct edl_error;

/* All descriptors are ours: non-blocking, closed on exec, -1 when closed. */
struct ssh_child {
    int pidfd;
    int in; /* a socket: send with MSG_NOSIGNAL */
    int out, err;
};

/* ssh_child_start - argv[0] is looked up in PATH; env NULL: ours. with_input false: its stdin is
 * /dev/null. Errors: -ENOENT (no such program) and what else starting it gives */
int ssh_child_start(const char *const *argv, char *const *env, bool with_input,
                    struct ssh_child *ret, struct edl_error *error);

/* ssh_child_reap - once its pidfd is readable: the exit status, or 128 and a signal's number.
 * Closes the pidfd */
int ssh_child_reap(struct ssh_child *child);

/* ssh_child_abandon - closes all streams. If it still runs, it gets SIGTERM, and the loop reaps it
 * when it has ended. Fine when nothing was started (pidfd -1) */
void ssh_child_abandon(struct ssh_child *child, sd_event *event);
