/* SPDX-License-Identifier: Apache-2.0 */
/* task_hand.c - what one question of a holder brings: tasks, or why there are none of its pass */
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/base/task_queue_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

/* name_known - entries that the holder knows of bear the number of its question */
static void name_known(struct task_queue *queue, const struct task_wish *wish)
{
    queue->question++;
    for (size_t i = 0; i < wish->n_known; i++)
        if (wish->known[i] < queue->n_entries)
            queue->entries[wish->known[i]]->named = queue->question;
}

/* The answer to one question. */
struct handing {
    struct task_queue *queue;
    uint64_t incarnation, now_us;
    struct task **tasks;
    size_t n, room;
    uint64_t n_chunks;
};

static bool has_room(const struct handing *handing, const struct entry *entry)
{
    return handing->n < handing->room &&
           (handing->n == 0 || handing->n_chunks + entry->task.n_chunks <= TASK_LEASE_CHUNKS_MAX);
}

static void hand(struct handing *handing, struct entry *entry)
{
    task_put_leased(handing->queue, entry, handing->incarnation, handing->now_us);
    entry->named = handing->queue->question;
    handing->n_chunks += entry->task.n_chunks;
    handing->tasks[handing->n++] = &entry->task;
}

/* hand_again - what this holder was given in an answer that it never saw; it goes behind the others
 * that it holds, of which there are as many before as afterwards */
static void hand_again(struct handing *handing)
{
    struct holder *holder = task_holder_find(handing->queue, handing->incarnation);
    struct entry *entry = holder != NULL ? holder->held : NULL;

    for (uint32_t left = holder != NULL ? holder->n_held : 0; left > 0; left--) {
        struct entry *next = entry->holder_next;

        if (entry->named != handing->queue->question && has_room(handing, entry))
            hand(handing, entry);
        entry = next;
    }
}

static void hand_new(struct handing *handing)
{
    struct task_queue *queue = handing->queue;
    struct entry *entry;

    while ((entry = queue->todo) != NULL && has_room(handing, entry)) {
        entry->task.lease++;
        queue->counts.retries_total += entry->leased_before;
        entry->leased_before = true;
        hand(handing, entry);
    }
}

/* The holder has the time for all of them, so each is a part of all that it has now. */
static void note_beside(const struct handing *handing)
{
    const struct holder *holder = task_holder_find(handing->queue, handing->incarnation);

    for (size_t i = 0; i < handing->n; i++) {
        struct entry *entry = (struct entry *)handing->tasks[i]; /* why: first member */

        entry->n_beside = holder->n_held;
    }
}

enum task_lease_result task_queue_lease_some(struct task_queue *queue, uint64_t holder,
                                             const struct task_wish *wish, uint64_t now_us,
                                             struct task **ret, size_t *ret_n)
{
    struct handing handing = {
        .queue = queue, .incarnation = holder, .now_us = now_us, .tasks = ret, .room = wish->n
    };

    if (task_queue_is_finished(queue))
        return TASK_LEASE_FINISHED;
    name_known(queue, wish);
    hand_again(&handing);
    hand_new(&handing);
    if (handing.n == 0)
        return TASK_LEASE_WAIT;
    note_beside(&handing);
    *ret_n = handing.n;
    return TASK_LEASE_GIVEN;
}

enum task_lease_result task_queue_lease(struct task_queue *queue, uint64_t holder,
                                        const uint32_t *known, size_t n_known, uint64_t now_us,
                                        struct task **ret_task)
{
    const struct task_wish wish = { .known = known, .n_known = n_known, .n = 1 };
    size_t n;

    return task_queue_lease_some(queue, holder, &wish, now_us, ret_task, &n);
}

int task_queue_check_pass(const struct task_queue *queue, uint32_t pass, struct edl_error *error)
{
    int code = 0;

    if (pass < queue->pass)
        code = EDL_EPASSBEFORE;
    else if (task_queue_is_finished(queue))
        return 0;
    else if (pass > queue->pass)
        code = EDL_EPASSAFTER;
    else if (task_queue_has_failed(queue))
        code = EDL_EALLTASKSFAILED;
    return code < 0 ? edl_error_set(error, code, "%s", error_code_text(code)) : 0;
}
