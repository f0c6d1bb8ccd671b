/* SPDX-License-Identifier: Apache-2.0 */
/* test_task_deaths.c - a task is discarded for the deaths of its holders only when it is the cause
 *
 * A small job: each slot has a process, which holds one task; who dies is replaced. */
#include "scheduler/core/base/queue_rules.h"
#include "tests/unit/task_queue_fixture.h"
#include "tests/unit/test.h"

#define SLOTS_MAX 8

struct small_job {
    struct task_queue *queue;
    uint64_t alive[SLOTS_MAX]; /* incarnations */
    struct task *held[SLOTS_MAX];
    uint64_t next;
    uint32_t n_slots;
};

static struct small_job job_with(uint32_t n_slots, uint32_t n_tasks, uint32_t tries,
                                 uint32_t restart_max)
{
    const struct job_spec spec = { .passes = 2, .task_tries = tries, .restart_max = restart_max };
    const struct task_queue_config config = queue_rules(&spec);
    struct small_job job = { .queue = queue_with(&config, n_tasks), .next = 1, .n_slots = n_slots };

    for (uint32_t i = 0; i < n_slots; i++)
        job.alive[i] = job.next++;
    return job;
}

static void take(struct small_job *job, uint32_t slot)
{
    if (job->held[slot] == NULL && task_queue_lease(job->queue, job->alive[slot], NULL, 0, 0,
                                                    &job->held[slot]) != TASK_LEASE_GIVEN)
        job->held[slot] = NULL;
}

static void take_all(struct small_job *job)
{
    for (uint32_t i = 0; i < job->n_slots; i++)
        take(job, i);
}

static void finish_held(struct small_job *job, uint32_t slot)
{
    struct task *task = job->held[slot];

    job->held[slot] = NULL;
    assert_int_equal(task_queue_finish(job->queue, task->id, task_queue_pass(job->queue),
                                       task->lease, job->alive[slot], 0, NULL, NULL),
                     0);
}

static void die(struct small_job *job, uint32_t slot)
{
    uint64_t others[SLOTS_MAX];
    struct task_death death = { .slot = slot + 1, .next = job->next, .at_work = others };

    for (uint32_t i = 0; i < job->n_slots; i++)
        if (i != slot)
            others[death.n_at_work++] = job->alive[i];
    (void)task_queue_release_holder(job->queue, job->alive[slot], &death);
    job->held[slot] = NULL;
    job->alive[slot] = job->next++;
}

/* finish_pass - all is done that is left, without another death; the passes before stay counted */
static void finish_pass(struct small_job *job)
{
    uint32_t pass = task_queue_pass(job->queue);

    while (task_queue_pass(job->queue) == pass)
        for (uint32_t i = 0; i < job->n_slots && task_queue_pass(job->queue) == pass; i++) {
            take(job, i);
            if (job->held[i] != NULL)
                finish_held(job, i);
        }
}

static void assert_all_trained(struct small_job *job)
{
    assert_int_equal(task_queue_counts(job->queue).tasks_discarded_total, 0);
    finish_pass(job);
    assert_int_equal(task_queue_counts(job->queue).records_total,
                     10 * task_queue_n_tasks(job->queue));
}

/* Alone or beside others, in the middle of the data or at its last task. */
TEST(test_kills_of_one_process_lose_nothing)
{
    for (uint32_t n_slots = 1; n_slots <= 4; n_slots++)
        for (uint32_t n_tasks = 1; n_tasks <= 5; n_tasks += 2) {
            struct small_job job = job_with(n_slots, n_tasks, 0, 10);

            take_all(&job);
            for (uint32_t i = 0; i < 8; i++) {
                die(&job, 0);
                take(&job, 0);
            }
            assert_all_trained(&job);
            task_queue_free(job.queue);
        }
}

/* One that dies often, and once somebody else to whom its task went. */
TEST(test_one_that_dies_often_blames_no_task)
{
    struct small_job job = job_with(2, 1, 0, 20);

    for (uint32_t i = 0; i < 7; i++) {
        take(&job, 0);
        die(&job, 0);
    }
    take(&job, 1);
    die(&job, 1);
    assert_all_trained(&job);
    task_queue_free(job.queue);
}

/* Somebody kills the holder of a long task again and again, whichever of the two it is. */
TEST(test_kills_of_two_in_turn_lose_nothing)
{
    struct small_job job = job_with(2, 1, 0, 10);

    for (uint32_t i = 0; i < 8; i++) {
        take(&job, i % 2);
        die(&job, i % 2);
    }
    assert_all_trained(&job);
    task_queue_free(job.queue);
}

/* As when a file system is away, or the machine of some of them. */
TEST(test_deaths_of_many_at_once_lose_nothing)
{
    for (uint32_t n_dying = 2; n_dying <= 4; n_dying++) {
        struct small_job job = job_with(4, 6, 0, 20);

        for (uint32_t round = 0; round < 9; round++) {
            take_all(&job);
            for (uint32_t i = 0; i < n_dying; i++) /* in another order each time */
                die(&job, (i + round) % n_dying);
        }
        assert_all_trained(&job);
        task_queue_free(job.queue);
    }
}

/* poison - whoever holds that task dies, the others go on; returns how many died */
static uint32_t poison(struct small_job *job, uint32_t id)
{
    uint32_t pass = task_queue_pass(job->queue);
    uint32_t n = 0;

    for (uint32_t turn = 0; n < 100 && task_queue_pass(job->queue) == pass; turn++) {
        uint32_t slot = turn % job->n_slots;

        take(job, slot);
        if (job->held[slot] != NULL && job->held[slot]->id == id) {
            die(job, slot);
            n++;
        } else if (job->held[slot] != NULL) {
            finish_held(job, slot);
        }
    }
    return n;
}

TEST(test_a_task_that_kills_each_holder_ends)
{
    for (uint32_t n_slots = 2; n_slots <= 8; n_slots++)
        for (uint32_t id = 0; id < 12; id += 11) {
            struct small_job job = job_with(n_slots, 12, 0, 10);
            uint32_t n = poison(&job, id);

            if (n_slots == 2)
                assert_int_equal(n, 2 * TASK_DEATHS_MAX); /* nobody else outlives them */
            else
                assert_in_range(n, TASK_DEATHS_MAX, 2 * TASK_DEATHS_MAX);
            assert_int_equal(task_queue_counts(job.queue).tasks_deadly_total, 1);
            assert_int_equal(task_queue_counts(job.queue).tasks_discarded_total, 1);
            assert_int_equal(task_queue_counts(job.queue).records_total, 110);
            assert_int_equal(poison(&job, id), n); /* the next pass tries it as often */
            assert_true(task_queue_is_finished(job.queue));
            task_queue_free(job.queue);
        }
}

/* Nobody else tells what its deaths mean: the job's restarts are used before. */
TEST(test_a_task_that_kills_the_only_process_ends)
{
    struct small_job job = job_with(1, 4, 0, 10);

    assert_int_equal(poison(&job, 1), 10);
    assert_int_equal(task_queue_counts(job.queue).records_total, 30);
    task_queue_free(job.queue);
    job = job_with(1, 4, 0, 25);
    assert_int_equal(poison(&job, 1), 25);
    task_queue_free(job.queue);
}

TEST(test_tries_are_the_owners_word)
{
    struct small_job job = job_with(3, 4, 1, 10);

    assert_int_equal(poison(&job, 1), 2); /* the first one says nothing */
    task_queue_free(job.queue);
    job = job_with(2, 4, 1, 10);
    assert_int_equal(poison(&job, 1), 10); /* nobody else outlives them */
    task_queue_free(job.queue);
    job = job_with(3, 4, 9, 10);
    assert_in_range(poison(&job, 1), 9, 12);
    task_queue_free(job.queue);
}

/* A copy, and a queue that is read back, go on counting. */
TEST(test_deaths_are_remembered)
{
    struct small_job job = job_with(3, 3, 0, 10), other;
    const struct task *task;

    for (uint32_t i = 0; i < 2; i++) {
        take(&job, i);
        assert_int_equal(job.held[i]->id, 0);
        die(&job, i);
    }
    other = job;
    other.queue = task_queue_copy(job.queue);
    task = task_queue_task(job.queue, 0);
    assert_int_equal(task->deaths, 2);
    assert_int_equal(task->outlived, 1);
    assert_int_equal(task->died_slot, 2);
    assert_int_equal(poison(&other, 0), poison(&job, 0));
    task_queue_free(other.queue);
    task_queue_free(job.queue);
}

/* Its holder is cut off and goes on: nobody knows what it has done, and nothing has failed. */
TEST(test_what_is_taken_back_has_not_failed)
{
    struct small_job job = job_with(2, 3, 0, 10);

    for (uint32_t i = 0; i < 20; i++) {
        uint64_t due_us;

        job.held[0] = lease(job.queue, job.alive[0], 0);
        due_us = task_queue_due_us(job.queue, job.alive[0]);
        assert_int_equal(task_queue_take_back(job.queue, job.alive[0], due_us - 1), 0);
        assert_int_equal(task_queue_take_back(job.queue, job.alive[0], due_us), 1);
        job.held[0] = NULL;
    }
    assert_int_equal(task_queue_task(job.queue, 0)->failures, 0);
    assert_all_trained(&job);
    task_queue_free(job.queue);
}
