/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_stat.c - see cgroup_stat.h */
#include "agent/groups/cgroup_stat.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "agent/groups/cgroup.h"
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

/* read_value - *ret_absent: there is no such file */
static uint64_t read_value(const char *file, const char *key, bool *ret_absent)
{
    _cleanup_fclose_ FILE *f = fopen(file, "re");
    char line[128], name[64];
    uint64_t value;

    *ret_absent = f == NULL && errno == ENOENT;
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (key == NULL && sscanf(line, "%" SCNu64, &value) == 1)
            return value;
        if (key != NULL && sscanf(line, "%63s %" SCNu64, name, &value) == 2 && streq(name, key))
            return value;
    }
    return NEVER_US;
}

static uint64_t read_source(const char *unified, const char *legacy,
                            const struct cgroup_paths *paths, size_t i, bool *ret_absent)
{
    const char *hierarchy = sources[i].hierarchy;
    const char *path = hierarchy != NULL ? paths->legacy[sources[i].controller] : paths->unified;
    char file[CGROUP_PATH_SIZE + 128];

    *ret_absent = path[0] == '\0';
    if (*ret_absent)
        return NEVER_US;
    (void)snprintf(file, sizeof file, "%.60s%s%.20s%s/%s", hierarchy != NULL ? legacy : unified,
                   hierarchy != NULL ? "/" : "", hierarchy != NULL ? hierarchy : "", path,
                   sources[i].file);
    return read_value(file, sources[i].key, ret_absent);
}

bool cgroup_stat_read(const char *unified, const char *legacy, const struct cgroup_paths *paths,
                      uint32_t *absent, struct cgroup_stat *ret)
{
    uint64_t values[VALUES];
    uint32_t missed = *absent;
    bool any = false;

    for (size_t i = 0; i < VALUES; i++)
        values[i] = NEVER_US;
    for (size_t i = 0; i < ELEMENTS(sources); i++) {
        uint64_t *value = &values[sources[i].value];
        bool is_absent;

        if ((missed & UINT32_C(1) << i) != 0 || *value != NEVER_US ||
            (sources[i].value == CPU_NS && values[CPU] != NEVER_US))
            continue;
        *value = read_source(unified, legacy, paths, i, &is_absent);
        missed |= is_absent ? UINT32_C(1) << i : 0;
        any |= *value != NEVER_US;
    }
    if (any) /* else the group is gone, and none of them is there any more */
        *absent = missed;
    if (values[CPU] == NEVER_US && values[CPU_NS] != NEVER_US)
        values[CPU] = values[CPU_NS] / 1000;
    if (values[MEMORY] != NEVER_US && values[CACHE] != NEVER_US)
        values[MEMORY] -= MIN_OF(values[MEMORY], values[CACHE]);
    *ret = (struct cgroup_stat){ .cpu_used_us = values[CPU],
                                 .memory_used_bytes = values[MEMORY],
                                 .memory_peak_bytes = values[PEAK],
                                 .tasks = values[TASKS] };
    return any;
}
