/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_restarts.c - programs that fail everywhere at once, and those that only seem to */
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/job_names.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

#define NO_INPUT 66

static struct job *submit_tries(struct world *w, uint32_t trainers, uint32_t servers,
                                uint32_t tries)
{
    struct job_spec *spec = world_spec("one", trainers, trainers, 200, servers, 500);
    struct job *job;

    spec->tries_at_once = tries;
    job = world_submit(w, spec);
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    return job;
}

static struct job *submit(struct world *w, uint32_t trainers, uint32_t servers)
{
    return submit_tries(w, trainers, servers, 3);
}

static void seconds(struct world *w, unsigned n)
{
    for (; n > 0; n--) {
        world_second(w);
        world_run(w, 2);
    }
}

/* Each of them ends by itself after so many seconds, and is started again unless its job ends. */
static void fail_all(struct world *w, struct job *job, const char *role, unsigned after_s, int code)
{
    uint32_t r = (uint32_t)job_spec_role(job->spec, role);

    for (unsigned waits = 0; job_count_running(job, r) < job->spec->roles[r].min; waits++) {
        assert_true(waits < 200);
        seconds(w, 1);
    }
    seconds(w, after_s);
    for (uint32_t i = 0; i < job->spec->roles[r].min; i++)
        world_exit(w, world_live(job, role, i), code, 0);
    world_run(w, 4);
}

static unsigned starts(const struct job *job)
{
    const struct process *process;
    unsigned n = 0;

    for (process = job->processes; process != NULL; process = process->job_next)
        n++;
    return n;
}

static void assert_failed_at_once(const struct job *job, const char *words)
{
    assert_int_equal(job->state, JOB_FAILED);
    assert_string_equal(job->reason_code, "failed-at-once");
    if (strstr(job->reason, words) == NULL)
        fail_msg("%s", job->reason);
}

TEST(test_three_tries_are_enough)
{
    struct world *w = world_new(2, 900, GIB, 900);
    struct job *job = submit(w, 2, 0);

    for (unsigned i = 0; i < 2; i++) {
        fail_all(w, job, "trainer", 1, 1);
        assert_false(job_state_is_final(job->state));
    }
    fail_all(w, job, "trainer", 1, 1);
    assert_failed_at_once(job, "Failed trainer count beyond the threshold: all 2 instances on ");
    assert_non_null(strstr(job->reason,
                           "failed within seconds, up to 3 times each, and nothing was "
                           "ever done; last trainer-"));
    assert_non_null(strstr(job->reason, "exit code 1 (General Error)"));
    assert_int_equal(starts(job), 6);
    world_free(w);
}

/* It follows from what is stored. */
TEST(test_a_restart_in_between_decides_alike)
{
    struct world *w = world_new(2, 900, GIB, 900);
    struct job *job = submit(w, 2, 0);

    fail_all(w, job, "trainer", 1, 1);
    fail_all(w, job, "trainer", 1, 1);
    world_restart(w);
    seconds(w, 3);
    job = cluster_find_job(w->cluster, "one");
    fail_all(w, job, "trainer", 1, 1);
    assert_failed_at_once(job, "all 2 instances");
    world_free(w);
}

/* A try that its node could not start is none of the three, also when a restart came in between. */
TEST(test_a_restart_remembers_what_could_not_be_started)
{
    struct world *w = world_new(1, 900, GIB, 900);
    struct job *job = submit(w, 1, 0);

    w->agents[0].start_fault = START_FAULT_NODE;
    w->agents[0].unfit_one_in = 1;
    fail_all(w, job, "trainer", 1, 1);
    for (unsigned i = 0; i < 10 && job->slots[0][0].failures < 2; i++)
        seconds(w, 1);
    assert_int_equal(job->slots[0][0].failures, 2);
    w->agents[0].start_fault = START_FAULT_NONE;
    world_restart(w);
    seconds(w, 3);
    job = cluster_find_job(w->cluster, "one");
    fail_all(w, job, "trainer", 1, 1);
    assert_false(job_state_is_final(job->state));
    fail_all(w, job, "trainer", 1, 1);
    assert_failed_at_once(job, "1 instance on 1 node failed within seconds, up to 3 times");
    world_free(w);
}

TEST(test_servers_that_run_are_no_sign_of_life)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job *job = submit(w, 1, 2);

    seconds(w, 60);
    for (unsigned i = 0; i < 2; i++)
        fail_all(w, job, "pserver", 1, 2);
    /* those ran for a minute at first: they do not fail at once */
    fail_all(w, job, "pserver", 1, 2);
    assert_false(job_state_is_final(job->state));
    world_free(w);
    w = world_new(2, 2500, GIB, 900);
    job = submit(w, 1, 2);
    for (unsigned i = 0; i < 3; i++)
        fail_all(w, job, "trainer", 1, 1);
    assert_failed_at_once(job, "Failed trainer count beyond the threshold: 1 instance on 2 nodes");
    world_free(w);
    w = world_new(2, 2500, GIB, 900);
    job = submit(w, 1, 2);
    for (unsigned i = 0; i < 3; i++)
        fail_all(w, job, "pserver", 1, 2);
    assert_failed_at_once(job, "Failed pserver count beyond the threshold: all 2 instances");
    world_free(w);
}

/* What keeps a job from being ended after three tries: it goes on to the restarts of its document.
 */
enum sign { RUNS_LONG, OTHER_RUNS, TASK_FINISHED, METRICS_TOLD, PROGRESS_TOLD, OWNER_SAYS, SIGNS };

static void show(struct world *w, struct job *job, enum sign sign)
{
    struct process *process = world_live(job, "trainer", 0);
    enum task_lease_result result;
    struct task *task = NULL;
    bool save;

    switch (sign) {
    case RUNS_LONG:
        seconds(w, 31);
        break;
    case TASK_FINISHED:
        assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(5, 2), "aa", w->now,
                                             NULL),
                         0);
        assert_int_equal(cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task,
                                            &save, NULL),
                         0);
        assert_int_equal(cluster_finish_task(w->cluster, process, task->id, 0, task->lease, w->now,
                                             NULL),
                         0);
        break;
    case METRICS_TOLD:
        assert_int_equal(cluster_set_metrics(w->cluster, process, "{\"loss\":1}", w->now, NULL), 0);
        break;
    case PROGRESS_TOLD:
        process->told_progress = true;
        break;
    case OWNER_SAYS:
    case OTHER_RUNS:
    case SIGNS:
        break;
    }
}

TEST(test_signs_of_life_leave_it_to_the_document)
{
    for (int sign = RUNS_LONG; sign < SIGNS; sign++) {
        struct world *w = world_new(2, 2500, GIB, 900);
        struct job *job = submit_tries(w, 2, 0, sign == OWNER_SAYS ? 0 : 3);

        show(w, job, (enum sign)sign);
        for (unsigned i = 0; i < 5; i++) {
            if (sign != OTHER_RUNS) {
                fail_all(w, job, "trainer", 0, 1);
            } else {
                world_exit(w, world_live(job, "trainer", 0), 1, 0);
                seconds(w, 2U << i);
            }
            if (job_state_is_final(job->state))
                fail_msg("sign %d: %s", sign, job->reason);
        }
        assert_int_equal(job->spec->restart_max, 10);
        if (sign != OTHER_RUNS) {
            for (unsigned i = 0; i < 6; i++)
                fail_all(w, job, "trainer", 0, 1);
            assert_int_equal(job->state, JOB_FAILED);
            assert_string_equal(job->reason_code, "process-failed");
        }
        world_free(w);
    }
}

/* Whatever it runs of a job ends after a second; elsewhere the job runs. */
static void run_beside_an_ill_node(struct world *w, const struct job *job, const char *ill)
{
    for (unsigned i = 0; i < 60 && !job_state_is_final(job->state); i++) {
        const struct process *process = world_live(job, "trainer", 0);

        if (process != NULL && process->state == PROCESS_RUNNING && streq(process->node_name, ill))
            world_exit(w, process, 1, 0);
        seconds(w, 1);
    }
}

/* One instance, and a node that lacks what its program loads: another one is tried. */
TEST(test_another_node_is_tried_where_one_fits)
{
    for (int restart = 0; restart < 2; restart++) {
        struct world *w = world_new(3, 900, GIB, 900);
        struct job *job = submit(w, 1, 0);
        char ill[NODE_NAME_MAX + 1];

        (void)snprintf(ill, sizeof ill, "%s", world_live(job, "trainer", 0)->node_name);
        if (restart == 1) {
            seconds(w, 1);
            world_exit(w, world_live(job, "trainer", 0), 1, 0);
            world_run(w, 1);
            world_restart(w);
            job = cluster_find_job(w->cluster, "one");
        }
        run_beside_an_ill_node(w, job, ill);
        assert_int_equal(job->state, JOB_RUNNING);
        assert_int_equal(starts(job), 2);
        assert_string_not_equal(world_live(job, "trainer", 0)->node_name, ill);
        world_free(w);
    }
}

/* The other one is full: it is tried again where it failed, but not everywhere, so the job is not
 * ended for it. It runs once there is room. */
TEST(test_a_full_node_may_yet_run_it)
{
    struct world *w = world_new(2, 900, GIB, 1000);
    struct job *job = submit(w, 1, 0), *big;
    char ill[NODE_NAME_MAX + 1];

    (void)snprintf(ill, sizeof ill, "%s", world_live(job, "trainer", 0)->node_name);
    big = world_submit(w, world_spec("big", 1, 1, 900, 0, 0));
    world_run(w, 6);
    run_beside_an_ill_node(w, job, ill);
    assert_false(job_state_is_final(job->state));
    assert_true(starts(job) > 3);
    assert_int_equal(cluster_kill_job(w->cluster, big, NULL, w->now, NULL), 0);
    for (unsigned i = 0; i < 3; i++)
        run_beside_an_ill_node(w, job, ill);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_string_not_equal(world_live(job, "trainer", 0)->node_name, ill);
    world_free(w);
}

/* Whatever runs of it on the first so many nodes ends with that code. */
static void run_on_ill_nodes(struct world *w, const struct job *job, size_t n_ill, int code)
{
    for (unsigned i = 0; i < 240 && !job_state_is_final(job->state); i++) {
        const struct process *process = world_live(job, "trainer", 0);

        for (size_t n = 0; n < n_ill; n++)
            if (process != NULL && process->state == PROCESS_RUNNING &&
                streq(process->node_name, w->agents[n].name)) {
                world_exit(w, process, code, 0);
                break;
            }
        seconds(w, 1);
    }
}

/* Most nodes of the cluster are ill, and more of them than tries: it ends up where it can run. */
TEST(test_a_good_job_survives_bad_nodes)
{
    static const int codes[] = { 1, NO_INPUT };

    for (size_t i = 0; i < ELEMENTS(codes); i++) {
        struct world *w = world_new(5, 900, GIB, 900);
        struct job *job = submit(w, 1, 0);

        run_on_ill_nodes(w, job, 4, codes[i]);
        assert_int_equal(job->state, JOB_RUNNING);
        assert_string_equal(world_live(job, "trainer", 0)->node_name, w->agents[4].name);
        world_free(w);
    }
}

/* Everywhere means on every node, and then it ends. */
TEST(test_a_bad_job_ends_when_all_have_tried)
{
    struct world *w = world_new(5, 900, GIB, 900);
    struct job *job = submit(w, 1, 0);

    run_on_ill_nodes(w, job, 5, 1);
    assert_failed_at_once(job, "1 instance on 5 nodes failed within seconds, up to 5 times each");
    world_free(w);
    /* nodes that take nothing, or are too small, are not waited for */
    w = world_new(5, 900, GIB, 900);
    w->agents[0].offer.cpu_millicores = 100;
    assert_int_equal(cluster_set_node_state(w->cluster, cluster_node(w->cluster, w->agents[1].name),
                                            NODE_CORDONED, w->now, NULL),
                     0);
    world_run(w, 2);
    job = submit(w, 1, 0);
    run_on_ill_nodes(w, job, 5, 1);
    assert_failed_at_once(job, "1 instance on 3 nodes failed within seconds, up to 3 times each");
    world_free(w);
}

/* Nobody expects to find its data by another try on the same node; but each has to say so. */
TEST(test_missing_input_needs_no_second_try)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *job = submit(w, 2, 0);

    world_exit(w, world_live(job, "trainer", 0), NO_INPUT, 0);
    seconds(w, 1);
    assert_int_equal(job->state, JOB_RESIZING); /* the other one may have found it */
    world_exit(w, world_live(job, "trainer", 1), NO_INPUT, 0);
    seconds(w, 1);
    assert_failed_at_once(job, "up to 1 time each");
    assert_non_null(strstr(job->reason, "exit code 66"));
    world_free(w);
    w = world_new(2, 2500, GIB, 900);
    job = submit(w, 1, 0);
    run_on_ill_nodes(w, job, 2, NO_INPUT);
    assert_failed_at_once(job, "1 instance on 2 nodes failed within seconds, up to 2 times each");
    world_free(w);
}

/* Wrong words and a wrong configuration are as wrong at the next try, whatever is known of the
 * data.
 */
TEST(test_wrong_words_need_no_second_try)
{
    static const struct {
        int code;
        bool once;
    } cases[] = { { 64, true }, { 78, true }, { NO_INPUT, false }, { 65, false }, { 2, false } };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct world *w = world_new(1, 2500, GIB, 900);
        struct job *job = submit(w, 2, 0);

        assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(5, 2), "aa", w->now,
                                             NULL),
                         0);
        world_exit(w, world_live(job, "trainer", 0), cases[i].code, 0);
        seconds(w, 1);
        assert_false(job_state_is_final(job->state)); /* the other one may be able to use it */
        world_exit(w, world_live(job, "trainer", 1), cases[i].code, 0);
        seconds(w, 1);
        if (cases[i].once)
            assert_failed_at_once(job, "up to 1 time each");
        else
            assert_false(job_state_is_final(job->state));
        world_free(w);
    }
}
