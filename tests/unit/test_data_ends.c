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
    if (failure == HOLDER_DIES) /* and its back-off passes */
        for (unsigned i = 0; i < 4; i++)
            world_second(w);
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
        for (unsigned i = 0; i < 4; i++) {
            assert_false(job->state == JOB_STOPPING || job_state_is_final(job->state));
            fail_task(w, job, (enum failure)failure);
        }
        world_run(w, 3);
        assert_int_equal(job->state, JOB_FAILED);
        assert_string_equal(job->reason_code, "all-tasks-failed");
        assert_non_null(strstr(job->reason, "all task finished, but none was trained: 1 of 1 tasks "
                                            "of pass 1 failed 4 times each (10 records)"));
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
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(n_passes_ended, 0);
            fail_task(w, job, (enum failure)failure);
        }
        assert_int_equal(task_queue_pass(job->queue), 1);
        assert_int_equal(n_passes_ended, 1);
        world_free(w);
    }
}
