/* SPDX-License-Identifier: Apache-2.0 */
/* test_task_wishes.c - what holders ask a task queue for: several tasks at once, tasks of one pass
 */
#include <stdint.h>

#include "scheduler/core/base/task_queue.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static struct task_queue *make_queue(uint32_t n_tasks, uint32_t n_chunks)
{
    const struct task_queue_config config = { .passes = 2,
                                              .failures_max = 1,
                                              .lease_timeout_us = 100 };
    struct task_queue *queue = task_queue_new(&config);
    struct task_chunk *chunks = xcalloc(n_chunks, sizeof *chunks);

    for (uint32_t i = 0; i < n_chunks; i++)
        chunks[i] = (struct task_chunk){ .path = "/data", .offset_bytes = i, .n_records = 1 };
    for (uint32_t i = 0; i < n_tasks; i++)
        (void)task_queue_add(queue, chunks, n_chunks);
    free(chunks);
    return queue;
}

static size_t take(struct task_queue *queue, uint64_t holder, const struct task_wish *wish,
                   struct task **ret)
{
    size_t n = 0;

    assert_int_equal(task_queue_lease_some(queue, holder, wish, 0, ret, &n), TASK_LEASE_GIVEN);
    return n;
}

static void finish(struct task_queue *queue, const struct task *task)
{
    assert_int_equal(task_queue_finish(queue, task->id, task_queue_pass(queue), task->lease,
                                       task->holder, 0, NULL, NULL),
                     0);
}

TEST(test_several_tasks_come_in_order)
{
    struct task_queue *queue = make_queue(10, 1);
    struct task *tasks[10], *others[10];
    size_t n;

    assert_int_equal(take(queue, 1, &(struct task_wish){ .n = 4 }, tasks), 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(tasks[i]->id, i);
    assert_int_equal(take(queue, 2, &(struct task_wish){ .n = 10 }, others), 6); /* all there are */
    assert_int_equal(task_queue_lease_some(queue, 3, &(struct task_wish){ .n = 2 }, 0, others, &n),
                     TASK_LEASE_WAIT);
    for (uint32_t i = 0; i < 4; i++)
        finish(queue, tasks[i]);
    assert_int_equal(task_queue_counts(queue).records_total, 4);
    assert_int_equal(task_queue_counts(queue).leased, 6);
    task_queue_free(queue);
}

/* An answer that was lost is given again, with as many more as there is room for. */
TEST(test_lost_answer_is_given_again_before_new_tasks)
{
    const uint32_t known[] = { 1, 77 };
    const struct task_wish wish = { .known = known, .n_known = 2, .n = 4 };
    struct task_queue *queue = make_queue(10, 1);
    struct task *tasks[4];

    assert_int_equal(take(queue, 1, &(struct task_wish){ .n = 3 }, tasks), 3);
    assert_int_equal(take(queue, 1, &wish, tasks), 4);
    assert_int_equal(tasks[0]->id, 0);
    assert_int_equal(tasks[1]->id, 2);
    assert_int_equal(tasks[2]->id, 3);
    assert_int_equal(tasks[3]->id, 4);
    assert_int_equal(tasks[0]->lease, 1); /* the same lease, as the holder has seen none */
    assert_int_equal(task_queue_counts(queue).leased, 5);
    assert_int_equal(task_queue_counts(queue).retries_total, 0);
    task_queue_free(queue);
}

TEST(test_answer_has_a_bound_in_chunks)
{
    struct task_queue *queue = make_queue(5, TASK_LEASE_CHUNKS_MAX / 2);
    struct task_queue *large = make_queue(3, TASK_LEASE_CHUNKS_MAX + 1);
    struct task *tasks[5];

    assert_int_equal(take(queue, 1, &(struct task_wish){ .n = 5 }, tasks), 2);
    assert_int_equal(take(large, 1, &(struct task_wish){ .n = 3 }, tasks), 1);
    task_queue_free(queue);
    task_queue_free(large);
}

static void assert_pass_error(const struct task_queue *queue, uint32_t pass, int code,
                              const char *text)
{
    struct edl_error error = { 0 };

    assert_int_equal(task_queue_check_pass(queue, pass, &error), code);
    assert_string_equal(error.text, text);
}

/* The words are those of upstream's master. */
TEST(test_pass_that_is_not_under_way_is_told_as_upstream_does)
{
    struct task_queue *queue = make_queue(1, 1);
    struct task *task;

    assert_pass_error(queue, 0, 0, "");
    assert_pass_error(queue, 1, EDL_EPASSAFTER, "pass number larger than master");
    (void)take(queue, 1, &(struct task_wish){ .n = 1 }, &task);
    assert_pass_error(queue, 0, 0, ""); /* it may come back */
    finish(queue, task);
    assert_pass_error(queue, 0, EDL_EPASSBEFORE, "pass number smaller than master");
    for (int i = 0; i < 2; i++) {
        (void)take(queue, 1, &(struct task_wish){ .n = 1 }, &task);
        assert_int_equal(task_queue_fail(queue, 0, 1, task->lease, 1, 0, false, NULL), 0);
    }
    assert_pass_error(queue, 1, EDL_EALLTASKSFAILED, "all task finished");
    assert_pass_error(queue, 0, EDL_EPASSBEFORE, "pass number smaller than master");
    assert_string_equal(error_code_text(EDL_ENOMORETASK), "no more available task");
    task_queue_free(queue);
}

/* Behind the last pass there is none that has not begun. */
TEST(test_end_of_all_passes_is_no_pass_to_wait_for)
{
    struct task_queue *queue = make_queue(1, 1);
    struct task *task;
    size_t n;

    for (int pass = 0; pass < 2; pass++) {
        (void)take(queue, 1, &(struct task_wish){ .n = 1 }, &task);
        finish(queue, task);
    }
    assert_pass_error(queue, 1, EDL_EPASSBEFORE, "pass number smaller than master");
    assert_pass_error(queue, 2, 0, "");
    assert_pass_error(queue, 9, 0, "");
    assert_int_equal(task_queue_lease_some(queue, 1, &(struct task_wish){ .n = 1 }, 0, &task, &n),
                     TASK_LEASE_FINISHED);
    task_queue_free(queue);
}
