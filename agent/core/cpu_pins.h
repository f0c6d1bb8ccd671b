/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_pins.h - which CPUs a process gets for itself
 *
 * Pure. Only a process with whole cores gets some: one with parts of a core floats, on all of them,
 * and the kernel finds it the idle ones. No two processes get the same. Near each other comes
 * first, then that the rest is good for others:
 *  1. all of one NUMA node, that of its GPUs if it has room, else the one that fits most closely;
 *     only a process that fits on none gets CPUs of several, those with most room first;
 *  2. whole cores of the machine (all their threads), so that nobody else computes on the other
 *     thread. For the odd one a core that is broken already. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/cpu_mask.h"

#define CPU_NUMA_NONE UINT16_MAX

struct cpu_place {
    uint16_t cpu, numa;
    uint32_t core; /* CPUs of the same number are threads of one */
};

struct cpu_topology {
    struct cpu_place places[CPU_MASK_MAX]; /* rising by cpu */
    size_t n;
};

/* cpu_pins_wanted - how many CPUs of its own a grant makes; 0: none */
unsigned cpu_pins_wanted(uint64_t cpu_millicores);

/* cpu_pins_choose - n CPUs that are not taken, near to numa (CPU_NUMA_NONE: anywhere)
 * false: there are not so many; *ret is left alone. Costs the square of the CPUs at most. */
bool cpu_pins_choose(const struct cpu_topology *topology, const struct cpu_mask *taken, unsigned n,
                     uint16_t numa, struct cpu_mask *ret);
