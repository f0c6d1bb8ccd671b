/* SPDX-License-Identifier: Apache-2.0 */
/* task_queue_fixture.h - a queue with tasks of ten records, and holders that behave
 *
 * Used by: test_task_queue.c, test_task_leases.c, test_task_lost.c. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scheduler/core/base/task_queue.h"

/* A holder that died by itself, in a job of two. */
static const uint64_t at_work_of_two[] = { 1, 2 };
static const struct task_death dead = {
    .slot = 1, .next = 3, .at_work = at_work_of_two, .n_at_work = 2
};

static struct task_queue *queue_with(const struct task_queue_config *config, uint32_t n_tasks)
{
    struct task_queue *queue = task_queue_new(config);

    for (uint32_t i = 0; i < n_tasks; i++) {
        const struct task_chunk chunk = { .path = "/data", .offset_bytes = i, .n_records = 10 };

        (void)task_queue_add(queue, &chunk, 1);
    }
    return queue;
}

/* lease - one more task; a holder names all that it has */
static struct task *lease(struct task_queue *queue, uint64_t holder, uint64_t now_us)
{
    uint32_t known[64];
    size_t n_known = 0;
    struct task *task = NULL;

    for (uint32_t i = 0; i < task_queue_n_tasks(queue); i++)
        if (task_queue_task(queue, i)->state == TASK_LEASED &&
            task_queue_task(queue, i)->holder == holder)
            known[n_known++] = i;
    assert_int_equal(task_queue_lease(queue, holder, known, n_known, now_us, &task),
                     TASK_LEASE_GIVEN);
    return task;
}
