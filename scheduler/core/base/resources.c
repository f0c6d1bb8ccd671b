/* SPDX-License-Identifier: Apache-2.0 */
/* resources.c - amounts that nodes offer and processes ask for */
#include "scheduler/core/base/resources.h"

#include <stdio.h>

#include "shared/macro.h"

static int64_t missing(int64_t have, int64_t need)
{
    return MAX_OF(need - MAX_OF(have, (int64_t)0), (int64_t)0);
}

struct resources resources_missing(const struct resources *have, const struct resources *need)
{
    return (struct resources){ .cpu_millicores =
                                   missing(have->cpu_millicores, need->cpu_millicores),
                               .memory_bytes = missing(have->memory_bytes, need->memory_bytes),
                               .gpus = missing(have->gpus, need->gpus),
                               .ports = missing(have->ports, need->ports) };
}

static int64_t times(int64_t have, int64_t need)
{
    return need > 0 ? MAX_OF(have, (int64_t)0) / need : INT64_MAX;
}

int64_t resources_times(const struct resources *have, const struct resources *need)
{
    return MIN_OF(MIN_OF(times(have->cpu_millicores, need->cpu_millicores),
                         times(have->memory_bytes, need->memory_bytes)),
                  MIN_OF(times(have->gpus, need->gpus), times(have->ports, need->ports)));
}

bool resources_exceed(const struct resources *a, const struct resources *b)
{
    return a->cpu_millicores > b->cpu_millicores || a->memory_bytes > b->memory_bytes ||
           a->gpus > b->gpus || a->ports > b->ports;
}

bool resources_owe(const struct resources *what)
{
    return what->cpu_millicores < 0 || what->memory_bytes < 0 || what->gpus < 0 || what->ports < 0;
}

void resources_describe(const struct resources *what, char *buffer, size_t size)
{
    int n = snprintf(buffer, size, "%lldm CPU, %.1f GiB memory", (long long)what->cpu_millicores,
                     (double)what->memory_bytes / (1 << 30));

    if (what->gpus > 0 && n > 0 && (size_t)n < size)
        (void)snprintf(buffer + n, size - (size_t)n, ", %lld GPU", (long long)what->gpus);
}
