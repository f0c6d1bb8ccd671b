/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_turn.c - who waits begins in the order of when it would have been over */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "scheduler/core/account.h"
#include "scheduler/core/core_internal.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"

#define CORE 1000

/* One instance of it fills the node; it is elastic, so that its family is learnt. */
static struct job_spec *spec_of(const char *name, const char *command, uint64_t cpu_millicores)
{
    return world_command(world_spec(name, 1, 2, cpu_millicores, 0, 0), command);
}

static struct world *world_of(const struct policy *policy)
{
    struct world *w;

    world_policy = policy;
    w = world_new(1, 4 * CORE, GIB, 1000);
    world_run(w, 1);
    return w;
}

static void end(struct world *w)
{
    world_free(w);
    world_policy = &policy_fulfilment;
}

/* Jobs of such a command took so long, in seconds on one instance. */
static void teach(struct world *w, const char *command, uint64_t cpu_millicores, double took_s)
{
    struct job *job = world_submit(w, spec_of("teacher", command, cpu_millicores));
    char family[JOB_FAMILY_SIZE];

    job_family_name(job, family);
    assert_int_equal(cluster_kill_job(w->cluster, job, NULL, w->now, NULL), 0);
    world_run(w, 4);
    if (w->cluster->families != NULL)
        goodput_family_ended(w->cluster->families, family, took_s);
}

static struct job *blocker(struct world *w)
{
    struct job *job = world_submit(w, world_spec("blocker", 1, 1, 4 * CORE, 0, 0));

    world_run(w, 3);
    assert_int_equal(job->state, JOB_RUNNING);
    return job;
}

static void over(struct world *w, const struct job *job)
{
    world_exit(w, world_live(job, "trainer", 0), 0, 0);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_SUCCEEDED);
}

static void assert_says(const struct world *w, const struct job *job, const char *other,
                        const char *words)
{
    struct job_account account;

    assert_string_equal(job->reason_code, "queued");
    assert_non_null(strstr(job->reason, other));
    cluster_account(w->cluster, job, &account);
    assert_non_null(strstr(account.text, words));
}

/* Of the same class, and of another one */
static const uint64_t other_class[] = { 4 * CORE, 3 * CORE };

static void test_shorter_one_goes_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < ELEMENTS(other_class); i++) {
        struct world *w = world_of(&policy_goodput);
        struct job *slow, *quick;

        teach(w, "slow", 4 * CORE, 5000);
        teach(w, "quick", other_class[i], 100);
        (void)blocker(w);
        slow = world_submit(w, spec_of("long", "slow", 4 * CORE));
        world_run(w, 2);
        quick = world_submit(w, spec_of("short", "quick", other_class[i]));
        world_run(w, 2);
        if (i == 0) /* of one class: who was passed is told */
            assert_says(w, slow, "short", "is expected to be shorter");
        assert_int_equal(slow->turn_wall_us - slow->submitted_wall_us, 5000 * USEC_PER_SEC);
        assert_int_equal(quick->turn_wall_us - quick->submitted_wall_us, 100 * USEC_PER_SEC);
        world_restart(w); /* the order is on record */
        over(w, cluster_find_job(w->cluster, "blocker"));
        assert_int_equal(cluster_find_job(w->cluster, "short")->state, JOB_RUNNING);
        assert_int_equal(cluster_find_job(w->cluster, "long")->state, JOB_QUEUED);
        end(w);
    }
}

/* An owner's guess orders those whose families nobody knows, of fixed jobs as well; what is known
 * of a family is believed. */
static void test_guess_counts_where_nothing_is_known(void **state)
{
    static const uint64_t hour_us = 3600 * USEC_PER_SEC;

    (void)state;
    for (uint32_t max = 1; max <= 2; max++) {
        struct world *w = world_of(&policy_goodput);
        struct job_spec *spec = world_command(world_spec("short", 1, max, 4 * CORE, 0, 0), "b");
        struct job *guessed, *known;

        teach(w, "slow", 4 * CORE, 5000);
        (void)blocker(w);
        (void)world_submit(w, spec_of("long", "a", 4 * CORE));
        spec->expected_us = hour_us / 10;
        guessed = world_submit(w, spec);
        spec = spec_of("known", "slow", 4 * CORE);
        spec->expected_us = hour_us / 10;
        known = world_submit(w, spec);
        world_run(w, 2);
        assert_int_equal(guessed->turn_wall_us - guessed->submitted_wall_us, hour_us / 10);
        assert_int_equal(known->turn_wall_us - known->submitted_wall_us, 5000 * USEC_PER_SEC);
        over(w, cluster_find_job(w->cluster, "blocker"));
        assert_int_equal(cluster_find_job(w->cluster, "short")->state, JOB_RUNNING);
        assert_int_equal(cluster_find_job(w->cluster, "long")->state, JOB_QUEUED);
        end(w);
    }
}

/* Of a job that needs four instances at least: so long with four */
static void test_guess_is_for_the_minimum(void **state)
{
    struct world *w = world_of(&policy_goodput);
    struct job_spec *spec = world_spec("wide", 4, 8, CORE, 0, 0);
    struct job *job;

    (void)state;
    spec->expected_us = 100 * USEC_PER_SEC;
    job = world_submit(w, spec);
    world_run(w, 3);
    assert_int_equal(job->turn_wall_us - job->submitted_wall_us, 100 * USEC_PER_SEC);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_true(fabs(job->learned->told.hint_s - 100 * pow(4, 1 - GOODPUT_UNTRIED)) < 1);
    end(w);
}

/* What came longer before than it takes is not passed any more. */
static void test_long_one_does_not_wait_for_ever(void **state)
{
    struct world *w = world_of(&policy_goodput);
    struct job *first, *slow, *quick;

    (void)state;
    teach(w, "slow", 4 * CORE, 5000);
    teach(w, "quick", 4 * CORE, 100);
    first = blocker(w);
    slow = world_submit(w, spec_of("long", "slow", 4 * CORE));
    for (int i = 0; i < 250; i++) /* 5,000 s, of which no lease ends */
        world_advance(w, 20 * USEC_PER_SEC), world_run(w, 1);
    quick = world_submit(w, spec_of("short", "quick", 4 * CORE));
    world_run(w, 2);
    over(w, first);
    assert_int_equal(slow->state, JOB_RUNNING);
    assert_int_equal(quick->state, JOB_QUEUED);
    end(w);
}

static void test_priority_goes_before_length(void **state)
{
    struct world *w = world_of(&policy_goodput);
    struct job_spec *spec = spec_of("long", "slow", 4 * CORE);
    struct job *first, *slow, *quick;

    (void)state;
    teach(w, "slow", 4 * CORE, 5000);
    teach(w, "quick", 4 * CORE, 100);
    first = blocker(w);
    quick = world_submit(w, spec_of("short", "quick", 4 * CORE));
    spec->priority = 1;
    slow = world_submit(w, spec);
    world_run(w, 2);
    over(w, first);
    assert_int_equal(slow->state, JOB_RUNNING);
    assert_int_equal(quick->state, JOB_QUEUED);
    end(w);
}

static void test_without_lengths_who_came_first_goes_first(void **state)
{
    struct world *w = world_of(&policy_goodput);
    struct job *first = blocker(w), *a, *b;

    (void)state;
    a = world_submit(w, spec_of("a", "a", 4 * CORE));
    world_run(w, 2);
    b = world_submit(w, spec_of("b", "b", 4 * CORE));
    world_run(w, 2);
    over(w, first);
    assert_int_equal(a->state, JOB_RUNNING);
    assert_int_equal(b->state, JOB_QUEUED);
    end(w);
}

/* Also of jobs whose lengths are on record, since they were submitted under another policy. */
static void test_fulfilment_has_the_order_of_submission(void **state)
{
    struct world *w = world_of(&policy_goodput);

    (void)state;
    teach(w, "slow", 4 * CORE, 5000);
    teach(w, "quick", 4 * CORE, 100);
    (void)blocker(w);
    (void)world_submit(w, spec_of("long", "slow", 4 * CORE));
    (void)world_submit(w, spec_of("short", "quick", 4 * CORE));
    world_run(w, 2);
    world_policy = &policy_fulfilment;
    world_restart(w);
    over(w, cluster_find_job(w->cluster, "blocker"));
    assert_int_equal(cluster_find_job(w->cluster, "long")->state, JOB_RUNNING);
    assert_int_equal(cluster_find_job(w->cluster, "short")->state, JOB_QUEUED);
    end(w);
}

/* Who is asked for with other bounds keeps its place, whatever is known meanwhile. */
static void test_place_is_kept(void **state)
{
    struct world *w = world_of(&policy_goodput);
    const struct job_change change = { .scale = true, .role = "trainer", .min = 1, .max = 1 };
    struct job *slow;
    uint64_t turn_wall_us;

    (void)state;
    (void)blocker(w);
    slow = world_submit(w, spec_of("long", "slow", 4 * CORE));
    turn_wall_us = slow->turn_wall_us;
    teach(w, "slow", 4 * CORE, 5000);
    assert_int_equal(cluster_change_job(w->cluster, slow, &change, w->now, NULL), 0);
    world_run(w, 2);
    assert_int_equal(slow->turn_wall_us, turn_wall_us);
    end(w);
}

static void wait_s(struct world *w, unsigned seconds)
{
    for (; seconds > 0; seconds--)
        world_second(w);
}

/* Two of unknown families wait; the first job of the second one's family ends after two minutes. */
static void test_turn_moves_forward_once_a_family_is_known(void **state)
{
    struct world *w = world_of(&policy_goodput);
    struct job *runner = world_submit(w, spec_of("runner", "b", 4 * CORE));
    struct job *first, *second;
    uint64_t turn_us;

    (void)state;
    world_run(w, 3);
    assert_int_equal(runner->state, JOB_RUNNING);
    first = world_submit(w, spec_of("first", "a", 4 * CORE));
    second = world_submit(w, spec_of("second", "b", 4 * CORE));
    wait_s(w, 120);
    over(w, runner);
    assert_int_equal(second->state, JOB_RUNNING);
    assert_int_equal(first->state, JOB_QUEUED);
    turn_us = second->turn_wall_us - second->submitted_wall_us;
    assert_in_range(turn_us, 100 * USEC_PER_SEC, 150 * USEC_PER_SEC);
    assert_int_equal(first->turn_wall_us - first->submitted_wall_us, 3600 * USEC_PER_SEC);
    world_restart(w); /* it is on record */
    assert_int_equal(cluster_find_job(w->cluster, "second")->turn_wall_us - turn_us,
                     cluster_find_job(w->cluster, "second")->submitted_wall_us);
    end(w);
}

static struct job *submit_guessed(struct world *w, const char *name, const char *command,
                                  uint64_t expected_s)
{
    struct job_spec *spec = world_command(world_spec(name, 1, 1, 4 * CORE, 0, 0), command);
    struct job *job;

    spec->expected_us = expected_s * USEC_PER_SEC;
    job = world_submit(w, spec);
    world_run(w, 3);
    return job;
}

static uint64_t turn_s(const struct job *job)
{
    return (job->turn_wall_us - job->submitted_wall_us) / USEC_PER_SEC;
}

/* Of a fixed size. One that runs shows that what is guessed of its family is wrong: the next one
 * waits behind those that it would pass by a guess, now, after a restart and when the first one has
 * ended. */
static void test_guess_that_was_outrun_is_not_believed(void **state)
{
    struct world *w = world_of(&policy_goodput);
    struct job *first, *honest, *liar;

    (void)state;
    first = submit_guessed(w, "first", "lie", 1);
    (void)submit_guessed(w, "held", "other", 1); /* the node is kept for it, which stays so */
    honest = submit_guessed(w, "honest", "true", 600);
    liar = submit_guessed(w, "liar", "lie", 1);
    wait_s(w, 60);
    assert_int_equal(turn_s(honest), 600);
    assert_int_equal(turn_s(liar), 3600);
    assert_says(w, liar, "held", "ran longer than was guessed");
    world_restart(w);
    wait_s(w, 800);
    first = cluster_find_job(w->cluster, "first");
    over(w, first);
    over(w, cluster_find_job(w->cluster, "held"));
    honest = cluster_find_job(w->cluster, "honest");
    liar = cluster_find_job(w->cluster, "liar");
    assert_in_range(turn_s(liar), 800, 900);
    assert_int_equal(honest->state, JOB_RUNNING);
    assert_int_equal(liar->state, JOB_QUEUED);
    end(w);
}

/* A program of jobs of any length whose owner knows them */
static void test_true_guesses_keep_their_order(void **state)
{
    struct world *w = world_of(&policy_goodput);
    struct job *first;

    (void)state;
    first = submit_guessed(w, "first", "b", 200);
    wait_s(w, 100);
    assert_int_equal(turn_s(submit_guessed(w, "long", "b", 5000)), 5000);
    over(w, first);
    assert_in_range(turn_s(submit_guessed(w, "later", "b", 2000)), 1000, 1100);
    assert_in_range(turn_s(submit_guessed(w, "short", "b", 20)), 10, 11);
    end(w);
}

/* Nobody guesses: what took as long before is taken to take as long. */
static void test_fixed_jobs_are_taken_to_last_as_others_did(void **state)
{
    struct world *w = world_of(&policy_goodput);
    struct job *runner = submit_guessed(w, "runner", "b", 0), *first, *second;

    (void)state;
    first = submit_guessed(w, "first", "a", 0);
    second = submit_guessed(w, "second", "b", 0);
    wait_s(w, 120);
    assert_int_equal(turn_s(second), 3600);
    over(w, runner);
    assert_in_range(turn_s(second), 100, 150);
    assert_int_equal(second->state, JOB_RUNNING);
    assert_int_equal(first->state, JOB_QUEUED);
    end(w);
}

static const struct job *running(const struct world *w)
{
    const struct job *job = w->cluster->jobs;

    while (job != NULL && job->state != JOB_RUNNING)
        job = job->hh.next;
    assert_non_null(job);
    return job;
}

/* Each end moves only some, and those that are left are not forgotten by a restart. */
static void test_turns_go_on_moving_after_a_restart(void **state)
{
    struct world *w = world_of(&policy_goodput);
    const struct job *job;
    char name[16];
    unsigned n_late = 0;

    (void)state;
    (void)world_submit(w, spec_of("job-0", "b", 4 * CORE));
    world_run(w, 3);
    for (int i = 1; i <= 40; i++) {
        (void)snprintf(name, sizeof name, "job-%d", i);
        (void)world_submit(w, spec_of(name, "b", 4 * CORE));
    }
    wait_s(w, 60);
    over(w, cluster_find_job(w->cluster, "job-0"));
    world_restart(w);
    wait_s(w, 60);
    for (int i = 0; i < 2; i++)
        over(w, running(w));
    for (job = w->cluster->jobs; job != NULL; job = job->hh.next)
        n_late += job->state == JOB_QUEUED &&
                  job->turn_wall_us - job->submitted_wall_us >= 3600 * USEC_PER_SEC;
    assert_int_equal(n_late, 0);
    end(w);
}

/* Two run on and on: those of their family are put off, but not for ever. */
static void test_turn_is_put_off_to_a_bound(void **state)
{
    static const unsigned hours[] = { 1, 2, 4, 10 };
    struct world *w = world_of(&policy_goodput);
    struct job *runners[2], *held, *same,
        *other; /* held: nodes are kept for the first one, which stays that */
    uint64_t turn_us = 3600 * USEC_PER_SEC;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        runners[i] = world_submit(w, spec_of(i == 0 ? "x" : "y", "b", 2 * CORE));
        wait_s(w, 5);
    }
    assert_int_equal(runners[1]->state, JOB_RUNNING);
    held = world_submit(w, spec_of("held", "a", 4 * CORE));
    same = world_submit(w, spec_of("same", "b", 2 * CORE));
    other = world_submit(w, spec_of("other", "a", 4 * CORE));
    world_run(w, 2);
    for (size_t i = 0; i < ELEMENTS(hours); i++) {
        uint64_t before_us = turn_us;

        wait_s(w, hours[i] * 3600);
        turn_us = same->turn_wall_us - same->submitted_wall_us;
        assert_in_range(turn_us, before_us, 8 * 3600 * USEC_PER_SEC);
        assert_true(i == 0 || turn_us > 3600 * USEC_PER_SEC);
    }
    assert_true(turn_us >= 4 * 3600 * USEC_PER_SEC); /* the next doubling would pass the bound */
    assert_int_equal(other->turn_wall_us - other->submitted_wall_us, 3600 * USEC_PER_SEC);
    for (size_t i = 0; i < 2; i++)
        over(w, runners[i]);
    over(w, held);
    assert_int_equal(other->state, JOB_RUNNING);
    assert_int_equal(same->state, JOB_QUEUED);
    end(w);
}

/* The second job of a family begins, so that the first one's hours count. The last one of its class
 * is tried behind it in the same plan: its turn stands still meanwhile, or the class would go. */
static void test_turns_stand_still_within_a_plan(void **state)
{
    struct world *w = world_of(&policy_goodput);
    struct job *runner = world_submit(w, spec_of("runner", "b", CORE));
    struct job *like[2];

    (void)state;
    wait_s(w, 3 * 3600);
    assert_int_equal(job_count_running(runner, 0), 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cluster_submit(w->cluster, spec_of(i == 0 ? "first" : "last", "b", CORE),
                                        w->user, w->now, &like[i], NULL),
                         0);
    world_plan(w);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(like[i]->state, JOB_STARTING);
        assert_int_equal(like[i]->turn_wall_us - like[i]->submitted_wall_us, 3600 * USEC_PER_SEC);
    }
    end(w);
}

/* Of two of which nothing is known the one that came first, whatever the clock says. */
static void test_clock_that_is_put_back_lets_nobody_pass(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct world *w = world_of(&policy_goodput);

        (void)blocker(w);
        (void)world_submit(w, spec_of("a", "a", 4 * CORE));
        world_run(w, 1);
        w->now.wall_us -= 3600 * USEC_PER_SEC;
        if (restart == 1)
            world_restart(w);
        (void)world_submit(w, spec_of("b", "b", 4 * CORE));
        world_run(w, 2);
        over(w, cluster_find_job(w->cluster, "blocker"));
        assert_int_equal(cluster_find_job(w->cluster, "a")->state, JOB_RUNNING);
        assert_int_equal(cluster_find_job(w->cluster, "b")->state, JOB_QUEUED);
        end(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shorter_one_goes_first),
        cmocka_unit_test(test_guess_counts_where_nothing_is_known),
        cmocka_unit_test(test_guess_is_for_the_minimum),
        cmocka_unit_test(test_long_one_does_not_wait_for_ever),
        cmocka_unit_test(test_priority_goes_before_length),
        cmocka_unit_test(test_without_lengths_who_came_first_goes_first),
        cmocka_unit_test(test_fulfilment_has_the_order_of_submission),
        cmocka_unit_test(test_turn_moves_forward_once_a_family_is_known),
        cmocka_unit_test(test_guess_that_was_outrun_is_not_believed),
        cmocka_unit_test(test_true_guesses_keep_their_order),
        cmocka_unit_test(test_fixed_jobs_are_taken_to_last_as_others_did),
        cmocka_unit_test(test_turn_is_put_off_to_a_bound),
        cmocka_unit_test(test_turns_stand_still_within_a_plan),
        cmocka_unit_test(test_turns_go_on_moving_after_a_restart),
        cmocka_unit_test(test_place_is_kept),
        cmocka_unit_test(test_clock_that_is_put_back_lets_nobody_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
