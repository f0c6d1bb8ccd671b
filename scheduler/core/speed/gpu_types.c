/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_types.c - speeds of the types, as means of logarithms */
#include "scheduler/core/speed/gpu_types.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shared/macro.h"

#define LATEST_WEIGHT 0.25 /* of the last comparison, once there are more */

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
