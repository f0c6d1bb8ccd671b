/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_types.h - how fast jobs are on each type of GPU of a cluster
 *
 * Speeds are kept as logarithms, relative to each other: only their differences mean anything, and
 * one that was never measured is unknown, not 1.
 *
 * Pure, no allocation: the knowledge is part of a job and of a family and is copied with it.
 * Source: reference policy, section 6. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/base/gpu_table.h"

/* Speed of one instance on each type. */
struct gpu_speeds {
    double log[GPU_TYPES_MAX];
    uint32_t rounds[GPU_TYPES_MAX];   /* comparisons; 0: not known */
    uint32_t born[GPU_TYPES_MAX];     /* of the name under which that was learnt */
    uint64_t until_us[GPU_TYPES_MAX]; /* known so long */
};

/* Which types an instance goes to first: the higher the better, in steps of so much speed. */
#define GPU_STEP 0.15 /* logarithm: 16 % */
#define GPU_STEPS_MOST 28
#define GPU_STEPS_OF_LEVEL 4 /* levels (node_speed.h) are about a factor of 1.8 from each other */
struct gpu_order {
    int8_t step[GPU_TYPES_MAX];
};

/* gpu_speeds_current - drops knowledge that is too old, and that of types whose entries have
 * another name now. Before any other use of the kept knowledge */
void gpu_speeds_current(struct gpu_speeds *speeds, const struct gpu_types *types, uint64_t now_us);
/* gpu_speeds_note - one job was seen on these types (a mask; two at least) at once, with so many
 * seconds per unit of work (as logarithms); known until then. The knowledge of other types stays
 * comparable: the mean of those that were seen and known before does not move; of all that were
 * seen, if none was known, it is 0. */
void gpu_speeds_note(struct gpu_speeds *speeds, uint32_t seen, const double log_s[GPU_TYPES_MAX],
                     uint64_t until_us);
/* gpu_step - so much speed (as a logarithm) in steps */
int8_t gpu_step(double log);
