/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.c - what a process is told of its place among the others of its role when it starts */
#include "scheduler/core/events/ranks.h"

#include <stdbool.h>

#include "scheduler/core/model/job.h"
#include "scheduler/core/model/process.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

static const struct process *runs_in(const struct slot *slot)
{
    return slot->live != NULL && !slot->live->stop_wanted ? slot->live : NULL;
}

static bool is_place(const struct slot *slot)
{
    return runs_in(slot) != NULL || slot->due || slot->finished;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (const struct node *const *)a;
    uintptr_t y = (uintptr_t) * (const struct node *const *)b;

    return (x > y) - (x < y);
}

/* groups_before - the nodes on which slots below END have processes */
static uint32_t groups_before(const struct slot *slots, uint32_t end)
{
    _cleanup_free_ const struct node **nodes = xcalloc(end + 1, sizeof *nodes);
    uint32_t n = 0, n_different = 0;

    for (uint32_t i = 0; i < end; i++)
        if (runs_in(&slots[i]) != NULL)
            nodes[n++] = slots[i].live->node;
    qsort(nodes, n, sizeof(const struct node *), by_address);
    for (uint32_t i = 0; i < n; i++)
        n_different += i == 0 || nodes[i] != nodes[i - 1];
    return n_different;
}

/* group_by_node - its place among the processes that share the node with it */
static void group_by_node(const struct process *process, const struct slot *slots, uint32_t n_slots,
                          struct process_ranks *ret)
{
    uint32_t first = process->index;

    ret->local_rank = ret->local_size = 0;
    for (uint32_t i = 0; i < n_slots; i++) {
        const struct process *other = i == process->index ? process : runs_in(&slots[i]);

        if (other == NULL || other->node != process->node)
            continue;
        first = MIN_OF(first, i);
        ret->local_rank += i < process->index;
        ret->local_size++;
    }
    ret->group_rank = groups_before(slots, first);
}

void ranks_of(const struct process *process, struct process_ranks *ret)
{
    const struct slot *slots = process->job->slots[process->role];
    uint32_t n_slots = process->job->n_slots[process->role];

    *ret = (struct process_ranks){ .local_size = 1 };
    for (uint32_t i = 0; i < n_slots; i++) {
        if (i != process->index && !is_place(&slots[i]))
            continue;
        if (ret->world_size == 0)
            ret->master = i == process->index ? process : runs_in(&slots[i]);
        ret->rank += i < process->index;
        ret->world_size++;
    }
    if (process->gpu_mask != 0)
        ret->group_rank = ret->rank;
    else
        group_by_node(process, slots, n_slots, ret);
}
