/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue.c - what waits: promises that break, order that holds, words that are true */
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/ask/account.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/planned.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static void assert_says(const struct job *job, const char *code, const char *words)
{
    if (!streq(job->reason_code, code) || strstr(job->reason, words) == NULL)
        fail_msg("%s: %s (%s)", job->spec->name, job->reason_code, job->reason);
}

/* A node goes on which room was being made: nobody remembers a place there. */
TEST(test_places_are_kept_only_while_promised)
{
    struct world *w = world_new(2, 10000, GIB, 1000);
    struct job *elastic, *gang;

    w->agents[1].silent = true;
    world_advance(w, 40 * USEC_PER_SEC);
    world_run(w, 1);
    elastic = world_submit(w, world_spec("elastic", 1, 10, 1000, 0, 0));
    world_run(w, 12);
    assert_int_equal(job_count_running(elastic, 0), 10);
    gang = world_submit(w, world_spec("gang", 1, 1, 5000, 0, 0));
    assert_true(planned_promised(gang));
    assert_non_null(planned_is(gang)->places);
    w->agents[0].silent = true;
    world_advance(w, 40 * USEC_PER_SEC);
    assert_says(gang, "no-nodes", "");
    assert_null(planned_is(gang)->places);
    assert_int_equal(cluster_remove_node(w->cluster, cluster_node(w->cluster, "node-0"), w->now,
                                         NULL),
                     0);
    world_plan(w);
    cluster_free(cluster_clone(w->cluster, w->now));
    w->agents[1].silent = false;
    world_run(w, 4);
    assert_int_equal(gang->state, JOB_RUNNING);
    world_free(w);
}

TEST(test_who_loses_its_promise_is_told)
{
    struct world *w = world_new(1, 10000, GIB, 1000);
    struct job *first, *second;

    (void)world_submit(w, world_spec("elastic", 1, 10, 1000, 0, 0));
    world_run(w, 12);
    first = world_submit(w, world_spec("first", 1, 1, 4000, 0, 0));
    second = world_submit(w, world_spec("second", 1, 1, 4000, 0, 0));
    assert_says(second, "gang-does-not-fit", "room is being made");
    w->agents[0].foreign_cpu_millicores = 6000;
    world_turn(w, 0);
    world_run(w, 6);
    assert_false(planned_promised(first));
    assert_false(planned_promised(second));
    assert_says(second, "queued", "behind 1 job that asks for the same");
    assert_null(planned_is(second)->places);
    world_free(w);
}

/* It was to be tried behind the one that is promised room, which loses that in the same plan. */
TEST(test_who_comes_as_a_promise_breaks_is_told)
{
    struct world *w = world_new(1, 10000, GIB, 1000);
    struct job *first, *second;

    (void)world_submit(w, world_spec("elastic", 1, 10, 1000, 0, 0));
    world_run(w, 12);
    first = world_submit(w, world_spec("first", 1, 1, 4000, 0, 0));
    assert_true(planned_promised(first));
    assert_int_equal(cluster_submit(w->cluster, world_spec("second", 1, 1, 4000, 0, 0), w->user,
                                    w->now, &second, NULL),
                     0);
    w->agents[0].foreign_cpu_millicores = 6000;
    world_turn(w, 0);
    assert_false(planned_promised(first));
    assert_says(second, "queued", "behind 1 job that asks for the same");
    world_free(w);
}

/* The pserver first goes to the node of 5 cores, and two trainers of 5 have one node left. */
TEST(test_gang_that_fits_in_another_order_starts)
{
    struct world *w = world_new(2, 5000, GIB, 1000);
    struct job *elastic;
    struct job *job;

    w->agents[1].offer.cpu_millicores = 6000;
    world_run(w, 1);
    job = world_submit(w, world_spec("gang", 2, 2, 5000, 1, 1000));
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(cluster_kill_job(w->cluster, job, NULL, w->now, NULL), 0);
    world_run(w, 3);
    elastic = world_submit(w, world_spec("elastic", 1, 11, 1000, 0, 0));
    world_run(w, 8);
    assert_int_equal(job_count_running(elastic, 0), 11);
    job = world_submit(w, world_spec("again", 1, 1, 5000, 1, 5000)); /* room is made for it */
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

/* The only node that the trainer may go to is the best fit of a pserver, too. */
TEST(test_role_that_wants_a_certain_node_has_its_place_there)
{
    struct world *w = world_new(2, 7000, GIB, 1000);
    struct job_spec *spec = world_spec("gang", 1, 1, 600, 3, 800);
    struct job *job;

    w->agents[0].offer.cpu_millicores = 1000;
    assert_int_equal(labels_set(&w->agents[0].offer.labels, "disk", "ssd", NULL), 0);
    for (size_t r = 0; r < spec->n_roles; r++)
        if (strcmp(spec->roles[r].name, "trainer") == 0)
            assert_int_equal(role_select(&spec->roles[r], "disk", "ssd", NULL), 0);
    world_run(w, 2);
    job = world_submit(w, spec);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

/* 4 + 3 + 3 on each of two nodes of 10 is the only way, and both orders begin with 4 + 4. */
TEST(test_two_roles_are_mixed_as_no_order_does)
{
    struct world *w = world_new(2, 10000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("gang", 4, 4, 3000, 2, 4000));

    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

/* The same with trainers of two names. */
TEST(test_what_no_order_packs_is_not_told_never)
{
    struct world *w = world_new(2, 10000, GIB, 1000);
    struct job_spec *spec = world_spec("gang", 2, 2, 3000, 2, 4000);
    struct job *job;

    spec->roles[spec->n_roles++] =
        (struct role_spec){ .name = "teacher", .min = 2, .max = 2, .cpu_millicores = 3000 };
    job = world_submit(w, spec);
    world_run(w, 2);
    assert_says(job, "gang-not-packed", "could not be packed");
    w->agents[0].offer.cpu_millicores = 12000;
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    job = world_submit(w, world_spec("half", 3, 3, 7000, 0, 0));
    assert_says(job, "never-fits", "3 of trainer need 7000m CPU");
    world_free(w);
}

TEST(test_idle_node_is_used_behind_many_that_are_blocked)
{
    struct world *w = world_new(2, 100000, GIB, 1000);
    struct job *late[3];
    char name[16];

    assert_int_equal(labels_set(&w->agents[0].offer.labels, "disk", "nvme", NULL), 0);
    world_run(w, 1);
    for (unsigned i = 0; i < 130; i++) {
        struct job_spec *spec;

        (void)snprintf(name, sizeof name, "blocked-%u", i);
        spec = world_spec(name, 1, 1, 90000 + i, 0, 0);
        assert_int_equal(role_select(&spec->roles[0], "disk", "nvme", NULL), 0);
        (void)world_submit(w, spec);
    }
    world_run(w, 3);
    late[0] = world_submit(w, world_spec("late", 1, 1, 60000, 0, 0));
    late[1] = world_submit(w, world_spec("later", 1, 1, 50000, 0, 0));
    world_run(w, 4);
    assert_int_equal(late[0]->state, JOB_RUNNING);
    assert_says(late[1], "queued", "behind more than 128 kinds");
    /* and again when it comes free, though nothing before it moves */
    late[2] = world_submit(w, world_spec("last", 1, 1, 45000, 0, 0));
    assert_int_equal(late[2]->state, JOB_QUEUED);
    assert_int_equal(cluster_kill_job(w->cluster, late[0], NULL, w->now, NULL), 0);
    world_run(w, 4);
    assert_int_equal(late[1]->state, JOB_RUNNING);
    assert_int_equal(late[2]->state, JOB_RUNNING);
    world_replan(w);
    world_free(w);
}

static struct job_spec *on_node(struct job_spec *spec, const char *where)
{
    assert_int_equal(role_select(&spec->roles[0], "where", where, NULL), 0);
    return spec;
}

/* What is being stopped on a node that is silent is no reason to wait on another. */
TEST(test_stops_elsewhere_hold_no_gang_back)
{
    struct world *w = world_new(2, 10000, GIB, 970);
    struct job *elastic;
    struct job *gang;

    assert_int_equal(labels_set(&w->agents[0].offer.labels, "where", "x", NULL), 0);
    assert_int_equal(labels_set(&w->agents[1].offer.labels, "where", "y", NULL), 0);
    world_run(w, 1);
    (void)world_submit(w, on_node(world_spec("fixed", 1, 1, 8500, 0, 0), "y"));
    elastic = world_submit(w, on_node(world_spec("elastic", 1, 10, 1000, 0, 0), "x"));
    world_run(w, 16);
    assert_int_equal(job_count_running(elastic, 0), 10);
    w->agents[0].foreign_cpu_millicores = 4000;
    world_turn(w, 0);
    w->agents[0].silent = true;
    gang = world_submit(w, on_node(world_spec("gang", 1, 1, 500, 0, 0), "y"));
    world_run(w, 3);
    assert_true(job_count(elastic, 0, true) > job_count(elastic, 0, false));
    assert_int_equal(gang->state, JOB_RUNNING);
    world_free(w);
}

static void set_state(struct world *w, const char *name, enum node_state state)
{
    assert_int_equal(cluster_set_node_state(w->cluster, cluster_node(w->cluster, name), state,
                                            w->now, NULL),
                     0);
    world_plan(w);
}

/* So many that were told to stop do so; the others take their time. */
static void end_stopping(struct world *w, const struct job *job, unsigned n)
{
    const struct process *process;

    w->seed = 7;
    w->max_linger = 1000000;
    world_turn(w, 0); /* its agent reads the orders */
    DL_FOREACH2(job->processes, process, job_next)
    if (process->state == PROCESS_STOPPING && n > 0) {
        world_exit(w, process, 0, 15);
        n--;
    }
    assert_int_equal(n, 0);
    world_turn(w, 0);
}

/* There is room for it once one has ended, but those that still stop count as load. */
TEST(test_gang_waits_for_the_load_of_what_stops_where_it_goes)
{
    struct world *w = world_new(1, 10000, GIB, 900);
    struct job *elastic = world_submit(w, world_spec("elastic", 1, 20, 500, 0, 0));
    struct job *gang;

    world_run(w, 6);
    assert_int_equal(job_count_running(elastic, 0), 18);
    gang = world_submit(w, world_spec("gang", 1, 1, 1500, 0, 0));
    assert_int_equal(job_count(elastic, 0, false), 15);
    assert_says(gang, "gang-does-not-fit", "room is being made");
    end_stopping(w, elastic, 1);
    assert_int_equal(gang->state, JOB_QUEUED);
    assert_says(gang, "over-load-limit",
                "over the load limit of 90.0% until 2 processes are gone that are being stopped");
    end_stopping(w, elastic, 2);
    assert_int_equal(gang->state, JOB_STARTING);
    world_free(w);
}

/* What it waits in vain to use for the load's sake is not another's to use meanwhile: told that it
 * is there but for the load, it would have to be told otherwise. */
TEST(test_room_that_waits_for_the_load_is_nobodys)
{
    struct world *w = world_new(2, 10000, GIB, 900);
    struct job *other;
    struct job *elastic;
    struct job *gang;

    assert_int_equal(labels_set(&w->agents[0].offer.labels, "where", "x", NULL), 0);
    world_run(w, 1);
    set_state(w, "node-0", NODE_CORDONED);
    other = world_submit(w, world_spec("other", 1, 2, 1000, 0, 0));
    world_run(w, 4);
    assert_int_equal(job_count_running(other, 0), 2);
    set_state(w, "node-0", NODE_READY);
    set_state(w, "node-1", NODE_CORDONED);
    elastic = world_submit(w, on_node(world_spec("elastic", 1, 18, 500, 0, 0), "x"));
    world_run(w, 6);
    assert_int_equal(job_count_running(elastic, 0), 18);
    assert_int_equal(cluster_scale_job(w->cluster, elastic, NULL, 1, 10, w->now, NULL), 0);
    world_plan(w);
    gang = world_submit(w, on_node(world_spec("gang", 1, 1, 1500, 0, 0), "x"));
    end_stopping(w, elastic, 1);
    assert_says(gang, "over-load-limit", "until 7 processes are gone");
    world_exit(w, world_live(other, "trainer", 1), 1, 0);
    for (int i = 0; i < 3; i++) /* it backs off */
        world_second(w);
    world_replan(w);
    assert_says(gang, "over-load-limit", "until 7 processes are gone");
    end_stopping(w, elastic, 7);
    assert_int_equal(gang->state, JOB_STARTING);
    world_free(w);
}

static int64_t free_cpu(const struct world *w, const struct job *job)
{
    struct job_account account;

    cluster_account(w->cluster, job, &account);
    assert_string_equal(account.nodes[0].node->name, "node-0");
    return account.nodes[0].free.cpu_millicores;
}

/* Who asks why is told so: it is free for the gang itself, and for nobody else. */
TEST(test_room_that_waits_for_the_load_is_told_of)
{
    struct world *w = world_new(1, 10000, GIB, 900);
    struct job *elastic = world_submit(w, world_spec("elastic", 1, 20, 500, 0, 0));
    struct job *gang;
    struct job *late;

    world_run(w, 6);
    gang = world_submit(w, world_spec("gang", 1, 1, 1500, 0, 0));
    end_stopping(w, elastic, 1);
    assert_says(gang, "over-load-limit", "until 2 processes are gone");
    late = world_submit(w, world_spec("late", 9, 9, 1000, 0, 0));
    assert_int_equal(free_cpu(w, gang), 1500);
    assert_int_equal(free_cpu(w, late), 0);
    world_free(w);
}

/* A load limit is of the CPU: devices are granted whole, and may all be. */
TEST(test_gang_does_not_wait_for_devices_that_stop_anyway)
{
    struct world *w = world_new(1, 10000, GIB, 900);
    struct job_spec *spec = world_spec("elastic", 1, 8, 100, 0, 0);
    struct job *elastic;
    struct job *gang;

    w->agents[0].offer.gpus = 8;
    world_run(w, 1);
    spec->roles[0].gpus = 1;
    elastic = world_submit(w, spec);
    world_run(w, 6);
    assert_int_equal(job_count_running(elastic, 0), 8);
    assert_int_equal(cluster_scale_job(w->cluster, elastic, NULL, 1, 4, w->now, NULL), 0);
    spec = world_spec("gang", 1, 1, 100, 0, 0);
    spec->roles[0].gpus = 2;
    gang = world_submit(w, spec);
    assert_int_equal(gang->state, JOB_QUEUED);
    end_stopping(w, elastic, 2); /* 4 run, 2 stop, and it needs the other 2 of 8 */
    assert_int_equal(gang->state, JOB_STARTING);
    world_free(w);
}

TEST(test_reason_names_what_is_short)
{
    struct world *w = world_new(1, 100000, GIB, 1000);
    struct job_spec *spec = world_spec("all", 1, 1, 1000, 0, 0);
    struct job *job;

    w->agents[0].offer.gpus = 8;
    assert_int_equal(labels_set(&w->agents[0].offer.labels, "where", "x", NULL), 0);
    world_run(w, 1);
    spec->roles[0].gpus = 6;
    (void)world_submit(w, spec);
    world_run(w, 3);
    spec = world_spec("job", 1, 1, 1000, 0, 0);
    spec->roles[0].gpus = 8;
    job = world_submit(w, spec);
    assert_says(job, "gang-does-not-fit", "one trainer needs 8 GPU on a node, at most 2 GPU");
    job = world_submit(w, on_node(world_spec("label", 1, 1, 99500, 0, 0), "x"));
    assert_says(job, "gang-does-not-fit",
                "one trainer needs 99500m CPU on a node with where=x, at most 99000m CPU");
    world_free(w);
}

/* Small jobs that follow one another never leave the whole node free. */
TEST(test_nodes_are_kept_for_who_waits_for_ends)
{
    struct world *w = world_new(2, 10000, GIB, 1000);
    struct job_spec *spec;
    struct job *small[40];
    struct job *other;
    struct job *big;
    char name[16];

    assert_int_equal(labels_set(&w->agents[0].offer.labels, "where", "x", NULL), 0);
    world_run(w, 1);
    for (unsigned i = 0; i < 2; i++) {
        (void)snprintf(name, sizeof name, "small-%u", i);
        small[i] = world_submit(w, on_node(world_spec(name, 1, 1, 5000, 0, 0), "x"));
    }
    world_run(w, 4);
    spec = on_node(world_spec("big", 1, 1, 10000, 0, 0), "x");
    spec->priority = 100;
    big = world_submit(w, spec);
    for (unsigned i = 2; i < ELEMENTS(small) && big->state == JOB_QUEUED; i++) {
        (void)snprintf(name, sizeof name, "small-%u", i);
        small[i] = world_submit(w, on_node(world_spec(name, 1, 1, 5000, 0, 0), "x"));
        world_run(w, 2);
        if (world_live(small[i - 2], "trainer", 0) != NULL)
            world_exit(w, world_live(small[i - 2], "trainer", 0), 0, 0);
        world_run(w, 4);
        if (i > 2)
            continue;
        assert_says(big, "gang-does-not-fit",
                    "nodes node-0 are kept for it: they are free when jobs small-1 have ended");
        assert_says(
            small[2], "gang-does-not-fit",
            "its minimum of 1 process needs 5000m CPU, 0.0 GiB memory; nodes node-0, where "
            "room may be, are kept until big, before it, has started: that needs 10000m CPU");
        other = world_submit(w, world_spec("other", 1, 1, 5000, 0, 0));
        world_run(w, 4);
        assert_int_equal(other->state, JOB_RUNNING); /* elsewhere */
        world_replan(w);
    }
    assert_int_equal(big->state, JOB_RUNNING);
    assert_int_equal(small[2]->state, JOB_QUEUED);
    assert_int_equal(cluster_kill_job(w->cluster, big, NULL, w->now, NULL), 0);
    world_run(w, 4);
    assert_int_equal(small[2]->state, JOB_RUNNING);
    world_free(w);
}

/* Kept are 6000m of each node of 10000m: what is beside them is open. */
TEST(test_beside_what_is_kept_others_start)
{
    struct world *w = world_new(2, 10000, GIB, 1000);
    struct job *jobs[2];
    struct job *big;
    struct job *four;
    struct job *five;

    jobs[0] = world_submit(w, world_spec("one", 1, 1, 5000, 0, 0));
    jobs[1] = world_submit(w, world_spec("two", 2, 2, 5000, 0, 0));
    world_run(w, 4);
    big = world_submit(w, world_spec("big", 2, 2, 6000, 0, 0));
    world_run(w, 2);
    five = world_submit(w, world_spec("five", 1, 1, 5000, 0, 0));
    assert_int_equal(five->state, JOB_QUEUED);
    assert_int_equal(planned_is(big)->n_places, 2);
    world_exit(w, world_live(jobs[0], "trainer", 0), 0, 0);
    world_run(w, 4);
    assert_int_equal(five->state, JOB_QUEUED);
    four = world_submit(w, world_spec("four", 1, 1, 4000, 0, 0));
    world_run(w, 4);
    assert_int_equal(four->state, JOB_RUNNING);
    assert_int_equal(cluster_kill_job(w->cluster, jobs[1], NULL, w->now, NULL), 0);
    world_run(w, 4);
    assert_int_equal(big->state, JOB_RUNNING);
    world_free(w);
}

/* The hold goes with who waits, moves when its node goes, and grows back after a restart; what a
 * service holds does not end: nothing is kept in its place. */
TEST(test_hold_goes_where_it_can_work)
{
    struct world *w = world_new(2, 10000, GIB, 1000);
    struct job_spec *spec;
    struct job *small;
    struct job *big;

    (void)world_submit(w, world_spec("first", 1, 1, 6000, 0, 0));
    (void)world_submit(w, world_spec("second", 1, 1, 7000, 0, 0));
    world_run(w, 4);
    big = world_submit(w, world_spec("big", 1, 1, 9000, 0, 0));
    world_run(w, 2);
    small = world_submit(w, world_spec("small", 1, 1, 4000, 0, 0));
    world_run(w, 2);
    assert_int_equal(small->state, JOB_QUEUED);
    assert_says(big, "gang-does-not-fit", "when jobs first have ended");
    cluster_free(cluster_clone(w->cluster, w->now));
    world_restart(w);
    world_run(w, 4);
    small = cluster_find_job(w->cluster, "small");
    big = cluster_find_job(w->cluster, "big");
    assert_int_equal(small->state, JOB_QUEUED);
    assert_non_null(planned_is(big)->places);
    world_replan(w);
    assert_int_equal(cluster_set_node_state(w->cluster, planned_is(big)->places[0].room->node,
                                            NODE_CORDONED, w->now, NULL),
                     0);
    world_run(w, 2);
    (void)world_submit(w, world_spec("three", 1, 1, 3000, 0, 0));
    world_run(w, 2);
    assert_says(big, "gang-does-not-fit", "when jobs second have ended");
    assert_int_equal(cluster_find_job(w->cluster, "three")->state, JOB_QUEUED);
    world_replan(w);
    assert_int_equal(cluster_kill_job(w->cluster, small, NULL, w->now, NULL), 0);
    assert_int_equal(cluster_kill_job(w->cluster, big, NULL, w->now, NULL), 0);
    world_run(w, 4);
    assert_int_equal(cluster_find_job(w->cluster, "three")->state, JOB_RUNNING);
    world_free(w);

    w = world_new(1, 10000, GIB, 1000);
    spec = world_spec("web", 1, 1, 2000, 0, 0);
    spec->mode = JOB_MODE_SERVICE;
    (void)world_submit(w, spec);
    world_run(w, 3);
    big = world_submit(w, world_spec("big", 1, 1, 9000, 0, 0));
    small = world_submit(w, world_spec("small", 1, 1, 3000, 0, 0));
    world_run(w, 3);
    assert_int_equal(small->state, JOB_RUNNING);
    assert_says(big, "gang-does-not-fit", "until a job ends");
    world_free(w);
}

/* On the second node the held gang's part is there as soon as elastic gives way: it gives way to
 * nobody behind it. */
TEST(test_who_gives_way_where_room_is_kept_waits_for_that)
{
    struct world *w = world_new(2, 10000, GIB, 1000);
    struct job *elastic;
    struct job *fixed;
    struct job *small;
    struct job *big;

    assert_int_equal(labels_set(&w->agents[0].offer.labels, "where", "x", NULL), 0);
    assert_int_equal(labels_set(&w->agents[1].offer.labels, "where", "y", NULL), 0);
    world_run(w, 1);
    fixed = world_submit(w, on_node(world_spec("fixed", 1, 1, 8000, 0, 0), "x"));
    elastic = world_submit(w, on_node(world_spec("elastic", 1, 10, 1000, 0, 0), "y"));
    world_run(w, 14);
    assert_int_equal(job_count_running(elastic, 0), 10);
    big = world_submit(w, world_spec("big", 2, 2, 5500, 0, 0));
    world_run(w, 2);
    small = world_submit(w, on_node(world_spec("small", 6, 6, 1000, 0, 0), "y"));
    world_run(w, 6);
    assert_int_equal(small->state, JOB_QUEUED);
    assert_int_equal(job_count_running(elastic, 0), 10);
    world_exit(w, world_live(fixed, "trainer", 0), 0, 0);
    world_run(w, 8);
    assert_int_equal(big->state, JOB_RUNNING);
    world_free(w);
}

/* What grew there before room was kept gives way when that is enough. */
TEST(test_what_grew_before_gives_way)
{
    struct world *w = world_new(1, 10000, GIB, 1000);
    struct job *elastic = world_submit(w, world_spec("elastic", 1, 10, 1000, 0, 0));
    struct job *fixed = world_submit(w, world_spec("fixed", 1, 1, 5000, 0, 0));
    struct job *small;
    struct job *big;

    world_run(w, 12);
    assert_int_equal(fixed->state, JOB_RUNNING);
    assert_int_equal(job_count_running(elastic, 0), 5);
    big = world_submit(w, world_spec("big", 1, 1, 9000, 0, 0));
    world_run(w, 3);
    small = world_submit(w, world_spec("small", 1, 1, 2000, 0, 0));
    world_run(w, 6);
    assert_int_equal(small->state, JOB_QUEUED);
    assert_int_equal(job_count_running(elastic, 0), 5);
    world_replan(w);
    world_exit(w, world_live(fixed, "trainer", 0), 0, 0);
    world_run(w, 6);
    assert_int_equal(big->state, JOB_RUNNING);
    assert_int_equal(job_count_running(elastic, 0), 1);
    world_free(w);
}

/* The search for room puts the pserver where least is left of a node, and of three trainers one
 * finds none. Where places are chosen to be kept all of it fits as soon as the stops are over. */
TEST(test_places_that_lack_nothing_are_promised)
{
    struct world *w = world_new(2, 7000, GIB, 1000);
    struct job *fixed;
    struct job *gang;
    struct job *small;

    w->agents[0].offer.cpu_millicores = 5000;
    world_run(w, 1);
    fixed = world_submit(w, world_spec("fixed", 12, 12, 1000, 0, 0));
    world_run(w, 4);
    assert_int_equal(fixed->state, JOB_RUNNING);
    w->seed = 7;
    w->max_linger = 1000000;
    assert_int_equal(cluster_kill_job(w->cluster, fixed, NULL, w->now, NULL), 0);
    world_run(w, 1);
    gang = world_submit(w, world_spec("gang", 3, 3, 2500, 1, 4000));
    assert_says(gang, "gang-does-not-fit", "it waits until a job ends");
    small = world_submit(w, world_spec("small", 1, 1, 100, 0, 0));
    assert_true(planned_promised(gang));
    assert_says(gang, "gang-does-not-fit", "room is being made");
    assert_true(planned_promised(small));
    world_replan(w);
    world_free(w);
}

static void submit_kinds(struct world *w, const char *prefix, uint32_t n, int32_t priority)
{
    struct job_spec *spec;
    char name[16];

    for (uint32_t i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%s-%u", prefix, i);
        spec = world_spec(name, 1, 1, 2001 + i, 0, 0);
        spec->priority = priority;
        assert_int_equal(cluster_submit(w->cluster, spec, w->user, w->now, NULL, NULL), 0);
        if (i % 2 == 0) /* two at once but for the first one */
            world_plan(w);
    }
}

/* One goes before who waits behind the depth and asks for the same from now on: that others give
 * way is promised to it, and not to who stands where nobody does. */
TEST(test_promise_goes_to_nobody_behind_the_depth)
{
    struct world *w = world_new(2, 100000, 64 * GIB, 1000);
    struct job *elastic, *job, *deep;

    w->agents[0].offer.cpu_millicores = 1000;
    world_run(w, 1);
    (void)world_submit(w, world_spec("full", 1, 1, 100000, 0, 0));
    elastic = world_submit(w, world_spec("elastic", 1, 10, 100, 0, 0));
    world_run(w, 12);
    assert_int_equal(job_count_running(elastic, 0), 10);
    (void)world_submit(w, world_spec("first", 1, 1, 2000, 0, 0)); /* the full node is kept for it */
    job = world_submit(w, world_spec("job", 60, 60, 200, 0, 0));
    submit_kinds(w, "kind", 130, 0);
    deep = world_submit(w, world_spec("deep", 2, 2, 200, 0, 0));
    assert_says(deep, "queued", "behind more than 128 kinds of jobs");
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 2, 2, w->now, NULL), 0);
    cluster_plan(w->cluster, w->now);
    assert_true(planned_promised(job));
    assert_false(planned_promised(deep));
    assert_int_equal(job_count(elastic, 0, false), 6);
    world_commit(w);
    world_free(w);
}

/* A kind behind the depth comes to the front with a job that asks for the same from now on; it is
 * told when it is pushed behind again. */
TEST(test_kind_is_pushed_behind_the_depth_twice)
{
    struct world *w = world_new(1, 100000, 64 * GIB, 1000);
    struct job *job, *deep;

    (void)world_submit(w, world_spec("full", 1, 1, 100000, 0, 0));
    (void)world_submit(w, world_spec("first", 1, 1, 2000, 0, 0)); /* the node is kept for it */
    job = world_submit(w, world_spec("job", 3, 3, 200, 0, 0));
    submit_kinds(w, "kind", 126, 0);
    deep = world_submit(w, world_spec("deep", 2, 2, 200, 0, 0));
    assert_says(deep, "queued", "behind more than 128 kinds of jobs");
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 2, 2, w->now, NULL), 0);
    world_plan(w);
    assert_says(job, "gang-does-not-fit", "400m");
    submit_kinds(w, "urgent", 131, 5);
    assert_says(job, "queued", "behind more than 128 kinds of jobs");
    world_free(w);
}

/* A pass tells so many that they never fit, and the next pass of the same plan goes on. */
TEST(test_each_of_many_kinds_that_never_fit_is_told)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job;
    char name[16];

    for (uint32_t i = 0; i < 1100; i++) {
        (void)snprintf(name, sizeof name, "kind-%u", i);
        assert_int_equal(cluster_submit(w->cluster, world_spec(name, 1, 1, 1001 + i, 0, 0), w->user,
                                        w->now, NULL, NULL),
                         0);
    }
    assert_int_equal(cluster_submit(w->cluster, world_spec("fits", 1, 1, 1000, 0, 0), w->user,
                                    w->now, NULL, NULL),
                     0);
    world_plan(w);
    for (job = cluster_jobs(w->cluster); job != NULL; job = job->hh.next)
        if (streq(job->spec->name, "fits"))
            assert_int_equal(job->state, JOB_STARTING);
        else
            assert_string_equal(job->reason_code, "never-fits");
    world_free(w);
}

/* It may come into the queue when a pass has gone through that: the next pass tries it. */
TEST(test_who_enters_is_tried_by_the_next_pass)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job;

    (void)world_submit(w, world_spec("beside", 1, 1, 500, 0, 0));
    job = world_submit(w, world_spec("job", 6, 6, 200, 0, 0)); /* never fits */
    world_run(w, 4);
    assert_false(w->cluster->files_changed);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 2, 2, w->now, NULL), 0);
    assert_true(w->cluster->files_changed);
    world_plan(w);
    assert_int_equal(job->state, JOB_STARTING);
    world_free(w);
}
