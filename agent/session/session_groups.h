/* SPDX-License-Identifier: Apache-2.0 */
/* session_groups.h - the control groups of a process, for the program of a session
 *
 * It enters those of the process in every hierarchy: its memory, its tasks and its devices are
 * theirs, a freeze and a kill of the process take it as well. In the unified hierarchy it has a
 * group of its own below that of the process, where the process has one. So nothing of a session is
 * left, however often it forked, and nothing of the process is touched. Used by: edl-session.
 * Tests: tests/unit/test_session_groups.c */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/groups/cgroup.h"

struct edl_error;
struct session_request;

/* Behind it the number of the session; below the group of the process. */
#define SESSION_GROUP_PREFIX "session-"
#define SESSION_GROUPS_MAX 20
#define SESSION_HIERARCHY_SIZE 64

/* A line of /proc/PID/cgroup. */
struct session_group {
    char hierarchy[SESSION_HIERARCHY_SIZE]; /* "cpu,cpuacct", "name=systemd"; "": the unified one */
    char path[CGROUP_PATH_SIZE];
    int fd; /* owned; where it is entered; -1: it need not be, or cannot be */
};

struct session_groups {
    struct session_group list[SESSION_GROUPS_MAX]; /* in the order in which they are entered */
    size_t n;
    char own[CGROUP_PATH_SIZE]; /* of the session, in the unified hierarchy; "": none */
    int own_fd;                 /* owned; its folder, to be made in (clone3(2)); -1: none */
    bool refused;               /* there is one that we may not enter */
};

#define SESSION_GROUPS_NONE                                                                        \
    {                                                                                              \
        .own_fd = -1                                                                               \
    }

/* session_groups_parse - the text of /proc/PID/cgroup. Pure. Lines that are too long or too many
 * are left out. The one that hands out the cores comes last (agent/processes/process_group.c) */
void session_groups_parse(const char *text, struct session_groups *ret);

/* session_groups_open - those of process pid that are not ours, and one of its own below the group
 * of the process (process_group; "": it has none). What we may not enter is told by refused.
 * -ESRCH: it is gone. session_groups_close in any case */
int session_groups_open(pid_t pid, const char *process_group, const char *session,
                        struct session_groups *ret, struct edl_error *error);

/* session_groups_enter - in the child; in_own: it was made in the folder of own_fd. 0, or -errno */
int session_groups_enter(const struct session_groups *groups, bool in_own);

/* session_groups_kill - all that is in its own group, at once */
void session_groups_kill(const struct session_groups *groups);

/* session_group_end - kills what is in the group of a session at path, waits for its end, removes
 * it; one that is gone is fine. Blocks, not for more than timeout_ms */
void session_group_end(const char *path, int timeout_ms);

/* session_group_sweep - the same of a session that was killed, below the group of its process: at
 * once below that, or below a group in it. session: its number; NULL: of all that are there */
void session_group_sweep(const char *process_group, const char *session, int timeout_ms);

void session_groups_close(struct session_groups *groups);
