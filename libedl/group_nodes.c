/* SPDX-License-Identifier: Apache-2.0 */
/* group_nodes.c - the values that each rank adds up for its node, and those whose sum it owns */
#include "libedl/group_nodes.h"

#include "shared/macro.h"

static unsigned node_of(const uint64_t *machines, unsigned rank, const struct group_nodes *nodes)
{
    for (unsigned k = 0; machines[rank] != 0 && k < rank; k++)
        if (machines[k] == machines[rank])
            return nodes->node[k];
    return nodes->n;
}

bool group_nodes_by_machine(const uint64_t *machines, unsigned n, struct group_nodes *ret)
{
    *ret = (struct group_nodes){ 0 };
    for (unsigned k = 0; k < n; k++) {
        unsigned node = node_of(machines, k, ret);

        ret->n = MAX_OF(ret->n, node + 1);
        ret->node[k] = (uint8_t)node;
        ret->local[k] = ret->size[node]++;
        ret->n_slices = MAX_OF(ret->n_slices, (unsigned)ret->size[node]);
    }
    return ret->n > 1 && ret->n_slices > 1;
}

void group_nodes_apart(unsigned n, struct group_nodes *ret)
{
    static const uint64_t unknown[GROUP_RANKS_MAX];

    (void)group_nodes_by_machine(unknown, n, ret);
}

/* first_slice - of that local rank: each has one at least */
static unsigned first_slice(const struct group_nodes *nodes, unsigned node, unsigned local)
{
    return local * nodes->n_slices / nodes->size[node];
}

/* place - where a slice of a chunk begins */
static size_t place(const struct group_nodes *nodes, size_t n_values, unsigned node, unsigned slice)
{
    size_t from = (size_t)((unsigned __int128)n_values * node / nodes->n);
    size_t to = (size_t)((unsigned __int128)n_values * (node + 1) / nodes->n);

    return from + (size_t)((unsigned __int128)(to - from) * slice / nodes->n_slices);
}

struct slices {
    unsigned from, to;
};

static struct slices slices_of(const struct group_nodes *nodes, unsigned rank)
{
    unsigned node = nodes->node[rank], local = nodes->local[rank];

    return (struct slices){ first_slice(nodes, node, local), first_slice(nodes, node, local + 1) };
}

static struct slices slices_common(const struct group_nodes *nodes, unsigned a, unsigned b)
{
    struct slices of_a = slices_of(nodes, a), of_b = slices_of(nodes, b);
    unsigned from = MAX_OF(of_a.from, of_b.from);

    return (struct slices){ from, MAX_OF(from, MIN_OF(of_a.to, of_b.to)) };
}

static struct group_range range_of(const struct group_nodes *nodes, size_t n_values, unsigned node,
                                   struct slices slices)
{
    size_t first = place(nodes, n_values, node, slices.from);

    return (struct group_range){ first, place(nodes, n_values, node, slices.to) - first };
}

struct group_range group_nodes_part(const struct group_nodes *nodes, size_t n_values, unsigned node,
                                    unsigned rank)
{
    return range_of(nodes, n_values, node, slices_of(nodes, rank));
}

struct group_range group_nodes_common(const struct group_nodes *nodes, size_t n_values,
                                      unsigned node, unsigned a, unsigned b)
{
    return range_of(nodes, n_values, node, slices_common(nodes, a, b));
}

bool group_nodes_meet(const struct group_nodes *nodes, unsigned a, unsigned b)
{
    struct slices slices = slices_common(nodes, a, b);

    return !group_nodes_are_one(nodes, a, b) && slices.from < slices.to;
}
