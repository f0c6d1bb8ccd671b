/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_watch.h - tells when the last process has left a control group, or the group is gone */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

struct cgroup_watch;

/* it may be empty now: look */
typedef void (*cgroup_watch_fn)(void *userdata);

/* cgroup_watch_new - path as in cgroup.h; -ENOENT: the group is gone, -EINVAL: no path */
int cgroup_watch_new(sd_event *event, const char *path, cgroup_watch_fn changed, void *userdata,
                     struct cgroup_watch **ret);

/* cgroup_watch_free - accepts NULL, returns NULL */
struct cgroup_watch *cgroup_watch_free(struct cgroup_watch *watch);

/* cgroup_watch_is_populated - whether any process is there now; if so, changed is called once it is
 * worth another look */
bool cgroup_watch_is_populated(struct cgroup_watch *watch);
