/* SPDX-License-Identifier: Apache-2.0 */
/* test_given_up.c - processes that fail again and again: when the job goes on without them, and
 * when they are forgotten */
#include <stdint.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/job_names.h"
#include "shared/clock.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

/* Fails, and again as soon as it runs, n times. */
static void fail_times(struct world *w, struct job *job, uint32_t index, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (unsigned turns = 0; turns < 400; turns++) {
            const struct process *process = world_live(job, "trainer", index);

            if (process != NULL && process->state == PROCESS_RUNNING)
                break;
            world_advance(w, USEC_PER_SEC);
            world_run(w, 1);
        }
        assert_non_null(world_live(job, "trainer", index));
        world_exit(w, world_live(job, "trainer", index), 1, 0);
        world_run(w, 2);
    }
}

static struct job *one_of_two_given_up(struct world *w)
{
    struct job_spec *spec = world_spec("one", 1, 2, 200, 0, 0);
    struct job *job;

    spec->restart_max = 1;
    job = world_submit(w, spec);
    world_run(w, 6);
    assert_int_equal(job_count_running(job, 0), 2);
    fail_times(w, job, 0, 2);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job->target[0], 1);
    assert_null(world_live(job, "trainer", 0));
    assert_string_equal(job->reason,
                        "its process runs; 1 failed more than 1 time and was given up");
    return job;
}

/* The others do its work, whatever starts anew around them; when none is left, the job has failed.
 */
TEST(test_a_process_that_always_fails_is_given_up)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job *job = one_of_two_given_up(w);

    world_advance(w, 3600 * USEC_PER_SEC);
    world_restart(w);
    world_run(w, 6);
    job = cluster_find_job(w->cluster, "one");
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job_count_running(job, 0), 1);
    assert_int_equal(job->counts[0].given_up, 1);
    /* its place is nobody's: what is left moves as one of a fixed size */
    assert_int_equal(cluster_set_node_state(w->cluster, world_live(job, "trainer", 1)->node,
                                            NODE_DRAINING, w->now, NULL),
                     0);
    world_run(w, 8);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(world_live(job, "trainer", 1)->node->state, NODE_READY);
    fail_times(w, job, 1, 2);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_FAILED);
    assert_non_null(strstr(job->reason, "Failed trainer count beyond the threshold: 1 (trainer-1 "
                                        "failed 2 times; last on node "));
    world_free(w);
}

TEST(test_the_end_tells_who_was_given_up)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job *job = one_of_two_given_up(w);

    world_exit(w, world_live(job, "trainer", 1), 0, 0);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_SUCCEEDED);
    assert_string_equal(job->reason, "all its working processes ended with success; 1 failed more "
                                     "than 1 time and was given up");
    world_free(w);
}

TEST(test_new_bounds_try_again_what_was_given_up)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job *job = one_of_two_given_up(w);

    assert_int_equal(cluster_scale_job(w->cluster, job, "trainer", 2, 2, w->now, NULL), 0);
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job_count_running(job, 0), 2);
    world_free(w);
}

/* A rank whose peers refuse it is refused again: EX_CONFIG on the only node, or twice on one, is
 * final in a collective job. */
TEST(test_a_refused_newcomer_is_given_up_at_once)
{
    static const struct {
        enum job_mode mode;
        unsigned nodes;
        uint32_t min;
        int code;
        uint32_t tries; /* 0: it is tried again and again */
        enum job_state state;
    } rows[] = { { JOB_MODE_COLLECTIVE, 1, 1, 78, 1, JOB_RUNNING },
                 { JOB_MODE_COLLECTIVE, 1, 2, 78, 1, JOB_FAILED },
                 { JOB_MODE_COLLECTIVE, 1, 1, 1, 0, JOB_RUNNING },
                 { JOB_MODE_SERVICE, 1, 1, 78, 0, JOB_RUNNING } };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct world *w = world_new(rows[i].nodes, 2500, GIB, 900);
        struct job_spec *spec = world_spec("one", rows[i].min, 2, 200, 0, 0);
        struct job *job;

        spec->mode = rows[i].mode;
        spec->restart_max = 9;
        job = world_submit(w, spec);
        world_run(w, 6);
        for (int s = 0; s < 60; s++) /* the others have trained */
            world_second(w);
        assert_int_equal(job_count_running(job, 0), 2);
        for (uint32_t t = 0; t < (rows[i].tries > 0 ? rows[i].tries : 3); t++) {
            for (int s = 0; s < 100 && (world_live(job, "trainer", 0) == NULL ||
                                        world_live(job, "trainer", 0)->state != PROCESS_RUNNING);
                 s++)
                world_second(w);
            assert_non_null(world_live(job, "trainer", 0));
            world_exit(w, world_live(job, "trainer", 0), rows[i].code, 0);
            world_run(w, 2);
        }
        for (int s = 0; s < 100; s++)
            world_second(w);
        job = cluster_find_job(w->cluster, "one");
        assert_int_equal(job->state, rows[i].state);
        assert_int_equal(job->counts[0].given_up, rows[i].tries > 0);
        if (rows[i].state == JOB_FAILED)
            assert_non_null(strstr(job->reason, "another try is of no use"));
        world_free(w);
    }
}

/* A failure a day is no reason to end a job of a month. */
TEST(test_failures_of_long_ago_are_forgotten)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job_spec *spec = world_spec("one", 2, 2, 200, 0, 0);
    struct job *job;

    spec->restart_max = 1;
    job = world_submit(w, spec);
    world_run(w, 6);
    for (int i = 0; i < 4; i++) {
        fail_times(w, job, 0, 1);
        assert_int_equal(job->slots[0][0].failures, 1);
        for (int seconds = 0; seconds < 620; seconds++)
            world_second(w);
        assert_int_equal(job_count_running(job, 0), 2);
    }
    assert_int_equal(job->state, JOB_RUNNING);
    fail_times(w, job, 0, 2);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_FAILED);
    world_free(w);
}
