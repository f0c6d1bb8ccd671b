/* SPDX-License-Identifier: Apache-2.0 */
/* test_shares.c - one user's many waiting jobs do not stand before everybody's */
#include <stdio.h>
#include <string.h>

#include "scheduler/core/ask/account.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/shares.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

#define CORE 1000

/* One that fills the node. expected_s 0: nobody says */
static struct job *submit(struct world *w, const char *user, const char *name, uint64_t expected_s)
{
    struct job_spec *spec = world_spec(name, 1, 1, 4 * CORE, 0, 0);
    struct job *job;

    spec->expected_us = expected_s * USEC_PER_SEC;
    w->user = user;
    job = world_submit(w, spec);
    world_run(w, 3);
    return job;
}

static struct world *world_of_one_node(void)
{
    struct world *w = world_new(1, 4 * CORE, GIB, 1000);

    world_run(w, 1);
    return w;
}

static struct job *named(const struct world *w, const char *name)
{
    return cluster_find_job(w->cluster, name);
}

/* The one that runs ends; which runs then? */
static void assert_next(struct world *w, const char *running, const char *next)
{
    world_exit(w, world_live(named(w, running), "trainer", 0), 0, 0);
    world_run(w, 4);
    if (named(w, next)->state != JOB_RUNNING)
        fail_msg("%s does not run after %s: %s", next, running, named(w, next)->reason);
}

/* A directory has names of any length: who differs in the last letter alone is somebody else. */
TEST(test_long_names_are_told_apart)
{
    char names[2][ACCOUNT_NAME_MAX + 1] = { "", "" };
    const struct job *jobs[2];
    struct world *w = world_of_one_node();
    const struct queue *queue = &w->cluster->planner->queue;
    struct share_key keys[2];

    (void)submit(w, "ann", "runs", 60);
    for (size_t i = 0; i < ELEMENTS(names); i++) {
        memset(names[i], 'x', ACCOUNT_NAME_MAX - 1);
        names[i][ACCOUNT_NAME_MAX - 1] = i == 0 ? 'a' : 'b';
        jobs[i] = submit(w, names[i], i == 0 ? "first" : "second", 60);
        assert_string_equal(jobs[i]->user, names[i]);
    }
    for (size_t i = 0; i < ELEMENTS(keys); i++)
        keys[i] = share_key_of(queue, jobs[i]);
    assert_memory_not_equal(&keys[0], &keys[1], sizeof keys[0]);
    world_free(w);
}

/* Under each policy, and also after a restart. */
TEST(test_users_take_turns)
{
    static const struct policy *const policies[] = { &policy_goodput, &policy_fulfilment };

    for (size_t i = 0; i < ELEMENTS(policies) * 2; i++) {
        struct job_account account;
        struct world *w;

        world_policy = policies[i / 2];
        w = world_of_one_node();
        (void)submit(w, "ann", "a0", 0);
        (void)submit(w, "ann", "a1", 0);
        (void)submit(w, "ann", "a2", 0);
        (void)submit(w, "ann", "a3", 0);
        (void)submit(w, "bob", "b1", 0);
        (void)submit(w, "bob", "b2", 0);
        cluster_account(w->cluster, named(w, "a2"), &account);
        assert_non_null(
            strstr(account.text, "2 jobs of other users, who have had less, go before"));
        if (i % 2 == 1)
            world_restart(w);
        assert_next(w, "a0", "b1");
        assert_next(w, "b1", "a1");
        if (i % 2 == 1)
            world_restart(w);
        assert_next(w, "a1", "b2");
        assert_next(w, "b2", "a2");
        assert_next(w, "a2", "a3");
        world_free(w);
    }
    world_policy = &policy_fulfilment;
}

/* A user whose jobs take twice as long has half as many. */
TEST(test_shares_are_of_core_seconds)
{
    struct world *w = world_of_one_node();

    (void)submit(w, "ann", "a0", 200);
    (void)submit(w, "ann", "a1", 200);
    (void)submit(w, "ann", "a2", 200);
    for (int i = 1; i <= 4; i++) {
        char name[4];

        (void)snprintf(name, sizeof name, "b%d", i);
        (void)submit(w, "bob", name, 99);
    }
    assert_next(w, "a0", "b1");
    assert_next(w, "b1", "b2");
    assert_next(w, "b2", "b3");
    assert_next(w, "b3", "a1");
    assert_next(w, "a1", "b4");
    assert_next(w, "b4", "a2");
    world_free(w);
}

/* A user that asked for nothing meanwhile has saved nothing up. */
TEST(test_nobody_saves_up)
{
    struct world *w = world_of_one_node();

    (void)submit(w, "ann", "a0", 0);
    (void)submit(w, "ann", "a1", 0);
    (void)submit(w, "ann", "a2", 0);
    (void)submit(w, "ann", "a3", 0);
    assert_next(w, "a0", "a1");
    (void)submit(w, "bob", "b1", 0);
    (void)submit(w, "bob", "b2", 0);
    assert_next(w, "a1", "b1");
    assert_next(w, "b1", "a2");
    assert_next(w, "a2", "b2");
    assert_next(w, "b2", "a3");
    world_free(w);
}

/* Nor does a job that cannot start keep the clock back for newcomers. */
TEST(test_a_job_that_cannot_start_saves_nothing_up_for_others)
{
    struct world *w = world_of_one_node();
    char name[4], next[4];

    w->user = "cyd";
    (void)world_submit(w, world_spec("c1", 1, 1, 8 * CORE, 0, 0));
    for (int i = 0; i <= 5; i++) {
        (void)snprintf(name, sizeof name, "a%d", i);
        (void)submit(w, "ann", name, 0);
    }
    for (int i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "a%d", i);
        (void)snprintf(next, sizeof next, "a%d", i + 1);
        assert_next(w, name, next);
    }
    (void)submit(w, "dan", "d1", 0);
    (void)submit(w, "dan", "d2", 0);
    (void)submit(w, "dan", "d3", 0);
    assert_next(w, "a3", "d1");
    assert_next(w, "d1", "a4");
    assert_next(w, "a4", "d2");
    world_free(w);
}

/* Nor for its own user. */
TEST(test_a_job_that_cannot_start_saves_nothing_up_for_its_user)
{
    struct world *w = world_of_one_node();
    char name[4], next[4];

    w->user = "cyd";
    (void)world_submit(w, world_spec("c0", 1, 1, 8 * CORE, 0, 0));
    for (int i = 0; i <= 5; i++) {
        (void)snprintf(name, sizeof name, "a%d", i);
        (void)submit(w, "ann", name, 0);
    }
    for (int i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "a%d", i);
        (void)snprintf(next, sizeof next, "a%d", i + 1);
        assert_next(w, name, next);
    }
    (void)submit(w, "cyd", "c1", 0);
    (void)submit(w, "cyd", "c2", 0);
    assert_next(w, "a3", "c1");
    assert_next(w, "c1", "a4");
    assert_next(w, "a4", "c2");
    world_free(w);
}

/* A user alone on the cluster took it from nobody; the second time after a restart. */
TEST(test_where_nobody_waited_all_begin_alike)
{
    for (int i = 0; i < 2; i++) {
        struct world *w = world_of_one_node();
        struct job *job;

        job = submit(w, "ann", "a0", 0);
        for (int s = 0; s < 2100; s++)
            world_second(w);
        world_exit(w, world_live(job, "trainer", 0), 0, 0);
        world_run(w, 4);
        assert_int_equal(job->state, JOB_SUCCEEDED);
        if (i == 1)
            world_restart(w);
        (void)submit(w, "bob", "b0", 0);
        (void)submit(w, "bob", "b1", 0);
        (void)submit(w, "bob", "b2", 0);
        if (i == 1)
            world_restart(w);
        (void)submit(w, "ann", "a1", 0);
        assert_next(w, "b0", "a1");
        assert_next(w, "a1", "b1");
        world_free(w);
    }
}

/* Ten minutes of it count at its start, however long it was to take. */
TEST(test_a_long_job_that_fails_at_once_costs_little)
{
    struct world *w = world_of_one_node();

    (void)submit(w, "ann", "a0", UINT64_C(30) * 24 * 3600);
    (void)submit(w, "ann", "a1", 0);
    (void)submit(w, "bob", "b1", 0);
    (void)submit(w, "bob", "b2", 0);
    assert_next(w, "a0", "b1");
    assert_next(w, "b1", "a1");
    world_free(w);
}

/* Of a length that nobody told; the second time the scheduler is another one meanwhile. */
TEST(test_what_a_job_used_counts_at_its_end)
{
    for (int i = 0; i < 2; i++) {
        struct world *w = world_of_one_node();

        (void)submit(w, "ann", "a0", 0);
        (void)submit(w, "ann", "a1", 0);
        (void)submit(w, "bob", "b1", 0);
        (void)submit(w, "bob", "b2", 0);
        (void)submit(w, "bob", "b3", 0);
        (void)submit(w, "bob", "b4", 0);
        for (int s = 0; s < 2100; s++)
            world_second(w);
        assert_next(w, "a0", "b1");
        if (i == 1)
            world_restart(w);
        assert_next(w, "b1", "b2");
        assert_next(w, "b2", "b3");
        assert_next(w, "b3", "b4");
        assert_next(w, "b4", "a1");
        world_free(w);
    }
}

/* Its start was paid for: it does not begin to wait again behind everybody's. */
TEST(test_a_job_whose_node_was_lost_goes_first)
{
    for (int i = 0; i < 2; i++) {
        struct world *w = world_of_one_node();
        struct job_spec *spec = world_spec("a0", 1, 1, 4 * CORE, 0, 0);

        spec->fault_tolerant = false;
        w->user = "ann";
        (void)world_submit(w, spec);
        world_run(w, 3);
        (void)submit(w, "bob", "b1", 0);
        (void)submit(w, "bob", "b2", 0);
        assert_int_equal(named(w, "a0")->state, JOB_RUNNING);
        w->agents[0].silent = true;
        world_advance(w, 60 * USEC_PER_SEC);
        assert_int_equal(named(w, "a0")->state, JOB_QUEUED);
        if (i == 1)
            world_restart(w);
        w->agents[0].silent = false;
        world_run(w, 6);
        assert_int_equal(named(w, "a0")->state, JOB_RUNNING);
        assert_next(w, "a0", "b1");
        world_free(w);
    }
}

/* A job that was scaled has not begun to wait anew. */
TEST(test_another_document_keeps_the_place)
{
    struct world *w = world_of_one_node();
    struct edl_error error = { 0 };

    (void)submit(w, "bob", "b0", 0);
    (void)submit(w, "ann", "a1", 0);
    (void)submit(w, "bob", "b1", 0);
    (void)submit(w, "bob", "b2", 0);
    assert_next(w, "b0", "a1");
    (void)submit(w, "cyd", "c1", 0);
    assert_int_equal(cluster_scale_job(w->cluster, named(w, "c1"), "trainer", 1, 2, w->now, &error),
                     0);
    assert_next(w, "a1", "c1");
    world_free(w);
}

TEST(test_priority_goes_before_shares)
{
    struct world *w = world_of_one_node();
    struct job_spec *spec = world_spec("urgent", 1, 1, 4 * CORE, 0, 0);

    (void)submit(w, "ann", "a0", 0);
    (void)submit(w, "ann", "a1", 0);
    (void)submit(w, "bob", "b1", 0);
    spec->priority = 1;
    w->user = "ann";
    (void)world_submit(w, spec);
    world_run(w, 3);
    assert_next(w, "a0", "urgent");
    world_free(w);
}

/* Where the scheduler is told so, users have no shares. */
TEST(test_first_come_first_served)
{
    struct world *w = world_of_one_node();

    w->cluster->config.first_come = true;
    world_restart(w); /* as with that option */
    (void)submit(w, "ann", "a0", 0);
    (void)submit(w, "ann", "a1", 0);
    (void)submit(w, "ann", "a2", 0);
    (void)submit(w, "bob", "b1", 0);
    assert_next(w, "a0", "a1");
    assert_next(w, "a1", "a2");
    assert_next(w, "a2", "b1");
    world_free(w);
}

/* Jobs that came under the other order begin to wait when users have their shares. */
TEST(test_shares_begin_with_the_option)
{
    struct world *w = world_of_one_node();

    (void)submit(w, "ann", "a0", 0);
    (void)submit(w, "ann", "a1", 0);
    assert_next(w, "a0", "a1");
    w->cluster->config.first_come = true;
    world_restart(w);
    (void)submit(w, "cyd", "c1", 0);
    (void)submit(w, "cyd", "c2", 0);
    (void)submit(w, "cyd", "c3", 0);
    w->cluster->config.first_come = false;
    world_restart(w);
    world_run(w, 2);
    (void)submit(w, "dan", "d1", 0);
    assert_next(w, "a1", "c1");
    assert_next(w, "c1", "d1");
    assert_next(w, "d1", "c2");
    world_free(w);
}

/* Each priority has bills of its own. */
TEST(test_another_priority_counts_afresh)
{
    struct world *w = world_of_one_node();
    const struct job_change change = { .prioritise = true, .priority = 1 };
    struct edl_error error = { 0 };

    (void)submit(w, "ann", "a0", 0);
    (void)submit(w, "ann", "a1", 0);
    (void)submit(w, "ann", "a2", 0);
    assert_next(w, "a0", "a1");
    assert_next(w, "a1", "a2");
    (void)submit(w, "ann", "a3", 0);
    (void)submit(w, "ann", "a4", 0);
    (void)submit(w, "bob", "b1", 0);
    (void)submit(w, "bob", "b2", 0);
    assert_int_equal(cluster_change_job(w->cluster, named(w, "b1"), &change, w->now, &error), 0);
    assert_int_equal(cluster_change_job(w->cluster, named(w, "b2"), &change, w->now, &error), 0);
    assert_int_equal(cluster_change_job(w->cluster, named(w, "a3"), &change, w->now, &error), 0);
    assert_next(w, "a2", "a3"); /* it came first */
    assert_next(w, "a3", "b1");
    assert_next(w, "b1", "b2");
    assert_next(w, "b2", "a4");
    world_free(w);
}

/* A copy without the jobs that are over, as a forecast makes, knows their part of the bills. */
TEST(test_a_copy_has_the_bills)
{
    struct world *w = world_of_one_node();
    struct cluster *copy;
    struct job *job = submit(w, "ann", "a0", 0);

    (void)submit(w, "ann", "a1", 0);
    (void)submit(w, "bob", "b1", 0);
    (void)submit(w, "bob", "b2", 0);
    for (int s = 0; s < 1000; s++)
        world_second(w);
    assert_next(w, "a0", "b1");
    assert_int_equal(job->state, JOB_SUCCEEDED);
    assert_int_equal(share_others_before(w->cluster, named(w, "a1")), 1);
    copy = cluster_clone_active(w->cluster, w->now);
    assert_null(cluster_find_job(copy, "a0"));
    cluster_replan(copy, w->now);
    assert_int_equal(share_others_before(copy, cluster_find_job(copy, "a1")), 1);
    (void)cluster_free(copy);
    world_free(w);
}
