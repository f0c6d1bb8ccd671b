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
    const char *hierarchy;             /* NULL: of version 2 */
    enum cgroup_controller controller; /* of version 1: whose path it is */
    const char *file;
    const char *key; /* NULL: the file is the number */
} sources[] = {
    { CPU, NULL, 0, "cpu.stat", "usage_usec" },
    { MEMORY, NULL, 0, "memory.current", NULL },
    { CACHE, NULL, 0, "memory.stat", "inactive_file" },
    { PEAK, NULL, 0, "memory.peak", NULL },
    { TASKS, NULL, 0, "pids.current", NULL },
    { CPU_NS, "cpuacct", CGROUP_CPU, "cpuacct.usage", NULL },
    { MEMORY, "memory", CGROUP_MEMORY, "memory.usage_in_bytes", NULL },
    { CACHE, "memory", CGROUP_MEMORY, "memory.stat", "total_inactive_file" },
    { PEAK, "memory", CGROUP_MEMORY, "memory.max_usage_in_bytes", NULL },
    { TASKS, "pids", CGROUP_PIDS, "pids.current", NULL },
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

void cgroup_stat_read(const char *unified, const char *legacy, const struct cgroup_paths *paths,
                      struct cgroup_stat *ret)
{
    uint64_t values[VALUES];

    for (size_t i = 0; i < VALUES; i++)
        values[i] = NEVER_US;
    for (size_t i = 0; i < ELEMENTS(sources); i++) {
        const char *hierarchy = sources[i].hierarchy;
        const char *path =
            hierarchy != NULL ? paths->legacy[sources[i].controller] : paths->unified;
        char file[CGROUP_PATH_SIZE + 128];

        if (path[0] == '\0' || values[sources[i].value] != NEVER_US ||
            (sources[i].value == CPU_NS && values[CPU] != NEVER_US))
            continue;
        (void)snprintf(file, sizeof file, "%.60s%s%.20s%s/%s", hierarchy != NULL ? legacy : unified,
                       hierarchy != NULL ? "/" : "", hierarchy != NULL ? hierarchy : "", path,
                       sources[i].file);
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
