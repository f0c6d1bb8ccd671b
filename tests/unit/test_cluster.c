/* SPDX-License-Identifier: Apache-2.0 */
/* test_cluster.c - jobs start, grow, give way and move; nodes come and go; invariants after every
 * event */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static uint32_t trainers(const struct job *job)
{
    return job_count_running(job, role_of(job, "trainer"));
}

static void assert_code(const struct job *job, const char *code)
{
    if (!streq(job->reason_code, code))
        fail_msg("%s: %s (%s)", job->spec->name, job->reason_code, job->reason);
}

TEST(test_submit_starts_gang_then_grows_to_max)
{
    struct world *w = world_new(4, 2500, GIB, 900);
    struct job *job = world_submit(w, world_spec("example", 2, 10, 200, 2, 500));

    assert_int_equal(job->state, JOB_STARTING);
    assert_int_equal(job_count(job, role_of(job, "trainer"), true), 2);
    assert_int_equal(job_count(job, role_of(job, "pserver"), true), 2);
    assert_int_equal(world_live(job, "pserver", 0)->n_ports, 2);
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(trainers(job), 10);
    assert_int_equal(job->resizes, 1);
    assert_code(job, "running");
    assert_int_equal(cluster_utilisation_ppm(w->cluster), 300000);
    world_free(w);
}

TEST(test_tutorial_three_jobs_all_run_and_share)
{
    struct world *w = world_new(4, 2500, GIB, 900);
    struct job *jobs[4];
    char name[16];

    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof name, "example-%zu", i);
        jobs[i] = world_submit(w, world_spec(name, 2, 10, 200, 2, 500));
        world_run(w, 12);
        for (size_t j = 0; j <= i; j++) {
            assert_int_equal(jobs[j]->state, JOB_RUNNING);
            assert_in_range(trainers(jobs[j]), 2, 10);
        }
    }
    /* three are full (9000m of 9000m); the fourth made them give way: 4 x 1000m + 25 x 200m = 9000m
     */
    assert_int_equal(trainers(jobs[0]) + trainers(jobs[1]) + trainers(jobs[2]) + trainers(jobs[3]),
                     25);
    assert_true(cluster_utilisation_ppm(w->cluster) <= 900000);
    world_free(w);
}

TEST(test_submit_to_full_small_cluster_shrinks_first_job)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job *one = world_submit(w, world_spec("one", 2, 10, 300, 2, 500));
    struct job *two;
    uint32_t before;

    world_run(w, 8);
    before = trainers(one);
    assert_int_equal(before, 10);
    two = world_submit(w, world_spec("two", 2, 10, 300, 2, 500));
    assert_int_equal(two->state, JOB_QUEUED);
    assert_code(two, "gang-does-not-fit");
    assert_non_null(strstr(two->reason, "room is being made"));
    world_run(w, 12);
    assert_int_equal(two->state, JOB_RUNNING);
    assert_in_range(trainers(one), 2, before - 1);
    assert_in_range(trainers(two), 2, 10);
    assert_true(one->resizes >= 2);
    world_free(w);
}

TEST(test_fragmented_nodes_give_way_by_node)
{
    /* load 1000: the total fits without anybody shrinking, but no node has 900m free */
    struct world *w = world_new(2, 2000, GIB, 1000);
    struct job *small = world_submit(w, world_spec("small", 1, 8, 400, 0, 0));
    struct job *big;

    world_run(w, 6);
    assert_int_equal(trainers(small), 8);
    big = world_submit(w, world_spec("big", 1, 1, 900, 0, 0));
    assert_int_equal(big->state, JOB_QUEUED);
    world_run(w, 6);
    assert_int_equal(big->state, JOB_RUNNING);
    assert_int_equal(trainers(small), 7);
    world_free(w);
}

TEST(test_never_fits_says_what_is_missing_and_nobody_shrinks)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job *one = world_submit(w, world_spec("one", 2, 10, 200, 0, 0));
    struct job *giant;
    struct job *wide;

    world_run(w, 6);
    giant = world_submit(w, world_spec("giant", 1, 1, 3000, 0, 0));
    wide = world_submit(w, world_spec("wide", 3, 3, 2400, 0, 0));
    world_run(w, 3);
    assert_code(giant, "never-fits");
    assert_non_null(strstr(giant->reason, "3000m"));
    assert_code(wide, "never-fits");
    assert_non_null(strstr(wide->reason, "7200m"));
    assert_int_equal(trainers(one), 10);
    assert_int_equal(cluster_kill_job(w->cluster, giant, NULL, w->now, NULL), 0);
    assert_int_equal(giant->state, JOB_KILLED);
    assert_int_equal(cluster_kill_job(w->cluster, giant, NULL, w->now, NULL), EDL_EBADTRANSITION);
    world_free(w);
}

TEST(test_backfill_does_not_take_promised_room)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *one = world_submit(w, world_spec("one", 1, 5, 200, 0, 0));
    struct job *big;
    struct job *late;

    world_run(w, 6);
    assert_int_equal(trainers(one), 5);
    big = world_submit(w, world_spec("big", 1, 1, 700, 0, 0));
    late = world_submit(w, world_spec("late", 1, 1, 200, 0, 0));
    world_run(w, 6);
    assert_int_equal(big->state, JOB_RUNNING);
    assert_int_equal(late->state, JOB_QUEUED);
    assert_non_null(strstr(late->reason, "waits until a job ends"));
    world_free(w);
}

TEST(test_priority_goes_first)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *one = world_submit(w, world_spec("one", 1, 1, 800, 0, 0));
    struct job *low = world_submit(w, world_spec("low", 1, 1, 800, 0, 0));
    struct job_spec *spec = world_spec("high", 1, 1, 800, 0, 0);
    struct job *high;

    spec->priority = 5;
    high = world_submit(w, spec);
    world_run(w, 3);
    assert_int_equal(cluster_kill_job(w->cluster, one, "enough", w->now, NULL), 0);
    assert_int_equal(cluster_kill_job(w->cluster, one, "again", w->now, NULL), 0);
    world_run(w, 4);
    assert_int_equal(one->state, JOB_KILLED);
    assert_string_equal(one->reason, "enough");
    assert_int_equal(high->state, JOB_RUNNING);
    assert_int_equal(low->state, JOB_QUEUED);
    world_free(w);
}

TEST(test_submit_refuses_name_in_use_and_keeps_spec)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *spec = world_spec("one", 1, 1, 200, 0, 0);
    struct edl_error error = { 0 };

    (void)world_submit(w, world_spec("one", 1, 1, 200, 0, 0));
    assert_int_equal(cluster_submit(w->cluster, spec, "ann", w->now, NULL, &error), -EEXIST);
    assert_string_equal(error.pointer, "/metadata/name");
    (void)job_spec_free(spec);
    world_free(w);
}

TEST(test_lost_node_is_replaced_and_its_return_changes_nothing)
{
    struct world *w = world_new(3, 2500, GIB, 900);
    struct job *job = world_submit(w, world_spec("one", 2, 4, 600, 1, 500));
    uint64_t pserver;
    uint32_t where;

    world_run(w, 6);
    assert_int_equal(trainers(job), 4);
    pserver = world_live(job, "pserver", 0)->incarnation;
    where = (uint32_t)(world_live(job, "pserver", 0)->node->name[5] - '0');
    w->agents[where].silent = true;
    world_advance(w, 24 * USEC_PER_SEC);
    assert_int_equal(world_live(job, "pserver", 0)->incarnation, pserver);
    world_run(w, 1);
    world_advance(w, USEC_PER_SEC);
    assert_int_equal(cluster_node(w->cluster, w->agents[where].name)->state, NODE_LOST);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_true(world_live(job, "pserver", 0)->incarnation > pserver);
    assert_int_equal(job->slots[role_of(job, "pserver")][0].failures, 0);
    w->agents[where].silent = false;
    world_run(w, 4);
    assert_int_equal(cluster_node(w->cluster, w->agents[where].name)->state, NODE_READY);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

TEST(test_a_live_node_is_not_taken_over)
{
    struct world *w = world_new(1, 4000, GIB, 900);
    struct node *node = NULL;
    struct edl_error error = { 0 };

    assert_int_equal(cluster_join_node(w->cluster, w->agents[0].name, "thief", &w->agents[0].offer,
                                       w->now, &node, &error),
                     -EEXIST);
    assert_string_equal(cluster_node(w->cluster, w->agents[0].name)->credential_hash, "hash");
    w->agents[0].silent = true;
    world_advance(w, 60 * USEC_PER_SEC);
    assert_int_equal(cluster_join_node(w->cluster, w->agents[0].name, "anew", &w->agents[0].offer,
                                       w->now, &node, &error),
                     0);
    world_plan(w);
    world_free(w);
}

TEST(test_cordon_of_a_lost_node_survives_a_restart)
{
    struct world *w = world_new(1, 4000, GIB, 900);

    w->agents[0].silent = true;
    world_advance(w, 60 * USEC_PER_SEC);
    assert_int_equal(cluster_set_node_state(w->cluster, cluster_node(w->cluster, "node-0"),
                                            NODE_CORDONED, w->now, NULL),
                     0);
    world_plan(w);
    world_restart(w);
    w->agents[0].silent = false;
    world_run(w, 1);
    assert_int_equal(cluster_node(w->cluster, "node-0")->state, NODE_CORDONED);
    world_free(w);
}

TEST(test_returned_node_takes_nothing_until_its_leftovers_are_gone)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 1, 800, 0, 0));
    struct node *node = cluster_node(w->cluster, "node-0");

    world_run(w, 2);
    w->agents[0].silent = true;
    w->agents[0].keeps = true;
    world_advance(w, 30 * USEC_PER_SEC);
    assert_int_equal(node->state, NODE_LOST);
    assert_code(job, "replacement-does-not-fit");
    w->agents[0].silent = false;
    w->agents[0].items[0].linger = 2;
    world_run(w, 2); /* it still reports the old one, stopping */
    assert_int_equal(node->state, NODE_READY);
    assert_int_equal(node->n_stale, 1);
    assert_null(node->processes);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

TEST(test_new_boot_id_loses_what_ran_before)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 1, 800, 0, 0));
    uint64_t before;

    world_run(w, 2);
    before = world_live(job, "trainer", 0)->incarnation;
    w->agents[0].boot++;
    w->agents[0].n = 0;
    w->agents[0].reports_first = true;
    world_run(w, 3);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_true(world_live(job, "trainer", 0)->incarnation > before);
    assert_int_equal(job->processes->state, PROCESS_LOST);
    world_free(w);
}

TEST(test_complete_report_without_a_known_process_loses_it)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 1, 800, 0, 0));
    struct node_report report = { .boot_id = "boot-0",
                                  .offer = w->agents[0].offer,
                                  .complete = true };

    /* assigned and not listed: the agent has not seen the order yet */
    assert_int_equal(cluster_report(w->cluster, cluster_node(w->cluster, "node-0"), &report, w->now,
                                    NULL),
                     0);
    assert_int_equal(world_live(job, "trainer", 0)->state, PROCESS_ASSIGNED);
    world_run(w, 2);
    report.complete = false;
    assert_int_equal(cluster_report(w->cluster, cluster_node(w->cluster, "node-0"), &report, w->now,
                                    NULL),
                     0);
    assert_int_equal(world_live(job, "trainer", 0)->state, PROCESS_RUNNING);
    report.complete = true;
    assert_int_equal(cluster_report(w->cluster, cluster_node(w->cluster, "node-0"), &report, w->now,
                                    NULL),
                     0);
    assert_int_equal(job->processes->state, PROCESS_LOST);
    assert_string_equal(job->processes->reason, "its agent does not know it");
    world_free(w);
}

/* The first report was given up and delivered after all, when the process runs and was told. */
TEST(test_overtaken_report_changes_nothing)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 1, 800, 0, 0));
    struct node *node = cluster_node(w->cluster, "node-0");
    struct process_report item = {
        .job_id = 1, .role = "trainer", .incarnation = 1, .state = PROCESS_RUNNING
    };
    struct node_report report = { .boot_id = "boot-0",
                                  .sent_us = 2000,
                                  .offer = w->agents[0].offer,
                                  .processes = &item,
                                  .n_processes = 1,
                                  .complete = true };
    uint64_t deadline_us;

    world_run(w, 2);
    assert_int_equal(cluster_report(w->cluster, node, &report, w->now, NULL), EDL_ESTALE);
    report.session = node->session; /* the reports before had no time */
    assert_int_equal(cluster_report(w->cluster, node, &report, w->now, NULL), 0);
    deadline_us = node->lease_deadline_us;
    report.sent_us = 1000;
    report.n_processes = 0;
    w->now.now_us++;
    assert_int_equal(cluster_report(w->cluster, node, &report, w->now, NULL), EDL_ESTALE);
    assert_int_equal(world_live(job, "trainer", 0)->state, PROCESS_RUNNING);
    assert_int_equal(node->lease_deadline_us, deadline_us);
    report.sent_us = 3000;
    assert_int_equal(cluster_report(w->cluster, node, &report, w->now, NULL), 0);
    assert_int_equal(job->processes->state, PROCESS_LOST);
    world_free(w);
}

static int report_boot(struct world *w, const char *boot_id, uint64_t sent_us, uint64_t session,
                       const struct process_report *item)
{
    struct node_report report = { .boot_id = boot_id,
                                  .sent_us = sent_us,
                                  .session = session,
                                  .offer = w->agents[0].offer,
                                  .processes = item,
                                  .n_processes = item != NULL,
                                  .complete = true };

    return cluster_report(w->cluster, cluster_node(w->cluster, "node-0"), &report, w->now, NULL);
}

/* However late the reports of earlier boots come: they never hear what they would have to repeat.
 */
TEST(test_report_of_an_earlier_boot_changes_nothing)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    const struct job *job = world_submit(w, world_spec("one", 1, 1, 800, 0, 0));
    const struct node *node = cluster_node(w->cluster, "node-0");
    const struct process_report item = {
        .job_id = 1, .role = "trainer", .incarnation = 1, .state = PROCESS_RUNNING
    };
    uint64_t session;

    assert_int_equal(report_boot(w, "boot-2", 1000, 0, &item), EDL_ESTALE);
    session = node->session;
    assert_true(session != 0);
    assert_string_equal(node->boot_id, "boot-0");
    assert_int_equal(report_boot(w, "boot-1", 900000, 0, NULL), EDL_ESTALE); /* never seen before */
    assert_int_equal(report_boot(w, "boot-2", 2000, session, &item), EDL_ESTALE);
    assert_int_equal(report_boot(w, "boot-2", 3000, node->session, &item), 0);
    assert_string_equal(node->boot_id, "boot-2");
    assert_int_equal(job->processes->state, PROCESS_RUNNING);
    assert_int_equal(report_boot(w, "boot-1", 900001, 0, NULL), EDL_ESTALE);
    assert_int_equal(report_boot(w, "boot-0", 900002, session, NULL), EDL_ESTALE);
    assert_int_equal(job->processes->state, PROCESS_RUNNING);
    assert_int_equal(report_boot(w, "boot-2", 4000, 0, &item), 0); /* it is known: no session */
    world_free(w);
}

TEST(test_stale_and_foreign_reports_are_ignored)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 1, 800, 0, 0));
    struct process *process = world_live(job, "trainer", 0);
    struct process_report items[] = {
        { .job_id = 1, .role = "trainer", .incarnation = 99, .state = PROCESS_EXITED },
        { .job_id = 7, .role = "trainer", .incarnation = 1, .state = PROCESS_EXITED },
        { .job_id = 1, .role = "nobody", .incarnation = 1, .state = PROCESS_EXITED },
        { .job_id = 1, .role = NULL, .incarnation = 1, .state = PROCESS_EXITED },
        { .job_id = 1,
          .role = "trainer",
          .index = 5000,
          .incarnation = 1,
          .state = PROCESS_EXITED },
        { .job_id = 1, .role = "trainer", .incarnation = 1, .state = PROCESS_EXITED },
    };
    struct node_report report = { .boot_id = "boot-0",
                                  .offer = w->agents[0].offer,
                                  .processes = items,
                                  .n_processes = ELEMENTS(items) };
    struct node *other = process->node == cluster_node(w->cluster, "node-0")
                             ? cluster_node(w->cluster, "node-1")
                             : cluster_node(w->cluster, "node-0");

    world_run(w, 2);
    /* the last one is right but for the node that says it */
    assert_int_equal(cluster_report(w->cluster, other, &report, w->now, NULL), 0);
    world_plan(w);
    assert_int_equal(process->state, PROCESS_RUNNING);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

/* One process fewer would end all of the program. While the job waits, nothing is lost. */
TEST(test_a_job_of_mode_mpi_keeps_its_size)
{
    struct world *w = world_new(4, 2500, GIB, 900);
    struct job_spec *spec = world_spec("mpi", 3, 3, 800, 0, 0);
    struct job_spec *large = world_spec("large", 3, 3, 2600, 0, 0);
    struct edl_error error = { 0 };
    struct job *job, *waits;

    spec->mode = large->mode = JOB_MODE_MPI;
    job = world_submit(w, spec);
    waits = world_submit(w, large);
    world_run(w, 6);
    assert_int_equal(waits->state, JOB_QUEUED);
    assert_int_equal(cluster_scale_job(w->cluster, waits, NULL, 2, 2, w->now, &error), 0);
    assert_int_equal(trainers(job), 3);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 3, 3, w->now, &error), 0);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 2, 2, w->now, &error),
                     EDL_EBADTRANSITION);
    assert_non_null(strstr(error.text, "mode mpi cannot lose or gain processes"));
    assert_non_null(strstr(error.remedy, "--min 2"));
    world_run(w, 6);
    assert_int_equal(trainers(job), 3);
    world_free(w);
}

TEST(test_scale_moves_bounds_and_processes_follow)
{
    struct world *w = world_new(4, 2500, GIB, 900);
    struct job *job = world_submit(w, world_spec("one", 2, 10, 200, 2, 500));
    struct edl_error error = { 0 };

    world_run(w, 6);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 2, 4, w->now, NULL), 0);
    world_run(w, 6);
    assert_int_equal(trainers(job), 4);
    assert_int_equal(cluster_scale_job(w->cluster, job, "trainer", 12, 12, w->now, NULL), 0);
    world_run(w, 6);
    assert_int_equal(trainers(job), 12);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 5, 4, w->now, &error), -EINVAL);
    assert_string_equal(error.pointer, "/max");
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 0, 4, w->now, &error), -EINVAL);
    assert_string_equal(error.pointer, "/min");
    assert_int_equal(cluster_scale_job(w->cluster, job, "x", 1, 4, w->now, &error), -EINVAL);
    assert_string_equal(error.pointer, "/role");
    world_free(w);
}

TEST(test_cordon_places_nothing_and_drain_empties)
{
    struct world *w = world_new(3, 2500, GIB, 900);
    struct node *node = cluster_node(w->cluster, "node-0");
    struct job *job;
    struct job *two;
    struct edl_error error = { 0 };

    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_CORDONED, w->now, NULL), 0);
    job = world_submit(w, world_spec("one", 2, 10, 300, 2, 500));
    world_run(w, 6);
    assert_null(node->processes);
    assert_true(trainers(job) >= 2);
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_READY, w->now, NULL), 0);
    two = world_submit(w, world_spec("two", 1, 1, 2400, 0, 0));
    world_run(w, 6);
    assert_int_equal(two->state, JOB_RUNNING);
    node = world_live(two, "trainer", 0)->node;
    assert_int_equal(cluster_remove_node(w->cluster, node, w->now, &error), EDL_EBADTRANSITION);
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_DRAINING, w->now, NULL), 0);
    world_run(w, 10);
    assert_null(node->processes);
    /* the other job gave way on another node, by trainers alone */
    assert_int_equal(two->state, JOB_RUNNING);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_true(world_live(two, "trainer", 0)->node != node);
    assert_int_equal(cluster_remove_node(w->cluster, node, w->now, &error), 0);
    world_plan(w);
    assert_int_equal(HASH_COUNT(w->cluster->nodes), 2);
    world_free(w);
}

TEST(test_foreign_load_makes_trainers_give_way)
{
    struct world *w = world_new(2, 2000, GIB, 900);
    struct job *job = world_submit(w, world_spec("one", 1, 10, 400, 0, 0));

    world_run(w, 6);
    assert_int_equal(trainers(job), 9); /* 3600m are 90 % of 4000m */
    w->agents[0].foreign_cpu_millicores = 1500;
    world_run(w, 8);
    assert_true(trainers(job) <= 5);
    assert_true(cluster_node(w->cluster, "node-0")->cpu_granted_millicores <= 800);
    w->agents[0].foreign_cpu_millicores = 0;
    world_run(w, 8);
    assert_int_equal(trainers(job), 9);
    world_free(w);
}

TEST(test_effects_list_each_row_once)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *job = NULL;
    const struct effect *effects;
    uint64_t version = cluster_node(w->cluster, "node-0")->orders_version;
    size_t n_jobs = 0;
    size_t n_orders = 0;
    size_t n_processes = 0;
    size_t n;

    assert_int_equal(cluster_submit(w->cluster, world_spec("one", 3, 3, 200, 0, 0), "ann", w->now,
                                    &job, NULL),
                     0);
    cluster_plan(w->cluster, w->now);
    effects = cluster_effects(w->cluster, &n);
    for (size_t i = 0; i < n; i++) {
        n_jobs += effect_saves_job(&effects[i]);
        n_processes += effects[i].kind == EFFECT_SAVE_PROCESS;
        n_orders += effects[i].kind == EFFECT_ORDERS;
    }
    assert_int_equal(n_jobs, 1);
    assert_int_equal(n_processes, 3);
    assert_int_equal(n_orders, 1);
    assert_true(cluster_node(w->cluster, "node-0")->orders_version > version);
    cluster_effects_clear(w->cluster);
    cluster_plan(w->cluster, w->now);
    (void)cluster_effects(w->cluster, &n);
    assert_int_equal(n, 0);
    world_free(w);
}

TEST(test_gang_counts_as_requested_while_room_is_being_made)
{
    struct world *w = world_new(2, 1000, GIB, 900);
    struct job *one = world_submit(w, world_spec("one", 1, 20, 100, 0, 0));
    uint32_t role = role_of(one, "trainer");

    world_run(w, 6);
    assert_int_equal(job_count(one, role, false), 18);
    (void)world_submit(w, world_spec("big", 1, 1, 900, 0, 0));
    /* seven stand in its way on a node, nine in the way of the load limit: all are asked to stop at
     * once */
    assert_int_equal(job_count(one, role, false), 9);
    world_free(w);
}

TEST(test_exits_of_before_a_reboot_are_no_failures)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 1, 800, 0, 0));
    struct process_report item = {
        .job_id = 1, .role = "trainer", .incarnation = 1, .state = PROCESS_EXITED, .exit_code = -1
    };
    struct node_report report = { .boot_id = "another",
                                  .offer = w->agents[0].offer,
                                  .processes = &item,
                                  .n_processes = 1,
                                  .complete = true };

    world_run(w, 2);
    assert_int_equal(cluster_report(w->cluster, cluster_node(w->cluster, "node-0"), &report, w->now,
                                    NULL),
                     0);
    assert_int_equal(job->processes->state, PROCESS_LOST);
    assert_int_equal(job->slots[0][0].failures, 0);
    world_free(w);
}

/* What happens to a process is told with its slot and incarnation, beside the sentence. */
static unsigned n_told;

static void commit_and_read(void *userdata, const struct effect *effects, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct effect *effect = &effects[i];

        if (effect->kind != EFFECT_EVENT)
            continue;
        assert_int_equal(effect->id > 0, strncmp(effect->event, "process-", 8) == 0);
        if (!streq(effect->event, "process-exited"))
            continue;
        assert_string_equal(effect->job->spec->roles[effect->role].name, "pserver");
        assert_int_equal(effect->index, 1);
        assert_int_equal(effect->id, 2);
        assert_string_equal(effect->name, "node-0");
        n_told++;
    }
    memory_store_commit(userdata, effects, n);
}

TEST(test_events_of_a_process_name_it)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *job;

    n_told = 0;
    w->disk.commit = commit_and_read;
    job = world_submit(w, world_spec("example", 2, 2, 200, 2, 500));
    world_run(w, 6);
    assert_int_equal(world_live(job, "pserver", 1)->incarnation, 2);
    world_exit(w, world_live(job, "pserver", 1), 1, 0);
    world_run(w, 2);
    assert_int_equal(n_told, 1);
    world_free(w);
}
