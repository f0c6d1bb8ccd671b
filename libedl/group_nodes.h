/* SPDX-License-Identifier: Apache-2.0 */
/* group_nodes.h - the values that each rank adds up for its node, and those whose sum it owns; pure
 *
 * The ranks of a node first add up their gradients in memory. Then each of them meets its
 * counterparts on other nodes with its part of the node's sum. So each value goes once from node to
 * node, however many ranks a node has.
 *
 * The values are cut into one chunk for each node, and each chunk into as many slices as the
 * largest node has ranks. A rank collects the same slices of each chunk for its node. It owns those
 * in the chunk of its own node: it adds what other nodes collected of them, and gives the sum to
 * these.
 *
 * Where no bytes are saved, each rank is a node of its own. A chunk is the slice of one rank then,
 * and each meets each. No I/O, no clock. Used by: group_meet.c, group_reduce.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libedl/group_plan.h"

struct group_nodes {
    unsigned n;        /* nodes */
    unsigned n_slices; /* of a chunk: the ranks of the largest node */
    uint8_t node[GROUP_RANKS_MAX], local[GROUP_RANKS_MAX]; /* of a rank; its number there */
    uint8_t size[GROUP_RANKS_MAX];                         /* of a node */
};

struct group_range {
    size_t first, n; /* values */
};

/* group_nodes_by_machine - machines: of each rank, as its hello says; 0: a node of its own.
 * true: it saves bytes between nodes, as there are several and one has several ranks */
bool group_nodes_by_machine(const uint64_t *machines, unsigned n, struct group_nodes *ret);

/* group_nodes_apart - each of n ranks is a node */
void group_nodes_apart(unsigned n, struct group_nodes *ret);

static inline bool group_nodes_are_one(const struct group_nodes *nodes, unsigned a, unsigned b)
{
    return nodes->node[a] == nodes->node[b];
}

/* group_nodes_part - of the chunk of a node: the values that the rank collects */
struct group_range group_nodes_part(const struct group_nodes *nodes, size_t n_values, unsigned node,
                                    unsigned rank);

/* group_nodes_common - of the chunk of a node: the values that both ranks collect */
struct group_range group_nodes_common(const struct group_nodes *nodes, size_t n_values,
                                      unsigned node, unsigned a, unsigned b);

/* group_nodes_meet - whether they collect some of the same slices for different nodes */
bool group_nodes_meet(const struct group_nodes *nodes, unsigned a, unsigned b);
