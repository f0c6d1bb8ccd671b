/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_turn.c - who waits begins in the order of when it would have been over */
#include <math.h>
#include <stdio.h>

#include "scheduler/core/ask/account.h"
#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_family.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

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

TEST(test_shorter_one_goes_first)
{
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
        assert_int_equal(slow->turn_wall_us - slow->submitted_wall_us, 600 * USEC_PER_SEC);
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
TEST(test_guess_counts_where_nothing_is_known)
{
    static const uint64_t guess_us = 100 * USEC_PER_SEC;

    for (uint32_t max = 1; max <= 2; max++) {
        struct world *w = world_of(&policy_goodput);
        struct job_spec *spec = world_command(world_spec("short", 1, max, 4 * CORE, 0, 0), "b");
        struct job *guessed, *known;

        teach(w, "slow", 4 * CORE, 5000);
        (void)blocker(w);
        (void)world_submit(w, spec_of("long", "slow", 4 * CORE));
        spec->expected_us = guess_us;
        guessed = world_submit(w, spec);
        spec = spec_of("known", "slow", 4 * CORE);
        spec->expected_us = guess_us;
        known = world_submit(w, spec);
        world_run(w, 2);
        assert_int_equal(guessed->turn_wall_us - guessed->submitted_wall_us, guess_us);
        assert_int_equal(known->turn_wall_us - known->submitted_wall_us, 600 * USEC_PER_SEC);
        over(w, cluster_find_job(w->cluster, "blocker"));
        assert_int_equal(cluster_find_job(w->cluster, "short")->state, JOB_RUNNING);
        assert_int_equal(cluster_find_job(w->cluster, "long")->state, JOB_QUEUED);
        end(w);
    }
}

/* Of a job that needs four instances at least: so long with four */
TEST(test_guess_is_for_the_minimum)
{
    struct world *w = world_of(&policy_goodput);
    struct job_spec *spec = world_spec("wide", 4, 8, CORE, 0, 0);
    struct job *job;

    spec->expected_us = 100 * USEC_PER_SEC;
    job = world_submit(w, spec);
    world_run(w, 3);
    assert_int_equal(job->turn_wall_us - job->submitted_wall_us, 100 * USEC_PER_SEC);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_true(fabs(job->learned->told.hint_s - 100 * pow(4, 1 - GOODPUT_UNTRIED)) < 1);
    end(w);
}

/* What came ten minutes before is not passed any more, however long it takes. */
TEST(test_nobody_is_passed_for_more_than_ten_minutes)
{
    struct world *w = world_of(&policy_goodput);
    struct job *first, *slow, *quick;

    teach(w, "slow", 4 * CORE, 5000);
    teach(w, "quick", 4 * CORE, 100);
    first = blocker(w);
    slow = world_submit(w, spec_of("long", "slow", 4 * CORE));
    for (int i = 0; i < 26; i++) /* 520 s, of which no lease ends */
        world_advance(w, 20 * USEC_PER_SEC), world_run(w, 1);
    quick = world_submit(w, spec_of("short", "quick", 4 * CORE));
    world_run(w, 2);
    over(w, first);
    assert_int_equal(slow->state, JOB_RUNNING);
    assert_int_equal(quick->state, JOB_QUEUED);
    end(w);
}

TEST(test_priority_goes_before_length)
{
    struct world *w = world_of(&policy_goodput);
    struct job_spec *spec = spec_of("long", "slow", 4 * CORE);
    struct job *first, *slow, *quick;

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

/* What nobody knows counts nothing: neither short jobs that are known nor guesses pass it. */
TEST(test_unknown_one_is_passed_by_nobody)
{
    struct world *w = world_of(&policy_goodput);
    struct job_spec *spec = spec_of("guessed", "b", 4 * CORE);
    struct job *first, *unknown;

    teach(w, "quick", 4 * CORE, 10);
    first = blocker(w);
    unknown = world_submit(w, spec_of("unknown", "a", 4 * CORE));
    world_run(w, 2);
    spec->expected_us = USEC_PER_SEC;
    (void)world_submit(w, spec);
    (void)world_submit(w, spec_of("known", "quick", 4 * CORE));
    world_run(w, 2);
    over(w, first);
    assert_int_equal(unknown->turn_wall_us, unknown->submitted_wall_us);
    assert_int_equal(unknown->state, JOB_RUNNING);
    end(w);
}

TEST(test_without_lengths_who_came_first_goes_first)
{
    struct world *w = world_of(&policy_goodput);
    struct job *first = blocker(w), *a, *b;

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
TEST(test_fulfilment_has_the_order_of_submission)
{
    struct world *w = world_of(&policy_goodput);

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
TEST(test_place_is_kept)
{
    struct world *w = world_of(&policy_goodput);
    const struct job_change change = { .scale = true, .role = "trainer", .min = 1, .max = 1 };
    struct job *slow;
    uint64_t turn_wall_us;

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
 * ended. Who came while that was not known keeps its turn. */
TEST(test_guess_that_was_outrun_is_not_believed)
{
    struct world *w = world_of(&policy_goodput);
    struct job *believed, *honest, *liar;

    (void)submit_guessed(w, "first", "lie", 1);
    believed = submit_guessed(w, "believed", "lie", 1);
    honest = submit_guessed(w, "honest", "true", 600);
    wait_s(w, 60);
    liar = submit_guessed(w, "liar", "lie", 1);
    assert_int_equal(turn_s(believed), 1);
    assert_int_equal(turn_s(honest), 600);
    assert_int_equal(turn_s(liar), 600);
    assert_says(w, liar, "believed", "ran longer than was guessed");
    world_restart(w);
    wait_s(w, 800);
    over(w, cluster_find_job(w->cluster, "first"));
    assert_int_equal(turn_s(submit_guessed(w, "later", "lie", 1)), 600);
    over(w, cluster_find_job(w->cluster, "believed"));
    honest = cluster_find_job(w->cluster, "honest");
    liar = cluster_find_job(w->cluster, "liar");
    assert_int_equal(turn_s(liar), 600);
    assert_int_equal(honest->state, JOB_RUNNING);
    assert_int_equal(liar->state, JOB_QUEUED);
    end(w);
}

/* A program of jobs of any length whose owner knows them */
TEST(test_true_guesses_keep_their_order)
{
    struct world *w = world_of(&policy_goodput);
    struct job *first;

    first = submit_guessed(w, "first", "b", 200);
    wait_s(w, 100);
    assert_int_equal(turn_s(submit_guessed(w, "long", "b", 500)), 500);
    over(w, first);
    assert_in_range(turn_s(submit_guessed(w, "later", "b", 800)), 400, 420);
    assert_in_range(turn_s(submit_guessed(w, "short", "b", 20)), 10, 11);
    end(w);
}

/* Nobody guesses: what took as long before is taken to take as long, by who comes then. */
TEST(test_fixed_jobs_are_taken_to_last_as_others_did)
{
    struct world *w = world_of(&policy_goodput);
    struct job *runner = submit_guessed(w, "runner", "b", 0), *before;

    before = submit_guessed(w, "before", "b", 0);
    wait_s(w, 120);
    over(w, runner);
    assert_int_equal(turn_s(before), 0);
    assert_in_range(turn_s(submit_guessed(w, "after", "b", 0)), 100, 150);
    end(w);
}

/* Of two of which nothing is known the one that came first, whatever the clock says. */
TEST(test_clock_that_is_put_back_lets_nobody_pass)
{
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
