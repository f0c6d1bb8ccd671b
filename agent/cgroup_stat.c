/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_stat.c - see cgroup_stat.h */
#include "agent/cgroup_stat.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "agent/cgroup.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

enum value { CPU, CPU_NS, MEMORY, CACHE, PEAK, TASKS, VALUES };

/* The first row of a value that can be read counts. */
static const struct {
    enum value value;
    const char *controller; /* NULL: of version 2 */
    const char *file;
    const char *key; /* NULL: the file is the number */
} sources[] = {
    { CPU, NULL, "cpu.stat", "usage_usec" },
    { MEMORY, NULL, "memory.current", NULL },
    { CACHE, NULL, "memory.stat", "inactive_file" },
    { PEAK, NULL, "memory.peak", NULL },
    { TASKS, NULL, "pids.current", NULL },
    { CPU_NS, "cpuacct", "cpuacct.usage", NULL },
    { MEMORY, "memory", "memory.usage_in_bytes", NULL },
    { CACHE, "memory", "memory.stat", "total_inactive_file" },
    { PEAK, "memory", "memory.max_usage_in_bytes", NULL },
    { TASKS, "pids", "pids.current", NULL },
};

static uint64_t read_value(const char *file, const char *key)
{
    _cleanup_fclose_ FILE *f = fopen(file, "re");
    char line[128], name[64];
    uint64_t value;

    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (key == NULL && sscanf(line, "%" SCNu64, &value) == 1)
            return value;
        if (key != NULL && sscanf(line, "%63s %" SCNu64, name, &value) == 2 && streq(name, key))
            return value;
    }
    return NEVER_US;
}

void cgroup_stat_read(const char *unified, const char *legacy, const char *path,
                      struct cgroup_stat *ret)
{
    uint64_t values[VALUES];

    for (size_t i = 0; i < VALUES; i++)
        values[i] = NEVER_US;
    for (size_t i = 0; i < ELEMENTS(sources); i++) {
        const char *controller = sources[i].controller;
        char file[CGROUP_PATH_SIZE + 128];

        if (values[sources[i].value] != NEVER_US ||
            (sources[i].value == CPU_NS && values[CPU] != NEVER_US))
            continue;
        (void)snprintf(file, sizeof file, "%.60s%s%.20s%s/%s",
                       controller != NULL ? legacy : unified, controller != NULL ? "/" : "",
                       controller != NULL ? controller : "", path, sources[i].file);
        values[sources[i].value] = read_value(file, sources[i].key);
    }
    if (values[CPU] == NEVER_US && values[CPU_NS] != NEVER_US)
        values[CPU] = values[CPU_NS] / 1000;
    if (values[MEMORY] != NEVER_US && values[CACHE] != NEVER_US)
        values[MEMORY] -= MIN_OF(values[MEMORY], values[CACHE]);
    *ret = (struct cgroup_stat){ .cpu_used_us = values[CPU],
                                 .memory_used_bytes = values[MEMORY],
                                 .memory_peak_bytes = values[PEAK],
                                 .tasks = values[TASKS] };
}
