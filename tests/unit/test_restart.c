/* SPDX-License-Identifier: Apache-2.0 */
/* test_restart.c - a scheduler that was started again disturbs nothing: it waits for the words of
 * its nodes */
#include <stdint.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "shared/error.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static struct node *first_node(const struct world *w)
{
    return cluster_node(w->cluster, "node-0");
}

static void set_node(struct world *w, enum node_state state)
{
    assert_int_equal(cluster_set_node_state(w->cluster, first_node(w), state, w->now, NULL), 0);
    world_run(w, 1);
}

/* The row of the node tells of the load that there was when the row was written. */
TEST(test_load_that_is_gone_stops_nobody)
{
    struct world *w = world_new(1, 2000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 5, 400, 0, 0));

    w->agents[0].foreign_cpu_millicores = 1600;
    world_run(w, 4);
    set_node(w, NODE_CORDONED);
    set_node(w, NODE_READY);
    w->agents[0].foreign_cpu_millicores = 0;
    world_run(w, 8);
    assert_int_equal(job_count_running(job, 0), 5);
    world_restart(w);
    job = cluster_find_job(w->cluster, "one");
    assert_int_equal(job_count(job, 0, false), 5);
    world_run(w, 8);
    job = cluster_find_job(w->cluster, "one");
    assert_int_equal(job_count_running(job, 0), 5);
    assert_int_equal(job->processes->incarnation, 1);
    world_free(w);
}

TEST(test_nothing_grows_onto_cores_that_are_in_use)
{
    struct world *w = world_new(1, 2000, GIB, 1000);
    struct job *job;

    world_run(w, 2); /* the row is written: nothing runs there yet */
    w->agents[0].foreign_cpu_millicores = 1600;
    world_run(w, 4);
    job = world_submit(w, world_spec("two", 1, 5, 400, 0, 0));
    world_run(w, 6);
    assert_int_equal(job_count_running(job, 0), 1);
    world_restart(w);
    job = cluster_find_job(w->cluster, "two");
    assert_int_equal(job_count(job, 0, true), 1);
    world_run(w, 6);
    assert_int_equal(job_count(job, 0, true), 1);
    world_free(w);
}

/* What a node runs that it should not is known from its reports alone. */
TEST(test_nothing_is_granted_before_the_old_holder_is_gone)
{
    struct world *w = world_new(1, 2000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 1, 2000, 0, 0));
    struct process_report item = {
        .job_id = 1, .role = "trainer", .incarnation = 1, .state = PROCESS_RUNNING
    };
    struct node_report report = { .boot_id = "boot-0",
                                  .offer = w->agents[0].offer,
                                  .processes = &item,
                                  .n_processes = 1,
                                  .complete = true };

    world_run(w, 4);
    w->agents[0].keeps = w->agents[0].silent = true;
    world_advance(w, 40 * USEC_PER_SEC);
    assert_int_equal(first_node(w)->state, NODE_LOST);
    assert_int_equal(cluster_report(w->cluster, first_node(w), &report, w->now, NULL), 0);
    world_plan(w);
    assert_int_equal(first_node(w)->cpu_granted_millicores, 0);
    world_commit(w);
    world_restart(w);
    assert_int_equal(first_node(w)->cpu_granted_millicores, 0);
    assert_int_equal(cluster_report(w->cluster, first_node(w), &report, w->now, NULL), 0);
    world_plan(w);
    assert_int_equal(first_node(w)->cpu_granted_millicores, 0);
    report.n_processes = 0;
    assert_int_equal(cluster_report(w->cluster, first_node(w), &report, w->now, NULL), 0);
    world_plan(w);
    job = cluster_find_job(w->cluster, "one");
    assert_int_equal(first_node(w)->cpu_granted_millicores, 2000);
    assert_int_equal(world_live(job, "trainer", 0)->incarnation, 2);
    world_free(w);
}

/* Nor does an incomplete report of a node that was lost tell all that it runs. */
TEST(test_incomplete_report_opens_no_room)
{
    struct world *w = world_new(1, 2000, GIB, 1000);
    struct node_report report = { .boot_id = "boot-0", .offer = w->agents[0].offer };

    (void)world_submit(w, world_spec("one", 1, 1, 2000, 0, 0));
    world_run(w, 4);
    w->agents[0].keeps = w->agents[0].silent = true;
    world_advance(w, 40 * USEC_PER_SEC);
    assert_int_equal(cluster_report(w->cluster, first_node(w), &report, w->now, NULL), 0);
    world_plan(w);
    assert_int_equal(first_node(w)->state, NODE_READY);
    assert_int_equal(first_node(w)->cpu_granted_millicores, 0);
    world_free(w);
}

/* One that stays silent holds up the others for a part of its lease only. */
TEST(test_silent_node_is_not_waited_for_for_ever)
{
    struct world *w = world_new(2, 2000, GIB, 1000);
    uint64_t restarted_us;
    struct job *job;

    world_run(w, 2);
    w->agents[1].silent = true;
    world_restart(w);
    restarted_us = w->now.now_us;
    job = world_submit(w, world_spec("one", 1, 1, 400, 0, 0));
    world_second(w);
    assert_int_equal(job->state, JOB_QUEUED);
    while (job->state == JOB_QUEUED)
        world_second(w);
    assert_true(w->now.now_us - restarted_us < w->cluster->config.lease_us / 2);
    assert_string_equal(world_live(job, "trainer", 0)->node_name, "node-0");
    world_free(w);
}

/* What the scheduler was told last it has forgotten: an old report has to prove that it is new. */
TEST(test_old_report_is_not_believed_after_a_restart)
{
    struct world *w = world_new(1, 2000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 1, 500, 0, 0));
    struct process_report item = {
        .job_id = 1, .role = "trainer", .incarnation = 1, .state = PROCESS_RUNNING
    };
    struct node_report report = {
        .boot_id = "boot-0", .sent_us = 100, .offer = w->agents[0].offer, .complete = true
    };

    world_run(w, 3);
    world_restart(w);
    job = cluster_find_job(w->cluster, "one");
    assert_int_equal(cluster_report(w->cluster, first_node(w), &report, w->now, NULL), EDL_ESTALE);
    assert_int_equal(world_live(job, "trainer", 0)->incarnation, 1);
    report.sent_us = 200;
    report.session = first_node(w)->session;
    report.processes = &item;
    report.n_processes = 1;
    assert_int_equal(cluster_report(w->cluster, first_node(w), &report, w->now, NULL), 0);
    world_plan(w);
    assert_int_equal(world_live(job, "trainer", 0)->incarnation, 1);
    world_free(w);
}

TEST(test_closed_node_gives_way_to_its_own_services)
{
    struct world *w = world_new(1, 2000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 5, 400, 0, 0));

    world_run(w, 6);
    assert_int_equal(job_count_running(job, 0), 5);
    set_node(w, NODE_CORDONED);
    w->agents[0].foreign_cpu_millicores = 1500;
    world_run(w, 6);
    assert_int_equal(job_count_running(job, 0), 1);
    world_free(w);
}

/* The records are of a backup: what they call assigned was started since, ended, and is forgotten
 * by its agent. It must not be started once more, and its number not be given to another. */
TEST(test_what_a_backup_calls_assigned_is_not_started_again)
{
    struct world *w = world_new(1, 2000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 1, 500, 0, 0));
    struct process *process;

    w->agents[0].silent = true;
    world_plan(w);
    process = world_live(job, "trainer", 0);
    assert_int_equal(process->state, PROCESS_ASSIGNED);
    world_restart(w);
    w->replay_every = UINT32_MAX; /* the store in memory keeps no epoch */
    cluster_begin_epoch(w->cluster, &(struct epoch_numbers){ 1000, 2000, 7 }, w->now);
    world_commit(w);
    world_restart(w);
    w->agents[0].silent = false;
    w->agents[0].reports_first = true; /* the scheduler gives no orders before */
    world_run(w, 8);
    job = cluster_find_job(w->cluster, "one");
    process = world_live(job, "trainer", 0);
    assert_int_equal(process->state, PROCESS_RUNNING);
    assert_int_equal(process->incarnation, 1000);
    assert_int_equal(job->processes->state, PROCESS_LOST);
    assert_int_equal(w->agents[0].n, 1);
    assert_int_equal(w->agents[0].items[0].incarnation, 1000);
    world_free(w);
}

/* A process of the lost days, that nobody knows: as its node tells of it. */
static void tell_of(struct world *w, uint64_t job_id)
{
    struct process_report item = {
        .job_id = job_id, .role = "trainer", .incarnation = 1, .state = PROCESS_RUNNING
    };
    struct node *node = first_node(w);
    struct node_report report = { .boot_id = "boot-0",
                                  .session = node->session,
                                  .processes = &item,
                                  .n_processes = 1,
                                  .offer = node->offer };

    assert_int_equal(cluster_report(w->cluster, node, &report, w->now, NULL), 0);
}

TEST(test_numbers_that_nodes_know_are_not_given_again)
{
    struct world *w = world_new(1, 2000, GIB, 1000);
    struct job *job;

    world_run(w, 3);
    w->replay_every = UINT32_MAX; /* the store in memory keeps no epoch */
    tell_of(w, 41);
    assert_int_equal(cluster_next_job(w->cluster), 1); /* there was no restore: it is made up */
    cluster_begin_epoch(w->cluster, &(struct epoch_numbers){ 1 << 20, 2000, 7 }, w->now);
    assert_int_equal(cluster_next_job(w->cluster), 2000);
    tell_of(w, 2000 + LOST_JOBS_MOST);
    tell_of(w, 41);
    assert_int_equal(cluster_next_job(w->cluster), 2000);
    tell_of(w, 2345);
    assert_int_equal(cluster_next_job(w->cluster), 2346);
    job = world_submit(w, world_spec("a", 1, 1, 500, 0, 0));
    world_plan(w);
    assert_int_equal(job->processes->incarnation, 7);
    world_free(w);
}

TEST(test_a_restore_leaves_room_for_the_jobs_of_the_lost_days)
{
#define DAY_US (24 * 3600 * USEC_PER_SEC)
    static const struct {
        uint64_t next_job, age_days, lost_days, first_job;
    } cases[] = {
        { 1, 0, 0, 2000 },           /* a cluster of today */
        { 1000, 10, 0, 2000 },       /* the former database is there */
        { 1001, 10, 0, 3000 },       /* */
        { 3650, 365, 7, 5000 },      /* ten a day: 70, and ten times that is 700 */
        { 365000, 365, 1, 375000 },  /* a thousand a day */
        { 365000, 365, 30, 465000 }, /* no more than LOST_JOBS_MOST */
        { 50, 0, 300, 101000 },      /* nobody knows how many came */
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct epoch_known known = { .next_job = cases[i].next_job, .made_us = DAY_US };

        known.known_until_us = known.made_us + cases[i].age_days * DAY_US;
        assert_int_equal(epoch_first_job(&known,
                                         known.known_until_us + cases[i].lost_days * DAY_US),
                         cases[i].first_job);
        assert_true(epoch_first_job(&known, 0) <= cases[i].first_job); /* the clock was set back */
    }
    assert_int_equal(epoch_first_incarnation(1795000000), 1 + 1795000000 % 1000000);
}
