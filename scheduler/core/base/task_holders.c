/* SPDX-License-Identifier: Apache-2.0 */
/* task_holders.c - who holds which tasks of a queue, and until when
 *
 * Each holder lists what it holds, in the order in which it took that up. Holders with tasks are in
 * a tree by their deadline: that of their oldest task. The known speed of a holder stays until it
 * has ended. */
#include <stdlib.h>
#include <utlist.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/base/task_queue_internal.h"
#include "scheduler/core/base/task_times.h"
#include "scheduler/core/base/tree.h"
#include "shared/macro.h"

int task_holder_compare(const struct tree_node *a, const struct tree_node *b)
{
    const struct holder *x = (const struct holder *)(const void *)a; /* why: first member */
    const struct holder *y = (const struct holder *)(const void *)b;

    if (x->deadline_us != y->deadline_us)
        return x->deadline_us < y->deadline_us ? -1 : 1;
    return (x->incarnation > y->incarnation) - (x->incarnation < y->incarnation);
}

struct holder *task_holder_find(const struct task_queue *queue, uint64_t incarnation)
{
    struct holder *holder;

    HASH_FIND(hh, queue->holders, &incarnation, sizeof incarnation, holder);
    return holder;
}

static struct holder *add_holder(struct task_queue *queue, uint64_t incarnation)
{
    struct holder *holder = task_holder_find(queue, incarnation);

    if (holder != NULL)
        return holder;
    holder = xcalloc(1, sizeof *holder);
    holder->incarnation = incarnation;
    HASH_ADD(hh, queue->holders, incarnation, sizeof holder->incarnation, holder);
    return holder;
}

/* Since when its oldest task, or the next one after the last that it ended, may take. */
static uint64_t counts_from_us(const struct holder *holder)
{
    return MAX_OF(holder->held->task.taken_us, holder->heard_us);
}

uint64_t task_holder_deadline_us(const struct task_queue *queue, const struct holder *holder)
{
    const struct task_queue_config *config = &queue->config;
    uint64_t lease_us = task_times_lease_us(&queue->times, holder->own_us, config->lease_least_us,
                                            config->lease_timeout_us);
    uint64_t from_us = counts_from_us(holder);

    if (lease_us >= config->lease_timeout_us / holder->n_held)
        return from_us + config->lease_timeout_us;
    return from_us + lease_us * holder->n_held;
}

void task_holder_arm(struct task_queue *queue, struct holder *holder)
{
    tree_remove(&queue->deadlines, &holder->by_deadline);
    if (holder->held == NULL)
        return;
    holder->deadline_us = MAX_OF(task_holder_deadline_us(queue, holder), holder->put_off_us);
    tree_insert(&queue->deadlines, &holder->by_deadline);
}

struct holder *task_holder_first(const struct task_queue *queue)
{
    return (struct holder *)(void *)tree_first(&queue->deadlines); /* why: first member */
}

void task_holder_leave(struct task_queue *queue, struct entry *entry)
{
    struct holder *holder = task_holder_find(queue, entry->task.holder);

    if (holder == NULL)
        return;
    DL_DELETE2(holder->held, entry, holder_prev, holder_next);
    holder->n_held--;
    task_holder_arm(queue, holder);
}

void task_holder_join(struct task_queue *queue, struct entry *entry, uint64_t incarnation)
{
    struct holder *holder = add_holder(queue, incarnation);

    DL_APPEND2(holder->held, entry, holder_prev, holder_next);
    entry->task.holder = incarnation;
    entry->n_beside = ++holder->n_held;
    task_holder_arm(queue, holder);
}

uint64_t task_took_us(const struct entry *entry, uint64_t now_us)
{
    return (now_us - MIN_OF(entry->task.taken_us, now_us)) / MAX_OF(entry->n_beside, 1U);
}

/* arm_all - tasks begin to tell how long a lease is: a holder that hangs since the first of them
 * has one too
 */
static void arm_all(struct task_queue *queue)
{
    for (struct holder *holder = queue->holders; holder != NULL; holder = holder->hh.next)
        task_holder_arm(queue, holder);
}

void task_note_time(struct task_queue *queue, const struct entry *entry, uint64_t us)
{
    struct holder *holder = task_holder_find(queue, entry->task.holder);

    task_times_add(&queue->times, us);
    holder->own_us = MAX_OF(us, holder->own_us - holder->own_us / 8);
    if (queue->times.n == TASK_TIMES_LEAST)
        arm_all(queue);
}

void task_note_end(struct task_queue *queue, const struct entry *entry, uint64_t now_us)
{
    task_holder_find(queue, entry->task.holder)->heard_us = now_us;
}

static void copy_holder(struct task_queue *copy, const struct holder *holder)
{
    struct holder *own = add_holder(copy, holder->incarnation);
    const struct entry *entry;

    own->heard_us = holder->heard_us;
    own->put_off_us = holder->put_off_us;
    own->own_us = holder->own_us;
    DL_FOREACH2(holder->held, entry, holder_next)
    {
        task_holder_join(copy, copy->entries[entry->task.id], holder->incarnation);
        copy->entries[entry->task.id]->n_beside = entry->n_beside;
    }
    tree_remove(&copy->deadlines, &own->by_deadline);
    own->deadline_us = holder->deadline_us; /* as it was when it was set */
    if (own->held != NULL)
        tree_insert(&copy->deadlines, &own->by_deadline);
}

void task_holders_copy(struct task_queue *copy, const struct task_queue *queue)
{
    copy->times = queue->times;
    for (const struct holder *holder = queue->holders; holder != NULL; holder = holder->hh.next)
        copy_holder(copy, holder);
}

uint64_t task_queue_held_since_us(const struct task_queue *queue, uint64_t incarnation)
{
    const struct holder *holder = task_holder_find(queue, incarnation);

    return holder != NULL && holder->held != NULL ? holder->held->task.taken_us : NEVER_US;
}

static uint64_t later(uint64_t at_us, uint64_t us, uint64_t now_us)
{
    return MAX_OF(at_us, MIN_OF(at_us + us, now_us));
}

void task_queue_stood_still(struct task_queue *queue, uint64_t incarnation, uint64_t us,
                            uint64_t now_us)
{
    struct holder *holder = task_holder_find(queue, incarnation);
    struct entry *entry;

    if (holder == NULL)
        return;
    DL_FOREACH2(holder->held, entry, holder_next)
    entry->task.taken_us = later(entry->task.taken_us, us, now_us);
    if (holder->heard_us != 0)
        holder->heard_us = later(holder->heard_us, us, now_us);
    task_holder_arm(queue, holder);
}

void task_queue_unheard(struct task_queue *queue, uint64_t incarnation, uint64_t us,
                        uint64_t now_us)
{
    struct holder *holder = task_holder_find(queue, incarnation);

    if (holder == NULL || holder->held == NULL || us == 0)
        return;
    holder->heard_us = later(counts_from_us(holder), us, now_us);
    task_holder_arm(queue, holder);
}

uint64_t task_queue_due_us(const struct task_queue *queue, uint64_t incarnation)
{
    const struct holder *holder = task_holder_find(queue, incarnation);

    return holder != NULL && holder->held != NULL ? task_holder_deadline_us(queue, holder)
                                                  : NEVER_US;
}

void task_queue_put_off(struct task_queue *queue, uint64_t incarnation, uint64_t until_us)
{
    struct holder *holder = task_holder_find(queue, incarnation);

    if (holder == NULL)
        return;
    holder->put_off_us = until_us;
    task_holder_arm(queue, holder);
}

uint64_t task_queue_next_deadline_us(const struct task_queue *queue)
{
    const struct holder *holder = task_holder_first(queue);

    return holder != NULL ? holder->deadline_us : NEVER_US;
}

uint64_t task_queue_held_us(const struct task_queue *queue, uint64_t holder, uint64_t now_us)
{
    uint64_t since_us = task_queue_held_since_us(queue, holder);

    return since_us == NEVER_US ? 0 : now_us - MIN_OF(since_us, now_us);
}

uint64_t task_queue_task_took_us(const struct task_queue *queue, uint32_t id, uint32_t lease,
                                 uint64_t holder, uint64_t now_us)
{
    const struct task *task = id < queue->n_entries ? &queue->entries[id]->task : NULL;

    if (task == NULL || task->state != TASK_LEASED || task->lease != lease ||
        task->holder != holder)
        return 0;
    return task_took_us(queue->entries[id], now_us);
}
