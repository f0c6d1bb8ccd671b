/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_mask.h - a set of the machine's CPUs, by number; pure */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPU_MASK_MAX 1024 /* as cpu_set_t has it */
#define CPU_LIST_SIZE 4096

struct cpu_mask {
    uint64_t words[CPU_MASK_MAX / 64];
};

bool cpu_mask_has(const struct cpu_mask *mask, unsigned cpu);
void cpu_mask_set(struct cpu_mask *mask, unsigned cpu); /* one that is too high is left out */
void cpu_mask_add(struct cpu_mask *mask, const struct cpu_mask *other);
unsigned cpu_mask_count(const struct cpu_mask *mask);

/* cpu_mask_format - "0-3,8", the kernel's way (cpuset(7), list format); returns text */
char *cpu_mask_format(const struct cpu_mask *mask, char text[CPU_LIST_SIZE]);

/* cpu_mask_parse - the reverse, a line end behind it or not; "" is none. -EINVAL, and nothing is
 * changed */
int cpu_mask_parse(const char *text, struct cpu_mask *ret);
