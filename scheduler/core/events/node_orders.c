/* SPDX-License-Identifier: Apache-2.0 */
/* node_orders.c - which of its processes a node is told of at a time
 *
 * A node of many cores may be given thousands of small processes in one plan. The order to start
 * one is some kilobytes, which the scheduler writes and the agent reads between reports. And an
 * agent follows no orders for more than ORDERS_MAX processes. So the oldest starts are told first,
 * and further ones when the agent has reported some of those.
 *
 * An agent that was told of a process is told of it again, or it would stop it. So that is noted,
 * as another one that was placed before it may only now be told of. A restart forgets the note;
 * then the agent reports what it runs before it is told anything. */
#include "scheduler/core/events/node_orders.h"

#include <utlist.h>

#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "shared/macro.h"
#include "shared/orders_max.h"

uint32_t node_count_new(const struct node *node)
{
    const struct process *process;
    uint32_t n = 0;

    DL_FOREACH2(node->processes, process, node_next)
    n += !process->reported;
    return n;
}

struct orders_turn node_orders_begin(const struct node *node)
{
    const struct process *process;
    uint32_t n_listed = 0, n_starts = 0;

    DL_FOREACH2(node->processes, process, node_next)
    {
        n_listed += process->reported || process->told;
        n_starts += process->told && !process->reported;
    }
    return (struct orders_turn){ MIN_OF(NODE_STARTS_TOLD - MIN_OF(n_starts, NODE_STARTS_TOLD),
                                        ORDERS_MAX - MIN_OF(n_listed, ORDERS_MAX)) };
}

bool node_orders_may_tell(const struct orders_turn *turn, const struct process *process)
{
    return process->reported || process->told || turn->n_starts > 0;
}

void node_orders_told(struct orders_turn *turn, struct process *process)
{
    turn->n_starts -= !process->reported && !process->told;
    process->told = true;
}

void node_orders_go_on(struct cluster *cluster, struct node *node, uint32_t n_before)
{
    if (n_before > NODE_STARTS_TOLD && node_count_new(node) < n_before)
        effect_orders(cluster, node);
}

const char *job_account(const struct job *job)
{
    return job->spec->user[0] != '\0' ? job->spec->user : job->user;
}

bool cluster_order_account(struct cluster *cluster, const char *name)
{
    const struct job *job;
    bool any = false;

    DL_FOREACH2(cluster->active, job, active_next)
    for (uint32_t r = 0; streq(job_account(job), name) && r < job->spec->n_roles; r++)
        for (uint32_t i = 0; i < job->n_slots[r]; i++) {
            const struct process *process = job->slots[r][i].live;

            if (process == NULL || process->reported)
                continue;
            effect_orders(cluster, process->node);
            any = true;
        }
    return any;
}
