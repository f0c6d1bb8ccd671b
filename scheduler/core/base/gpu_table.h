/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_table.h - the table of the types of GPU of a cluster
 *
 * A node's type is the value of its label gpu-type. The table holds so many; nodes of further types
 * and those without that label share the first entry. A type that no node has any more keeps its
 * entry until another one needs it: then that goes first that is gone for longest.
 *
 * Pure, no allocation: a copy of the cluster copies it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/label.h"

#define GPU_TYPES_MAX 8
#define GPU_TYPE_OTHER 0
#define GPU_TYPE_NONE UINT8_MAX /* of a node without GPUs */

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
