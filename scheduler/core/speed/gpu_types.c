/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_types.c - the table of types, and means of logarithms */
#include "scheduler/core/speed/gpu_types.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shared/macro.h"

#define LATEST_WEIGHT 0.25 /* of the last comparison, once there are more */

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

void gpu_speeds_current(struct gpu_speeds *speeds, const struct gpu_types *types, uint64_t now_us)
{
    for (uint32_t i = 0; i < GPU_TYPES_MAX; i++) {
        if (speeds->born[i] != types->born[i] || speeds->until_us[i] <= now_us) {
            speeds->log[i] = 0;
            speeds->rounds[i] = 0;
        }
        speeds->born[i] = types->born[i];
    }
}

static double mean_of(uint32_t mask, const double *a, const double *b)
{
    double sum = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < GPU_TYPES_MAX; i++)
        if (mask & (1U << i)) {
            sum += a[i] + b[i];
            n++;
        }
    return n > 0 ? sum / n : 0;
}

void gpu_speeds_note(struct gpu_speeds *speeds, uint32_t seen, const double log_s[GPU_TYPES_MAX],
                     uint64_t until_us)
{
    const double most = GPU_STEP * GPU_STEPS_MOST;
    uint32_t known = 0;
    double shift;

    for (uint32_t i = 0; i < GPU_TYPES_MAX; i++)
        known |= speeds->rounds[i] > 0 ? seen & (1U << i) : 0;
    /* one that is new is placed beside those that are known, and moves none of them */
    shift = mean_of(known != 0 ? known : seen, speeds->log, log_s);
    for (uint32_t i = 0; i < GPU_TYPES_MAX; i++) {
        double weight = fmax(LATEST_WEIGHT, 1.0 / (speeds->rounds[i] + 1.0));

        if (!(seen & (1U << i)))
            continue;
        speeds->log[i] += weight * (shift - log_s[i] - speeds->log[i]);
        speeds->log[i] = fmin(fmax(speeds->log[i], -most), most);
        speeds->rounds[i]++;
        speeds->until_us[i] = until_us;
    }
}

int8_t gpu_step(double log)
{
    return (int8_t)lround(fmin(fmax(log / GPU_STEP, -GPU_STEPS_MOST), GPU_STEPS_MOST));
}
