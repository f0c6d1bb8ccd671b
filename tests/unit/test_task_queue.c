/* SPDX-License-Identifier: Apache-2.0 */
/* test_task_queue.c - tasks are leased, finished, failed and counted exactly once; a pass always
 * ends */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "scheduler/core/base/task_queue.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/seeds.h"
#include "tests/unit/task_queue_fixture.h"
#include "tests/unit/test.h"

static struct task_queue *make_queue(uint32_t n_tasks, uint32_t passes, uint32_t failures_max)
{
    const struct task_queue_config config = { .passes = passes,
                                              .failures_max = failures_max,
                                              .lease_timeout_us = 100 };

    return queue_with(&config, n_tasks);
}

static int finish(struct task_queue *queue, const struct task *task)
{
    return task_queue_finish(queue, task->id, task_queue_pass(queue), task->lease, task->holder, 0,
                             NULL, NULL);
}

TEST(test_pass_with_two_holders_counts_each_record_once)
{
    struct task_queue *queue = make_queue(3, 2, 3);
    bool ended = false;
    struct task *a = lease(queue, 1, 0);
    struct task *b = lease(queue, 2, 0);
    struct task *c = lease(queue, 1, 0);
    struct task *none = NULL;
    uint32_t known = b->id;

    assert_int_equal(a->id, 0);
    assert_int_equal(b->id, 1);
    assert_int_equal(c->id, 2);
    assert_int_equal(task_queue_lease(queue, 2, &known, 1, 0, &none), TASK_LEASE_WAIT);
    assert_int_equal(finish(queue, a), 0);
    assert_int_equal(finish(queue, b), 0);
    assert_int_equal(task_queue_finish(queue, c->id, 0, c->lease, 1, 0, &ended, NULL), 0);
    assert_true(ended);
    assert_int_equal(task_queue_pass(queue), 1);
    assert_int_equal(task_queue_counts(queue).records_total, 30);
    assert_int_equal(task_queue_counts(queue).records_done, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(finish(queue, lease(queue, 1, 0)), 0);
    assert_true(task_queue_is_finished(queue));
    assert_int_equal(task_queue_counts(queue).records_total, 60);
    assert_int_equal(task_queue_lease(queue, 1, NULL, 0, 0, &none), TASK_LEASE_FINISHED);
    task_queue_free(queue);
}

TEST(test_finish_repeated_is_counted_once_and_stale_is_refused)
{
    struct task_queue *queue = make_queue(2, 1, 3);
    struct edl_error error = { 0 };
    struct task *task = lease(queue, 7, 0);
    uint32_t old = task->lease;

    assert_int_equal(task_queue_release_holder(queue, 7, &dead), 1);
    task = lease(queue, 8, 0);
    assert_int_equal(task->id, 0); /* what a dead holder had comes first */
    assert_int_equal(task_queue_finish(queue, 0, 0, old, 7, 0, NULL, &error), EDL_ESTALE);
    assert_non_null(strstr(error.text, "task 0"));
    assert_int_equal(task_queue_finish(queue, 0, 0, task->lease, 7, 0, NULL, NULL), EDL_ESTALE);
    assert_int_equal(task_queue_finish(queue, 0, 0, task->lease, 8, 0, NULL, NULL), 0);
    assert_int_equal(task_queue_finish(queue, 0, 0, task->lease, 8, 0, NULL, NULL), 0);
    assert_int_equal(task_queue_counts(queue).records_total, 10);
    assert_int_equal(task_queue_counts(queue).retries_total, 1);
    assert_int_equal(task_queue_finish(queue, 9, 0, 1, 8, 0, NULL, NULL), -ENOENT);
    task_queue_free(queue);
}

TEST(test_lease_whose_answer_was_lost_is_given_again)
{
    struct task_queue *queue = make_queue(3, 1, 3);
    struct task *first = NULL, *again = NULL, *next = NULL;

    assert_int_equal(task_queue_lease(queue, 1, NULL, 0, 0, &first), TASK_LEASE_GIVEN);
    assert_int_equal(task_queue_lease(queue, 1, NULL, 0, 0, &again), TASK_LEASE_GIVEN);
    assert_ptr_equal(first, again);
    assert_int_equal(first->lease, 1);
    assert_int_equal(task_queue_lease(queue, 1, &first->id, 1, 0, &next), TASK_LEASE_GIVEN);
    assert_int_equal(next->id, 1);
    task_queue_free(queue);
}

/* B6: with failures_max 3 a task is tried four times; with 1 the second failure discards. */
TEST(test_failures_beyond_the_limit_discard_and_end_the_pass)
{
    static const uint32_t limits[] = { 0, 1, 3 };

    for (size_t i = 0; i < ELEMENTS(limits); i++) {
        struct task_queue *queue = make_queue(2, 2, limits[i]);
        struct task *bad = lease(queue, 1, 0);

        assert_int_equal(finish(queue, lease(queue, 1, 0)), 0);
        assert_int_equal(task_queue_fail(queue, 0, 0, bad->lease, 1, 0, true, NULL), 0);
        for (uint32_t k = 0; k <= limits[i]; k++) {
            struct task *task = lease(queue, 1, 0);

            assert_int_equal(task_queue_pass(queue), 0);
            assert_int_equal(task_queue_fail(queue, 0, 0, task->lease, 1, 0, false, NULL), 0);
        }
        /* the last task of the pass failing starts the next pass, in which it is tried afresh */
        assert_int_equal(task_queue_pass(queue), 1);
        assert_int_equal(task_queue_counts(queue).records_discarded_total, 10);
        assert_int_equal(task_queue_counts(queue).tasks_discarded_total, 1);
        assert_int_equal(lease(queue, 1, 0)->failures, 0);
        task_queue_free(queue);
    }
}

/* Another pass would fare no better: nothing follows a pass of which no task was trained. */
TEST(test_pass_without_any_trained_task_fails_the_queue)
{
    struct task_queue *queue = make_queue(3, 2, 1);
    struct task_queue *restored = make_queue(3, 2, 1);
    struct task *none = NULL;

    for (int i = 0; i < 6; i++) {
        struct task *task = lease(queue, 1, 0);

        assert_false(task_queue_has_failed(queue));
        assert_int_equal(task_queue_fail(queue, task->id, 0, task->lease, 1, 0, false, NULL), 0);
    }
    assert_true(task_queue_has_failed(queue));
    assert_false(task_queue_is_finished(queue));
    assert_int_equal(task_queue_pass(queue), 0);
    assert_int_equal(task_queue_counts(queue).tasks_discarded_total, 3);
    assert_int_equal(task_queue_counts(queue).records_discarded_total, 30);
    assert_int_equal(task_queue_lease(queue, 1, NULL, 0, 0, &none), TASK_LEASE_WAIT);
    for (uint32_t i = 0; i < 3; i++) /* a restart finds it by the tasks alone */
        assert_int_equal(task_queue_restore_task(restored, i, TASK_DISCARDED, 2, 2, 0, 0), 0);
    assert_true(task_queue_has_failed(restored));
    task_queue_close(queue);
    assert_true(task_queue_has_failed(queue));
    task_queue_free(queue);
    task_queue_free(restored);
}

TEST(test_returned_tasks_count_no_failure)
{
    struct task_queue *queue = make_queue(1, 1, 0);
    struct task *task;

    for (int i = 0; i < 10; i++) {
        task = lease(queue, 1, 0);
        assert_int_equal(task_queue_fail(queue, 0, 0, task->lease, 1, 0, true, NULL), 0);
        assert_int_equal(task_queue_fail(queue, 0, 0, task->lease, 1, 0, true, NULL), EDL_ESTALE);
    }
    (void)lease(queue, 1, 0);
    assert_int_equal(task_queue_release_holder(queue, 1, NULL), 1);
    assert_int_equal(task_queue_release_holder(queue, 1, NULL), 0);
    assert_int_equal(finish(queue, lease(queue, 2, 0)), 0);
    assert_true(task_queue_is_finished(queue));
    task_queue_free(queue);
}

TEST(test_expired_leases_go_to_the_end_in_deadline_order)
{
    struct task_queue *queue = make_queue(3, 1, 3);

    (void)lease(queue, 1, 0);
    (void)lease(queue, 2, 50);
    assert_int_equal(task_queue_next_deadline_us(queue), 100);
    assert_int_equal(task_queue_expire(queue, 99), 0);
    assert_int_equal(task_queue_expire(queue, 100), 1);
    assert_int_equal(task_queue_next_deadline_us(queue), 150);
    assert_int_equal(lease(queue, 3, 100)->id, 2);
    assert_int_equal(lease(queue, 3, 100)->id, 0);
    assert_int_equal(task_queue_task(queue, 0)->failures, 1);
    task_queue_free(queue);
}

TEST(test_one_saver_until_it_is_gone)
{
    struct task_queue *queue = make_queue(1, 1, 3);

    assert_false(task_queue_elect_saver(queue, 1));
    assert_int_equal(finish(queue, lease(queue, 1, 0)), 0);
    assert_true(task_queue_elect_saver(queue, 1));
    assert_true(task_queue_elect_saver(queue, 1));
    assert_false(task_queue_elect_saver(queue, 2));
    assert_int_equal(task_queue_model_saved(queue, 2, "/out/model", NULL), EDL_ESTALE);
    (void)task_queue_release_holder(queue, 1, &dead);
    assert_true(task_queue_elect_saver(queue, 2));
    assert_int_equal(task_queue_model_saved(queue, 2, "/out/model", NULL), 0);
    assert_true(task_queue_is_model_saved(queue));
    assert_string_equal(task_queue_model_path(queue), "/out/model");
    assert_false(task_queue_elect_saver(queue, 3));
    task_queue_close(queue);
    assert_string_equal(task_queue_model_path(queue), "/out/model");
    task_queue_free(queue);
}

/* A copy has the same orders, deadlines and memory of what was counted, and goes its own way. */
TEST(test_copy_goes_on_by_itself)
{
    struct task_queue *queue = make_queue(5, 2, 3);
    struct task_queue *copy;
    struct task *done, *again = NULL;

    done = lease(queue, 1, 10);
    assert_int_equal(finish(queue, done), 0);
    (void)lease(queue, 2, 20);
    (void)lease(queue, 3, 30);
    assert_int_equal(task_queue_fail(queue, 1, 0, 1, 2, 0, true, NULL), 0); /* to the head */
    (void)lease(queue, 4, 40);
    copy = task_queue_copy(queue);
    assert_int_equal(task_queue_next_deadline_us(copy), task_queue_next_deadline_us(queue));
    assert_int_equal(task_queue_lease(copy, 3, NULL, 0, 50, &again), TASK_LEASE_GIVEN);
    assert_int_equal(again->id, 2); /* whose answer was lost */
    assert_int_equal(task_queue_finish(copy, 0, 0, 1, 1, 0, NULL, NULL), 0);
    assert_int_equal(task_queue_counts(copy).records_total, 10); /* counted before */
    assert_int_equal(task_queue_release_holder(copy, 4, NULL), 1);
    assert_int_equal(lease(copy, 5, 60)->id, 1);
    assert_int_equal(task_queue_counts(copy).retries_total,
                     task_queue_counts(queue).retries_total + 1);
    assert_int_equal(task_queue_task(queue, 2)->holder, 3);
    assert_int_equal(task_queue_counts(queue).leased, 2);
    task_queue_free(queue);
    assert_string_equal(task_queue_task(copy, 4)->chunks[0].path, "/data");
    task_queue_free(copy);
}

struct told {
    unsigned tasks;
};

static void count_task(const struct task *task, void *userdata)
{
    struct told *told = userdata;

    (void)task;
    told->tasks++;
}

TEST(test_changed_tasks_are_told_once)
{
    struct task_queue *queue = make_queue(2, 2, 3);
    struct told told = { 0 };

    (void)lease(queue, 1, 0);
    task_queue_take_changed(queue, count_task, &told);
    assert_int_equal(told.tasks, 1);
    task_queue_take_changed(queue, count_task, &told);
    assert_int_equal(told.tasks, 1);
    told = (struct told){ 0 };
    assert_int_equal(finish(queue, lease(queue, 1, 0)), 0);
    assert_int_equal(finish(queue, task_queue_task(queue, 0)), 0);
    task_queue_take_changed(queue, count_task, &told);
    /* the two whose leases moved; that the others are to do again the pass says */
    assert_int_equal(told.tasks, 2);
    task_queue_free(queue);
}

TEST(test_restore_continues_where_it_was)
{
    struct task_queue *queue = make_queue(3, 2, 3);
    struct task_queue_counts counts;

    task_queue_restore(queue, 1,
                       &(struct task_queue_counts){ .records_total = 40, .retries_total = 2 });
    assert_int_equal(task_queue_restore_task(queue, 0, TASK_DONE, 5, 0, 11, 0), 0);
    assert_int_equal(task_queue_restore_task(queue, 1, TASK_LEASED, 6, 1, 12, 0), 0);
    assert_int_equal(task_queue_restore_task(queue, 7, TASK_DONE, 5, 0, 11, 0), -ENOENT);
    counts = task_queue_counts(queue);
    assert_int_equal(counts.done, 1);
    assert_int_equal(counts.leased, 1);
    assert_int_equal(counts.todo, 1);
    assert_int_equal(counts.records_done, 10);
    assert_int_equal(task_queue_finish(queue, 0, 1, 5, 11, 0, NULL, NULL), 0); /* asked again */
    assert_int_equal(task_queue_finish(queue, 1, 1, 6, 12, 0, NULL, NULL), 0);
    assert_int_equal(task_queue_counts(queue).records_total, 50);
    assert_int_equal(finish(queue, lease(queue, 12, 0)), 0);
    assert_true(task_queue_is_finished(queue));
    task_queue_free(queue);
}

/* Random events; the truth is kept beside: how often each task's records were counted in each pass.
 */
TEST(test_random_history_counts_exactly)
{
    uint64_t seed = the_seed(1);
    enum { TASKS = 13, PASSES = 40, HOLDERS = 5 };
    struct task_queue *queue = make_queue(TASKS, PASSES, 1);
    uint64_t now = 0, counted = 0;

    for (int step = 0; step < 200000 && !task_queue_is_finished(queue); step++) {
        struct task_queue_counts before = task_queue_counts(queue), after;
        uint32_t random, id, pass = task_queue_pass(queue);
        const struct task *task;

        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        random = (uint32_t)(seed >> 33);
        id = random / 64 % TASKS;
        task = task_queue_task(queue, id);
        switch (random % 8) {
        case 0:
        case 1:
        case 2: {
            struct task *given;

            (void)task_queue_lease(queue, 1 + random / 8 % HOLDERS, NULL, 0, now, &given);
            break;
        }
        case 3:
        case 4:
        case 5:
            if (task->state == TASK_LEASED) {
                assert_int_equal(finish(queue, task), 0);
                counted += task->n_records;
            } else if (task->state == TASK_TODO && task->lease > 0) {
                (void)task_queue_finish(queue, id, pass, task->lease, 1, 0, NULL, NULL);
            }
            break;
        case 6:
            if (random / 8 % 4 == 0)
                (void)task_queue_release_holder(queue, 1 + random / 32 % HOLDERS,
                                                random & 1024 ? &dead : NULL);
            break;
        default:
            now += 7;
            (void)task_queue_expire(queue, now);
            break;
        }
        after = task_queue_counts(queue);
        assert_int_equal(after.records_total, counted);
        assert_int_equal(after.todo + after.leased + after.done + after.discarded, TASKS);
        assert_true(task_queue_pass(queue) >= pass);
        if (task_queue_pass(queue) == pass)
            assert_true(after.records_done >= before.records_done);
    }
    assert_true(task_queue_is_finished(queue));
    assert_int_equal(counted + task_queue_counts(queue).records_discarded_total,
                     (uint64_t)TASKS * 10 * PASSES);
    task_queue_free(queue);
}
