/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.h - the control group of a unit, in the unified hierarchy (cgroups(7))
 *
 * That hierarchy is there in both layouts of systemd: alone, or beside those of version 1. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CGROUP_PATH_SIZE 512

struct edl_error;

/* cgroup_unified_root - where the unified hierarchy is mounted */
const char *cgroup_unified_root(void);

/* cgroup_of_self - the path below the hierarchy's root, "/edl.slice/.."; -ENOENT, -ENAMETOOLONG */
int cgroup_of_self(char ret[CGROUP_PATH_SIZE]);

/* cgroup_exists - whether there is a group at path */
bool cgroup_exists(const char *path);

/* cgroup_oom_kills - how many processes of the group at path the kernel killed because the group
 * had used up its memory; 0 also when that is not known. Of version 1 as well: systemd gives the
 * groups of all hierarchies the same path. */
uint64_t cgroup_oom_kills(const char *path);

/* cgroup_make, cgroup_enter, cgroup_kill - a group below the one at path, which is delegated to us
 * (systemd.resource-control(5), Delegate=); the calling process goes into it; all that is in it is
 * killed at once, whatever it forks meanwhile (Linux 5.14). 0, or -errno. */
int cgroup_make(const char *path, const char *name);
int cgroup_enter(const char *path, const char *name);
int cgroup_kill(const char *path, const char *name);

/* cgroup_open_events - cgroup.events of the group at path, which becomes readable by priority
 * (EPOLLPRI) when the last process has left it; -ENOENT: the group is gone, -EINVAL: no path */
int cgroup_open_events(const char *path);

/* cgroup_is_populated - whether any process is in the group of these events, or below it */
bool cgroup_is_populated(int events_fd);
