/* SPDX-License-Identifier: Apache-2.0 */
/* test_data_ends.c - what failed tasks make of a job's passes and of its end */
#include <stdio.h>

#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

/* Counts what the log is told, on the way to the disk. */
static unsigned n_passes_ended;

static void commit_and_count(void *userdata, const struct effect *effects, size_t n)
{
    for (size_t i = 0; i < n; i++)
        n_passes_ended += effects[i].kind == EFFECT_EVENT && streq(effects[i].event, "pass-ended");
    memory_store_commit(userdata, effects, n);
}

enum failure { TASK_FAILS, LEASE_EXPIRES, HOLDER_DIES, FAILURES };
/* how often the only process does so before its task is skipped */
static const unsigned tries[FAILURES] = { 4, 4, 10 };

static void wait_for(struct world *w, const struct job *job, uint32_t index)
{
    for (unsigned i = 0; i < 120 && world_live(job, "trainer", index) == NULL; i++)
        world_second(w);
    world_run(w, 2);
}

static void fail_task(struct world *w, const struct job *job, enum failure failure)
{
    struct process *process = world_live(job, "trainer", 0);
    enum task_lease_result result = TASK_LEASE_WAIT;
    struct task *task = NULL;
    bool save = false;

    assert_int_equal(cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task, &save,
                                        NULL),
                     0);
    assert_int_equal(result, TASK_LEASE_GIVEN);
    if (failure == TASK_FAILS)
        assert_int_equal(cluster_fail_task(w->cluster, process, task->id,
                                           task_queue_pass(job->queue), task->lease, false, NULL,
                                           w->now, NULL),
                         0);
    else if (failure == HOLDER_DIES)
        world_exit(w, process, 1, 0);
    if (failure == HOLDER_DIES) {
        world_run(w, 1);
        wait_for(w, job, 0);
    }
    if (failure == LEASE_EXPIRES)
        for (unsigned i = 0; i < 61; i++)
            world_second(w);
    world_run(w, 4);
}

static void finish_task(struct world *w, const struct job *job)
{
    struct process *process = world_live(job, "trainer", 0);
    enum task_lease_result result = TASK_LEASE_WAIT;
    struct task *task = NULL;
    bool save = false;

    assert_int_equal(cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task, &save,
                                        NULL),
                     0);
    assert_int_equal(result, TASK_LEASE_GIVEN);
    assert_int_equal(cluster_finish_task(w->cluster, process, task->id, task_queue_pass(job->queue),
                                         task->lease, w->now, NULL),
                     0);
}

/* Whoever follows the data of a job that trained nothing must not be told of success, however its
 * tasks failed. */
TEST(test_job_of_which_no_task_was_trained_fails)
{
    for (int failure = TASK_FAILS; failure < FAILURES; failure++) {
        struct world *w = world_new(1, 1000, GIB, 1000);
        struct job_spec *spec = world_spec("one", 1, 1, 200, 0, 0);
        struct job *job;

        spec->restart_backoff_us = 0;
        spec->passes = 2;
        job = world_submit(w, spec);
        world_run(w, 3);
        assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(1, 2), "aa", w->now,
                                             NULL),
                         0);
        for (unsigned i = 0; i < tries[failure]; i++) {
            assert_false(job->state == JOB_STOPPING || job_state_is_final(job->state));
            fail_task(w, job, (enum failure)failure);
        }
        world_run(w, 3);
        assert_int_equal(job->state, JOB_FAILED);
        assert_string_equal(job->reason_code, "all-tasks-failed");
        assert_non_null(strstr(job->reason, "all task finished, but none was trained: 1 of 1 task "
                                            "of pass 1 failed 4 times each"));
        assert_int_equal(task_queue_counts(job->queue).tasks_discarded_total, 1);
        world_free(w);
    }
}

static void save_model(struct world *w, const struct job *job)
{
    struct process *process = world_live(job, "trainer", 0);
    enum task_lease_result result = TASK_LEASE_WAIT;
    struct task *task = NULL;
    bool save = false;

    assert_int_equal(cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task, &save,
                                        NULL),
                     0);
    assert_int_equal(result, TASK_LEASE_FINISHED);
    assert_true(save);
    assert_int_equal(cluster_model_saved(w->cluster, process, "/out/model", w->now, NULL), 0);
    world_exit(w, process, 0, 0);
}

/* One task of two is bad in each of two passes: the job succeeds and says what it left out. */
TEST(test_skipped_data_is_said_at_the_end)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job_spec *spec = world_spec("one", 1, 1, 200, 0, 0);
    struct job *job;

    spec->passes = 2;
    job = world_submit(w, spec);
    world_run(w, 3);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(2, 2), "aa", w->now, NULL),
                     0);
    for (unsigned pass = 0; pass < 2; pass++) {
        finish_task(w, job);
        for (unsigned i = 0; i < 4; i++)
            fail_task(w, job, TASK_FAILS);
    }
    save_model(w, job);
    world_run(w, 3);
    assert_int_equal(job->state, JOB_SUCCEEDED);
    assert_string_equal(job->reason, "all passes over the data ended and the model is saved: "
                                     "/out/model; 2 tasks with 20 of 40 records were skipped after "
                                     "4 failures each");
    world_free(w);
}

/* However the last task of a pass went: who follows the log learns of the pass' end. */
TEST(test_pass_ends_with_an_event_when_its_last_task_is_discarded)
{
    for (int failure = TASK_FAILS; failure < FAILURES; failure++) {
        struct world *w = world_new(1, 1000, GIB, 1000);
        struct job_spec *spec = world_spec("one", 1, 1, 200, 0, 0);
        struct job *job;

        spec->restart_backoff_us = 0;
        spec->passes = 2;
        w->disk.commit = commit_and_count;
        n_passes_ended = 0;
        job = world_submit(w, spec);
        world_run(w, 3);
        assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(2, 2), "aa", w->now,
                                             NULL),
                         0);
        finish_task(w, job);
        for (unsigned i = 0; i < tries[failure]; i++) {
            assert_int_equal(n_passes_ended, 0);
            fail_task(w, job, (enum failure)failure);
        }
        assert_int_equal(task_queue_pass(job->queue), 1);
        assert_int_equal(n_passes_ended, 1);
        world_free(w);
    }
}

/* hold - it takes its next task, NULL: none is left */
static struct task *hold(struct world *w, const struct job *job, uint32_t index)
{
    struct process *process = world_live(job, "trainer", index);
    enum task_lease_result result = TASK_LEASE_WAIT;
    struct task *task = NULL;
    bool save;

    assert_non_null(process);
    assert_int_equal(cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task, &save,
                                        NULL),
                     0);
    return result == TASK_LEASE_GIVEN ? task : NULL;
}

static void finish_held(struct world *w, const struct job *job, uint32_t index,
                        const struct task *task)
{
    assert_int_equal(cluster_finish_task(w->cluster, world_live(job, "trainer", index), task->id,
                                         task_queue_pass(job->queue), task->lease, w->now, NULL),
                     0);
}

/* data_job - with so many processes and tasks */
static struct job *data_job(struct world *w, uint32_t n, uint32_t n_tasks)
{
    struct job_spec *spec = world_spec("one", n, n, 200, 0, 0);
    struct job *job;

    spec->restart_backoff_us = 0;
    job = world_submit(w, spec);
    world_run(w, 4);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(n_tasks, 1), "aa", w->now,
                                         NULL),
                     0);
    return job;
}

static void kill_and_wait(struct world *w, const struct job *job, uint32_t index)
{
    world_exit(w, world_live(job, "trainer", index), -1, 9);
    world_run(w, 1);
    wait_for(w, job, index);
}

/* Somebody kills one process again and again, while it has the last task and others wait. */
TEST(test_kills_of_a_process_skip_no_task)
{
    for (uint32_t n = 1; n <= 3; n++) {
        struct world *w = world_new(1, 1000, GIB, 1000);
        struct job *job = data_job(w, n, n);
        struct task *task;

        for (uint32_t i = 1; i < n; i++)
            assert_non_null(hold(w, job, i));
        for (unsigned i = 0; i < 8; i++) {
            task = hold(w, job, 0);
            assert_non_null(task);
            kill_and_wait(w, job, 0);
        }
        task = hold(w, job, 0);
        assert_non_null(task);
        finish_held(w, job, 0, task);
        assert_int_equal(task_queue_counts(job->queue).tasks_discarded_total, 0);
        world_free(w);
    }
}

/* One task kills whoever holds it; a new scheduler goes on counting. */
TEST(test_task_that_kills_its_holders_is_skipped)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = data_job(w, 2, 6);
    uint64_t id = job->id;
    unsigned n = 0;

    for (unsigned turn = 0; n < 20 && !task_queue_is_finished(job->queue); turn++) {
        struct task *task = hold(w, job, turn % 2);

        if (task != NULL && task->id != 2)
            finish_held(w, job, turn % 2, task);
        if (task == NULL || task->id != 2)
            continue;
        kill_and_wait(w, job, turn % 2);
        world_commit(w);
        if (++n == 3)
            world_restart(w);
        job = cluster_job(w->cluster, id);
        world_run(w, 3);
    }
    assert_int_equal(n, 10); /* of two, nobody is left who outlives both */
    assert_int_equal(task_queue_counts(job->queue).records_total, 50);
    for (uint32_t i = 0; i < 2; i++) {
        enum task_lease_result result;
        struct task *task;
        bool save = false;

        assert_int_equal(cluster_lease_task(w->cluster, world_live(job, "trainer", i), NULL, 0,
                                            w->now, &result, &task, &save, NULL),
                         0);
        if (save)
            assert_int_equal(cluster_model_saved(w->cluster, world_live(job, "trainer", i), NULL,
                                                 w->now, NULL),
                             0);
        world_exit(w, world_live(job, "trainer", i), 0, 0);
    }
    world_run(w, 4);
    assert_int_equal(job->state, JOB_SUCCEEDED);
    assert_non_null(strstr(job->reason, "1 task with 10 of 60 records was skipped after repeated "
                                        "deaths of processes"));
    world_free(w);
}

/* Its node is cut off, and it goes on there: others get its task, which has not failed. */
TEST(test_task_of_a_process_that_is_cut_off_has_not_failed)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job_spec *spec = world_spec("one", 2, 2, 600, 0, 0);
    struct job *job;
    struct task *task;
    uint32_t cut;

    spec->keep_cut_off = true;
    job = world_submit(w, spec);
    world_run(w, 4);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(2, 1), "aa", w->now, NULL),
                     0);
    cut = streq(world_live(job, "trainer", 0)->node_name, w->agents[0].name) ? 0 : 1;
    assert_non_null(task = hold(w, job, cut));
    w->agents[0].silent = w->agents[0].keeps = true;
    for (unsigned i = 0; i < 90; i++)
        world_second(w);
    assert_int_equal(task->state, TASK_TODO);
    assert_int_equal(task->failures, 0);
    assert_int_equal(task->deaths, 0);
    assert_ptr_equal(hold(w, job, 1 - cut), task);
    world_free(w);
}
