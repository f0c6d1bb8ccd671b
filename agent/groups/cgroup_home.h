/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_home.h - where an agent without a service manager makes the control groups of its
 * processes
 *
 * Below its own group, if that is its to divide: where systemd runs the machine only in a unit with
 * Delegate=, else wherever it can be written. Life and death need the unified hierarchy; a limit is
 * held by a controller of that, or by a hierarchy of version 1. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "agent/groups/cgroup.h"

struct cgroup_home {
    struct cgroup_paths paths;           /* groups are made below; unified is "": nowhere */
    bool by_unified[CGROUP_CONTROLLERS]; /* these hold limits by version 2 */
    bool may_divide;                     /* unified controllers can be had for the groups */
};

/* cgroup_home_find - looks, and changes nothing: what version 2 could hold counts as held
 * -EPERM, -ENOENT, -ENOTSUP with the reason and what to do: groups cannot be made. */
int cgroup_home_find(struct cgroup_home *ret, struct edl_error *error);

/* cgroup_home_open - the same, and makes it ready: of version 2 the calling process moves to a
 * group beside those of processes, because controllers are for groups without processes of their
 * own; groups that are left of processes which are gone are removed
 * is_idle: below one that has the cores which nothing else wants (cpu.idle, Linux 5.15); where
 * there can be none that is told in the log */
int cgroup_home_open(struct cgroup_home *ret, bool is_idle, struct edl_error *error);

/* cgroup_home_holds - whether limits of this controller are held */
bool cgroup_home_holds(const struct cgroup_home *home, enum cgroup_controller controller);

/* cgroup_home_to_json, cgroup_home_from_json - as it stands in an order: {"unified": "/a",
 * "by_unified": ["memory"], "legacy": {"pids": "/b"}}; -EINVAL */
json_t *cgroup_home_to_json(const struct cgroup_home *home);
int cgroup_home_from_json(const json_t *json, struct cgroup_home *ret);

/* cgroup_legacy_to_json, cgroup_legacy_from_json - {"memory": "/a/b"}; absent ones are left as they
 * are. -EINVAL: a path that cannot be one */
json_t *cgroup_legacy_to_json(const char legacy[CGROUP_CONTROLLERS][CGROUP_PATH_SIZE]);
int cgroup_legacy_from_json(const json_t *json, char ret[CGROUP_CONTROLLERS][CGROUP_PATH_SIZE]);
