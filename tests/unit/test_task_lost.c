/* SPDX-License-Identifier: Apache-2.0 */
/* test_task_lost.c - records of damaged chunks: those that are done and those that are lost are
 * together all that there are, with any ends of holders and passes */
#include <errno.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/seeds.h"
#include "tests/unit/task_queue_fixture.h"
#include "tests/unit/test.h"

static const struct task_queue_config rules = { .passes = 2,
                                                .failures_max = 3,
                                                .lease_timeout_us = 100 };

static struct task_finish end_of(const struct task_queue *queue, const struct task *task,
                                 uint64_t lost)
{
    return (struct task_finish){ .task = task->id,
                                 .pass = task_queue_pass(queue),
                                 .lease = task->lease,
                                 .lost_records = lost,
                                 .lost_chunks = lost > 0 ? 1 : 0 };
}

static int end(struct task_queue *queue, const struct task *task, uint64_t lost)
{
    const struct task_finish finish = end_of(queue, task, lost);

    return task_queue_end(queue, &finish, task->holder, 0, NULL, NULL);
}

static void assert_lost(const struct task_queue *queue, uint64_t records, uint64_t chunks,
                        uint64_t records_total)
{
    const struct task_queue_counts counts = task_queue_counts(queue);

    assert_int_equal(counts.records_lost, records);
    assert_int_equal(counts.chunks_lost, chunks);
    assert_int_equal(counts.records_lost_total, records_total);
}

TEST(test_a_pass_is_what_was_done_and_what_was_lost)
{
    struct task_queue *queue = queue_with(&rules, 3);
    struct task_queue_counts counts;

    assert_int_equal(end(queue, lease(queue, 1, 0), 4), 0);
    assert_int_equal(end(queue, lease(queue, 1, 0), 10), 0); /* all of it */
    counts = task_queue_counts(queue);
    assert_int_equal(counts.records_done, 6);
    assert_int_equal(counts.done, 2);
    assert_lost(queue, 14, 2, 14);
    assert_int_equal(end(queue, lease(queue, 1, 0), 0), 0); /* ends the pass */
    counts = task_queue_counts(queue);
    assert_int_equal(counts.records_done, 0);
    assert_int_equal(counts.records_total, 16);
    assert_lost(queue, 0, 0, 14);
    for (int i = 0; i < 3; i++) /* the next pass tells for itself */
        assert_int_equal(end(queue, lease(queue, 2, 0), i == 1 ? 3 : 0), 0);
    counts = task_queue_counts(queue);
    assert_true(task_queue_is_finished(queue));
    assert_int_equal(counts.records_done, 27);
    assert_lost(queue, 3, 1, 17);
    assert_int_equal(counts.records_total + counts.records_lost_total, 2 * counts.records_pass);
    assert_int_equal(counts.chunks_lost_total, 3);
    task_queue_free(queue);
}

/* The answer was lost, and the holder says it again, with another loss: the first word counts. */
TEST(test_a_loss_counts_once)
{
    struct task_queue *queue = queue_with(&rules, 2);
    const struct task *task = lease(queue, 1, 0);

    assert_int_equal(end(queue, task, 4), 0);
    assert_int_equal(end(queue, task, 4), 0);
    assert_int_equal(end(queue, task, 0), 0);
    assert_int_equal(end(queue, task, 9), 0);
    assert_lost(queue, 4, 1, 4);
    assert_int_equal(task_queue_counts(queue).records_done, 6);
    task_queue_free(queue);
}

/* It dies, or is too late: what it lost is nothing, and the next holder tells for itself. */
TEST(test_the_loss_of_one_who_lost_the_lease_is_not_counted)
{
    struct task_queue *queue = queue_with(&rules, 1);
    struct task_finish late = end_of(queue, lease(queue, 1, 0), 4);
    const struct task *task;

    assert_int_equal(task_queue_release_holder(queue, 1, &dead), 1);
    assert_int_equal(task_queue_end(queue, &late, 1, 0, NULL, NULL), EDL_ESTALE);
    assert_lost(queue, 0, 0, 0);
    task = lease(queue, 2, 0);
    assert_int_equal(task_queue_end(queue, &late, 1, 0, NULL, NULL), EDL_ESTALE);
    assert_int_equal(end(queue, task, 7), 0);
    assert_int_equal(task_queue_end(queue, &late, 1, 0, NULL, NULL), EDL_ESTALE);
    assert_lost(queue, 0, 0, 7);
    assert_int_equal(task_queue_counts(queue).records_total, 3);
    task_queue_free(queue);
}

TEST(test_no_more_is_lost_than_a_task_has)
{
    static const struct {
        uint64_t records;
        uint32_t chunks;
    } wrong[] = { { 11, 1 }, { UINT64_MAX, 1 }, { 10, 2 }, { 1, 0 }, { 0, 1 } };
    struct task_queue *queue = queue_with(&rules, 1);
    const struct task *task = lease(queue, 1, 0);
    struct edl_error error = { 0 };

    for (size_t i = 0; i < ELEMENTS(wrong); i++) {
        struct task_finish finish = end_of(queue, task, 0);

        finish.lost_records = wrong[i].records;
        finish.lost_chunks = wrong[i].chunks;
        error = (struct edl_error){ 0 };
        assert_int_equal(task_queue_end(queue, &finish, 1, 0, NULL, &error), -EINVAL);
        assert_string_equal(error.pointer, "/lost");
        assert_non_null(strstr(error.text, "task 0, which has 10 records in 1 chunk,"));
        assert_int_equal(task->state, TASK_LEASED);
    }
    assert_lost(queue, 0, 0, 0);
    assert_int_equal(end(queue, task, 10), 0);
    task_queue_free(queue);
}

TEST(test_copy_and_restore_know_what_was_lost)
{
    struct task_queue *queue = queue_with(&rules, 3), *copy, *restored;

    assert_int_equal(end(queue, lease(queue, 1, 0), 4), 0);
    copy = task_queue_copy(queue);
    assert_lost(copy, 4, 1, 4);
    assert_int_equal(end(copy, lease(copy, 1, 0), 1), 0);
    assert_lost(copy, 5, 2, 5);
    assert_lost(queue, 4, 1, 4);
    restored = queue_with(&rules, 3);
    task_queue_restore(restored, 0,
                       &(struct task_queue_counts){
                           .records_total = 6, .records_lost_total = 4, .chunks_lost_total = 1 });
    assert_int_equal(task_queue_restore_task(restored, 0, TASK_DONE, 1, 0, 1, 0), 0);
    task_queue_restore_lost(restored, 0, 4, 1);
    task_queue_restore_lost(restored, 1, 4, 1); /* is not done: has lost nothing */
    assert_lost(restored, 4, 1, 4);
    assert_int_equal(task_queue_counts(restored).records_done, 6);
    task_queue_close(restored);
    assert_lost(restored, 4, 1, 4);
    task_queue_free(restored);
    task_queue_free(copy);
    task_queue_free(queue);
}

/* Random events of all kinds; beside them the sums. */
TEST(test_random_history_adds_up)
{
    enum { TASKS = 13, HOLDERS = 5 };
    const struct task_queue_config config = { .passes = 40,
                                              .failures_max = 1,
                                              .lease_timeout_us = 100 };
    struct task_queue *queue = queue_with(&config, TASKS);
    uint64_t seed = the_seed(1), now = 0, lost = 0;

    for (int step = 0; step < 200000 && !task_queue_is_finished(queue); step++) {
        struct task_queue_counts counts;
        const struct task *task;
        struct task *given;
        uint32_t random, pass = task_queue_pass(queue);
        uint64_t in_tasks = 0;

        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        random = (uint32_t)(seed >> 33);
        task = task_queue_task(queue, random / 64 % TASKS);
        if (random % 8 < 3) {
            (void)task_queue_lease(queue, 1 + random / 8 % HOLDERS, NULL, 0, now, &given);
        } else if (random % 8 < 6 && task->state == TASK_LEASED) {
            assert_int_equal(end(queue, task, random / 1024 % 11), 0);
            lost += random / 1024 % 11;
        } else if (random % 8 == 6 && random / 8 % 4 == 0) {
            (void)task_queue_release_holder(queue, 1 + random / 32 % HOLDERS,
                                            random & 1024 ? &dead : NULL);
        } else if (random % 8 == 7) {
            now += 7;
            (void)task_queue_expire(queue, now);
        }
        counts = task_queue_counts(queue);
        assert_int_equal(counts.records_lost_total, lost);
        for (uint32_t i = 0; i < TASKS; i++)
            in_tasks += task_queue_task(queue, i)->lost_records;
        assert_int_equal(in_tasks, counts.records_lost);
        assert_int_equal(counts.records_done + counts.records_lost, (uint64_t)counts.done * 10);
        assert_true(task_queue_pass(queue) >= pass);
    }
    assert_true(task_queue_is_finished(queue));
    assert_int_equal(task_queue_counts(queue).records_total + lost +
                         task_queue_counts(queue).records_discarded_total,
                     (uint64_t)TASKS * 10 * 40);
    task_queue_free(queue);
}
