/* SPDX-License-Identifier: Apache-2.0 */
/* group_collective.c - what ranks tell each other within a step, besides gradients */
#include <errno.h>
#include <string.h>

#include "libedl/group_exact.h"
#include "libedl/group_internal.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

struct sides {
    const void *out[GROUP_RANKS_MAX];
    void *in[GROUP_RANKS_MAX];
    size_t n_out[GROUP_RANKS_MAX], n_in[GROUP_RANKS_MAX];
};

static int exchange(struct edl_group *group, const struct sides *sides)
{
    int r;

    if (!group->is_met)
        return GROUP_ABORTED;
    r = group_exchange(group, sides->out, sides->n_out, sides->in, sides->n_in);
    if (r != GROUP_WELL)
        group_abort(group);
    return r;
}

int edl_group_gather(struct edl_group *group, const void *bytes, uint64_t n, void *ret)
{
    struct sides s = { .n_out = { 0 }, .n_in = { 0 } };

    for (unsigned k = 0; k < group->n; k++) {
        s.out[k] = bytes;
        s.in[k] = (uint8_t *)ret + k * n;
        s.n_out[k] = s.n_in[k] = n;
    }
    if (group->is_met)
        memmove((uint8_t *)ret + group->rank * n, bytes, n);
    return exchange(group, &s);
}

int edl_group_broadcast(struct edl_group *group, uint64_t rank, void *bytes, uint64_t n)
{
    struct sides s = { .n_out = { 0 }, .n_in = { 0 } };

    if (group->is_met && rank >= group->n) {
        (void)edl_error_set(&group->error, -EINVAL, "there is no rank %llu of %u",
                            (unsigned long long)rank, group->n);
        return group_fail(group, -EINVAL);
    }
    for (unsigned k = 0; k < group->n; k++) {
        s.n_out[k] = s.n_in[k] = n;
        if (group->rank == rank)
            s.out[k] = bytes;
        else if (k == rank)
            s.in[k] = bytes;
    }
    return exchange(group, &s);
}

int edl_group_add_integers(struct edl_group *group, int64_t *values, uint64_t n)
{
    _cleanup_free_ int64_t *all = NULL;
    int r;

    if (!group->is_met)
        return GROUP_ABORTED;
    all = xcalloc(n * group->n, sizeof *all);
    r = edl_group_gather(group, values, n * sizeof *values, all);
    if (r != GROUP_WELL)
        return r;
    memset(values, 0, n * sizeof *values);
    for (unsigned k = 0; k < group->n; k++)
        group_exact_add_sums(values, all + k * n, n);
    return r;
}
