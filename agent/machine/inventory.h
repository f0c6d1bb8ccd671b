/* SPDX-License-Identifier: Apache-2.0 */
/* inventory.h - the resources of this machine, and their use by our processes and by others */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/label.h"

struct edl_error;

struct inventory {
    uint64_t cpu_millicores; /* offered */
    uint64_t memory_bytes;   /* offered */
    uint8_t numa_nodes;
    struct labels labels; /* what the machine says of itself: arch, os */
    bool no_foreign;
    uint64_t foreign_cpu_millicores; /* smoothed */
    uint64_t foreign_memory_bytes;
    /* last sample */
    uint64_t busy_ticks;
    uint64_t ours_us;
    uint64_t sampled_us;
};

/* One of our process trees: its root and control group are given, the rest inventory_measure fills
 * in: as the kernel reckons for the group, and where that does not say, as /proc has the tree. */
struct inventory_tree {
    pid_t root;                        /* supervisor */
    const struct cgroup_paths *cgroup; /* borrowed; NULL: it has none of its own */
    uint32_t *cgroup_absent;           /* borrowed; of cgroup_stat_read */
    uint64_t cpu_used_us;
    uint64_t memory_used_bytes;
    uint64_t memory_peak_bytes; /* 0: nobody but the caller can tell */
    uint64_t tasks;
};

/* The machine at the moment at which trees were measured. */
struct inventory_moment {
    uint64_t busy_ticks;                    /* of all cores, since boot */
    uint64_t memory_bytes, available_bytes; /* 0: not known */
};

/* What of the machine is offered. */
struct inventory_offer {
    uint64_t cpu_millicores, memory_bytes;                 /* 0: all but the reserve */
    uint64_t reserve_cpu_millicores, reserve_memory_bytes; /* for the system */
    bool overcommit; /* the first two may be more than the machine has beside that */
};

/* inventory_init - more than the machine has beside the reserve is refused, but for overcommit */
int inventory_init(struct inventory *inventory, const struct inventory_offer *offer,
                   bool no_foreign, struct edl_error *error);

/* inventory_offer - another part of the machine, from now on; an error changes nothing */
int inventory_offer(struct inventory *inventory, const struct inventory_offer *offer,
                    struct edl_error *error);

/* inventory_measure - a few files of its control group, or of each of its processes. They may keep
 * the reader waiting: not for the agent's loop. */
void inventory_measure(struct inventory_tree *tree);

/* inventory_look - at the machine */
void inventory_look(struct inventory_moment *ret);

/* inventory_take - what others use of the machine, who is not ours
 * ours_us: of all our trees, those that are gone as well; it only grows. ours_bytes: of those that
 * are there. now_us: boot time. */
void inventory_take(struct inventory *inventory, const struct inventory_moment *moment,
                    uint64_t ours_us, uint64_t ours_bytes, uint64_t now_us);

/* inventory_numa_nodes - how many node* folders a directory like /sys/devices/system/node holds; at
 * least 1 */
uint8_t inventory_numa_nodes(const char *path);

/* inventory_labels - adds arch (x86_64) and os (debian-12) of the machine; os is left out when root
 * has no os-release or it names what cannot be a label's value
 * root: "" for the machine's own file system. */
void inventory_labels(const char *root, struct labels *labels);
