/* SPDX-License-Identifier: Apache-2.0 */
/* process_group.h - the control group of one process, where no service manager makes one
 *
 * The supervisor makes it below the agent's (cgroup_home.h) and stays outside: should memory run
 * out in it, somebody lives to say so. */
#pragma once

#include <jansson.h>

#include "agent/groups/cgroup.h"

/* Behind it the key of the process and its supervisor's number: "edl-12.trainer.0.1-4711". Another
 * agent on this machine may run a process of the same key. */
#define PROCESS_GROUP_PREFIX "edl-"

/* process_group_make - with the limits of the order, below the home that stands in it, for the
 * process of this key under the calling supervisor. What could not be limited is told in the log.
 * -ENOENT: the order has no home; else -errno, and nothing is left. */
int process_group_make(const json_t *order, const char *key, struct cgroup_paths *ret);

/* process_group_enter - the calling process, which has one thread, and what it will start, in the
 * hierarchies of version 1: in the other one it was made. From then on it has the share of the
 * cores that the order gives it, and no more. 0, or -errno */
int process_group_enter(const json_t *order, const struct cgroup_paths *paths);

/* process_group_end - kills what is in it, waits until it is empty, and removes it */
void process_group_end(const struct cgroup_paths *paths);

/* process_group_remove - if it is empty; one that is gone is fine */
void process_group_remove(const struct cgroup_paths *paths);
