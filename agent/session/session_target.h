/* SPDX-License-Identifier: Apache-2.0 */
/* session_target.h - the process that a session looks into, as the kernel and its folder have it
 *
 * Its supervisor wrote the folder, and pidfds are held before anything is read. Used by:
 * edl-session. */
#pragma once

#include <jansson.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "agent/machine/account.h"
#include "agent/processes/process_dir.h"
#include "agent/session/session_groups.h"

struct edl_error;
struct session_config;

/* What a program may do, as the kernel has it. */
struct session_traits {
    struct rlimit limits[RLIM_NLIMITS];
    cpu_set_t cpus;
    bool has_cpus;
    int nice;
    mode_t umask;
    bool no_new_privs;
    uint64_t bounding; /* capabilities that it may ever have */
};

struct session_target {
    int dir_fd;    /* owned; its folder */
    json_t *order; /* owned */
    struct supervisor_record record;
    int supervisor_pidfd, program_pidfd; /* owned */
    struct account account;              /* owned */
    char **environment;                  /* owned, with its strings; NULL-terminated */
    int folder_fd;                       /* owned; its working folder; -1: it has none any more */
    int mounts_fd;                       /* owned; its mounts; -1: they are ours */
    struct session_groups groups;
    struct session_traits traits;
    bool ours_only; /* we are not root: groups and mounts are as far as we may */
};

#define SESSION_TARGET_NONE                                                                        \
    {                                                                                              \
        .dir_fd = -1, .supervisor_pidfd = -1, .program_pidfd = -1, .folder_fd = -1,                \
        .mounts_fd = -1, .groups = SESSION_GROUPS_NONE                                             \
    }

/* session_target_open - -ESRCH: there is no such process, or none any more; -EACCES and so on: the
 * node's policy. session_target_close in any case */
int session_target_open(const struct session_config *config, struct session_target *ret,
                        struct edl_error *error);

/* session_target_look - what a program needs that is to be started in there: groups, mounts,
 * folder, environment, traits */
int session_target_look(const struct session_config *config, struct session_target *target,
                        struct edl_error *error);

/* session_target_limits - the text of /proc/PID/limits: prlimit(2) is refused to a root that lacks
 * CAP_SYS_RESOURCE. Pure. -EINVAL */
int session_target_limits(const char *text, struct rlimit ret[RLIM_NLIMITS]);

/* session_target_lives - its program does */
bool session_target_lives(const struct session_target *target);

/* session_target_network - its network (a namespace), to be closed; -1: it is ours */
int session_target_network(const struct session_target *target);

/* session_target_name - "trainer-0 of job mnist" */
void session_target_name(const struct session_config *config, char *ret, size_t size);

void session_target_close(struct session_target *target);
