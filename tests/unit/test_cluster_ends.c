/* SPDX-License-Identifier: Apache-2.0 */
/* test_cluster_ends.c - how processes and jobs end: success, failure, kill, data done, restarts of
 * the scheduler */
#include <errno.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/job_roles.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static uint32_t trainers(const struct job *job)
{
    return job_count_running(job, role_of(job, "trainer"));
}

static void assert_code(const struct job *job, const char *code)
{
    if (!streq(job->reason_code, code))
        fail_msg("%s: %s (%s)", job->spec->name, job->reason_code, job->reason);
}

TEST(test_exit_0_finishes_slot_then_job_and_stops_pservers)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job *job = world_submit(w, world_spec("one", 2, 4, 200, 1, 500));

    world_run(w, 6);
    assert_int_equal(trainers(job), 4);
    for (uint32_t i = 0; i < 4; i++) {
        world_exit(w, world_live(job, "trainer", i), 0, 0);
        world_run(w, 2);
        assert_true(job->finishing);
        if (i < 3) {
            assert_int_equal(job->state, JOB_RUNNING);
            assert_int_equal(trainers(job), 3 - i);
        }
    }
    world_run(w, 2);
    assert_int_equal(job->state, JOB_SUCCEEDED);
    assert_int_equal(job->processes->exit_code, 143); /* the pserver was asked to stop */
    assert_null(cluster_node(w->cluster, "node-0")->processes);
    world_free(w);
}

TEST(test_failure_backs_off_and_counts_to_the_limit)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job_spec *spec = world_spec("one", 2, 2, 200, 1, 500);
    struct job *job;
    uint64_t wait = USEC_PER_SEC;

    spec->restart_max = 2;
    job = world_submit(w, spec);
    world_run(w, 6);
    for (uint32_t i = 1; i <= 2; i++, wait *= 2) {
        uint64_t incarnation = world_live(job, "trainer", 1)->incarnation;

        world_exit(w, world_live(job, "trainer", 1), 0, 11);
        world_run(w, 2);
        assert_null(world_live(job, "trainer", 1));
        assert_int_equal(job->state, JOB_RESIZING);
        assert_code(job, "restarting");
        assert_int_equal(cluster_next_deadline_us(w->cluster), w->now.now_us + wait);
        world_advance(w, wait - 1);
        assert_null(world_live(job, "trainer", 1));
        world_advance(w, 1);
        assert_true(world_live(job, "trainer", 1)->incarnation > incarnation);
        world_run(w, 3);
        assert_int_equal(job->state, JOB_RUNNING);
    }
    world_exit(w, world_live(job, "trainer", 1), 1, 0);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_FAILED);
    assert_string_equal(job->reason,
                        "Failed trainer count beyond the threshold: 2 (trainer-1 failed 3 times; "
                        "last on node node-0: exit code 1 (General Error))");
    world_free(w);
}

/* autoclean: false - what its end leaves running stays, and ends as it would have when it is
 * killed. */
TEST(test_remains_stay_until_killed)
{
    static const struct {
        bool fault_tolerant;
        int exit_code;
        const char *code;
        enum job_state end;
        uint32_t kept; /* processes */
    } rows[] = {
        { true, 0, "done", JOB_SUCCEEDED, 2 },
        { false, 3, "process-failed", JOB_FAILED, 3 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct world *w = world_new(2, 2500, GIB, 900);
        struct job_spec *spec = world_spec("one", 2, 2, 200, 2, 500);
        struct job *job;

        spec->fault_tolerant = rows[i].fault_tolerant;
        spec->keep_remains = true;
        job = world_submit(w, spec);
        world_run(w, 6);
        world_exit(w, world_live(job, "trainer", 0), rows[i].exit_code, 0);
        if (rows[i].exit_code == 0)
            world_exit(w, world_live(job, "trainer", 1), 0, 0);
        world_run(w, 6);
        world_restart(w);
        world_run(w, 6);
        job = cluster_find_job(w->cluster, "one");
        assert_int_equal(job->state, JOB_STOPPING);
        assert_code(job, rows[i].code);
        assert_non_null(strstr(job->reason, "stay until it is killed"));
        assert_int_equal(job_count(job, 0, false) + job_count(job, 1, false), rows[i].kept);
        /* one of them ends by itself: nothing is started in its place */
        world_exit(w, world_live(job, "pserver", 1), 1, 0);
        world_run(w, 3);
        assert_int_equal(job_count(job, 0, false) + job_count(job, 1, false), rows[i].kept - 1);
        assert_int_equal(cluster_kill_job(w->cluster, job, "looked at", w->now, NULL), 0);
        world_run(w, 4);
        assert_int_equal(job->state, rows[i].end);
        assert_null(cluster_node(w->cluster, "node-0")->processes);
        world_free(w);
    }
}

/* A node with remains on it is emptied when their job is killed. */
TEST(test_remains_and_a_drain)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *spec = world_spec("one", 1, 1, 200, 1, 500);
    struct node *node = cluster_node(w->cluster, "node-0");
    struct job *job;

    spec->keep_remains = true;
    job = world_submit(w, spec);
    world_run(w, 6);
    world_exit(w, world_live(job, "trainer", 0), 0, 0);
    world_run(w, 3);
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_DRAINING, w->now, NULL), 0);
    world_run(w, 6);
    assert_int_equal(job_count(job, 0, false), 1);
    assert_string_equal(node_reason(node),
                        "waits for somebody to kill what has ended and keeps what runs of it: one");
    assert_int_equal(cluster_kill_job(w->cluster, job, "", w->now, NULL), 0);
    world_run(w, 3);
    assert_int_equal(job->state, JOB_SUCCEEDED);
    assert_null(node->processes);
    world_free(w);
}

TEST(test_failed_pserver_comes_back_on_the_same_index)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job *job = world_submit(w, world_spec("one", 2, 3, 200, 2, 500));

    world_run(w, 6);
    world_exit(w, world_live(job, "pserver", 0), 139, 0);
    world_run(w, 1);
    world_advance(w, USEC_PER_SEC);
    world_run(w, 3);
    assert_int_equal(world_live(job, "pserver", 0)->state, PROCESS_RUNNING);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

static struct job_spec *spec_with_teachers(enum job_mode mode, uint32_t max)
{
    struct job_spec *spec = world_spec("both", 2, 2, 200, 0, 0);

    spec->mode = mode;
    spec->roles[spec->n_roles++] = (struct role_spec){
        .name = "teacher", .min = 2, .max = max, .cpu_millicores = 100, .n_ports = 1
    };
    return spec;
}

/* Teachers serve the training of their job: its end is theirs, and their own end is a failure. */
TEST(test_teachers_end_with_the_training)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    uint64_t id = world_submit(w, spec_with_teachers(JOB_MODE_COLLECTIVE, 2))->id;
    struct job *job = cluster_job(w->cluster, id);

    world_run(w, 6);
    assert_int_equal(job_count_running(job, role_of(job, "teacher")), 2);
    world_exit(w, world_live(job, "teacher", 0), 0, 0);
    world_run(w, 1);
    assert_false(job->finishing);
    world_advance(w, 60 * USEC_PER_SEC);
    world_run(w, 4);
    assert_non_null(world_live(job, "teacher", 0));
    world_exit(w, world_live(job, "trainer", 0), 0, 0);
    world_run(w, 2);
    assert_int_equal(job->state, JOB_RUNNING);
    world_exit(w, world_live(job, "trainer", 1), 0, 0);
    world_run(w, 8);
    job = cluster_job(w->cluster, id);
    assert_true(job == NULL || job->state == JOB_SUCCEEDED);
    world_free(w);
}

/* In a service each role is work. */
TEST(test_teachers_of_a_service_are_its_work)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job *job = world_submit(w, spec_with_teachers(JOB_MODE_SERVICE, 3));

    world_run(w, 6);
    assert_true(job_role_works(job, role_of(job, "teacher")));
    assert_true(job_role_grows(job, role_of(job, "teacher")));
    assert_int_equal(job_elastic_role(job), role_of(job, "teacher"));
    world_free(w);
}

TEST(test_pserver_that_ends_with_0_unasked_is_replaced_also_after_a_restart)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    uint64_t id = world_submit(w, world_spec("one", 2, 3, 200, 2, 500))->id;
    struct job *job = cluster_job(w->cluster, id);

    world_run(w, 6);
    world_exit(w, world_live(job, "pserver", 0), 0, 0);
    world_run(w, 1);
    world_restart(w);
    job = cluster_job(w->cluster, id);
    assert_false(job->finishing);
    world_advance(w, 60 * USEC_PER_SEC);
    world_run(w, 4);
    assert_non_null(world_live(job, "pserver", 0));
    assert_int_equal(world_live(job, "pserver", 0)->state, PROCESS_RUNNING);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

/* The scheduler was away for longer than a lease: the supervisors stopped everything. */
TEST(test_ends_by_the_node_are_neither_success_nor_failure)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *spec = world_spec("one", 2, 2, 200, 1, 500);
    struct job *job;

    spec->fault_tolerant = false;
    job = world_submit(w, spec);
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    for (size_t i = 0; i < w->agents[0].n; i++) {
        struct fake_process *fake = &w->agents[0].items[i];

        fake->state = PROCESS_EXITED;
        fake->exit_code = fake->role_index == role_of(job, "pserver") ? 0 : 1;
        fake->cause = CAUSE_LEASE_ENDED;
    }
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job_count_running(job, role_of(job, "trainer")), 2);
    assert_int_equal(job_count_running(job, role_of(job, "pserver")), 1);
    world_free(w);
}

TEST(test_failure_without_fault_tolerance_fails_the_job)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job_spec *spec = world_spec("one", 2, 2, 200, 1, 500);
    struct job *job;

    spec->fault_tolerant = false;
    job = world_submit(w, spec);
    world_run(w, 3);
    world_exit(w, world_live(job, "trainer", 1), 136, 0);
    world_run(w, 3);
    assert_int_equal(job->state, JOB_FAILED);
    assert_non_null(strstr(job->reason, "trainer-1 failed"));
    assert_non_null(strstr(job->reason, "Floating Point Exception"));
    world_free(w);
}

/* It speaks Greek, and more than is kept of it. */
TEST(test_last_words_are_cut_between_characters)
{
    static const char alpha[] = "\xce\xb1";

    for (size_t shift = 0; shift < 2; shift++) {
        struct world *w = world_new(1, 2500, GIB, 900);
        struct job *job = world_submit(w, world_spec("one", 1, 1, 200, 0, 0));
        char said[400] = "x";
        const char *end;

        for (size_t n = shift; n + sizeof alpha < sizeof said; n += sizeof alpha - 1)
            memcpy(said + n, alpha, sizeof alpha);
        world_run(w, 3);
        world_exit(w, world_live(job, "trainer", 0), 1, 0);
        w->agents[0].items[0].reason = said;
        world_run(w, 1);
        end = job->processes->reason + strlen(job->processes->reason) - (sizeof alpha - 1);
        assert_string_equal(end, alpha);
        world_free(w);
    }
}

TEST(test_kill_before_agents_saw_anything_waits_for_their_word)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job *job = world_submit(w, world_spec("one", 2, 3, 200, 0, 0));
    struct job *again;

    assert_int_equal(cluster_kill_job(w->cluster, job, "no", w->now, NULL), 0);
    world_plan(w);
    assert_int_equal(job->state, JOB_STOPPING);
    again = cluster_find_job(w->cluster, "one");
    assert_ptr_equal(again, job);
    world_run(w, 2);
    assert_int_equal(job->state, JOB_KILLED);
    assert_int_equal(job->processes->state, PROCESS_EXITED);
    again = world_submit(w, world_spec("one", 1, 1, 200, 0, 0));
    assert_int_equal(again->id, job->id + 1);
    assert_ptr_equal(cluster_find_job(w->cluster, "one"), again);
    assert_ptr_equal(cluster_find_job(w->cluster, "1"), job);
    world_free(w);
}

/* Every trainer takes and finishes one task, saves the model when asked, and ends when there is
 * nothing left. */
static void train(struct world *w, struct job *job)
{
    for (uint32_t i = 0; i < job->n_slots[role_of(job, "trainer")]; i++) {
        struct process *process = world_live(job, "trainer", i);
        enum task_lease_result result;
        struct task *task = NULL;
        bool save = false;

        if (process == NULL || process->state != PROCESS_RUNNING)
            continue;
        assert_int_equal(cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task,
                                            &save, NULL),
                         0);
        if (result == TASK_LEASE_GIVEN)
            assert_int_equal(cluster_finish_task(w->cluster, process, task->id,
                                                 task_queue_pass(job->queue), task->lease, w->now,
                                                 NULL),
                             0);
        if (save)
            assert_int_equal(cluster_model_saved(w->cluster, process, "/out/model", w->now, NULL),
                             0);
        if (result == TASK_LEASE_FINISHED)
            world_exit(w, process, 0, 0);
    }
    world_run(w, 1);
}

TEST(test_dataset_job_succeeds_only_with_data_done_and_model_saved)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job_spec *spec = world_spec("one", 2, 4, 200, 1, 500);
    struct job *job;
    struct task_queue *other;

    spec->passes = 2;
    job = world_submit(w, spec);
    world_run(w, 6);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(40, 2), "aa", w->now, NULL),
                     0);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(40, 2), "aa", w->now, NULL),
                     0);
    other = world_queue(1, 1);
    assert_int_equal(cluster_set_dataset(w->cluster, job, other, "bb", w->now, NULL), -EEXIST);
    (void)task_queue_free(other);
    train(w, job);
    for (uint32_t i = 0; i < 4; i++) /* all end too early: the last one has failed */
        world_exit(w, world_live(job, "trainer", i), 0, 0);
    world_run(w, 2);
    assert_int_equal(job->state, JOB_RESIZING);
    assert_code(job, "restarting");
    world_advance(w, USEC_PER_SEC);
    for (int i = 0; i < 200 && !job_state_is_final(job->state); i++)
        train(w, job);
    assert_int_equal(job->state, JOB_SUCCEEDED);
    assert_int_equal(task_queue_counts(job->queue).records_total, 800);
    world_free(w);
}

TEST(test_restart_after_all_left_their_data_starts_one_again)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job *job = world_submit(w, world_spec("one", 2, 2, 200, 1, 500));

    world_run(w, 4);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(4, 1), "aa", w->now, NULL),
                     0);
    world_exit(w, world_live(job, "trainer", 0), 0, 0);
    world_exit(w, world_live(job, "trainer", 1), 0, 0);
    world_run(w, 1);
    world_restart(w); /* the rows say that both ended with success, but the data is not done */
    job = cluster_find_job(w->cluster, "one");
    assert_int_equal(job->state, JOB_RESIZING);
    for (int i = 0; i < 20 && !job_state_is_final(job->state); i++) {
        world_advance(w, USEC_PER_SEC);
        train(w, job);
    }
    assert_int_equal(job->state, JOB_SUCCEEDED);
    assert_int_equal(task_queue_counts(job->queue).records_total, 40);
    world_free(w);
}

TEST(test_lost_while_others_finish_is_still_replaced)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 2, 2, 800, 0, 0));
    uint32_t where;

    world_run(w, 4);
    where = (uint32_t)(world_live(job, "trainer", 1)->node->name[5] - '0');
    world_exit(w, world_live(job, "trainer", 0), 0, 0);
    world_run(w, 1);
    w->agents[where].silent = true;
    world_advance(w, 15 * USEC_PER_SEC);
    world_run(w, 1);
    world_advance(w, 15 * USEC_PER_SEC);
    assert_int_equal(cluster_node(w->cluster, w->agents[where].name)->state, NODE_LOST);
    assert_non_null(world_live(job, "trainer", 1));
    world_run(w, 2);
    world_exit(w, world_live(job, "trainer", 1), 0, 0);
    world_run(w, 1);
    assert_int_equal(job->state, JOB_SUCCEEDED);
    world_free(w);
}

TEST(test_dead_incarnation_gets_no_task_and_loses_its_own)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *job = world_submit(w, world_spec("one", 2, 2, 200, 0, 0));
    struct process *dead;
    enum task_lease_result result;
    struct task *task = NULL;
    bool save;

    world_run(w, 3);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(4, 1), "aa", w->now, NULL),
                     0);
    dead = world_live(job, "trainer", 0);
    assert_int_equal(cluster_lease_task(w->cluster, dead, NULL, 0, w->now, &result, &task, &save,
                                        NULL),
                     0);
    assert_int_equal(result, TASK_LEASE_GIVEN);
    world_exit(w, dead, 1, 0);
    world_run(w, 1);
    assert_int_equal(task->state, TASK_TODO);
    assert_int_equal(cluster_finish_task(w->cluster, dead, task->id, 0, task->lease, w->now, NULL),
                     EDL_ESTALE);
    assert_int_equal(cluster_lease_task(w->cluster, dead, NULL, 0, w->now, &result, &task, &save,
                                        NULL),
                     EDL_ESTALE);
    assert_int_equal(cluster_set_metrics(w->cluster, dead, "{}", w->now, NULL), EDL_ESTALE);
    assert_int_equal(cluster_set_metrics(w->cluster, world_live(job, "trainer", 1), "{}", w->now,
                                         NULL),
                     0);
    assert_string_equal(job->metrics, "{}");
    world_free(w);
}

TEST(test_restart_changes_nothing_and_goes_on)
{
    struct world *w = world_new(4, 2500, GIB, 900);
    struct job *job = world_submit(w, world_spec("one", 2, 10, 200, 2, 500));
    uint64_t incarnation;

    world_run(w, 6);
    (void)world_submit(w, world_spec("giant", 1, 1, 9000, 0, 0));
    world_exit(w, world_live(job, "trainer", 3), 1, 0);
    world_run(w, 1);
    incarnation = world_live(job, "trainer", 9)->incarnation;
    world_restart(w);
    job = cluster_find_job(w->cluster, "one");
    assert_int_equal(job->slots[role_of(job, "trainer")][3].failures, 1);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(trainers(job), 10);
    assert_int_equal(world_live(job, "trainer", 9)->incarnation, incarnation);
    assert_code(cluster_find_job(w->cluster, "giant"), "never-fits");
    assert_int_equal(cluster_kill_job(w->cluster, job, "x", w->now, NULL), 0);
    world_plan(w);
    world_restart(w); /* in the middle of its end */
    world_run(w, 3);
    assert_int_equal(cluster_find_job(w->cluster, "one")->state, JOB_KILLED);
    assert_int_equal(world_submit(w, world_spec("next", 1, 1, 100, 0, 0))->id, 3);
    world_free(w);
}

TEST(test_crash_after_the_model_is_saved_needs_no_replacement)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job *job = world_submit(w, world_spec("one", 2, 2, 200, 1, 500));
    struct process *process;
    enum task_lease_result result = TASK_LEASE_WAIT;
    struct task *task = NULL;
    bool save = false;

    world_run(w, 4);
    process = world_live(job, "trainer", 0);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(1, 1), "aa", w->now, NULL),
                     0);
    assert_int_equal(cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task, &save,
                                        NULL),
                     0);
    assert_int_equal(cluster_finish_task(w->cluster, process, task->id, 0, task->lease, w->now,
                                         NULL),
                     0);
    assert_int_equal(cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task, &save,
                                        NULL),
                     0);
    assert_int_equal(result, TASK_LEASE_FINISHED);
    assert_true(save);
    assert_int_equal(cluster_model_saved(w->cluster, process, "/out/model", w->now, NULL), 0);
    world_exit(w, process, 0, 0);
    world_exit(w, world_live(job, "trainer", 1), 0, 11);
    world_run(w, 3);
    assert_int_equal(job->state, JOB_SUCCEEDED);
    world_free(w);
}

/* Those that are left cannot go on with a new one among them; with fault tolerance they can. */
TEST(test_lost_node_requeues_what_is_not_fault_tolerant)
{
    for (int tolerant = 0; tolerant < 2; tolerant++) {
        struct world *w = world_new(2, 1000, GIB, 1000);
        struct job_spec *spec = world_spec("mpi", 2, 2, 800, 0, 0);
        struct job *job;

        spec->fault_tolerant = tolerant;
        job = world_submit(w, spec);
        world_run(w, 3);
        assert_int_equal(job->state, JOB_RUNNING);
        w->agents[1].silent = true;
        for (int i = 0; i < 30; i++)
            world_second(w);
        if (tolerant) {
            assert_int_equal(job->state, JOB_RESIZING);
        } else {
            assert_int_equal(job->state, JOB_QUEUED); /* one node does not hold it */
            assert_code(job, "gang-does-not-fit");
            assert_int_equal(cluster_node(w->cluster, "node-0")->n_processes, 0);
            world_replan(w);
        }
        w->agents[1].silent = false;
        for (int i = 0; i < 5; i++)
            world_second(w);
        assert_int_equal(job->state, JOB_RUNNING);
        assert_int_equal(world_live(job, "trainer", 0)->incarnation, tolerant ? 1 : 3);
        world_free(w);
    }
}

TEST(test_requeued_job_can_be_killed_and_restored)
{
    for (int kill = 0; kill < 2; kill++) {
        struct world *w = world_new(2, 1000, GIB, 1000);
        struct job_spec *spec = world_spec("mpi", 2, 2, 800, 0, 0);
        struct job *job;

        spec->fault_tolerant = false;
        job = world_submit(w, spec);
        world_run(w, 3);
        w->agents[0].boot++; /* what ran there is gone */
        w->agents[0].reports_first = true;
        w->agents[0].n = 0;
        world_turn(w, 0);
        assert_int_equal(job->state, JOB_STOPPING);
        assert_code(job, "requeued");
        world_restart(w);
        job = cluster_find_job(w->cluster, "mpi");
        if (kill)
            assert_int_equal(cluster_kill_job(w->cluster, job, NULL, w->now, NULL), 0);
        world_run(w, 5);
        assert_int_equal(job->state, kill ? JOB_KILLED : JOB_RUNNING);
        world_free(w);
    }
}

/* What did not run yet is placed anew. But the others were told where to meet rank 0. */
TEST(test_lost_before_it_ran_is_placed_anew)
{
    for (uint32_t lost = 0; lost < 2; lost++)
        for (uint32_t n_ports = 0; n_ports < 2; n_ports++) {
            struct world *w = world_new(3, 1000, GIB, 1000);
            struct job_spec *spec = world_spec("mpi", 2, 2, 800, 0, 0);
            bool as_a_whole = lost == 0 && n_ports > 0;
            struct job *job;

            spec->fault_tolerant = false;
            spec->roles[0].n_ports = n_ports;
            job = world_submit(w, spec);
            for (size_t i = 0; i < 3; i++)
                w->agents[i].silent =
                    streq(w->agents[i].name, world_live(job, "trainer", lost)->node->name);
            for (int i = 0; i < 30; i++)
                world_second(w);
            assert_int_equal(job->state, JOB_RUNNING);
            assert_int_equal(world_live(job, "trainer", 1 - lost)->incarnation == 2 - lost,
                             !as_a_whole);
            world_free(w);
        }
}

/* Who still runs behind the data's end is waited for however long that takes; so it is told. */
TEST(test_what_a_finished_job_waits_for_is_told)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 2, 200, 0, 0));
    enum task_lease_result result;
    struct process *saver;
    struct task *task;
    bool save;

    world_run(w, 4);
    saver = world_live(job, "trainer", 0);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(1, 1), "aa", w->now, NULL),
                     0);
    assert_int_equal(cluster_lease_task(w->cluster, saver, NULL, 0, w->now, &result, &task, &save,
                                        NULL),
                     0);
    assert_int_equal(cluster_finish_task(w->cluster, saver, task->id, 0, task->lease, w->now, NULL),
                     0);
    world_run(w, 1);
    assert_string_equal(job->reason_code, "finishing");
    assert_non_null(strstr(job->reason, "2 processes run on, and it ends when its trainers have"));
    assert_int_equal(cluster_lease_task(w->cluster, saver, NULL, 0, w->now, &result, &task, &save,
                                        NULL),
                     0);
    assert_true(save);
    assert_int_equal(cluster_model_saved(w->cluster, saver, "/out/model", w->now, NULL), 0);
    world_exit(w, saver, 0, 0);
    world_run(w, 1);
    assert_non_null(strstr(job->reason, "the model is saved; 1 process runs on"));
    world_exit(w, world_live(job, "trainer", 1), 0, 0);
    world_run(w, 2);
    assert_int_equal(job->state, JOB_SUCCEEDED);
    world_free(w);
}
