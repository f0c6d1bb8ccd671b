/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_table.c - the table of the types of GPU of a cluster */
#include "scheduler/core/base/gpu_table.h"

#include <math.h>
#include <stdio.h>

#include "shared/macro.h"

uint8_t gpu_types_lookup(const struct gpu_types *types, const struct labels *labels)
{
    const char *name = labels_get(labels, LABEL_GPU_TYPE);

    if (name == NULL || name[0] == '\0')
        return GPU_TYPE_OTHER;
    for (uint32_t i = 1; i < types->n; i++)
        if (streq(types->names[i], name))
            return (uint8_t)i;
    return GPU_TYPE_OTHER;
}

/* The one that is gone for longest; GPU_TYPE_OTHER: all are in use. */
static uint32_t to_reuse(const struct gpu_types *types)
{
    uint32_t best = GPU_TYPE_OTHER;

    for (uint32_t i = 1; i < types->n; i++)
        if (types->n_nodes[i] == 0 &&
            (best == GPU_TYPE_OTHER || types->gone[i] < types->gone[best]))
            best = i;
    return best;
}

uint8_t gpu_types_find(struct gpu_types *types, const struct labels *labels)
{
    const char *name = labels_get(labels, LABEL_GPU_TYPE);
    uint32_t type = gpu_types_lookup(types, labels);

    types->n = MAX_OF(types->n, 1U);
    if (type != GPU_TYPE_OTHER || name == NULL || name[0] == '\0' || types->fixed)
        return (uint8_t)type;
    type = types->n < GPU_TYPES_MAX ? types->n++ : to_reuse(types);
    if (type == GPU_TYPE_OTHER)
        return GPU_TYPE_OTHER;
    (void)snprintf(types->names[type], sizeof types->names[0], "%s", name);
    types->born[type]++;
    return (uint8_t)type;
}

void gpu_types_count(struct gpu_types *types, uint8_t type, int sign)
{
    if (type == GPU_TYPE_NONE)
        return;
    types->n_nodes[type] += (uint32_t)sign;
    if (types->n_nodes[type] == 0)
        types->gone[type] = ++types->n_gone;
}

bool gpu_types_is_mixed(const struct gpu_types *types)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < types->n; i++)
        n += types->n_nodes[i] > 0;
    return n > 1;
}

static int64_t micro(double log)
{
    return llround(log * 1e6);
}

void gpu_types_count_speed(struct gpu_types *types, uint8_t type, double log, int sign)
{
    if (type == GPU_TYPE_NONE)
        return;
    types->sum_micro[type] += sign * micro(log);
    types->n_known[type] += (uint32_t)sign;
}

double gpu_types_typical(const struct gpu_types *types, uint8_t type)
{
    if (type == GPU_TYPE_NONE || types->n_known[type] == 0)
        return 0;
    return (double)types->sum_micro[type] / types->n_known[type] / 1e6;
}
