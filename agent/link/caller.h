/* SPDX-License-Identifier: Apache-2.0 */
/* caller.h - which of our processes is at the other end of a Unix socket */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct edl_error;

/* tells whether pid is the supervisor of one of our processes, and that runs as this account; *ret
 * is then what the caller gets */
typedef bool (*caller_lookup_fn)(pid_t supervisor_pid, uid_t uid, void *userdata, void **ret);

/* the same of a process that is in the control group of one of ours: a program of a session is no
 * descendant of the supervisor (agent/session) */
typedef bool (*caller_group_fn)(pid_t pid, uid_t uid, void *userdata, void **ret);

/* caller_identify - the process whose supervisor is an ancestor of the peer, or in whose control
 * group the peer is
 * -EACCES with error when the peer is of another account or not one of ours. */
int caller_identify(int fd, caller_lookup_fn lookup, caller_group_fn by_group, void *userdata,
                    void **ret, struct edl_error *error);
