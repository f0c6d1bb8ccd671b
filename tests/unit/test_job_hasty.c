/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_hasty.c - a job whose processes end at once on a node backs off there */
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/job_hasty.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

#define LEAST (100 * USEC_PER_MSEC)

/* Its failures cost nothing by its own document. */
static struct job *submit(struct world *w, uint32_t n)
{
    struct job_spec *spec = world_spec("hasty", n, n, 200, 0, 0);
    struct job *job;

    spec->restart_backoff_us = 0;
    spec->restart_max = 1000000;
    job = world_submit(w, spec);
    world_run(w, 3);
    return job;
}

/* ends - it fails, as it is seen by the next report; a moment later what may start again has */
static void ends(struct world *w, const struct job *job, uint32_t index)
{
    const struct process *process = world_live(job, "trainer", index);

    assert_non_null(process);
    assert_int_equal(process->state, PROCESS_RUNNING);
    world_exit(w, process, 1, 0);
    world_advance(w, USEC_PER_MSEC);
    world_run(w, 3);
}

static bool runs(const struct job *job, uint32_t index)
{
    const struct process *process = world_live(job, "trainer", index);

    return process != NULL && process->state == PROCESS_RUNNING;
}

static void wait(struct world *w, uint64_t us)
{
    for (; us > USEC_PER_SEC; us -= USEC_PER_SEC)
        world_second(w);
    world_advance(w, us);
    world_run(w, 3);
}

TEST(test_slots_of_a_node_count_together)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = submit(w, 3);

    ends(w, job, 0);
    assert_true(runs(job, 0)); /* the first time at once, as its document says */
    ends(w, job, 1);
    assert_true(runs(job, 1)); /* of the same round: it was there when the first failed */
    ends(w, job, 0);
    assert_false(runs(job, 0));
    ends(w, job, 2);
    assert_false(runs(job, 2)); /* its own first failure, in the job's second round */
    wait(w, LEAST);
    assert_true(runs(job, 0));
    assert_true(runs(job, 2));
    ends(w, job, 2);
    wait(w, LEAST);
    assert_false(runs(job, 2)); /* twice as long */
    wait(w, LEAST);
    assert_true(runs(job, 2));
    world_free(w);
}

TEST(test_one_that_runs_well_ends_it)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = submit(w, 3);

    ends(w, job, 0);
    ends(w, job, 0);
    wait(w, AT_ONCE_US);
    ends(w, job, 1); /* after half a minute */
    assert_true(runs(job, 1));
    ends(w, job, 1); /* at once, but in the first round again: its own back-off alone */
    assert_false(runs(job, 1));
    wait(w, LEAST);
    assert_true(runs(job, 1));
    world_free(w);
}

TEST(test_success_ends_it)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = submit(w, 3);

    ends(w, job, 0);
    ends(w, job, 0);
    world_exit(w, world_live(job, "trainer", 1), 0, 0);
    world_run(w, 1);
    ends(w, job, 2);
    assert_true(runs(job, 2));
    world_free(w);
}

TEST(test_other_nodes_are_not_meant)
{
    struct world *w = world_new(2, 400, GIB, 1000);
    struct job *job = submit(w, 4);
    const char *here = world_live(job, "trainer", 0)->node_name;
    uint32_t there = 0;

    for (uint32_t i = 0; i < 4; i++)
        if (!streq(world_live(job, "trainer", i)->node_name, here))
            there = i;
    assert_true(there > 0);
    ends(w, job, 0);
    ends(w, job, 0);
    assert_false(runs(job, 0));
    ends(w, job, there);
    assert_true(runs(job, there));
    world_free(w);
}
