/* SPDX-License-Identifier: Apache-2.0 */
/* group_use.h - the CPU time and the company in our control group
 *
 * Our group is that of a process of a job, if its supervisor is in another one: then the kernel has
 * the sum. Else the group is others' as well, and ours are all below us, and those with the
 * environment of our process (sessions have it).
 *
 * Used by: idle.c. Tests: tests/unit/test_idle.c, tests/integration/358-idle.sh. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/groups/cgroup.h"
#include "agent/machine/identity.h"

struct group_use {
    struct cgroup_paths paths; /* unified is "": not ours alone */
    uint32_t absent;           /* cgroup_stat_read */
    struct identity identity;
};

void group_use_begin(struct group_use *use);
void group_use_done(struct group_use *use);

/* group_use_is_ours - whether the kernel has the sum; else processes are looked at one by one */
bool group_use_is_ours(const struct group_use *use);

/* group_use_is_supervised - our parent is the supervisor of a process, which signals all of it */
bool group_use_is_supervised(void);

/* group_use_look - neither we count nor our helper (0: there is none), which has used helper_us.
 * *ret_used_us: CPU time of the others; *ret_others: whether there are any, the dead left
 * out. false: it is not known */
bool group_use_look(struct group_use *use, pid_t helper, uint64_t helper_us, uint64_t *ret_used_us,
                    bool *ret_others);
