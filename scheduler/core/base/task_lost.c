/* SPDX-License-Identifier: Apache-2.0 */
/* task_lost.c - records of tasks that are done and were not trained: their chunks are damaged
 *
 * A task that its holder has worked off is done, whatever was damaged in it: no other process would
 * read more. So its records are counted in two numbers, done and lost, whose sum is always that of
 * its task. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/base/task_queue_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

int task_queue_check_lost(const struct task_queue *queue, const struct task_finish *end,
                          const char *at, struct edl_error *error)
{
    const struct task *task = task_queue_task(queue, end->task);
    char pointer[64];

    if (task == NULL ||
        (end->lost_records <= task->n_records && end->lost_chunks <= task->n_chunks &&
         (end->lost_records > 0) == (end->lost_chunks > 0)))
        return 0;
    (void)snprintf(pointer, sizeof pointer, "%s/lost", at);
    (void)edl_error_at(error, -EINVAL, pointer,
                       "of task %u, which has %" PRIu64 " record%s in %u chunk%s, %" PRIu64
                       " in %u are said to be lost",
                       end->task, task->n_records, PLURAL(task->n_records), task->n_chunks,
                       PLURAL(task->n_chunks), end->lost_records, end->lost_chunks);
    return edl_error_remedy(error, "say of the task's own chunks which are damaged: lost is their "
                                   "records, lost_chunks is their number");
}

void task_count_lost(struct task_queue *queue, struct entry *entry, uint64_t records,
                     uint32_t chunks)
{
    entry->task.lost_records = records;
    entry->task.lost_chunks = chunks;
    queue->counts.records_done -= records;
    queue->counts.records_lost += records;
    queue->counts.chunks_lost += chunks;
}

void task_queue_restore_lost(struct task_queue *queue, uint32_t id, uint64_t records,
                             uint32_t chunks)
{
    if (id < queue->n_entries && queue->entries[id]->task.state == TASK_DONE)
        task_count_lost(queue, queue->entries[id], records, chunks);
}
