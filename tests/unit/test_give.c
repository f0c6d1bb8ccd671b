/* SPDX-License-Identifier: Apache-2.0 */
/* test_give.c - a job gives instances up to the growth of another one between two tasks
 *
 * A long job holds seven of eight cores and has a task with each. A short one comes, starts on the
 * eighth and is worth more: the instance that the long one gives for that it gives when it asks for
 * tasks. */
#include <stdio.h>
#include <string.h>

#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_family.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/speed/prior.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

#define CORE UINT64_C(1000) /* millicores, of one instance */
#define CORES 8
#define HELD 7        /* by the giver, at first */
#define TAKEN 3       /* by the taker, beside its minimum: all that it can use */
#define RECORD_S 10.0 /* on one instance */

struct stage {
    struct world *w;
    struct job *taker, *giver;
    struct task *tasks[CORES]; /* of the giver, by its slots */
};

static struct job_spec *spec_of(const char *name, uint32_t min, uint32_t max)
{
    return world_command(world_spec(name, min, max, CORE, 0, 0), name); /* a family of its own */
}

/* Jobs like it are so many times as fast with so many instances, and begin in no time. */
static void teach(struct world *w, const struct job_spec *spec)
{
    struct goodput_learned learned;
    char name[JOB_FAMILY_SIZE];

    spec_family_name(spec, w->user, name);
    goodput_learn_init(&learned);
    learned.resize_s = 1;
    for (uint32_t k = 1; k <= CORES; k++) {
        learned.measured_s = RECORD_S / k;
        (void)goodput_pserver_add(&learned.fit,
                                  &(struct goodput_pserver_report){ k, 1, learned.measured_s });
        learned.windows++;
        learned.instances = learned.largest = k;
        goodput_prior_note(goodput_family_prior(w->cluster->families, name), &learned);
    }
}

static struct job *run_job(struct world *w, const char *name, uint32_t max, uint32_t n_tasks)
{
    struct job_spec *spec = spec_of(name, 1, max);
    struct job *job;

    teach(w, spec);
    job = world_submit(w, spec);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(n_tasks, 1), "d", w->now,
                                         NULL),
                     0);
    for (int s = 0; s < 3 || (s < 9 && job->state != JOB_RUNNING); s++)
        world_second(w); /* the policy is asked every two seconds */
    assert_int_equal(job->state, JOB_RUNNING);
    return job;
}

static struct process *live(const struct job *job, uint32_t index)
{
    return index < job->n_slots[0] ? job->slots[0][index].live : NULL;
}

/* true: it has a task beside those that it had; else it is stopped instead */
static bool ask(struct stage *s, uint32_t index)
{
    enum task_lease_result result;
    struct process *process = live(s->giver, index);
    const struct task *had = s->tasks[index];
    bool save;

    assert_int_equal(cluster_lease_task(s->w->cluster, process, had != NULL ? &had->id : NULL,
                                        had != NULL, s->w->now, &result, &s->tasks[index], &save,
                                        NULL),
                     0);
    if (result == TASK_LEASE_GIVEN)
        return true;
    assert_int_equal(result, TASK_LEASE_WAIT); /* there is enough to do */
    assert_true(process->stop_wanted);
    s->tasks[index] = NULL;
    return false;
}

static void finish(struct stage *s, uint32_t index)
{
    const struct task *task = s->tasks[index];

    assert_int_equal(cluster_finish_task(s->w->cluster, live(s->giver, index), task->id,
                                         task_queue_pass(s->giver->queue), task->lease, s->w->now,
                                         NULL),
                     0);
}

static uint32_t n_asked_to_stop(const struct job *job)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < job->n_slots[0]; i++)
        n += live(job, i) != NULL && live(job, i)->stop_wanted;
    return n;
}

/* In the order of their beginning so many have a task, and the short job has come. */
static void begin_in(struct stage *s, struct world *w, uint32_t n_busy)
{
    *s = (struct stage){ .w = w };
    world_run(s->w, 1);
    s->giver = run_job(s->w, "long", HELD, 5000);
    assert_int_equal(job_count_running(s->giver, 0), HELD);
    for (uint32_t i = 0; i < n_busy; i++) {
        world_second(s->w);
        assert_true(ask(s, i));
    }
    s->taker = run_job(s->w, "short", 1 + TAKEN, 50);
}

static struct world *world_of(size_t n_nodes, uint64_t cpu_millicores, uint32_t load_permille)
{
    world_policy = &policy_goodput;
    return world_new(n_nodes, cpu_millicores, GIB, load_permille);
}

static void begin_with(struct stage *s, uint32_t n_busy)
{
    begin_in(s, world_of(2, CORES / 2 * CORE, 1000), n_busy);
}

static void begin(struct stage *s)
{
    begin_with(s, HELD);
}

static void end(struct stage *s)
{
    world_free(s->w);
    world_policy = &policy_fulfilment;
}

/* Seconds pass; nobody asks for anything. */
static void wait_s(struct stage *s, int seconds)
{
    while (seconds-- > 0)
        world_second(s->w);
}

TEST(test_nobody_is_stopped_in_the_middle_of_a_task)
{
    struct stage s;

    begin(&s);
    assert_int_equal(s.giver->gives, TAKEN);
    wait_s(&s, 30);
    assert_int_equal(s.giver->gives, TAKEN); /* it decides nothing twice */
    assert_int_equal(n_asked_to_stop(s.giver), 0);
    assert_int_equal(job_count_running(s.giver, 0), HELD);
    assert_int_equal(job_count_running(s.taker, 0), 1); /* there is no room yet */
    assert_int_equal(s.giver->target[0], HELD - TAKEN); /* which its owner sees at once */
    assert_int_equal(s.w->cluster->planner->given.cpu_millicores, TAKEN * CORE);
    world_replan(s.w);
    assert_int_equal(s.giver->gives, TAKEN);
    end(&s);
}

/* Whoever of them is the first to ask: the next one that began, or the last one. */
static void give_in_turn(bool last_first)
{
    struct stage s;

    begin(&s);
    for (uint32_t n = 0; n < HELD; n++) {
        uint32_t i = last_first ? HELD - 1 - n : n;
        bool goes = n < TAKEN;

        finish(&s, i);
        assert_int_equal(ask(&s, i), !goes);
        if (!goes)
            continue;
        assert_int_equal(s.giver->gives, TAKEN - n - 1);
        assert_int_equal(s.giver->target[0], HELD - TAKEN);
        assert_non_null(strstr(live(s.giver, i)->reason, "between two tasks"));
        world_plan(s.w);
        assert_int_equal(n_asked_to_stop(s.giver), n + 1);
    }
    assert_int_equal(job_count(s.taker, 0, false), 1); /* what it takes is being stopped */
    wait_s(&s, 3);
    assert_int_equal(s.giver->gives, 0);
    assert_int_equal(job_count_running(s.giver, 0), HELD - TAKEN);
    assert_int_equal(job_count_running(s.taker, 0), 1 + TAKEN);
    assert_int_equal(task_queue_counts(s.giver->queue).leased, HELD - TAKEN);
    assert_int_equal(s.w->cluster->figures.task_ends[TASK_END_RETURNED], 0);
    end(&s);
}

TEST(test_exactly_as_many_go_when_they_ask_for_tasks)
{
    give_in_turn(false);
    give_in_turn(true);
}

/* Leases are served behind the plan of a turn and before its commit: what is stored is the whole
 * truth without another plan. */
TEST(test_what_goes_is_settled_before_the_next_plan)
{
    struct stage s;

    begin(&s);
    wait_s(&s, 1);
    for (uint32_t i = 0; i < TAKEN; i++) {
        finish(&s, i);
        world_plan(s.w);
        assert_false(ask(&s, i));
        world_commit(s.w); /* compares what is loaded */
        assert_int_equal(s.giver->state, JOB_RESIZING);
    }
    wait_s(&s, 3);
    assert_int_equal(s.giver->state, JOB_RUNNING);
    end(&s);
}

/* One hangs in its task: it is the slowest and never asks again. The first that goes does not end
 * when it is to stop. Neither keeps the others from being given. */
TEST(test_one_that_hangs_keeps_nobody)
{
    struct stage s;
    const struct process *stuck, *first;

    begin(&s);
    stuck = live(s.giver, HELD - 1);
    live(s.giver, HELD - 1)->speed = 0.1F;
    first = live(s.giver, 0);
    world_hang(s.w, first, true);
    for (uint32_t i = 0; i < HELD - 1; i++) {
        finish(&s, i);
        assert_int_equal(ask(&s, i), i >= TAKEN);
        wait_s(&s, 3);
        assert_int_equal(n_asked_to_stop(s.giver), 1); /* the others are gone */
    }
    assert_int_equal(s.giver->gives, 0);
    assert_false(stuck->stop_wanted);
    assert_true(first->stop_wanted);
    assert_int_equal(job_count_running(s.taker, 0), TAKEN); /* one waits for what hangs */
    world_hang(s.w, first, false);
    wait_s(&s, 3);
    assert_int_equal(job_count_running(s.taker, 0), 1 + TAKEN);
    assert_int_equal(job_count_running(s.giver, 0), HELD - TAKEN);
    end(&s);
}

/* It takes its next task while it works on one, as a program does that reads ahead. */
TEST(test_who_asks_in_advance_is_in_the_middle_of_its_work)
{
    struct stage s;
    struct task *next;

    begin(&s);
    for (uint32_t i = 0; i < HELD; i++)
        for (int tasks = 0; tasks < 3; tasks++) {
            struct task *task = s.tasks[i];

            assert_true(ask(&s, i));
            next = s.tasks[i];
            s.tasks[i] = task;
            finish(&s, i);
            s.tasks[i] = next;
        }
    assert_int_equal(s.giver->gives, TAKEN);
    assert_int_equal(n_asked_to_stop(s.giver), 0);
    finish(&s, 0);
    assert_false(ask(&s, 0)); /* it holds none */
    assert_int_equal(s.giver->gives, TAKEN - 1);
    assert_int_equal(s.w->cluster->figures.task_ends[TASK_END_RETURNED], 0);
    end(&s);
}

/* No node is full, but the cluster may not be used further than the limit. Foreign load passes that
 * while nobody has asked for a task: what is to be given is still held, so one is stopped. */
TEST(test_over_the_limit_nobody_waits_for_a_task)
{
    struct stage s;

    begin_in(&s, world_of(1, (CORES + 2) * CORE, 1000 * CORES / (CORES + 2)), HELD);
    assert_int_equal(s.giver->gives, TAKEN);
    wait_s(&s, 3);
    assert_int_equal(n_asked_to_stop(s.giver), 0);
    s.w->agents[0].foreign_cpu_millicores = CORE;
    wait_s(&s, 3);
    assert_int_equal(job_count_running(s.giver, 0) + job_count_running(s.taker, 0), CORES - 1);
    s.w->agents[0].foreign_cpu_millicores = 2 * CORE; /* as much as everything that is free */
    wait_s(&s, 3);
    assert_int_equal(job_count_running(s.giver, 0) + job_count_running(s.taker, 0), CORES - 2);
    assert_true(job_count_running(s.giver, 0) >= 1);
    end(&s);
}

/* What is not working on a task loses nothing: it goes at once, and nobody waits for it. */
TEST(test_who_has_no_task_goes_at_once)
{
    struct stage s;

    begin_with(&s, HELD - TAKEN);
    wait_s(&s, 3);
    assert_int_equal(s.giver->gives, 0);
    assert_int_equal(job_count_running(s.giver, 0), HELD - TAKEN);
    assert_int_equal(job_count_running(s.taker, 0), 1 + TAKEN);
    for (uint32_t i = 0; i < HELD - TAKEN; i++)
        assert_int_equal(live(s.giver, i)->state, PROCESS_RUNNING);
    end(&s);
}

/* A gang waits for nobody's task. What it stops is not there to be given any more. */
static void stop_for_gang(uint32_t instances, uint32_t gives)
{
    struct stage s;
    struct job *gang;

    begin(&s);
    gang = world_submit(s.w, spec_of("gang", instances, instances));
    assert_int_equal(n_asked_to_stop(s.giver), instances);
    wait_s(&s, 3);
    assert_int_equal(gang->state, JOB_RUNNING);
    assert_int_equal(job_count_running(s.giver, 0), HELD - instances);
    assert_int_equal(s.giver->gives, gives);
    for (uint32_t i = 0; i < HELD; i++)
        if (live(s.giver, i) != NULL) {
            finish(&s, i);
            assert_int_equal(ask(&s, i), gives == 0);
            gives -= gives > 0;
        }
    world_plan(s.w);
    wait_s(&s, 3);
    assert_int_equal(s.giver->gives, 0);
    assert_int_equal(job_count_running(s.giver, 0) + job_count_running(s.taker, 0),
                     CORES - instances);
    end(&s);
}

TEST(test_gang_stops_at_once)
{
    stop_for_gang(1, TAKEN);
    stop_for_gang(HELD - 1, 0); /* down to its minimum */
}

/* The short one is gone before anybody asked: nobody was stopped for nothing. */
TEST(test_what_is_wanted_back_is_kept)
{
    struct stage s;

    begin(&s);
    assert_true(s.giver->gives > 0);
    assert_int_equal(cluster_kill_job(s.w->cluster, s.taker, "killed", s.w->now, NULL), 0);
    wait_s(&s, 3);
    assert_int_equal(s.giver->gives, 0);
    assert_int_equal(s.giver->target[0], HELD);
    assert_int_equal(s.w->cluster->planner->given.cpu_millicores, 0);
    for (uint32_t i = 0; i < HELD; i++) {
        finish(&s, i);
        assert_true(ask(&s, i));
    }
    assert_int_equal(job_count_running(s.giver, 0), HELD);
    assert_int_equal(n_asked_to_stop(s.giver), 0);
    end(&s);
}

/* What was asked for is decided by what is remembered: a copy gives the same, of the same. */
TEST(test_a_copy_gives_the_same)
{
    struct stage s;
    struct cluster *copy;
    struct job *giver;
    struct process *process;
    enum task_lease_result result;
    struct task *task;
    bool save;

    begin(&s);
    copy = cluster_clone(s.w->cluster, s.w->now);
    assert_int_equal(cluster_check(copy, NULL), 0);
    giver = cluster_job(copy, s.giver->id);
    assert_int_equal(giver->gives, TAKEN);
    cluster_replan(copy, s.w->now);
    assert_int_equal(cluster_check(copy, NULL), 0);
    assert_int_equal(giver->gives, TAKEN);
    assert_int_equal(giver->target[0], HELD - TAKEN);
    assert_int_equal(n_asked_to_stop(giver), 0);
    assert_int_equal(copy->planner->given.cpu_millicores, TAKEN * CORE);
    process = live(giver, 2);
    assert_int_equal(cluster_fail_task(copy, process, s.tasks[2]->id, 0, s.tasks[2]->lease, true,
                                       NULL, s.w->now, NULL),
                     0);
    assert_int_equal(cluster_lease_task(copy, process, NULL, 0, s.w->now, &result, &task, &save,
                                        NULL),
                     0);
    assert_true(process->stop_wanted);
    assert_int_equal(giver->gives, TAKEN - 1);
    cluster_plan(copy, s.w->now);
    assert_int_equal(cluster_check(copy, NULL), 0);
    assert_int_equal(giver->gives, TAKEN - 1);
    (void)cluster_free(copy);
    end(&s);
}

/* Both were moved: for three of their resize costs, of a second each, neither is again. */
TEST(test_who_was_moved_rests_until_that_is_paid)
{
    struct stage s;
    uint64_t until_us;

    begin(&s);
    until_us = deadline_at(&planned_is(s.giver)->rest);
    assert_true(until_us > s.w->now.now_us);
    assert_true(until_us <= s.w->now.now_us + 3 * USEC_PER_SEC);
    for (uint32_t i = 0; i < TAKEN; i++) {
        finish(&s, i);
        assert_false(ask(&s, i));
    }
    for (int i = 0; i < 5 && job_count(s.taker, 0, false) < 1 + TAKEN; i++)
        wait_s(&s, 1);
    assert_int_equal(job_count(s.taker, 0, false), 1 + TAKEN);
    until_us = deadline_at(&planned_is(s.taker)->rest);
    assert_true(until_us > s.w->now.now_us && until_us != NEVER_US);
    wait_s(&s, 8);
    assert_int_equal(deadline_at(&planned_is(s.giver)->rest), NEVER_US);
    assert_int_equal(deadline_at(&planned_is(s.taker)->rest), NEVER_US);
    end(&s);
}

TEST(test_who_is_over_does_not_rest)
{
    struct stage s;

    begin(&s);
    assert_true(deadline_at(&planned_is(s.giver)->rest) != NEVER_US);
    assert_int_equal(cluster_kill_job(s.w->cluster, s.giver, "killed", s.w->now, NULL), 0);
    world_second(s.w);
    assert_true(job_state_is_final(s.giver->state));
    assert_int_equal(deadline_at(&planned_is(s.giver)->rest), NEVER_US);
    end(&s);
}

/* After a restart nobody knows of it: the policy decides anew, and nobody is stopped. */
TEST(test_restart_stops_nobody)
{
    struct stage s;

    begin(&s);
    world_restart(s.w);
    s.giver = cluster_find_job(s.w->cluster, "long");
    s.taker = cluster_find_job(s.w->cluster, "short");
    assert_int_equal(s.giver->gives, 0);
    assert_int_equal(cluster_check(s.w->cluster, NULL), 0);
    wait_s(&s, 3);
    assert_int_equal(n_asked_to_stop(s.giver), 0);
    assert_int_equal(job_count_running(s.giver, 0), HELD);
    end(&s);
}

/* Its owner raises its minimum meanwhile: that is what it gives no more of. */
TEST(test_minimum_is_not_given)
{
    struct stage s;

    begin(&s);
    assert_int_equal(cluster_scale_job(s.w->cluster, s.giver, "trainer", HELD - 1, HELD, s.w->now,
                                       NULL),
                     0);
    wait_s(&s, 3);
    assert_in_range(s.giver->gives, 0, 1); /* its new minimum stays */
    assert_true(s.giver->target[0] >= HELD - 1);
    for (uint32_t i = 0; i < HELD; i++) {
        finish(&s, i);
        (void)ask(&s, i);
    }
    wait_s(&s, 3);
    assert_true(job_count_running(s.giver, 0) >= HELD - 1);
    end(&s);
}
