/* SPDX-License-Identifier: Apache-2.0 */
/* resources.c - amounts that nodes offer and processes ask for */
#include "scheduler/core/base/resources.h"

#include <stdio.h>

#include "shared/macro.h"

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
