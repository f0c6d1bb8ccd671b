/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_types.h - the types of GPU of a cluster, and how fast jobs are on each
 *
 * A node's type is the value of its label gpu-type. The table holds so many; nodes of further types
 * and those without that label share the first entry. A type that no node has any more keeps its
 * entry until another one needs it: then that goes first that is gone for longest. Speeds are kept
 * as logarithms, relative to each other: only their differences mean anything, and one that was
 * never measured is unknown, not 1.
 *
 * Pure, no allocation: the knowledge is part of a job and of a family and is copied with it.
 * Source: reference policy, section 6. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/label.h"

#define GPU_TYPES_MAX 8
#define GPU_TYPE_OTHER 0
#define GPU_TYPE_NONE UINT8_MAX /* of a node without GPUs */

/* Speed of one instance on each type. */
struct gpu_speeds {
    double log[GPU_TYPES_MAX];
    uint32_t rounds[GPU_TYPES_MAX];   /* comparisons; 0: not known */
    uint32_t born[GPU_TYPES_MAX];     /* of the name under which that was learnt */
    uint64_t until_us[GPU_TYPES_MAX]; /* known so long */
};

struct gpu_types {
    char names[GPU_TYPES_MAX][LABEL_VALUE_MAX + 1]; /* of GPU_TYPE_OTHER "" */
    uint32_t n;                                     /* in use, with that one; 0: no node came yet */
    uint32_t n_nodes[GPU_TYPES_MAX];                /* that are of it now */
    uint32_t born[GPU_TYPES_MAX];                   /* how many had a name of that entry before */
    uint64_t gone[GPU_TYPES_MAX]; /* in which order the last nodes of each went; 0: never */
    uint64_t n_gone;
    bool fixed; /* no entry is given to a new name: a copy is being made */
    /* how fast its nodes are for all jobs (node_speed.h), of those of which it is known */
    int64_t sum_micro[GPU_TYPES_MAX]; /* logarithms in millionths: exact in any order */
    uint32_t n_known[GPU_TYPES_MAX];
    bool learnt; /* of some family it is known how types compare for it */
};

/* Which types an instance goes to first: the higher the better, in steps of so much speed. */
#define GPU_STEP 0.15 /* logarithm: 16 % */
#define GPU_STEPS_MOST 28
#define GPU_STEPS_OF_LEVEL 4 /* levels (node_speed.h) are about a factor of 1.8 from each other */
struct gpu_order {
    int8_t step[GPU_TYPES_MAX];
};

/* gpu_types_lookup - the type of a node with these labels as the table is. O(types)
 * gpu_types_find - likewise; it gets an entry if it has none and one can be had */
uint8_t gpu_types_lookup(const struct gpu_types *types, const struct labels *labels);
uint8_t gpu_types_find(struct gpu_types *types, const struct labels *labels);
/* gpu_types_count - a node of that type came (1) or went (-1) */
void gpu_types_count(struct gpu_types *types, uint8_t type, int sign);
/* gpu_types_is_mixed - there are nodes of two types at least. O(types) */
bool gpu_types_is_mixed(const struct gpu_types *types);

/* gpu_types_count_speed - a node of that type has this known speed (1) or not any more (-1) */
void gpu_types_count_speed(struct gpu_types *types, uint8_t type, double log, int sign);
/* gpu_types_typical - logarithm of how fast its nodes are for all jobs; 0 while nobody knows */
double gpu_types_typical(const struct gpu_types *types, uint8_t type);

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
