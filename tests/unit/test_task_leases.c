/* SPDX-License-Identifier: Apache-2.0 */
/* test_task_leases.c - how long a task may be held, which follows the time that tasks of the job
 * take
 *
 * A slow one is not done twice. The task of a holder that hangs comes back soon. */
#include <stdint.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/base/task_times.h"
#include "shared/macro.h"
#include "tests/unit/task_queue_fixture.h"
#include "tests/unit/test.h"

#define S USEC_PER_SEC
#define LEAST_US (20 * S)
#define MOST_US (1200 * S)

static struct task_queue *make_queue(uint32_t n_tasks)
{
    const struct task_queue_config config = {
        .passes = 3, .failures_max = 3, .lease_timeout_us = MOST_US, .lease_least_us = LEAST_US
    };

    return queue_with(&config, n_tasks);
}

static void finish(struct task_queue *queue, const struct task *task, uint64_t now_us)
{
    assert_int_equal(task_queue_finish(queue, task->id, task_queue_pass(queue), task->lease,
                                       task->holder, now_us, NULL, NULL),
                     0);
}

/* work - a holder does n tasks, one after the other, and loses none; returns when it is done */
static uint64_t work(struct task_queue *queue, uint64_t holder, uint32_t n, uint64_t each_us,
                     uint64_t now_us)
{
    for (uint32_t i = 0; i < n; i++) {
        struct task *task = lease(queue, holder, now_us);

        now_us += each_us;
        assert_int_equal(task_queue_expire(queue, now_us), 0);
        finish(queue, task, now_us);
    }
    return now_us;
}

/* lease_us - what a new holder of one task would have */
static uint64_t lease_us(struct task_queue *queue, uint64_t now_us)
{
    struct task *task = lease(queue, 99, now_us);
    uint64_t us = task_queue_next_deadline_us(queue) - now_us;

    assert_int_equal(task_queue_fail(queue, task->id, task_queue_pass(queue), task->lease, 99,
                                     now_us, true, NULL),
                     0);
    (void)task_queue_release_holder(queue, 99, NULL);
    return us;
}

TEST(test_lease_follows_what_tasks_take)
{
    static const struct {
        uint64_t each_us, least_us, most_us;
    } cases[] = {
        { 0, LEAST_US, LEAST_US },     { S / 10, LEAST_US, LEAST_US },
        { 4 * S, LEAST_US, LEAST_US }, { 6 * S, 24 * S, 30 * S },
        { 60 * S, 240 * S, 300 * S },  { 250 * S, 1000 * S, MOST_US },
        { 900 * S, MOST_US, MOST_US },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct task_queue *queue = make_queue(200);
        uint64_t now_us = work(queue, 1, TASK_TIMES_LEAST - 1, cases[i].each_us, 0);

        assert_int_equal(lease_us(queue, now_us), MOST_US); /* too few were seen */
        now_us = work(queue, 1, 1, cases[i].each_us, now_us);
        assert_in_range(lease_us(queue, now_us), cases[i].least_us, cases[i].most_us);
        now_us = work(queue, 1, 150, cases[i].each_us, now_us);
        assert_in_range(lease_us(queue, now_us), cases[i].least_us, cases[i].most_us);
        task_queue_free(queue);
    }
}

/* linger - as work, where nobody looks whether leases are over */
static uint64_t linger(struct task_queue *queue, uint64_t holder, uint32_t n, uint64_t each_us,
                       uint64_t now_us)
{
    for (uint32_t i = 0; i < n; i++, now_us += each_us)
        finish(queue, lease(queue, holder, now_us), now_us + each_us);
    return now_us;
}

/* One in twenty may be longer. */
TEST(test_rare_long_tasks_say_little)
{
    struct task_queue *queue = make_queue(200);
    uint64_t now_us = work(queue, 1, 39, S, 0);

    now_us = linger(queue, 2, 1, 100 * S, now_us);
    assert_int_equal(lease_us(queue, now_us), LEAST_US);
    now_us = linger(queue, 2, 4, 100 * S, now_us);
    assert_in_range(lease_us(queue, now_us), 400 * S, 500 * S);
    now_us = work(queue, 1, TASK_TIMES_WINDOW, S, now_us); /* these were long ago */
    assert_int_equal(lease_us(queue, now_us), LEAST_US);
    task_queue_free(queue);
}

TEST(test_task_of_a_hung_holder_comes_back_in_time)
{
    struct task_queue *queue = make_queue(40);
    uint64_t now_us = work(queue, 1, 20, S, 0);
    struct task *hung = lease(queue, 2, now_us);

    assert_int_equal(task_queue_expire(queue, now_us + LEAST_US - 1), 0);
    assert_int_equal(hung->state, TASK_LEASED);
    assert_int_equal(task_queue_expire(queue, now_us + LEAST_US), 1);
    assert_int_equal(hung->state, TASK_TODO);
    assert_int_equal(hung->failures, 1);
    assert_int_equal(task_queue_next_deadline_us(queue), NEVER_US);
    task_queue_free(queue);
}

/* It took its task before anything was known of what tasks take. */
TEST(test_holder_that_hangs_from_the_first_is_found_too)
{
    struct task_queue *queue = make_queue(40);
    struct task *hung = lease(queue, 2, 0);
    uint64_t now_us = work(queue, 1, TASK_TIMES_LEAST, S, 0);

    assert_true(now_us < LEAST_US);
    assert_int_equal(task_queue_next_deadline_us(queue), LEAST_US);
    assert_int_equal(task_queue_expire(queue, LEAST_US), 1);
    assert_int_equal(hung->state, TASK_TODO);
    task_queue_free(queue);
}

/* A slow machine among fast ones: what others take says little of it. It loses one task. */
TEST(test_slow_holder_has_longer_leases_than_others)
{
    struct task_queue *queue = make_queue(400);
    uint64_t now_us = work(queue, 1, 20, S, 0);
    size_t lost = 0;

    for (int i = 0; i < 5; i++) {
        struct task *task = lease(queue, 2, now_us);

        for (int k = 0; k < 50; k++) {
            struct task *other = lease(queue, 1, now_us);

            now_us += S;
            lost += task_queue_expire(queue, now_us);
            finish(queue, other, now_us);
        }
        if (task->state == TASK_LEASED && task->holder == 2)
            finish(queue, task, now_us);
    }
    assert_int_equal(lost, 1);
    task_queue_free(queue);
}

/* All of a job's tasks take longer from some moment on: each holder loses one at most. */
TEST(test_job_that_slows_down_loses_each_task_once)
{
    enum { HOLDERS = 8 };
    struct task_queue *queue = make_queue(100);
    uint64_t now_us = work(queue, 1, 64, S, 0);
    struct task *tasks[HOLDERS];

    for (int i = 0; i < HOLDERS; i++)
        tasks[i] = lease(queue, (uint64_t)(10 + i), now_us);
    assert_true(task_queue_expire(queue, now_us + 30 * S) <= HOLDERS);
    now_us += 60 * S;
    for (int i = 0; i < HOLDERS; i++)
        tasks[i] = lease(queue, (uint64_t)(10 + i), now_us);
    assert_int_equal(task_queue_expire(queue, now_us + 60 * S), 0);
    for (int i = 0; i < HOLDERS; i++)
        finish(queue, tasks[i], now_us + 60 * S);
    task_queue_free(queue);
}

/* Who takes many at once has the time for all of them, and what each took is its part. */
TEST(test_holder_of_many_has_the_time_for_them)
{
    enum { MANY = 10 };
    struct task_queue *queue = make_queue(100);
    uint64_t now_us = work(queue, 1, 10, 10 * S, 0);
    struct task *tasks[MANY];

    for (int i = 0; i < MANY; i++)
        tasks[i] = lease(queue, 2, now_us);
    now_us += MANY * 10 * S;
    assert_int_equal(task_queue_expire(queue, now_us), 0);
    for (int i = 0; i < MANY; i++)
        finish(queue, tasks[i], now_us);
    assert_in_range(lease_us(queue, now_us), 40 * S, 400 * S);

    /* one by one, each is a sign of life for the rest; one that hangs then loses them together */
    for (int i = 0; i < 5; i++)
        tasks[i] = lease(queue, 3, now_us);
    for (int i = 0; i < 2; i++) {
        now_us += 30 * S;
        assert_int_equal(task_queue_expire(queue, now_us), 0);
        finish(queue, tasks[i], now_us);
    }
    assert_int_equal(task_queue_expire(queue, now_us + 119 * S), 0);
    assert_int_equal(task_queue_expire(queue, now_us + MOST_US), 3);
    task_queue_free(queue);
}

/* However many it holds, the longest lease is the longest. */
TEST(test_many_tasks_are_held_no_longer_than_the_longest_lease)
{
    struct task_queue *queue = make_queue(200);
    uint64_t now_us = work(queue, 1, 10, 60 * S, 0);

    for (int i = 0; i < 60; i++)
        (void)lease(queue, 2, now_us);
    assert_int_equal(task_queue_next_deadline_us(queue), now_us + MOST_US);
    assert_int_equal(task_queue_expire(queue, now_us + MOST_US), 60);
    task_queue_free(queue);
}

TEST(test_copy_has_the_same_leases)
{
    struct task_queue *queue = make_queue(100), *copy;
    uint64_t now_us = work(queue, 1, 20, 30 * S, 0);

    (void)lease(queue, 1, now_us);
    (void)lease(queue, 2, now_us + S);
    copy = task_queue_copy(queue);
    assert_int_equal(task_queue_next_deadline_us(copy), task_queue_next_deadline_us(queue));
    assert_int_equal(task_queue_expire(copy, task_queue_next_deadline_us(copy)), 1);
    assert_int_equal(task_queue_expire(queue, task_queue_next_deadline_us(queue)), 1);
    assert_int_equal(task_queue_next_deadline_us(copy), task_queue_next_deadline_us(queue));
    assert_int_equal(lease_us(copy, now_us), lease_us(queue, now_us));
    task_queue_free(queue);
    task_queue_free(copy);
}

/* What stood still is due so much later, and took so much less; a lease is never longer than one
 * that begins now. */
TEST(test_time_that_a_holder_stood_still_is_none_of_its_tasks)
{
    struct task_queue *queue = make_queue(200);
    uint64_t now_us = work(queue, 1, TASK_TIMES_LEAST, 10 * S, 0);
    struct task *task = lease(queue, 1, now_us);
    uint64_t due_us = task_queue_next_deadline_us(queue);

    assert_in_range(due_us - now_us, 40 * S, 50 * S);
    task_queue_stood_still(queue, 1, 30 * S, now_us + 36 * S);
    assert_int_equal(task_queue_next_deadline_us(queue), due_us + 30 * S);
    assert_int_equal(task_queue_expire(queue, due_us), 0);
    assert_int_equal(task_queue_held_us(queue, 1, now_us + 40 * S), 10 * S);
    finish(queue, task, now_us + 40 * S);
    assert_int_equal(lease_us(queue, now_us + 40 * S), due_us - now_us); /* it took 10 s */
    task_queue_stood_still(queue, 7, 30 * S, now_us);                    /* it holds nothing */

    now_us += 40 * S;
    (void)lease(queue, 1, now_us);
    task_queue_stood_still(queue, 1, 300 * S, now_us + 5 * S);
    assert_int_equal(task_queue_next_deadline_us(queue) - (now_us + 5 * S), due_us - 80 * S);
    assert_int_equal(task_queue_expire(queue, now_us + 60 * S), 1);
    task_queue_free(queue);
}

/* What could not be heard may have worked: it is due later, and took as long as it did. */
TEST(test_holder_that_nobody_could_hear_loses_no_task)
{
    struct task_queue *queue = make_queue(200);
    uint64_t now_us = work(queue, 1, TASK_TIMES_LEAST, 10 * S, 0);
    struct task *task = lease(queue, 1, now_us);
    uint64_t due_us = task_queue_next_deadline_us(queue);

    task_queue_unheard(queue, 1, 35 * S, now_us + 60 * S);
    assert_int_equal(task_queue_next_deadline_us(queue), due_us + 35 * S);
    assert_int_equal(task_queue_expire(queue, now_us + 60 * S), 0);
    assert_int_equal(task_queue_held_us(queue, 1, now_us + 60 * S), 60 * S);
    finish(queue, task, now_us + 60 * S);
    task_queue_unheard(queue, 1, 35 * S, now_us + 60 * S); /* it holds nothing */
    assert_int_equal(task_queue_next_deadline_us(queue), NEVER_US);
    task_queue_free(queue);
}
