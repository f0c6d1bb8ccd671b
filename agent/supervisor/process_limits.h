/* SPDX-License-Identifier: Apache-2.0 */
/* process_limits.h - what one process may use at most, from its order to the words of the kernel
 *
 * Pure. The same figures for each holder: the service manager (unit_plan.c) or a control group that
 * the supervisor makes (process_group.c). */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/groups/cgroup.h"

/* Threads and processes of one process of a job: far above what training starts, far below what
 * stops a machine. */
#define PROCESS_TASKS_MAX 4096

/* cpu.weight of version 2 */
#define PROCESS_CPU_WEIGHT_OF_CORE 100
#define PROCESS_CPU_WEIGHT_MAX 10000

struct process_limits {
    uint64_t memory_bytes;         /* 0: none */
    uint64_t cpu_weight;           /* 1 to 10000; 100 for each core (cgroups(7), cpu.weight) */
    uint64_t cpu_quota_millicores; /* 0: none */
    uint64_t tasks;
    const char *cpus; /* of its own, "0-3", borrowed from the order; "": it runs on all */
};

#define CGROUP_SETTING_TEXT_SIZE 4096 /* a list of CPUs */
#define CGROUP_SETTINGS_MAX 2

/* A file of a control group, and what is to be in it. */
struct cgroup_setting {
    const char *file; /* static */
    char text[CGROUP_SETTING_TEXT_SIZE];
};

/* process_limits_of - order: order.json of the process folder */
struct process_limits process_limits_of(const json_t *order);

/* process_limits_settings - of one controller, in the order in which they are to be written;
 * version: 1 or 2 of control groups. Returns how many; 0: nothing is limited by it */
size_t process_limits_settings(const struct process_limits *limits,
                               enum cgroup_controller controller, unsigned version,
                               struct cgroup_setting ret[CGROUP_SETTINGS_MAX]);
