/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - equal nodes, and which of their places are taken */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulator/trace/bitset.h"

/* What a job holds on one node. */
struct share {
    uint32_t node, n;
};

struct shares {
    struct share *items; /* in the order of placing */
    uint32_t n_items, cap;
    uint32_t n; /* instances */
};

struct pool {
    uint32_t n_nodes, per_node;
    uint32_t *free; /* of each node */
    uint32_t n_free;
    struct bitset by_room; /* free * n_nodes + node, for each node: looked for without a walk */
};

void pool_init(struct pool *pool, uint32_t n_nodes, uint32_t per_node);
void pool_done(struct pool *pool);
void shares_done(struct shares *shares);

static inline uint32_t pool_capacity(const struct pool *pool)
{
    return pool->n_nodes * pool->per_node;
}

void pool_release(struct pool *pool, struct shares *shares);

/* pool_take - again what it held; false, and nothing taken, where a node lacks the room */
bool pool_take(struct pool *pool, const struct share *items, uint32_t n_items, struct shares *ret);

/* pool_most_free - n instances, each time on the node with the most room, the first of equals;
 * n <= n_free; ret is empty */
void pool_most_free(struct pool *pool, uint32_t n, struct shares *ret);

/* pool_whole - on free nodes as a whole, what is left over on the node that it fits best; false,
 * and nothing taken, where that would split it further */
bool pool_whole(struct pool *pool, uint32_t n, struct shares *ret);
