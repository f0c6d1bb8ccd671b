/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_learn.c - what the core learns of a job from its processes and its task queue */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "scheduler/core/core_internal.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/goodput_curves.h"

#define CORE UINT64_C(1000) /* millicores, of one instance */

/* One node with so many cores, for a job of two to eight that is just as large. */
static struct job *begin(struct world **ret, uint32_t cores)
{
    struct world *w;
    struct job *job;

    world_policy = &policy_goodput;
    w = world_new(1, cores * CORE, GIB, 1000);
    world_run(w, 1);
    job = world_submit(w, world_spec("a", 2, 8, CORE, 0, 0));
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job_count_running(job, 0), cores);
    *ret = w;
    return job;
}

static void set_dataset(struct world *w, struct job *job)
{
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(1000, 100), "d", w->now,
                                         NULL),
                     0);
}

static void end(struct world *w)
{
    world_free(w);
    world_policy = &policy_fulfilment;
}

static void set_cores(struct world *w, uint32_t cores)
{
    w->agents[0].offer.cpu_millicores = cores * CORE;
    world_run(w, 4);
}

static struct task *lease(struct world *w, const struct job *job, uint32_t index)
{
    enum task_lease_result result;
    struct task *task = NULL;
    bool save;

    assert_int_equal(cluster_lease_task(w->cluster, world_live(job, "trainer", index), NULL, 0,
                                        w->now, &result, &task, &save, NULL),
                     0);
    world_check(w);
    return task;
}

static void finish(struct world *w, const struct job *job, uint32_t index, const struct task *task)
{
    assert_int_equal(cluster_finish_task(w->cluster, world_live(job, "trainer", index), task->id,
                                         task_queue_pass(job->queue), task->lease, w->now, NULL),
                     0);
    world_check(w);
}

/* All of them work on their tasks for so long. */
static void work(struct world *w, const struct job *job, uint32_t n, double seconds)
{
    struct task *tasks[8];

    for (uint32_t i = 0; i < n; i++)
        tasks[i] = lease(w, job, i);
    world_advance(w, (uint64_t)(seconds * USEC_PER_SEC));
    for (uint32_t i = 0; i < n; i++)
        finish(w, job, i, tasks[i]);
}

/* The node is silent for no longer than its lease: it reports between. */
static void wait_s(struct world *w, unsigned seconds)
{
    for (; seconds > 0; seconds--)
        world_second(w);
}

static void test_growth_is_timed_by_who_takes_tasks(void **state)
{
    struct world *w;
    struct job *job = begin(&w, 2);

    (void)state;
    set_dataset(w, job);
    work(w, job, 2, 1);
    assert_int_equal(job->counts[0].at_work, 2);
    job->learned->of.resize_s = 0;
    set_cores(w, 4);
    assert_int_equal(job_count_running(job, 0), 4);
    assert_int_equal(job->counts[0].at_work, 2);
    wait_s(w, 20); /* two work, two load what they need */
    (void)lease(w, job, 2);
    (void)lease(w, job, 3);
    assert_int_equal(job->counts[0].at_work, 4);
    /* half as fast as it will be, as far as anybody knows: half of that is learnt */
    assert_near(job->learned->of.resize_s, 20 * 0.5 / 2, 0.5);
    end(w);
}

static void test_task_that_is_given_back_is_lost(void **state)
{
    struct world *w;
    struct job *job = begin(&w, 4);
    struct task *task;

    (void)state;
    set_dataset(w, job);
    work(w, job, 4, 1);
    job->learned->of.resize_s = 0;
    for (uint32_t i = 0; i < 4; i++)
        task = lease(w, job, i);
    wait_s(w, 30);
    assert_non_null(task);
    w->agents[0].foreign_cpu_millicores = CORE;
    world_run(w, 4);
    assert_int_equal(job_count(job, 0, true), 3);
    assert_int_equal(job->counts[0].at_work, 3);
    assert_near(job->learned->of.resize_s, 30.0 / 3 / 2, 0.5);
    end(w);
}

/* Who has arrived waits, and who is of the new generation works. */
static void test_who_waits_for_a_generation_does_not_work(void **state)
{
    enum rendezvous_result result;
    struct world *w;
    struct job *job = begin(&w, 2);

    (void)state;
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(cluster_arrive(w->cluster, world_live(job, "trainer", i), 0, w->now,
                                        &result, NULL),
                         0);
    assert_int_equal(result, RENDEZVOUS_AGREED);
    assert_int_equal(job->counts[0].at_work, 2);
    set_dataset(w, job);
    (void)lease(w, job, 0); /* one for all of them */
    job_settle(w->cluster, job, w->now);
    job->learned->of.resize_s = 0;
    set_cores(w, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(cluster_arrive(w->cluster, world_live(job, "trainer", 2 - i),
                                        i == 0 ? 0 : 1, w->now, &result, NULL),
                         0);
    assert_int_equal(result, RENDEZVOUS_AGREED);
    assert_int_equal(job->counts[0].at_work, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(job->counts[0].at_work, 3 - i);
        assert_int_equal(cluster_arrive(w->cluster, world_live(job, "trainer", i), 2, w->now,
                                        &result, NULL),
                         0);
    }
    assert_int_equal(job->counts[0].at_work, 3);
    world_check(w);
    end(w);
}

/* What failed and is started again after its back-off is no resize. */
static void test_repair_is_no_resize(void **state)
{
    struct world *w;
    struct job *job = begin(&w, 3);

    (void)state;
    set_dataset(w, job);
    work(w, job, 3, 1);
    job->learned->of.resize_s = 0;
    world_exit(w, world_live(job, "trainer", 1), 1, 0);
    wait_s(w, 60);
    assert_int_equal(job_count_running(job, 0), 3);
    (void)lease(w, job, 1);
    assert_int_equal(job->counts[0].at_work, 3);
    assert_near(job->learned->of.resize_s, 0, 0);
    end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth_is_timed_by_who_takes_tasks),
        cmocka_unit_test(test_task_that_is_given_back_is_lost),
        cmocka_unit_test(test_who_waits_for_a_generation_does_not_work),
        cmocka_unit_test(test_repair_is_no_resize),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
