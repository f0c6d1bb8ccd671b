/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_owed.c - who saves a job's model at the end of its data, and what becomes of the job
 * when that process ends otherwise */
#include <string.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/job_names.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

/* A job of two whose data are finished, and which of them the end of the data told to save. */
static struct job *finished_data_of(struct world *w, struct job_spec *spec,
                                    struct process **ret_saver)
{
    struct job *job = world_submit(w, spec);
    enum task_lease_result result = TASK_LEASE_WAIT;
    struct task *task = NULL;
    bool save = false;

    world_run(w, 4);
    *ret_saver = world_live(job, "trainer", 0);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(1, 1), "aa", w->now, NULL),
                     0);
    assert_int_equal(cluster_lease_task(w->cluster, *ret_saver, NULL, 0, w->now, &result, &task,
                                        &save, NULL),
                     0);
    assert_int_equal(cluster_ask_to_save(w->cluster, *ret_saver, w->now, &save, NULL), 0);
    assert_false(save); /* too early, and nothing is owed for it */
    assert_int_equal(cluster_finish_task(w->cluster, *ret_saver, task->id, 0, task->lease, w->now,
                                         NULL),
                     0);
    assert_int_equal(cluster_lease_task(w->cluster, *ret_saver, NULL, 0, w->now, &result, &task,
                                        &save, NULL),
                     0);
    assert_int_equal(result, TASK_LEASE_FINISHED);
    assert_true(save);
    return job;
}

static struct job *finished_data(struct world *w, struct process **ret_saver)
{
    return finished_data_of(w, world_spec("one", 2, 2, 200, 1, 500), ret_saver);
}

TEST(test_all_data_and_exit_0_is_success_where_nobody_asks_who_saves)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct process *saver;
    struct job *job = finished_data(w, &saver);

    world_run(w, 1);
    assert_null(strstr(job->reason, "model"));
    world_exit(w, world_live(job, "trainer", 1), 0, 0);
    world_exit(w, saver, 0, 0);
    world_run(w, 3);
    assert_int_equal(job->state, JOB_SUCCEEDED);
    assert_non_null(strstr(job->reason, "asked for no model"));
    world_free(w);
}

/* It is not started again, as it has failed too often, and nobody else is left: then one of those
 * that ended with success is, and is told to save. */
TEST(test_the_elected_one_that_is_given_up_leaves_the_model_to_another)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job_spec *spec = world_spec("one", 1, 2, 200, 1, 500);
    enum task_lease_result result = TASK_LEASE_WAIT;
    struct task *task = NULL;
    struct process *saver;
    struct job *job;
    bool save = false;

    spec->restart_max = 0;
    spec->fault_tolerant = true;
    job = finished_data_of(w, spec, &saver);
    world_exit(w, world_live(job, "trainer", 1), 0, 0);
    world_exit(w, saver, 0, 9);
    world_run(w, 5);
    assert_false(job_state_is_final(job->state));
    saver = world_live(job, "trainer", 1);
    assert_non_null(saver);
    assert_int_equal(cluster_lease_task(w->cluster, saver, NULL, 0, w->now, &result, &task, &save,
                                        NULL),
                     0);
    assert_int_equal(result, TASK_LEASE_FINISHED);
    assert_true(save);
    assert_int_equal(cluster_model_saved(w->cluster, saver, "/out/model", w->now, NULL), 0);
    world_exit(w, saver, 0, 0);
    world_run(w, 3);
    assert_int_equal(job->state, JOB_SUCCEEDED);
    assert_non_null(strstr(job->reason, "the model is saved"));
    world_free(w);
}

/* The one that the end of the data told to save may be about to ask: its death is no end. */
TEST(test_the_elected_one_that_dies_is_started_again_although_another_has_ended)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct process *saver;
    struct job *job = finished_data(w, &saver);

    world_exit(w, world_live(job, "trainer", 1), 0, 0);
    world_exit(w, saver, 0, 9);
    world_run(w, 1);
    assert_false(job_state_is_final(job->state));
    world_advance(w, USEC_PER_SEC);
    world_run(w, 3);
    saver = world_live(job, "trainer", 0);
    assert_non_null(saver);
    world_exit(w, saver, 0, 0);
    world_run(w, 3);
    assert_int_equal(job->state, JOB_SUCCEEDED);
    world_free(w);
}

TEST(test_a_model_is_owed_once_a_program_asks_who_saves_it)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct process *saver;
    struct job *job = finished_data(w, &saver);
    bool save = true;

    assert_int_equal(cluster_ask_to_save(w->cluster, world_live(job, "trainer", 1), w->now, &save,
                                         NULL),
                     0);
    assert_false(save);
    assert_int_equal(cluster_ask_to_save(w->cluster, saver, w->now, &save, NULL), 0);
    assert_true(save);
    world_run(w, 1);
    assert_non_null(strstr(job->reason, "the model is not saved yet by the one of its"));
    world_exit(w, saver, 0, 0);
    world_exit(w, world_live(job, "trainer", 1), 0, 0);
    world_run(w, 3);
    assert_false(job_state_is_final(job->state));
    world_restart(w); /* it is still owed */
    job = cluster_find_job(w->cluster, "one");
    for (int i = 0; i < 100 && !job_state_is_final(job->state); i++) {
        for (uint32_t slot = 0; slot < 2; slot++) {
            struct process *process = world_live(job, "trainer", slot);

            if (process != NULL && process->state == PROCESS_RUNNING)
                world_exit(w, process, 0, 0);
        }
        world_advance(w, 5 * USEC_PER_SEC);
        world_run(w, 2);
    }
    assert_int_equal(job->state, JOB_FAILED);
    assert_non_null(strstr(job->reason, "called elected()"));
    assert_non_null(strstr(job->reason, "none called model_saved()"));
    world_free(w);
}
