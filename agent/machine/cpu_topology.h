/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_topology.h - where the CPUs that this program may use are (sysfs-devices-system-cpu) */
#pragma once

#include "agent/core/cpu_pins.h"

/* cpu_topology_read - those of `allowed`; what the kernel does not tell counts as a core of its own
 * on node 0. root: "" for the machine's own /sys. */
void cpu_topology_read(const char *root, const struct cpu_mask *allowed, struct cpu_topology *ret);

/* cpu_topology_allowed - the CPUs that this process may run on (sched_getaffinity(2)) */
void cpu_topology_allowed(struct cpu_mask *ret);

/* cpu_topology_keep_to - this process, and what it starts from now on, runs on these; -errno */
int cpu_topology_keep_to(const struct cpu_mask *cpus);
