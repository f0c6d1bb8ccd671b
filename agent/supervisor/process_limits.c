/* SPDX-License-Identifier: Apache-2.0 */
/* process_limits.c - see process_limits.h */
#include "agent/supervisor/process_limits.h"

#include <inttypes.h>
#include <stdio.h>

#include "shared/json_read.h"
#include "shared/macro.h"

#define SHARES_OF_CORE 1024 /* cpu.shares of version 1: 2 to 262144 */
#define SHARES_MIN 2
#define SHARES_MAX 262144
#define MILLICORES_MOST (UINT64_C(1) << 40) /* no product of it overflows */
#define PERIOD_US 100000                    /* the kernel's default */
#define QUOTA_MIN_US 1000                   /* less it does not take */

struct process_limits process_limits_of(const json_t *order)
{
    uint64_t millicores = MIN_OF(json_u64(order, "cpu_millicores"), MILLICORES_MOST);
    uint64_t weight = millicores * PROCESS_CPU_WEIGHT_OF_CORE / 1000;
    uint64_t tasks = json_u64(order, "tasks_max");
    const char *cpus = json_string_value(json_object_get(order, "cpus"));
    bool has_quota = json_is_true(json_object_get(order, "cpu_quota"));

    return (struct process_limits){ .memory_bytes = json_u64(order, "memory_bytes"),
                                    .cpu_weight = MIN_OF(MAX_OF(weight, 1), PROCESS_CPU_WEIGHT_MAX),
                                    .cpu_quota_millicores = has_quota ? millicores : 0,
                                    .tasks = tasks > 0 ? tasks : PROCESS_TASKS_MAX,
                                    .cpus = cpus != NULL ? cpus : "" };
}

static size_t set(struct cgroup_setting *setting, const char *file, uint64_t number)
{
    setting->file = file;
    (void)snprintf(setting->text, sizeof setting->text, "%" PRIu64, number);
    return 1;
}

static size_t cpu_settings(const struct process_limits *limits, unsigned version,
                           struct cgroup_setting ret[CGROUP_SETTINGS_MAX])
{
    uint64_t quota_us = limits->cpu_quota_millicores * PERIOD_US / 1000;
    size_t n;

    if (version == 2)
        n = set(&ret[0], "cpu.weight", limits->cpu_weight);
    else
        n = set(&ret[0], "cpu.shares",
                MIN_OF(MAX_OF(limits->cpu_weight * SHARES_OF_CORE / PROCESS_CPU_WEIGHT_OF_CORE,
                              SHARES_MIN),
                       SHARES_MAX));
    if (limits->cpu_quota_millicores == 0)
        return n;
    quota_us = MAX_OF(quota_us, QUOTA_MIN_US);
    if (version == 1)
        return n + set(&ret[n], "cpu.cfs_quota_us", quota_us);
    ret[n].file = "cpu.max";
    (void)snprintf(ret[n].text, sizeof ret[n].text, "%" PRIu64 " %d", quota_us, PERIOD_US);
    return n + 1;
}

size_t process_limits_settings(const struct process_limits *limits,
                               enum cgroup_controller controller, unsigned version,
                               struct cgroup_setting ret[CGROUP_SETTINGS_MAX])
{
    switch (controller) {
    case CGROUP_MEMORY:
        return limits->memory_bytes == 0
                   ? 0
                   : set(&ret[0], version == 2 ? "memory.max" : "memory.limit_in_bytes",
                         limits->memory_bytes);
    case CGROUP_CPU:
        return cpu_settings(limits, version, ret);
    case CGROUP_PIDS:
        return set(&ret[0], "pids.max", limits->tasks);
    case CGROUP_CPUSET:
        if (limits->cpus[0] == '\0')
            return 0;
        ret[0].file = "cpuset.cpus";
        (void)snprintf(ret[0].text, sizeof ret[0].text, "%s", limits->cpus);
        return 1;
    case CGROUP_CONTROLLERS:
        break;
    }
    return 0;
}
