/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - equal nodes, and which of their places are taken */
#include "simulator/trace/pool.h"

#include "shared/macro.h"

void pool_init(struct pool *pool, uint32_t n_nodes, uint32_t per_node)
{
    pool->n_nodes = n_nodes;
    pool->per_node = per_node;
    pool->n_free = n_nodes * per_node;
    pool->free = xcalloc(n_nodes, sizeof(*pool->free));
    for (uint32_t i = 0; i < n_nodes; i++)
        pool->free[i] = per_node;
}

void pool_done(struct pool *pool)
{
    free(pool->free);
}

void shares_done(struct shares *shares)
{
    free(shares->items);
}

void pool_release(struct pool *pool, struct shares *shares)
{
    for (uint32_t i = 0; i < shares->n_items; i++)
        pool->free[shares->items[i].node] += shares->items[i].n;
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
    pool->free[node] -= n;
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
        uint32_t best = 0, here;

        for (uint32_t i = 1; i < pool->n_nodes && pool->free[best] < pool->per_node; i++)
            if (pool->free[i] > pool->free[best])
                best = i;
        here = MIN_OF(n, pool->free[best]);
        if (here == 0)
            abort(); /* more than n_free was asked for */
        take(pool, best, here, ret);
        n -= here;
    }
}

/* best_fit - the node with the least room that is enough; n_nodes: none has */
static uint32_t best_fit(const struct pool *pool, uint32_t n)
{
    uint32_t best = pool->n_nodes;

    for (uint32_t i = 0; i < pool->n_nodes; i++)
        if (pool->free[i] >= n && (best == pool->n_nodes || pool->free[i] < pool->free[best])) {
            best = i;
            if (pool->free[i] == n)
                break;
        }
    return best;
}

bool pool_whole(struct pool *pool, uint32_t n, struct shares *ret)
{
    while (n > 0) {
        uint32_t here = MIN_OF(n, pool->per_node), node = best_fit(pool, here);

        if (node == pool->n_nodes) {
            pool_release(pool, ret);
            return false;
        }
        take(pool, node, here, ret);
        n -= here;
    }
    return true;
}
