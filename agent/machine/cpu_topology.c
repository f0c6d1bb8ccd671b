/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_topology.c - see cpu_topology.h */
#include "agent/machine/cpu_topology.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "agent/layout.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define NODES_MAX 256
#define PACKAGE_SHIFT 16 /* numbers of cores begin anew in each package */

static bool read_line(const char *path, char *line, size_t size)
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");

    if (file == NULL || fgets(line, (int)size, file) == NULL)
        return false;
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static bool read_number(const char *root, unsigned cpu, const char *name, uint64_t *ret)
{
    _cleanup_free_ char *path =
        text_format("%s/sys/devices/system/cpu/cpu%u/topology/%s", root, cpu, name);
    char line[24];

    return read_line(path, line, sizeof line) && parse_u64(line, ret) == 0;
}

/* core_of - cores that are not told of are numbered behind all others */
static uint32_t core_of(const char *root, unsigned cpu)
{
    uint64_t core, package = 0;

    if (!read_number(root, cpu, "core_id", &core) || core > UINT16_MAX)
        return UINT32_MAX - cpu;
    (void)read_number(root, cpu, "physical_package_id", &package);
    return (uint32_t)(MIN_OF(package, (uint64_t)INT16_MAX) << PACKAGE_SHIFT | core);
}

static void place_on_node(const char *root, unsigned node, struct cpu_topology *topology)
{
    _cleanup_free_ char *path =
        text_format("%s/sys/devices/system/node/node%u/cpulist", root, node);
    char line[CPU_LIST_SIZE];
    struct cpu_mask mask;

    if (!read_line(path, line, sizeof line) || cpu_mask_parse(line, &mask) < 0)
        return;
    for (size_t i = 0; i < topology->n; i++)
        if (cpu_mask_has(&mask, topology->places[i].cpu))
            topology->places[i].numa = (uint16_t)node;
}

void cpu_topology_read(const char *root, const struct cpu_mask *allowed, struct cpu_topology *ret)
{
    *ret = (struct cpu_topology){ 0 };
    for (unsigned cpu = 0; cpu < CPU_MASK_MAX; cpu++)
        if (cpu_mask_has(allowed, cpu))
            ret->places[ret->n++] =
                (struct cpu_place){ .cpu = (uint16_t)cpu, .core = core_of(root, cpu) };
    for (unsigned node = 0; node < NODES_MAX; node++)
        place_on_node(root, node, ret);
}

void cpu_topology_allowed(struct cpu_mask *ret)
{
    cpu_set_t set;

    *ret = (struct cpu_mask){ 0 };
    if (sched_getaffinity(0, sizeof set, &set) == -1)
        return;
    for (unsigned cpu = 0; cpu < CPU_MASK_MAX; cpu++)
        if (CPU_ISSET(cpu, &set))
            cpu_mask_set(ret, cpu);
}

int cpu_topology_keep_to(const struct cpu_mask *cpus)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (unsigned cpu = 0; cpu < CPU_MASK_MAX; cpu++)
        if (cpu_mask_has(cpus, cpu))
            CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : -errno;
}
