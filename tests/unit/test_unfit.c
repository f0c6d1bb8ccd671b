/* SPDX-License-Identifier: Apache-2.0 */
/* test_unfit.c - nodes that cannot run a job: passed by, and told of */
#include <stdio.h>
#include <string.h>

#include "scheduler/core/ask/account.h"
#include "scheduler/core/ask/forecast.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "scheduler/core/ask/reason.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

/* Nodes of 1000m, of which the first so many can run no process. */
static struct world *unfit_world(size_t n_nodes, size_t n_unfit, enum unfit why)
{
    struct world *w = world_new(n_nodes, 1000, GIB, 1000);

    for (size_t i = 0; i < n_unfit; i++) {
        w->agents[i].unfit = why;
        w->agents[i].unfit_one_in = 1;
    }
    return w;
}

static const struct job *job_of(const struct world *w, const char *name)
{
    return cluster_find_job(w->cluster, name);
}

/* It starts on the other node, with none of its restarts spent, however often that happens. */
TEST(test_other_nodes_run_it)
{
    struct world *w = unfit_world(2, 1, UNFIT_NO_ACCOUNT);
    char name[16];

    for (int i = 0; i < 10; i++) {
        struct job_spec *spec;
        const struct job *job;

        (void)snprintf(name, sizeof name, "job-%d", i);
        spec = world_spec(name, 1, 1, 100, 0, 0);
        spec->fault_tolerant = false;
        (void)world_submit(w, spec);
        world_run(w, 4);
        job = job_of(w, name);
        assert_int_equal(job->state, JOB_RUNNING);
        assert_string_equal(world_live(job, "trainer", 0)->node_name, "node-1");
        assert_int_equal(job->slots[0][0].failures, 0);
        world_replan(w);
    }
    assert_int_equal(cluster_node(w->cluster, "node-0")->state, NODE_READY);
    world_free(w);
}

/* What runs already is not disturbed by a member of its gang that is placed anew. */
TEST(test_a_gang_settles_on_the_nodes_that_are_left)
{
    struct world *w = unfit_world(3, 1, UNFIT_NO_WORKSPACE);
    struct job_spec *spec = world_spec("gang", 2, 2, 800, 0, 0);
    const struct job *job;

    spec->fault_tolerant = false;
    (void)world_submit(w, spec);
    world_run(w, 5);
    job = job_of(w, "gang");
    assert_int_equal(job->state, JOB_RUNNING);
    for (uint32_t i = 0; i < 2; i++)
        assert_string_not_equal(world_live(job, "trainer", i)->node_name, "node-0");
    assert_int_equal(job->next_incarnation, 4); /* 1 to 3: one of them was refused */
    world_free(w);
}

/* The others were told where to meet rank 0, so it does not move alone. */
TEST(test_a_gang_whose_rank_0_is_refused_starts_as_a_whole)
{
    struct world *w = unfit_world(3, 1, UNFIT_NO_WORKSPACE);
    struct job_spec *spec = world_spec("gang", 2, 2, 800, 0, 0);
    const struct job *job;

    spec->fault_tolerant = false;
    spec->roles[0].n_ports = 1;
    (void)world_submit(w, spec);
    world_run(w, 8);
    job = job_of(w, "gang");
    assert_int_equal(job->state, JOB_RUNNING);
    for (uint32_t i = 0; i < 2; i++)
        assert_string_not_equal(world_live(job, "trainer", i)->node_name, "node-0");
    assert_int_equal(job->next_incarnation, 5); /* both twice */
    world_free(w);
}

TEST(test_no_node_is_left)
{
    static const struct {
        enum unfit why;
        const char *advice;
    } cases[] = { { UNFIT_NO_ACCOUNT, "create it there" },
                  { UNFIT_ACCOUNT_REFUSED, "as its account" },
                  { UNFIT_NO_WORKSPACE, "edl submit --upload ." } };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct world *w = unfit_world(2, 2, cases[i].why);
        const struct job *job;

        (void)world_submit(w, world_spec("job", 1, 1, 100, 0, 0));
        world_run(w, 4);
        job = job_of(w, "job");
        assert_int_equal(job->state, JOB_FAILED);
        assert_string_equal(job->reason_code, "no-node-runs-it");
        assert_non_null(strstr(job->reason, cases[i].advice));
        assert_non_null(strstr(job->reason, ": it cannot run here"));
        world_free(w);
    }
}

/* A node that is away may be able to: the job waits for it, and says what is wrong with the other.
 */
TEST(test_a_node_that_is_closed_is_waited_for)
{
    struct world *w = unfit_world(2, 1, UNFIT_NO_WORKSPACE);
    struct node *other = cluster_node(w->cluster, "node-1");
    struct job_account account;
    const struct job *job;
    char text[JOB_REASON_SIZE];

    assert_int_equal(cluster_set_node_state(w->cluster, other, NODE_CORDONED, w->now, NULL), 0);
    (void)world_submit(w, world_spec("job", 1, 1, 100, 0, 0));
    world_run(w, 4);
    job = job_of(w, "job");
    assert_int_equal(job->state, JOB_STARTING);
    assert_string_equal(job->reason_code, "replacement-does-not-fit");
    (void)cluster_explain(w->cluster, job, text, sizeof text);
    assert_non_null(strstr(text, "; it cannot run on node-0: it cannot run here"));
    cluster_account(w->cluster, job, &account);
    assert_int_equal(account.nodes[0].verdict, ACCOUNT_UNFIT);
    assert_string_equal(account_verdict_to_string(account.nodes[0].verdict), "unfit");
    assert_int_equal(account.nodes[0].unfit->why, UNFIT_NO_WORKSPACE);
    assert_int_equal(account.change, CHANGE_NODE);
    assert_int_equal(cluster_set_node_state(w->cluster, other, NODE_READY, w->now, NULL), 0);
    world_run(w, 3);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

static void assert_whole(const char *text)
{
    for (const char *p = text; *p != '\0'; p++)
        if (*p == '\xc3' && *++p != '\xa4')
            fail_msg("a character is cut: %s", text);
}

/* Names of folders are whatever their owners speak. */
TEST(test_words_are_cut_between_characters)
{
    char says[400];

    for (size_t shift = 0; shift < 2; shift++) {
        struct world *w = unfit_world(2, 2, UNFIT_NO_WORKSPACE);
        const struct job *job;
        char text[JOB_REASON_SIZE];

        for (size_t i = 0; i < sizeof says - 1; i++)
            says[i] = i < shift ? 'x' : (i - shift) % 2 == 0 ? '\xc3' : '\xa4';
        says[(sizeof says - 1 - shift) / 2 * 2 + shift] = '\0';
        for (size_t i = 0; i < 2; i++)
            w->agents[i].unfit_says = says;
        assert_int_equal(cluster_set_node_state(w->cluster, cluster_node(w->cluster, "node-1"),
                                                NODE_CORDONED, w->now, NULL),
                         0);
        (void)world_submit(w, world_spec("job", 1, 1, 100, 0, 0));
        world_run(w, 4);
        job = job_of(w, "job");
        assert_whole(job->unfit->items[0].text);
        assert_whole(job->processes->reason);
        assert_non_null(strstr(job_describe_unfit(job, text, sizeof text), "\xc3\xa4"));
        assert_whole(text);
        assert_int_equal(cluster_set_node_state(w->cluster, cluster_node(w->cluster, "node-1"),
                                                NODE_READY, w->now, NULL),
                         0);
        world_run(w, 4);
        assert_whole(job_describe_unfit(job, text, sizeof text));
        assert_int_equal(job->state, JOB_FAILED);
        assert_non_null(strstr(job->reason, "\xc3\xa4"));
        assert_whole(job->reason);
        world_free(w);
    }
}

/* What was made meanwhile is found: after ten minutes they are tried again. */
TEST(test_tried_again_after_a_while)
{
    struct world *w = unfit_world(2, 1, UNFIT_NO_ACCOUNT);
    const struct job *job;

    (void)world_submit(w, world_spec("job", 1, 2, 800, 0, 0));
    world_run(w, 6);
    job = job_of(w, "job");
    assert_int_equal(job_count_running(job, 0), 1);
    w->agents[0].unfit = UNFIT_NOT;
    for (int i = 0; i < 590; i++)
        world_second(w);
    assert_int_equal(job_count_running(job, 0), 1);
    for (int i = 0; i < 20; i++)
        world_second(w);
    assert_int_equal(job_count_running(job, 0), 2);
    world_free(w);
}

/* A folder is a role's: the servers have none, and run where the trainers cannot. */
TEST(test_a_workspace_is_that_of_a_role)
{
    struct world *w = unfit_world(2, 1, UNFIT_NO_WORKSPACE);
    struct job_spec *spec = world_spec("job", 1, 1, 600, 1, 600);
    const struct job *job;

    spec->roles[1].workspace = xstrdup("/home/ann/work");
    w->agents[0].unfit_roles = 1 << 1;
    (void)world_submit(w, spec);
    world_run(w, 6);
    job = job_of(w, "job");
    assert_int_equal(job->state, JOB_RUNNING);
    assert_string_equal(world_live(job, "pserver", 0)->node_name, "node-0");
    assert_string_equal(world_live(job, "trainer", 0)->node_name, "node-1");
    world_free(w);
}

/* A node that is removed is nothing to pass by; a copy passes by the same nodes. */
TEST(test_removed_and_copied)
{
    struct world *w = unfit_world(2, 1, UNFIT_NO_ACCOUNT);
    struct cluster *copy;
    const struct job *job;

    (void)world_submit(w, world_spec("job", 1, 1, 100, 0, 0));
    world_run(w, 4);
    job = job_of(w, "job");
    copy = cluster_clone(w->cluster, w->now);
    assert_ptr_equal(cluster_find_job(copy, "job")->unfit->items[0].node,
                     cluster_node(copy, "node-0"));
    (void)cluster_free(copy);
    assert_int_equal(cluster_remove_node(w->cluster, cluster_node(w->cluster, "node-0"), w->now,
                                         NULL),
                     0);
    assert_null(job->unfit);
    world_free(w);
}

/* One node lacks the folder, and the gang needs all three: it holds nothing meanwhile, is told
 * which node it is and what to do there, and starts once that is done. */
TEST(test_a_gang_that_needs_the_node_waits)
{
    struct world *w = unfit_world(3, 1, UNFIT_NO_WORKSPACE);
    struct job_spec *spec = world_spec("gang", 3, 3, 1000, 0, 0);
    const struct job *job;

    spec->fault_tolerant = false;
    (void)world_submit(w, spec);
    world_run(w, 8);
    job = job_of(w, "gang");
    assert_int_equal(job->state, JOB_QUEUED);
    assert_string_equal(job->reason_code, "too-few-nodes-run-it");
    assert_non_null(
        strstr(job->reason, "node-0 cannot: it cannot run here; make the folder there"));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(cluster_node(w->cluster, w->agents[i].name)->n_processes, 0);
    world_replan(w);
    w->agents[0].unfit = UNFIT_NOT;
    world_advance(w, 601 * USEC_PER_SEC);
    world_run(w, 8);
    assert_int_equal(job->state, JOB_RUNNING);
    /* and when none of them has it, nothing would come of waiting */
    world_free(w);
    w = unfit_world(3, 3, UNFIT_NO_WORKSPACE);
    spec = world_spec("gang", 3, 3, 1000, 0, 0);
    (void)world_submit(w, spec);
    world_run(w, 8);
    job = job_of(w, "gang");
    assert_int_equal(job->state, JOB_FAILED);
    assert_string_equal(job->reason_code, "no-node-runs-it");
    world_free(w);
}

/* A larger cluster has others: it goes there. */
TEST(test_a_gang_goes_elsewhere)
{
    struct world *w = unfit_world(4, 1, UNFIT_NO_WORKSPACE);
    struct job_spec *spec = world_spec("gang", 3, 3, 1000, 0, 0);
    const struct job *job;

    spec->fault_tolerant = false;
    (void)world_submit(w, spec);
    world_run(w, 12);
    job = job_of(w, "gang");
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(cluster_node(w->cluster, "node-0")->n_processes, 0);
    world_free(w);
}

static void foresee(const struct world *w, const char *user, struct forecast *ret)
{
    struct job_spec *spec = world_spec("asked", 1, 1, 100, 0, 0);
    struct edl_error error = { 0 };

    assert_int_equal(cluster_forecast(w->cluster, spec, user, NULL, w->now, NULL, ret, &error), 0);
    (void)job_spec_free(spec);
}

/* Who asks what a submission would do is promised no start where one like it was refused. */
TEST(test_a_forecast_knows_what_was_refused)
{
    struct world *w = unfit_world(2, 1, UNFIT_NO_ACCOUNT);
    struct forecast forecast;
    const struct job *job;

    job = world_submit(w, world_spec("job", 1, 1, 100, 0, 0));
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    foresee(w, job->user, &forecast);
    assert_int_equal(forecast.verdict, FORECAST_NOW);
    assert_string_equal(forecast.placements[0].node, "node-1");
    assert_non_null(strstr(forecast.reason, "it cannot run on node-0: it cannot run here"));
    forecast_done(&forecast);
    foresee(w, "ben", &forecast); /* another account may be there */
    assert_null(strstr(forecast.reason, "node-0"));
    forecast_done(&forecast);
    /* the account is made, and one of his runs there */
    w->agents[0].unfit = UNFIT_NOT;
    (void)world_submit(w, world_spec("large", 1, 1, 1000, 0, 0));
    world_run(w, 4);
    assert_int_equal(job_of(w, "large")->state, JOB_RUNNING);
    foresee(w, job->user, &forecast);
    assert_null(strstr(forecast.reason, "it cannot run on"));
    forecast_done(&forecast);
    world_free(w);

    w = unfit_world(2, 2, UNFIT_NO_WORKSPACE);
    job = world_submit(w, world_spec("job", 1, 1, 100, 0, 0));
    world_run(w, 4);
    assert_int_equal(job->state, JOB_FAILED);
    foresee(w, job->user, &forecast);
    assert_int_equal(forecast.verdict, FORECAST_NEVER);
    assert_string_equal(forecast.code, "no-node-runs-it");
    assert_non_null(strstr(forecast.reason, "edl submit --upload ."));
    forecast_done(&forecast);
    world_advance(w, 601 * USEC_PER_SEC);
    world_run(w, 2);
    foresee(w, job->user, &forecast);
    assert_int_equal(forecast.verdict, FORECAST_NOW);
    forecast_done(&forecast);
    world_free(w);
}
