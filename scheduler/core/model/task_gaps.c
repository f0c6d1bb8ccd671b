/* SPDX-License-Identifier: Apache-2.0 */
/* task_gaps.c - time in which nobody could say that a task is done is none of the time for it
 *
 * A node is cut off, or the scheduler stood still: its processes may stand still as well, or work
 * and find nobody to tell. Their tasks are not due for that time, so that no task is done twice,
 * and none expires before a report says whether its holder stood still. Once a node is lost its
 * tasks are due again: a pass ends though the node never comes back. Others get them then, and they
 * have not failed. */
#include "scheduler/core/model/task_gaps.h"

#include <utlist.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/states.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define REPORTS_IN_LEASE 4
#define PUT_OFF_MOST_US USEC_PER_SEC /* then it is looked at again, also with a lease of hours */
/* After so many late ones the processes of a node are about to stand still, or somebody could not
 * listen: no node is always as late as that. */
#define SILENT_REPORTS 3

/* silent_us - for how long; 0: it was heard just now, or this run has not heard it yet */
static uint64_t silent_us(const struct cluster *cluster, const struct node *node,
                          struct instant now)
{
    uint64_t us = now.now_us - MIN_OF(node->reported_us, now.now_us);

    return node->reported_us == 0 ||
                   us < cluster->config.lease_us / REPORTS_IN_LEASE * SILENT_REPORTS
               ? 0
               : us;
}

void tasks_heard_again(struct cluster *cluster, struct node *node, struct instant now)
{
    uint64_t us = silent_us(cluster, node, now);
    struct process *process;

    if (us == 0)
        return;
    DL_FOREACH2(node->processes, process, node_next)
    {
        if (process->job->queue == NULL)
            continue;
        task_queue_unheard(process->job->queue, process->incarnation, us, now.now_us);
        job_tasks_changed(cluster, process->job);
    }
}

/* waits_for_report - what it said last is older than the end of its task's time */
static bool waits_for_report(const struct job *job, const struct process *process,
                             struct instant now)
{
    uint64_t due_us = task_queue_due_us(job->queue, process->incarnation);
    const struct node *node = process->node;

    return due_us <= now.now_us && node != NULL && node->state != NODE_LOST &&
           node->reported_us < due_us;
}

void tasks_put_off(const struct cluster *cluster, struct job *job, struct instant now)
{
    uint64_t until_us =
        now.now_us + MIN_OF(cluster->config.lease_us / REPORTS_IN_LEASE, PUT_OFF_MOST_US);

    for (uint32_t role = 0; role < job->spec->n_roles; role++)
        for (uint32_t i = 0; i < job->n_slots[role]; i++) {
            const struct process *process = job->slots[role][i].live;

            if (process != NULL && waits_for_report(job, process, now))
                task_queue_put_off(job->queue, process->incarnation, until_us);
        }
}

size_t tasks_take_from_cut(struct job *job, struct instant now)
{
    size_t n = 0;

    for (uint32_t role = 0; role < job->spec->n_roles; role++)
        for (uint32_t i = 0; i < job->n_slots[role]; i++) {
            const struct process *process = job->slots[role][i].live;

            if (process != NULL && process->node != NULL && process->node->state == NODE_LOST)
                n += task_queue_take_back(job->queue, process->incarnation, now.now_us);
        }
    return n;
}
