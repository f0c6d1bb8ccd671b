/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - equal nodes, and which of their places are taken */
#include "simulator/trace/pool.h"

#include "shared/macro.h"

static void set_free(struct pool *pool, uint32_t node, uint32_t room)
{
    bitset_remove(&pool->by_room, pool->free[node] * pool->n_nodes + node);
    pool->free[node] = room;
    bitset_add(&pool->by_room, room * pool->n_nodes + node);
}

void pool_init(struct pool *pool, uint32_t n_nodes, uint32_t per_node)
{
    pool->n_nodes = n_nodes;
    pool->per_node = per_node;
    pool->n_free = n_nodes * per_node;
    pool->free = xcalloc(n_nodes, sizeof(*pool->free));
    bitset_init(&pool->by_room, n_nodes * (per_node + 1));
    for (uint32_t i = 0; i < n_nodes; i++)
        set_free(pool, i, per_node);
}

void pool_done(struct pool *pool)
{
    bitset_done(&pool->by_room);
    free(pool->free);
}

void shares_done(struct shares *shares)
{
    free(shares->items);
}

void pool_release(struct pool *pool, struct shares *shares)
{
    for (uint32_t i = 0; i < shares->n_items; i++) {
        const struct share *share = &shares->items[i];

        set_free(pool, share->node, pool->free[share->node] + share->n);
    }
    pool->n_free += shares->n;
    shares->n_items = 0;
    shares->n = 0;
}

static void take(struct pool *pool, uint32_t node, uint32_t n, struct shares *ret)
{
    if (ret->n_items == ret->cap) {
        ret->cap = ret->cap ? 2 * ret->cap : 4;
        ret->items = xreallocarray(ret->items, ret->cap, sizeof(*ret->items));
    }
    ret->items[ret->n_items++] = (struct share){ .node = node, .n = n };
    ret->n += n;
    set_free(pool, node, pool->free[node] - n);
    pool->n_free -= n;
}

bool pool_take(struct pool *pool, const struct share *items, uint32_t n_items, struct shares *ret)
{
    for (uint32_t i = 0; i < n_items; i++)
        if (pool->free[items[i].node] < items[i].n)
            return false;
    for (uint32_t i = 0; i < n_items; i++)
        take(pool, items[i].node, items[i].n, ret);
    return true;
}

void pool_most_free(struct pool *pool, uint32_t n, struct shares *ret)
{
    while (n > 0) {
        uint32_t room = bitset_last(&pool->by_room) / pool->n_nodes;
        uint32_t first = bitset_next(&pool->by_room, room * pool->n_nodes) % pool->n_nodes;
        uint32_t here = MIN_OF(n, room);

        if (here == 0)
            abort(); /* more than n_free was asked for */
        take(pool, first, here, ret);
        n -= here;
    }
}

bool pool_whole(struct pool *pool, uint32_t n, struct shares *ret)
{
    while (n > 0) {
        uint32_t here = MIN_OF(n, pool->per_node);
        uint32_t fits = bitset_next(&pool->by_room, here * pool->n_nodes); /* the least room */

        if (fits == pool->by_room.n) {
            pool_release(pool, ret);
            return false;
        }
        take(pool, fits % pool->n_nodes, here, ret);
        n -= here;
    }
    return true;
}
