/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_learn.c - what the core learns of a job from its processes and its task queue */

#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/take.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/rendezvous.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

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
    learn_take(w->cluster);
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
    learn_take(w->cluster);
    world_check(w);
    return task;
}

static void finish(struct world *w, const struct job *job, uint32_t index, const struct task *task)
{
    assert_int_equal(cluster_finish_task(w->cluster, world_live(job, "trainer", index), task->id,
                                         task_queue_pass(job->queue), task->lease, w->now, NULL),
                     0);
    learn_take(w->cluster);
    world_check(w);
}

/* All of them that run work on their tasks for so long. */
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

TEST(test_growth_is_timed_by_who_takes_tasks)
{
    struct world *w;
    struct job *job = begin(&w, 2);

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

TEST(test_task_that_is_given_back_is_lost)
{
    struct world *w;
    struct job *job = begin(&w, 4);
    struct task *task;

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
TEST(test_who_waits_for_a_generation_does_not_work)
{
    enum rendezvous_result result;
    struct world *w;
    struct job *job = begin(&w, 2);

    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(cluster_arrive(w->cluster, world_live(job, "trainer", i), 0, NULL, w->now,
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
                                        i == 0 ? 0 : 1, NULL, w->now, &result, NULL),
                         0);
    assert_int_equal(result, RENDEZVOUS_AGREED);
    assert_int_equal(job->counts[0].at_work, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(job->counts[0].at_work, 3 - i);
        assert_int_equal(cluster_arrive(w->cluster, world_live(job, "trainer", i), 2, NULL, w->now,
                                        &result, NULL),
                         0);
    }
    assert_int_equal(job->counts[0].at_work, 3);
    world_check(w);
    end(w);
}

/* What failed and is started again after its back-off is no resize. */
TEST(test_repair_is_no_resize)
{
    struct world *w;
    struct job *job = begin(&w, 3);

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

/* --- families
 * ----------------------------------------------------------------------------------------- */

static struct job_spec *spec_of(const char *name, const char *command)
{
    return world_command(world_spec(name, 2, 8, CORE, 0, 0), command);
}

static struct job *start_as(struct world *w, const char *user, const char *name,
                            const char *command)
{
    struct job *job;

    w->user = user;
    job = world_submit(w, spec_of(name, command));
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    return job;
}

static void kill_job(struct world *w, struct job *job)
{
    assert_int_equal(cluster_kill_job(w->cluster, job, NULL, w->now, NULL), 0);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_KILLED);
}

/* A program that is measured with four instances, then over */
static void teach_family(struct world *w, const char *user, const char *command)
{
    struct job *job = start_as(w, user, "first", command);

    set_dataset(w, job);
    for (int i = 0; i < 12; i++)
        work(w, job, 4, 2);
    assert_true(job->learned->of.windows > 0);
    kill_job(w, job);
}

static uint32_t largest_known(struct world *w, const char *user, const char *name,
                              const char *command)
{
    struct job *job = start_as(w, user, name, command);
    uint32_t largest = job->learned->told.largest;

    kill_job(w, job);
    return largest;
}

static struct world *world_of_four(void)
{
    struct world *w;

    world_policy = &policy_goodput;
    w = world_new(1, 4 * CORE, GIB, 1000);
    world_run(w, 1);
    return w;
}

TEST(test_family_shares_speeds_of_one_program_of_one_user)
{
    struct world *w = world_of_four();

    teach_family(w, "alice", "train --seed 1");
    assert_int_equal(largest_known(w, "alice", "second", "train --seed 17"), 4);
    assert_int_equal(largest_known(w, "alice", "third", "train --fast"), 0);
    assert_int_equal(largest_known(w, "bob", "fourth", "train --seed 1"), 0);
    end(w);
}

/* But for numbers, in whichever folder it lies; only in the name of its file they count. */
TEST(test_script_of_another_name_is_another_program)
{
    struct world *w = world_of_four();

    teach_family(w, "alice", "python3 runs/1/train-1.py --seed 1");
    assert_int_equal(largest_known(w, "alice", "second", "python3 runs/2/train-1.py --seed 2"), 4);
    assert_int_equal(largest_known(w, "alice", "third", "python3 runs/1/train-2.py --seed 1"), 0);
    end(w);
}

TEST(test_families_survive_a_restart)
{
    struct world *w = world_of_four();
    struct goodput_family_facts before, after;
    struct job *job;

    teach_family(w, "alice", "train");
    job = start_as(w, "alice", "second", "train");
    assert_true(goodput_family_get(w->cluster->families, job->learned->family, &before));
    assert_true(before.prior.fit.reports > 0);
    wait_s(w, 100);
    world_commit(w);
    world_restart(w);
    job = cluster_find_job(w->cluster, "second");
    assert_null(job->learned);
    wait_s(w, 10);
    assert_non_null(job->learned);
    assert_int_equal(job->learned->told.largest, 4);
    assert_near(goodput_learn_unit_s(&job->learned->told, 1), before.prior.unit_s,
                0.01 * before.prior.unit_s);
    /* what it did before is known by how long its instances run */
    assert_near(job->learned->told.work_s, 100 * goodput_learn_speedup(&job->learned->of, 4),
                15 * goodput_learn_speedup(&job->learned->of, 4));
    assert_true(goodput_family_get(w->cluster->families, job->learned->family, &after));
    assert_int_equal(after.n_begun, 1); /* the first; when the second began was not written */
    assert_memory_equal(before.prior.fit.gram, after.prior.fit.gram, sizeof before.prior.fit.gram);
    end(w);
}

/* The clock of people was wrong when it was started, or is wrong now, in both directions: by a
 * clock that nobody sets its instances have run for 100 s. */
TEST(test_wrong_clocks_make_nobody_long)
{
    static const int64_t set_by_us[] = { INT64_C(1700000000000000), -INT64_C(1000000000000000) };

    for (size_t i = 0; i < ELEMENTS(set_by_us); i++) {
        struct world *w = world_of_four();
        struct job *job;
        double work_s;

        w->now.wall_us += UINT64_C(2000000000000000);
        (void)start_as(w, "alice", "first", "train");
        wait_s(w, 100);
        w->now.wall_us += (uint64_t)set_by_us[i];
        world_commit(w);
        world_restart(w);
        job = cluster_find_job(w->cluster, "first");
        wait_s(w, 10);
        work_s = 100 * goodput_learn_speedup(&job->learned->of, 4);
        assert_near(job->learned->told.work_s, work_s, 0.15 * work_s);
        end(w);
    }
}

/* A trainer's call comes first, then the report that tells for how long it has run. */
TEST(test_call_before_the_first_report_loses_no_work)
{
    struct world *w = world_of_four();
    struct job *job = start_as(w, "alice", "first", "train");

    set_dataset(w, job);
    wait_s(w, 1000);
    world_restart(w);
    job = cluster_find_job(w->cluster, "first");
    work(w, job, 4, 1);
    assert_null(job->learned);
    wait_s(w, 10);
    assert_non_null(job->learned);
    assert_true(job->learned->of.work_s > 1000);
    end(w);
}

/* Nothing of its family was written before the restart. */
TEST(test_restored_job_is_of_its_family)
{
    struct world *w = world_of_four();
    struct goodput_family_facts family;
    struct job *job;

    (void)start_as(w, "alice", "first", "train");
    world_restart(w);
    wait_s(w, 10);
    job = cluster_find_job(w->cluster, "first");
    assert_true(goodput_family_get(w->cluster->families, job->learned->family, &family));
    assert_int_equal(family.n_begun, 1);
    end(w);
}

/* A job that measures all the time is no reason to write all the time. */
TEST(test_families_are_written_now_and_then)
{
    struct world *w = world_of_four();
    struct job *job = start_as(w, "alice", "first", "train");
    unsigned written = 0;

    set_dataset(w, job);
    world_commit(w);
    for (int i = 0; i < 120; i++) {
        size_t n;
        const struct effect *effects;

        work(w, job, 4, 2);
        effects = cluster_effects(w->cluster, &n);
        for (size_t e = 0; e < n; e++)
            written += effects[e].kind == EFFECT_SAVE_FAMILY;
        world_second(w);
    }
    assert_true(job->learned->of.windows > 8);
    assert_int_equal(written, 2); /* in six minutes */
    end(w);
}

/* A copy of the cluster plans as the original would: it has the families, too. */
TEST(test_copy_knows_the_families)
{
    struct world *w = world_of_four();
    struct cluster *copy;
    struct job *job = NULL;

    teach_family(w, "alice", "train");
    copy = cluster_clone(w->cluster, w->now);
    assert_int_equal(cluster_submit(copy, spec_of("second", "train"), "alice", w->now, &job, NULL),
                     0);
    cluster_plan(copy, w->now);
    assert_int_equal(job->state, JOB_STARTING);
    assert_int_equal(job->learned->told.largest, 4);
    assert_null(cluster_free(copy));
    end(w);
}

/* It has no task queue: what others took says how long it is, and its own time how far. */
/* Tasks that take hours measure nothing for hours; what was worked on them is told all the same. */
TEST(test_tasks_that_take_long_are_told_of)
{
    struct world *w;
    struct job *job = begin(&w, 2);
    struct task *task;

    set_dataset(w, job);
    (void)lease(w, job, 0);
    task = lease(w, job, 1);
    wait_s(w, 40);
    assert_near(job->learned->units_done, 0, 0);
    finish(w, job, 1, task);
    assert_near(job->learned->units_done, 0, 0); /* one is no measurement */
    (void)lease(w, job, 1);
    wait_s(w, 40);
    assert_int_equal(job->learned->told.windows, 0);
    assert_true(job->learned->told.work_s > 60); /* two are faster than one */
    assert_true(job->learned->units_done > 0);
    /* one of a thousand took more than a minute of one */
    assert_true(
        goodput_learn_work(&job->learned->told, job->learned->units_done, job->learned->units_left)
            .remaining_s > 900 * 60.0);
    end(w);
}

/* Who waits for another job takes no share yet. */
TEST(test_crowd_is_who_could_run)
{
    struct world *w;
    struct job *job = begin(&w, 4);
    struct job_spec *spec = world_spec("c", 1, 1, CORE, 0, 0);

    (void)world_submit(w, world_spec("b", 4, 4, CORE, 0, 0));
    spec->after = xcalloc(2, sizeof *spec->after);
    spec->after[0] = xstrdup("b");
    (void)world_submit(w, spec);
    assert_int_equal(job->learned->crowd, 1);
    world_advance(w, 600 * USEC_PER_SEC);
    fact_seen(w->cluster, job->slots[0][0].newest, w->now);
    learn_take(w->cluster);
    assert_int_equal(job->learned->crowd, 2);
    end(w);
}

TEST(test_family_tells_the_length_of_who_does_not)
{
    struct world *w = world_of_four();
    struct job *job = start_as(w, "alice", "first", "train");
    struct goodput_work work_left;
    double whole_s;

    assert_near(job->learned->told.family_s, 0, 0);
    wait_s(w, 1000);
    for (uint32_t i = 0; i < 4; i++)
        world_exit(w, world_live(job, "trainer", i), 0, 0);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_SUCCEEDED);
    whole_s = job->learned->of.work_s;
    assert_near(whole_s, 1000 * pow(4, 1 - GOODPUT_UNTRIED), 0.1 * whole_s);
    world_restart(w); /* which remembers */
    job = start_as(w, "alice", "second", "train");
    assert_near(job->learned->told.family_s, whole_s, 0.1 * whole_s);
    wait_s(w, 500);
    work_left =
        goodput_learn_work(&job->learned->told, job->learned->units_done, job->learned->units_left);
    assert_near(work_left.remaining_s, -1, 0);
    assert_near(work_left.family_median_s, whole_s, 0.1 * whole_s);
    /* as it was told last */
    assert_near(work_left.attained_s, whole_s / 2, 0.2 * whole_s);
    end(w);
}

/* A job without tasks is silent once it has run for a minute, until it has some. */
TEST(test_job_without_tasks_falls_silent)
{
    struct world *w;
    struct job *job = begin(&w, 8);

    assert_false(job->learned->told.silent);
    wait_s(w, 50);
    assert_false(job->learned->told.silent); /* its data may come still */
    wait_s(w, 20);
    assert_true(job->learned->told.silent);
    set_dataset(w, job);
    assert_false(job->learned->told.silent);
    wait_s(w, 200);
    assert_false(job->learned->told.silent); /* its tasks take long */
    end(w);
}

/* Its family has shown how fast it is: that is believed, whether it has tasks or not. */
TEST(test_job_of_a_measured_family_is_not_silent)
{
    struct world *w;
    struct job *job = begin(&w, 8);
    struct goodput_learned other;

    goodput_learn_init(&other);
    other.instances = 4;
    other.measured_s = 2;
    assert_int_equal(goodput_pserver_add(&other.fit, &(struct goodput_pserver_report){ 4, 1, 2 }),
                     0);
    goodput_prior_note(goodput_family_prior(w->cluster->families, job->learned->curve), &other);
    wait_s(w, 70);
    assert_int_equal(job->learned->told.largest, 4);
    assert_true(job->learned->told.borrowed);
    assert_false(job->learned->told.silent);
    end(w);
}
