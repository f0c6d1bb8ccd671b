/* SPDX-License-Identifier: Apache-2.0 */
/* test_first_error.c - of many that failed the first one is told, and none that was mended */
#include "scheduler/core/ask/first_error.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static struct world *world_of_four(struct job **ret)
{
    struct world *w = world_new(4, 1000, GIB, 1000);

    *ret = world_submit(w, world_spec("fixed", 4, 4, 600, 0, 0));
    world_run(w, 5);
    assert_int_equal((*ret)->state, JOB_RUNNING);
    assert_null(job_first_error(*ret));
    return w;
}

TEST(test_the_first_one_is_told_whatever_its_rank)
{
    const struct process *first, *third;
    struct job *job;
    struct world *w = world_of_four(&job);

    third = world_live(job, "trainer", 2);
    world_exit(w, third, 1, 0);
    world_run(w, 1);
    assert_ptr_equal(job_first_error(job), third);
    world_advance(w, USEC_PER_MSEC);
    first = world_live(job, "trainer", 0);
    world_exit(w, first, 1, 0); /* it fails for that */
    world_run(w, 1);
    assert_int_equal(first->exit_code, 1);
    assert_ptr_equal(job_first_error(job), third);
    /* a restart knows it as well */
    world_restart(w);
    job = cluster_find_job(w->cluster, "fixed");
    if (job != NULL)
        assert_int_equal(job_first_error(job)->index, 2);
    world_free(w);
}

/* It hangs behind its error, and the others give up on it; then it is stopped with them. */
TEST(test_the_error_counts_and_not_the_end)
{
    struct job *job;
    struct world *w = world_of_four(&job);
    const struct process *first = world_live(job, "trainer", 1),
                         *hangs = world_live(job, "trainer", 3);

    world_exit(w, first, 1, 0);
    world_run(w, 1);
    assert_ptr_equal(job_first_error(job), first);
    world_advance(w, USEC_PER_MSEC);
    world_says(w, hangs, "RuntimeError: no", USEC_PER_SEC);
    world_exit(w, hangs, -1, 15);
    world_run(w, 1);
    assert_ptr_equal(job_first_error(job), hangs);
    assert_string_equal(process_error_text(hangs), "RuntimeError: no");
    assert_true(process_failed_us(hangs) < first->ended_wall_us);
    world_free(w);
}

TEST(test_one_that_was_mended_or_stopped_is_none)
{
    struct job *job;
    struct world *w = world_new(3, 1000, GIB, 1000);

    job = world_submit(w, world_spec("elastic", 1, 3, 600, 0, 0));
    world_run(w, 5);
    world_exit(w, world_live(job, "trainer", 1), 1, 0);
    world_run(w, 1);
    assert_non_null(job_first_error(job));
    assert_int_equal(job_first_error(job)->index, 1);
    for (int i = 0; i < 20 && world_live(job, "trainer", 1) == NULL; i++) {
        world_advance(w, 9 * USEC_PER_SEC);
        world_run(w, 1);
    }
    assert_non_null(world_live(job, "trainer", 1));
    assert_null(job_first_error(job)); /* it runs again */
    world_exit(w, world_live(job, "trainer", 0), 0, 0);
    world_run(w, 2);
    assert_null(job_first_error(job)); /* no failure */
    world_free(w);
}
