/* SPDX-License-Identifier: Apache-2.0 */
/* task_deaths.c - when the deaths of its holders are a task's own doing
 *
 * A process dies for many reasons: somebody kills it, the memory is full, a file system is away.
 * None of them is in the records that it held, so its tasks go to others. But a record may kill
 * whatever reads it, and a pass has to end. Such a record kills its holder wherever that is, and
 * nobody else. So a death counts against the task when the task's next holder in another slot died
 * as well, and when nearly all other processes had outlived the death. They are older than it. The
 * last of deaths_max such deaths discards the task, and the second one at the earliest: one death
 * alone says nothing. With one slot or two nobody is left who could outlive both: then
 * deaths_alone_max deaths discard, which is no less than the restarts of its job.
 *
 * A task whose holder died comes again at once; from its second death on it comes last, so that
 * the others are done before. */
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/base/task_queue_internal.h"
#include "shared/macro.h"

#define DEATHS_AT_ONCE 2 /* the second one sends it to the end */
#define REPLACED_PART 4  /* of all that work may be younger, or one of few */

/* others_outlived - the last death of a holder: nearly all others that work now were there before
 * it, and one at least */
static bool others_outlived(const struct task *task, const struct task_death *death)
{
    size_t n_younger = 0;

    for (size_t i = 0; i < death->n_at_work; i++)
        n_younger += death->at_work[i] >= task->died_before;
    return n_younger < death->n_at_work &&
           n_younger <= MAX_OF(death->n_at_work / REPLACED_PART, (size_t)1);
}

static bool is_deadly(const struct task_queue_config *config, const struct task *task)
{
    return config->deaths_max > 0 &&
           (task->deaths >= config->deaths_alone_max ||
            (task->outlived > 0 && task->outlived + 1 >= config->deaths_max));
}

void task_count_death(struct task_queue *queue, struct entry *entry, const struct task_death *death)
{
    struct task *task = &entry->task;
    bool elsewhere = task->deaths > 0 && task->died_slot != death->slot;

    task->outlived += elsewhere && others_outlived(task, death);
    task->deaths++;
    task->died_slot = death->slot;
    task->died_before = death->next;
    if (!is_deadly(&queue->config, task)) {
        task_put_todo(queue, entry, task->deaths < DEATHS_AT_ONCE);
        return;
    }
    queue->counts.tasks_deadly_total++;
    task_discard(queue, entry);
}

void task_forget_deaths(struct entry *entry)
{
    entry->task.deaths = entry->task.outlived = entry->task.died_slot = 0;
    entry->task.died_before = 0;
}

void task_queue_restore_deaths(struct task_queue *queue, uint32_t id, const struct task *told)
{
    struct task *task = id < queue->n_entries ? &queue->entries[id]->task : NULL;

    if (task == NULL)
        return;
    task->deaths = told->deaths;
    task->outlived = told->outlived;
    task->died_slot = told->died_slot;
    task->died_before = told->died_before;
}
