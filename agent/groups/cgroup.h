/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.h - control groups of processes (cgroups(7))
 *
 * Life and death are told by the unified hierarchy, version 2, which is there in both layouts of
 * systemd: alone, or beside those of version 1, of which each has one controller. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_PATH_SIZE 512

struct edl_error;

/* What limits are held by. */
enum cgroup_controller {
    CGROUP_MEMORY,
    CGROUP_CPU,
    CGROUP_PIDS,
    CGROUP_CPUSET,
    CGROUP_CONTROLLERS
};

/* One group, in all hierarchies that it is in; each path is below the root of its hierarchy. */
struct cgroup_paths {
    char unified[CGROUP_PATH_SIZE];                    /* "/edl.slice/.."; "": there is no group */
    char legacy[CGROUP_CONTROLLERS][CGROUP_PATH_SIZE]; /* of version 1; "": none */
};

/* cgroup_controller_name - "memory", "cpu", "pids", "cpuset", as the kernel says */
const char *cgroup_controller_name(enum cgroup_controller controller);

/* cgroup_limit_name - what it limits, as reports and people have it: "memory", "cpu", "tasks",
 * "cpus" */
const char *cgroup_limit_name(enum cgroup_controller controller);

/* cgroup_has_word - in a list as the kernel writes it: "cpu memory pids" */
bool cgroup_has_word(const char *list, const char *word);

/* cgroup_unified_root, cgroup_legacy_root - where hierarchies are mounted: the unified one, and
 * those of version 1 below it by their controllers' names */
const char *cgroup_unified_root(void);
const char *cgroup_legacy_root(void);

/* cgroup_of_self - the path in the unified hierarchy; -ENOENT: there is none, or it is too long */
int cgroup_of_self(char ret[CGROUP_PATH_SIZE]);

/* cgroup_paths_of_self - those of the calling process in all hierarchies; 0, or -errno */
int cgroup_paths_of_self(struct cgroup_paths *ret);

/* cgroup_paths_of - the same of another process; nothing of one that is gone */
void cgroup_paths_of(pid_t pid, struct cgroup_paths *ret);

/* cgroup_paths_take - a line of /proc/PID/cgroup ("4:memory:/a/b"), to paths; what is too long is
 * left out, like hierarchies that are not asked for. Pure. */
void cgroup_paths_take(struct cgroup_paths *paths, const char *line);

/* cgroup_paths_everywhere - the same path in all, as systemd has it; path may be paths->unified */
void cgroup_paths_everywhere(struct cgroup_paths *paths, const char *path);

/* cgroup_is_below - whether path is that of the group, or of one below it; none is below "". Pure.
 */
bool cgroup_is_below(const char *path, const char *group);

/* cgroup_exists - whether there is a group at path */
bool cgroup_exists(const char *path);

/* cgroup_is_unit - whether the service manager made it, and is to be asked to end it */
bool cgroup_is_unit(const char *path);

/* cgroup_oom_kills - how many processes of the group the kernel killed because the group had used
 * up its memory; 0 also when that is not known */
uint64_t cgroup_oom_kills(const struct cgroup_paths *paths);

/* cgroup_describe_oom - in the words that users read
 * memory_bytes: what each may use; 0: of a job that was submitted to an earlier version */
void cgroup_describe_oom(uint64_t memory_bytes, char *ret, size_t size);

/* cgroup_make, cgroup_enter, cgroup_kill - a group at path, below one that is delegated to us
 * (systemd.resource-control(5), Delegate=); the calling process goes into it; all that is in it is
 * killed at once, whatever it forks meanwhile (Linux 5.14). 0, or -errno. */
int cgroup_make(const char *path);
int cgroup_open(const char *path); /* its folder, for clone3(2) */
int cgroup_enter(const char *path);
int cgroup_kill(const char *path);

/* cgroup_remove_folder - an empty group, by its folder, with the groups right below it: those of
 * sessions whose edl-session was killed. A group that is not empty stays */
void cgroup_remove_folder(const char *folder);

/* cgroup_open_events - cgroup.events of the group at path, which becomes readable by priority
 * (EPOLLPRI) when the last process has left it; -ENOENT: the group is gone, -EINVAL: no path */
int cgroup_open_events(const char *path);

/* cgroup_is_populated - whether any process is in the group of these events, or below it */
bool cgroup_is_populated(int events_fd);

/* cgroup_can_freeze - whether the kernel can freeze the group at path, and we may ask for it (Linux
 * 5.2, version 2) */
bool cgroup_can_freeze(const char *path);

/* cgroup_set_frozen - asks that all processes in the group and below it stand still, or go on, with
 * those that are forked meanwhile. It is so once cgroup_is_frozen. 0, or -errno */
int cgroup_set_frozen(const char *path, bool frozen);

/* cgroup_wants_frozen - as it was asked for last, by anybody; false also when that is not known */
bool cgroup_wants_frozen(const char *path);

/* cgroup_is_frozen - whether all of the group of these events stands still. They become readable by
 * priority when it changes; this takes the news. */
bool cgroup_is_frozen(int events_fd);
