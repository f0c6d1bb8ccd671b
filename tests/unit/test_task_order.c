/* SPDX-License-Identifier: Apache-2.0 */
/* test_task_order.c - the order of the tasks of a pass: that of their ids, or one that follows from
 * a seed and the number of the pass */
#include <stdint.h>
#include <string.h>

#include "scheduler/core/base/task_queue.h"
#include "shared/macro.h"
#include "shared/permutation.h"
#include "tests/unit/test.h"

enum { TASKS = 97, PASSES = 3 };

static struct task_queue *make_queue(bool shuffled, uint64_t seed)
{
    const struct task_queue_config config = { .passes = PASSES,
                                              .failures_max = 1,
                                              .lease_timeout_us = 100,
                                              .shuffled = shuffled,
                                              .seed = seed };
    struct task_queue *queue = task_queue_new(&config);

    for (uint32_t i = 0; i < TASKS; i++) {
        const struct task_chunk chunk = { .path = "/data", .offset_bytes = i, .n_records = 1 };

        (void)task_queue_add(queue, &chunk, 1);
    }
    return queue;
}

/* do_tasks - n of them, one after the other; their ids */
static void do_tasks(struct task_queue *queue, size_t n, uint32_t *ret)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t pass = task_queue_pass(queue);
        struct task *task = NULL;

        assert_int_equal(task_queue_lease(queue, 1, NULL, 0, 0, &task), TASK_LEASE_GIVEN);
        ret[i] = task->id;
        assert_int_equal(task_queue_finish(queue, task->id, pass, task->lease, 1, 0, NULL, NULL),
                         0);
    }
}

TEST(test_order_of_any_number_of_things_has_each_once)
{
    bool seen[1000];

    for (uint64_t n = 1; n < ELEMENTS(seen); n += n < 40 ? 1 : 37) {
        const struct permutation order = permutation_of(n, 5, 2);

        memset(seen, 0, sizeof seen);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t at = permutation_at(&order, i);

            assert_true(at < n);
            assert_false(seen[at]);
            seen[at] = true;
        }
    }
}

/* These numbers are promised: edl.sampler(10, 7) gives the same in Python. */
TEST(test_order_is_the_one_that_is_promised)
{
    static const uint64_t promised[2][10] = { { 4, 1, 9, 8, 2, 0, 6, 3, 7, 5 },
                                              { 8, 2, 4, 1, 0, 5, 3, 6, 7, 9 } };

    for (uint64_t epoch = 0; epoch < ELEMENTS(promised); epoch++) {
        const struct permutation order = permutation_of(10, 7, epoch);

        for (uint64_t i = 0; i < 10; i++)
            assert_int_equal(permutation_at(&order, i), promised[epoch][i]);
    }
}

TEST(test_each_pass_has_an_order_of_its_own)
{
    struct task_queue *queue = make_queue(true, 7);
    uint32_t ids[PASSES][TASKS];
    uint32_t next[4];

    task_queue_order(queue);
    assert_int_equal(task_queue_next(queue, next, ELEMENTS(next)), ELEMENTS(next));
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        const struct permutation order = permutation_of(TASKS, 7, pass);

        do_tasks(queue, TASKS, ids[pass]);
        for (uint32_t i = 0; i < TASKS; i++)
            assert_int_equal(ids[pass][i], permutation_at(&order, i));
    }
    assert_memory_equal(next, ids[0], sizeof next);
    assert_memory_not_equal(ids[0], ids[1], sizeof ids[0]);
    assert_true(task_queue_is_finished(queue));
    assert_int_equal(task_queue_next(queue, next, ELEMENTS(next)), 0);
    task_queue_free(queue);
}

TEST(test_without_a_seed_it_is_that_of_the_ids)
{
    struct task_queue *queue = make_queue(false, 7);
    uint32_t ids[2 * TASKS];

    task_queue_order(queue);
    do_tasks(queue, ELEMENTS(ids), ids);
    for (uint32_t i = 0; i < ELEMENTS(ids); i++)
        assert_int_equal(ids[i], i % TASKS);
    task_queue_free(queue);
}

/* A restart finds a pass half done; what is left comes in the same order. */
TEST(test_restart_goes_on_in_the_same_order)
{
    enum { DONE = 40 };
    struct task_queue *queue = make_queue(true, 11);
    struct task_queue *restored = make_queue(true, 11);
    uint32_t before[TASKS + DONE], rest[TASKS - DONE], again[TASKS - DONE];

    task_queue_order(queue);
    do_tasks(queue, TASKS + DONE, before); /* into the second pass */
    task_queue_restore(restored, 1, &(struct task_queue_counts){ 0 });
    for (uint32_t i = 0; i < TASKS; i++) {
        const struct task *task = task_queue_task(queue, i);

        assert_int_equal(task_queue_restore_task(restored, i, task->state, task->lease,
                                                 task->failures, task->holder, 0),
                         0);
    }
    do_tasks(queue, ELEMENTS(rest), rest);
    do_tasks(restored, ELEMENTS(again), again);
    assert_memory_equal(rest, again, sizeof rest);
    task_queue_free(queue);
    task_queue_free(restored);
}
