/* SPDX-License-Identifier: Apache-2.0 */
/* test_not_learnt.c - time in which programs stood still teaches nobody anything: no speed, no
 * length, no price of a change, no straggler; and it is none of the time for a task
 *
 * The scheduler hears nobody for a while, as its disk hangs. Agents freeze what they run meanwhile,
 * and tell for how long. Each test says what is learnt without that, or is told the same. */

#include "scheduler/core/core.h"
#include "scheduler/core/events/lease.h"
#include "scheduler/core/learn/job_family.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/job_turn.h"
#include "scheduler/core/model/cluster_internal.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

#define CORE UINT64_C(1000)
#define MACHINES 4
#define ALL ((1U << MACHINES) - 1)
#define LEASE_S 60 /* of a task (world_queue) */
#define STILL_S 90

/* A job of one instance on each machine, and what these work on. */
struct plant {
    struct world *w;
    struct job *job;
    struct task *tasks[MACHINES];
};

static void begin_with(struct plant *p, uint32_t min, uint32_t n_tasks)
{
    *p = (struct plant){ 0 };
    world_policy = &policy_goodput;
    p->w = world_new(MACHINES, CORE, GIB, 1000);
    world_run(p->w, 1);
    p->job = world_submit(p->w, world_spec("a", min, MACHINES, CORE, 0, 0));
    if (n_tasks > 0)
        assert_int_equal(cluster_set_dataset(p->w->cluster, p->job, world_queue(n_tasks, 1), "d",
                                             p->w->now, NULL),
                         0);
    for (int i = 0; i < 10; i++)
        world_second(p->w);
    assert_int_equal(job_count_running(p->job, 0), MACHINES);
}

static void end(struct plant *p)
{
    world_free(p->w);
    world_policy = &policy_fulfilment;
}

static struct process *trainer(const struct plant *p, uint32_t i)
{
    return world_live(p->job, "trainer", i);
}

static void take(struct plant *p, uint32_t i)
{
    enum task_lease_result result;
    bool save;

    assert_int_equal(cluster_lease_task(p->w->cluster, trainer(p, i), NULL, 0, p->w->now, &result,
                                        &p->tasks[i], &save, NULL),
                     0);
    assert_int_equal(result, TASK_LEASE_GIVEN);
}

static int done(struct plant *p, uint32_t i)
{
    return cluster_finish_task(p->w->cluster, trainer(p, i), p->tasks[i]->id,
                               task_queue_pass(p->job->queue), p->tasks[i]->lease, p->w->now, NULL);
}

static void pass_s(struct plant *p, unsigned seconds)
{
    for (; seconds > 0; seconds--)
        world_second(p->w);
}

/* stand_still - the scheduler hears nobody, and these machines freeze what they run; what is
 * overdue is looked at before anybody reports */
static void stand_still(struct plant *p, unsigned machines, unsigned seconds)
{
    struct world *w = p->w;
    uint64_t us = seconds * USEC_PER_SEC;

    w->now.now_us += us;
    w->now.wall_us += us;
    cluster_stalled(w->cluster, us, w->now);
    cluster_tick(w->cluster, w->now);
    for (unsigned a = 0; a < w->n_agents; a++)
        for (size_t i = 0; i < w->agents[a].n; i++)
            w->agents[a].items[i].frozen_us += machines & 1U << a ? us : 0;
    world_run(w, 1);
    pass_s(p, 1);
}

/* All of them take a task and do it in two seconds of their own; these stand still meanwhile. */
static void work(struct plant *p, unsigned machines)
{
    for (uint32_t i = 0; i < MACHINES; i++)
        take(p, i);
    pass_s(p, 1);
    if (machines != 0)
        stand_still(p, machines, STILL_S);
    else
        pass_s(p, 1);
    for (uint32_t i = 0; i < MACHINES; i++)
        assert_int_equal(done(p, i), 0);
}

static void work_often(struct plant *p, unsigned machines, int times)
{
    for (int i = 0; i < times; i++)
        work(p, machines);
}

/* The machine that index 0 runs on. */
static unsigned machine_of_first(const struct plant *p)
{
    for (unsigned a = 0; a < p->w->n_agents; a++)
        if (streq(p->w->agents[a].name, trainer(p, 0)->node->name))
            return 1U << a;
    fail_msg("trainer-0 runs nowhere");
    return 0;
}

/* --- tasks --- */

TEST(test_no_task_is_done_twice)
{
    struct task_queue_counts counts;
    struct plant p;

    begin_with(&p, 1, 2000);
    work_often(&p, ALL, 4);
    counts = task_queue_counts(p.job->queue);
    assert_int_equal(counts.retries_total, 0);
    take(&p, 0);
    stand_still(&p, ALL, STILL_S); /* to move it would lose what it did of its own */
    assert_in_range(task_queue_held_us(p.job->queue, trainer(&p, 0)->incarnation, p.w->now.now_us),
                    0, 2 * USEC_PER_SEC);
    assert_int_equal(p.w->cluster->figures.task_ends[TASK_END_EXPIRED], 0);
    end(&p);
}

/* What goes on while nobody hears it finds its tasks as well. */
TEST(test_no_task_is_lost_by_who_worked_unheard)
{
    struct plant p;

    begin_with(&p, 1, 2000);
    take(&p, 0);
    stand_still(&p, 0, STILL_S);
    pass_s(&p, LEASE_S - 10);
    assert_int_equal(done(&p, 0), 0);
    take(&p, 0);
    stand_still(&p, 0, LEASE_S - 20); /* nothing is overdue yet */
    pass_s(&p, LEASE_S - 20);
    assert_int_equal(done(&p, 0), 0);
    assert_int_equal(p.w->cluster->figures.task_ends[TASK_END_EXPIRED], 0);
    end(&p);
}

/* One that hangs loses its task all the same, though it stood still once. */
TEST(test_task_of_one_that_hangs_comes_back)
{
    struct plant p;

    begin_with(&p, 1, 2000);
    take(&p, 0);
    stand_still(&p, ALL, STILL_S);
    pass_s(&p, LEASE_S + 10);
    assert_int_equal(p.w->cluster->figures.task_ends[TASK_END_EXPIRED], 1);
    assert_int_equal(done(&p, 0), EDL_ESTALE);
    end(&p);
}

/* --- speeds --- */

TEST(test_no_speed_is_measured_across_it)
{
    uint64_t windows;
    double unit_s;
    struct plant p;

    begin_with(&p, 1, 2000);
    work_often(&p, 0, 12);
    windows = p.job->learned->of.windows;
    unit_s = goodput_learn_unit_s(&p.job->learned->of, MACHINES);
    assert_true(windows > 0);
    work_often(&p, ALL, 12);
    assert_int_equal(p.job->learned->of.windows, windows);
    assert_near(goodput_learn_unit_s(&p.job->learned->of, MACHINES), unit_s, 0);
    work_often(&p, 0, 12);
    assert_true(p.job->learned->of.windows > windows);
    assert_near(goodput_learn_unit_s(&p.job->learned->of, MACHINES), unit_s, 0.02 * unit_s);
    end(&p);
}

/* It is the slowest by far, by the clock; and nothing that is known says so. */
TEST(test_nobody_is_a_straggler_for_it)
{
    struct plant p;
    unsigned first;

    begin_with(&p, 1, 2000);
    work_often(&p, 0, 12);
    first = machine_of_first(&p);
    for (int i = 0; i < 12; i++) {
        take(&p, 0);
        stand_still(&p, first, STILL_S);
        assert_int_equal(done(&p, 0), 0);
        work(&p, 0);
    }
    assert_true(trainer(&p, 0)->speed >= PROCESS_STRAGGLES);
    assert_near(trainer(&p, 0)->node->speeds[SPEED_CPU].log, 0, 0.05);
    assert_near(p.job->learned->evenness, 1, 0.05);
    assert_int_equal(p.w->cluster->figures.stragglers_moved, 0);
    end(&p);
}

TEST(test_no_change_is_dear_for_it)
{
    struct plant p;

    begin_with(&p, 1, 2000);
    work_often(&p, 0, 2);
    p.job->learned->of.resize_s = 0;
    p.w->agents[1].foreign_cpu_millicores = CORE; /* it shrinks by one, and grows again */
    pass_s(&p, 30);
    assert_int_equal(job_count_running(p.job, 0), MACHINES - 1);
    p.job->learned->of.resize_s = 0;
    p.w->agents[1].foreign_cpu_millicores = 0;
    while (job_count_running(p.job, 0) < MACHINES)
        pass_s(&p, 1);
    stand_still(&p, ALL, STILL_S); /* the new one loads what it needs */
    for (uint32_t i = 0; i < MACHINES; i++)
        take(&p, i);
    assert_int_equal(p.job->counts[0].at_work, MACHINES);
    assert_near(p.job->learned->of.resize_s, 0, 0);
    end(&p);
}

/* --- lengths --- */

TEST(test_work_is_none_of_it)
{
    double before;
    struct plant p;

    begin_with(&p, 1, 2000);
    work_often(&p, 0, 12);
    before = p.job->learned->of.work_s / goodput_learn_speedup(&p.job->learned->of, MACHINES);
    stand_still(&p, ALL, 600);
    work(&p, 0);
    assert_near(p.job->learned->of.work_s / goodput_learn_speedup(&p.job->learned->of, MACHINES),
                before + 3, 2);
    end(&p);
}

TEST(test_length_of_a_fixed_job_is_without_it)
{
    struct goodput_family_facts family;
    char name[JOB_FAMILY_SIZE];
    struct plant p;

    begin_with(&p, MACHINES, 0);
    pass_s(&p, 90);
    stand_still(&p, ALL, 600);
    job_length_name(p.job, name);
    for (uint32_t i = 0; i < MACHINES; i++)
        world_exit(p.w, trainer(&p, i), 0, 0);
    pass_s(&p, 2);
    assert_int_equal(p.job->state, JOB_SUCCEEDED);
    assert_true(goodput_family_get(p.w->cluster->families, name, &family));
    assert_int_equal(family.n_ended, 1);
    assert_near(family.ended[0] * job_length_unit_s(p.job), 100, 8);
    assert_true(family.most * job_length_unit_s(p.job) < 110);
    end(&p);
}
