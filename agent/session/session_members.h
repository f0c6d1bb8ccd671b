/* SPDX-License-Identifier: Apache-2.0 */
/* session_members.h - the processes that a process of a job consists of
 *
 * Those of its control group and of those below, sessions among them; without one of its own those
 * below its supervisor. Where we are not root, so that all are of one account, also those with its
 * environment, which sessions have. Used by: session_forward.c. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct session_target;

#define SESSION_MEMBERS_MAX 16384

struct session_members {
    pid_t *pids; /* owned */
    size_t n;
};

void session_members_find(const struct session_target *target, struct session_members *ret);
/* session_members_hold - a pidfd of one of them, to be closed: it is a member still; -1: it is not,
 * or the number is another process's by now. target: a struct session_target */
int session_members_hold(pid_t pid, const void *target);
void session_members_clear(struct session_members *members);
