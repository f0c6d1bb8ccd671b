/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_starts.c - what starts that fail say of a node: when it is quarantined, and when not */
#include <stdio.h>

#include "scheduler/core/core.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

/* The agent says that the job's process cannot be started. */
static void report_failed_start(struct world *w, const struct job *job)
{
    const struct process *process = world_live(job, "trainer", 0);
    struct process_report item;
    struct node_report report = { .boot_id = "boot-0" };

    assert_non_null(process);
    report.offer = process->node->offer;
    item = (struct process_report){ .job_id = job->id,
                                    .role = "trainer",
                                    .incarnation = process->incarnation,
                                    .state = PROCESS_EXITED,
                                    .exit_code = 127,
                                    .start_fault = START_FAULT_NODE,
                                    .reason = "cannot start: no such file" };
    report.processes = &item;
    report.n_processes = 1;
    assert_int_equal(cluster_report(w->cluster, process->node, &report, w->now, NULL), 0);
    world_plan(w);
}

/* on: where it is to run; NULL: anywhere */
static void fail_start_on(struct world *w, const char *name, const char *on)
{
    struct job_spec *spec = world_spec(name, 1, 1, 100, 0, 0);
    struct job *job;

    spec->restart_max = 0;
    if (on != NULL)
        assert_int_equal(role_select(&spec->roles[0], "host", on, NULL), 0);
    job = world_submit(w, spec);
    report_failed_start(w, job);
    assert_int_equal(job->state, JOB_FAILED);
}

/* So that a job can name one. */
static void set_host_labels(struct world *w)
{
    for (size_t n = 0; n < w->n_agents; n++)
        assert_int_equal(labels_set(&w->agents[n].offer.labels, "host", w->agents[n].name, NULL),
                         0);
    world_run(w, 1);
}

static void fail_start(struct world *w, const char *name)
{
    fail_start_on(w, name, NULL);
}

/* Two jobs that take turns are two jobs, and one that is submitted again is the same one. */
TEST(test_node_is_not_quarantined_for_two_broken_jobs)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    const struct node *node = cluster_node(w->cluster, "node-0");
    struct job_spec *a_spec = world_spec("a", 1, 1, 100, 0, 0);
    struct job_spec *b_spec = world_spec("b", 1, 1, 100, 0, 0);
    struct job *a;
    struct job *b;

    a_spec->restart_backoff_us = 0;
    b_spec->restart_backoff_us = 0;
    a = world_submit(w, a_spec);
    b = world_submit(w, b_spec);
    for (unsigned i = 0; i < 4; i++) {
        report_failed_start(w, a);
        report_failed_start(w, b);
        world_advance(w, USEC_PER_SEC); /* their back-off */
        cluster_tick(w->cluster, w->now);
        world_plan(w);
    }
    assert_int_equal(node->state, NODE_READY);
    assert_int_equal(cluster_kill_job(w->cluster, a, NULL, w->now, NULL), 0);
    assert_int_equal(cluster_kill_job(w->cluster, b, NULL, w->now, NULL), 0);
    world_run(w, 2);
    for (unsigned i = 0; i < 4; i++)
        fail_start(w, "a");
    assert_int_equal(node->state, NODE_READY);
    world_advance(w, 601 * USEC_PER_SEC);
    world_run(w, 1);
    fail_start(w, "c"); /* those of long ago do not count */
    assert_int_equal(node->state, NODE_READY);
    world_free(w);
}

/* What cannot be started anywhere says nothing of a node. */
TEST(test_jobs_that_fail_on_every_node_quarantine_none)
{
    static const char *const names[] = { "a", "b", "c", "d", "e" };
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job_spec *good = world_spec("good", 1, 1, 100, 0, 0);

    set_host_labels(w);
    for (size_t i = 0; i < ELEMENTS(names); i++) {
        fail_start_on(w, names[i], "node-0");
        fail_start_on(w, names[i], "node-1");
    }
    assert_int_equal(cluster_node(w->cluster, "node-0")->state, NODE_READY);
    assert_int_equal(cluster_node(w->cluster, "node-1")->state, NODE_READY);
    /* what could not be started where others could is no news of the next node */
    fail_start_on(w, "f", "node-0");
    fail_start_on(w, "g", "node-0");
    assert_int_equal(role_select(&good->roles[0], "host", "node-0", NULL), 0);
    (void)world_submit(w, good);
    world_run(w, 2);
    fail_start_on(w, "f", "node-1");
    fail_start_on(w, "g", "node-1");
    fail_start_on(w, "h", "node-1");
    assert_int_equal(cluster_node(w->cluster, "node-1")->state, NODE_READY);
    fail_start_on(w, "i", "node-1");
    fail_start_on(w, "j", "node-1");
    assert_int_equal(cluster_node(w->cluster, "node-1")->state, NODE_QUARANTINED);
    world_free(w);
}

TEST(test_node_on_which_nothing_starts_is_quarantined)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct node *node = cluster_node(w->cluster, "node-0");
    struct job *job;

    fail_start(w, "a");
    fail_start(w, "b");
    job = world_submit(w, world_spec("good", 1, 1, 100, 0, 0));
    world_run(w, 2);
    assert_int_equal(job->state, JOB_RUNNING); /* so it was the jobs' fault */
    fail_start(w, "c");
    fail_start(w, "d");
    assert_int_equal(node->state, NODE_READY);
    fail_start(w, "e");
    assert_int_equal(node->state, NODE_QUARANTINED);
    assert_int_equal(job->state, JOB_RUNNING);
    job = world_submit(w, world_spec("next", 1, 1, 100, 0, 0));
    world_run(w, 2);
    assert_string_equal(job->reason_code, "no-nodes");
    /* being away for a while mends nothing */
    w->agents[0].silent = true;
    world_advance(w, 40 * USEC_PER_SEC);
    assert_int_equal(node->state, NODE_LOST);
    w->agents[0].silent = false;
    world_run(w, 2);
    assert_int_equal(node->state, NODE_QUARANTINED);
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_READY, w->now, NULL), 0);
    world_run(w, 2);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

/* Submits one that cannot be started but on the third node, and has it run there. */
static void run_on_the_third(struct world *w, const char *name)
{
    struct job *job = world_submit(w, world_spec(name, 1, 1, 100, 0, 0));

    world_plan(w);
    for (unsigned i = 0; i < 2; i++) {
        assert_string_not_equal(world_live(job, "trainer", 0)->node->name, "node-2");
        report_failed_start(w, job);
    }
    assert_string_equal(world_live(job, "trainer", 0)->node->name, "node-2");
    world_run(w, 2);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(cluster_kill_job(w->cluster, job, NULL, w->now, NULL), 0);
    world_run(w, 3);
}

/* What runs at last was not the job's fault where it could not be started. */
TEST(test_nodes_that_start_nothing_are_quarantined_by_what_runs_elsewhere)
{
    struct world *w = world_new(3, 1000, GIB, 1000);

    run_on_the_third(w, "a");
    run_on_the_third(w, "b");
    for (unsigned n = 0; n < 3; n++)
        assert_int_equal(cluster_node(w->cluster, w->agents[n].name)->state, NODE_READY);
    run_on_the_third(w, "c");
    assert_int_equal(cluster_node(w->cluster, "node-0")->state, NODE_QUARANTINED);
    assert_int_equal(cluster_node(w->cluster, "node-1")->state, NODE_QUARANTINED);
    assert_int_equal(cluster_node(w->cluster, "node-2")->state, NODE_READY);
    world_free(w);
}

/* After it ran elsewhere it fails there again, and on the other one: both stay to blame. */
TEST(test_blame_outlasts_the_next_failure)
{
    static const char *const names[] = { "a", "b" };
    struct world *w = world_new(3, 1000, GIB, 1000);

    set_host_labels(w);
    for (size_t i = 0; i < ELEMENTS(names); i++)
        run_on_the_third(w, names[i]);
    for (size_t i = 0; i < ELEMENTS(names); i++) {
        fail_start_on(w, names[i], "node-0");
        fail_start_on(w, names[i], "node-1");
    }
    assert_int_equal(cluster_node(w->cluster, "node-0")->state, NODE_READY);
    fail_start_on(w, "c", "node-0");
    assert_int_equal(cluster_node(w->cluster, "node-0")->state, NODE_QUARANTINED);
    assert_int_equal(cluster_node(w->cluster, "node-1")->state, NODE_READY);
    world_free(w);
}
