/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_stat.h - what the processes of a control group use, as the kernel has added it up
 *
 * Also what double-forked or ended long ago, which a look at the living cannot find. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cgroup_paths;

/* NEVER_US: not known. What a controller of version 1 tells counts where version 2 does not have
 * it (the hybrid layout of systemd). */
struct cgroup_stat {
    uint64_t cpu_used_us;
    uint64_t memory_used_bytes; /* without the page cache that could be dropped at once */
    uint64_t memory_peak_bytes; /* with all of it: what the limit is held against */
    uint64_t tasks;             /* threads included */
};

/* cgroup_stat_read - of the group at paths
 * unified, legacy: where the hierarchies are mounted; "/sys/fs/cgroup/memory" is below legacy.
 * absent: which files the group turned out not to have, 0 at first: they are not tried again.
 * Returns false when nothing could be read: the group is gone. */
bool cgroup_stat_read(const char *unified, const char *legacy, const struct cgroup_paths *paths,
                      uint32_t *absent, struct cgroup_stat *ret);
