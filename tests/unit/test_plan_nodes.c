/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_nodes.c - foreign load and draining: how jobs leave a node */
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static uint32_t trainers(const struct job *job)
{
    return job_count_running(job, role_of(job, "trainer"));
}

static uint64_t granted(const struct world *w, const char *node)
{
    return cluster_node(w->cluster, node)->cpu_granted_millicores;
}

/* Steps of a second in which the agents report. */
static void seconds(struct world *w, unsigned n)
{
    for (; n > 0; n--) {
        world_advance(w, USEC_PER_SEC);
        world_run(w, 1);
    }
}

TEST(test_foreign_load_is_given_way_at_once_with_its_reason)
{
    struct world *w = world_new(2, 2000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 10, 400, 0, 0));
    const struct process *process;
    unsigned told = 0;

    world_run(w, 6);
    assert_int_equal(trainers(job), 10);
    w->agents[0].foreign_cpu_millicores = 1300;
    world_turn(w, 0); /* its report, and the plan after it */
    assert_int_equal(job_count(job, 0, false), 6);
    DL_FOREACH2(job->processes, process, job_next)
    {
        if (process->state != PROCESS_STOPPING)
            continue;
        assert_string_equal(process->node->name, "node-0");
        assert_string_equal(process->reason,
                            "shrunk: node node-0 needs 1300m CPU for its own services");
        told++;
    }
    assert_int_equal(told, 4);
    world_run(w, 2);
    assert_int_equal(granted(w, "node-0"), 400);
    assert_int_equal(granted(w, "node-1"), 2000);
    world_replan(w);
    world_free(w);
}

/* Each at its job's minimum, owed to in this order; then there is one to give. */
static void check_who_gives(size_t first, size_t second)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 2, 2, 800, 0, 0));
    struct cluster *copy;

    world_run(w, 2);
    w->agents[first].foreign_cpu_millicores = 500;
    world_turn(w, first);
    w->agents[second].foreign_cpu_millicores = 500;
    world_turn(w, second);
    assert_int_equal(trainers(job), 2);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 1, 2, w->now, NULL), 0);
    copy = cluster_clone(w->cluster, w->now);
    world_plan(w);
    cluster_plan(copy, w->now);
    for (uint32_t i = 0; i < 2; i++) {
        const struct process *process = world_live(job, "trainer", i);

        assert_int_equal(process->state == PROCESS_STOPPING, streq(process->node->name, "node-0"));
        assert_int_equal(world_live(cluster_job(copy, job->id), "trainer", i)->state,
                         process->state);
    }
    (void)cluster_free(copy);
    world_free(w);
}

TEST(test_which_node_is_relieved_is_no_matter_of_history)
{
    check_who_gives(0, 1);
    check_who_gives(1, 0);
}

TEST(test_nobody_gives_way_below_its_minimum)
{
    struct world *w = world_new(1, 2000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 3, 5, 400, 0, 0));

    world_run(w, 6);
    assert_int_equal(trainers(job), 5);
    w->agents[0].foreign_cpu_millicores = 1900;
    world_run(w, 4);
    assert_int_equal(trainers(job), 3);
    assert_int_equal(job->state, JOB_RUNNING);
    world_replan(w);
    world_free(w);
}

TEST(test_foreign_load_that_falls_is_believed_after_a_while)
{
    struct world *w = world_new(1, 2000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 5, 400, 0, 0));

    w->cluster->config.foreign_hold_us = 10 * USEC_PER_SEC;
    world_run(w, 6);
    w->agents[0].foreign_cpu_millicores = 1200;
    seconds(w, 3);
    assert_int_equal(trainers(job), 2);
    w->agents[0].foreign_cpu_millicores = 0; /* a lull */
    seconds(w, 6);
    assert_int_equal(trainers(job), 2);
    w->agents[0].foreign_cpu_millicores = 1190; /* and back */
    seconds(w, 6);
    assert_int_equal(trainers(job), 2);
    w->agents[0].foreign_cpu_millicores = 400; /* it falls by and by: the peak counts first */
    world_run(w, 1);
    assert_int_equal(cluster_next_deadline_us(w->cluster), w->now.now_us + 10 * USEC_PER_SEC);
    seconds(w, 5);
    w->agents[0].foreign_cpu_millicores = 0;
    seconds(w, 8);
    assert_int_equal(trainers(job), 4);
    seconds(w, 8);
    assert_int_equal(trainers(job), 5);
    assert_int_equal(cluster_node(w->cluster, "node-0")->foreign_planned_cpu, 0);
    w->agents[0].foreign_cpu_millicores = 1200;
    seconds(w, 3);
    w->agents[0].foreign_cpu_millicores = 1190; /* the first step of a fall, as small as noise */
    seconds(w, 1);
    w->agents[0].foreign_cpu_millicores = 0;
    seconds(w, 13);
    assert_int_equal(trainers(job), 5);
    world_free(w);
}

/* As little as that is noise while it rises, and so when it is left of more: a core of the node is
 * not kept for it. */
TEST(test_a_little_foreign_load_keeps_no_core)
{
    struct world *w = world_new(1, 4000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 5, 1000, 0, 0));

    w->cluster->config.foreign_hold_us = 10 * USEC_PER_SEC;
    w->agents[0].foreign_cpu_millicores = 500;
    world_run(w, 6);
    assert_int_equal(trainers(job), 3);
    w->agents[0].foreign_cpu_millicores = 40;
    seconds(w, 12);
    assert_int_equal(trainers(job), 4);
    world_free(w);
}

/* What runs there is in no total: to stop it would not bring the load down, again and again. */
TEST(test_cordoned_node_is_not_shrunk_for_the_load)
{
    struct world *w = world_new(3, 1000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 6, 500, 0, 0));
    struct job *two = world_submit(w, world_spec("two", 1, 1, 1000, 0, 0));
    const struct node *other = world_live(two, "trainer", 0)->node;
    struct node *node = NULL;

    world_run(w, 4);
    assert_int_equal(trainers(job), 4);
    for (uint32_t i = 0; node == NULL; i++)
        if (world_live(job, "trainer", i)->node != world_live(job, "trainer", 0)->node)
            node = world_live(job, "trainer", i)->node;
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_CORDONED, w->now, NULL), 0);
    w->agents[other->name[5] - '0'].foreign_cpu_millicores = 900;
    world_run(w, 6);
    assert_int_equal(node->cpu_granted_millicores, 1000);
    assert_int_equal(trainers(job), 2);
    world_free(w);
}

TEST(test_draining_shrinks_away_without_a_stop_below_the_minimum)
{
    struct world *w = world_new(3, 1000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 2, 4, 500, 0, 0));
    struct node *node;

    world_run(w, 4);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 2, 3, w->now, NULL), 0);
    world_run(w, 3);
    node = world_live(job, "trainer", 0)->node;
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_DRAINING, w->now, NULL), 0);
    for (int i = 0; i < 12; i++) {
        world_run(w, 1);
        assert_true(trainers(job) >= 2);
    }
    assert_null(node->processes);
    assert_int_equal(trainers(job), 3);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

TEST(test_draining_at_the_minimum_starts_others_first)
{
    struct world *w = world_new(2, 1000, GIB, 500);
    struct job *job = world_submit(w, world_spec("one", 2, 4, 500, 0, 0));
    struct node *node = world_live(job, "trainer", 0)->node;

    world_run(w, 4);
    assert_int_equal(trainers(job), 2); /* the load limit holds it there */
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_DRAINING, w->now, NULL), 0);
    world_plan(w);
    assert_int_equal(job_count(job, 0, false), 4);
    for (int i = 0; i < 12; i++) {
        world_run(w, 1);
        assert_true(trainers(job) >= 2);
    }
    assert_null(node->processes);
    assert_int_equal(trainers(job), 2);
    assert_int_equal(job->resizes % 2, 0);
    world_free(w);
}

TEST(test_draining_with_no_room_elsewhere_waits_for_it)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 2, 800, 0, 0));
    struct job *other = world_submit(w, world_spec("other", 1, 1, 800, 0, 0));
    struct node *node;

    world_run(w, 4);
    assert_int_equal(trainers(job), 1);
    node = world_live(job, "trainer", 0)->node;
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_DRAINING, w->now, NULL), 0);
    world_run(w, 4);
    assert_int_equal(node->n_processes, 1);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_string_equal(node_reason(node), "waits for room elsewhere: one");
    world_replan(w);
    assert_int_equal(cluster_kill_job(w->cluster, other, NULL, w->now, NULL), 0);
    for (int i = 0; i < 6; i++) {
        world_run(w, 1);
        assert_int_equal(trainers(job), 1);
    }
    assert_null(node->processes);
    assert_string_equal(node_reason(node), "");
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

TEST(test_draining_shrinks_to_the_minimum_where_there_is_no_room)
{
    struct world *w = world_new(1, 2000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 2, 4, 500, 0, 0));
    struct node *node = cluster_node(w->cluster, "node-0");

    world_run(w, 4);
    assert_int_equal(trainers(job), 4);
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_DRAINING, w->now, NULL), 0);
    world_run(w, 4);
    assert_int_equal(trainers(job), 2);
    assert_int_equal(node->n_processes, 2);
    assert_int_equal(job->state, JOB_RUNNING);
    world_replan(w);
    world_free(w);
}

/* To stop one of its processes would end the job. */
TEST(test_draining_waits_for_what_is_not_fault_tolerant)
{
    struct world *w = world_new(2, 2000, GIB, 1000);
    struct job_spec *spec = world_spec("mpi", 2, 2, 1000, 0, 0);
    struct node *node;
    struct job *job;

    spec->fault_tolerant = false;
    job = world_submit(w, spec);
    node = world_live(job, "trainer", 0)->node;
    world_run(w, 4);
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_DRAINING, w->now, NULL), 0);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(trainers(job), 2);
    assert_int_equal(node->state, NODE_DRAINING);
    assert_string_equal(node_reason(node),
                        "waits for the end of jobs that are not fault tolerant: mpi");
    world_replan(w);
    world_restart(w);
    node = cluster_node(w->cluster, "node-0");
    world_run(w, 2);
    job = cluster_find_job(w->cluster, "mpi");
    assert_int_equal(trainers(job), 2);
    assert_int_equal(cluster_kill_job(w->cluster, job, NULL, w->now, NULL), 0);
    world_run(w, 3);
    assert_null(cluster_node(w->cluster, "node-0")->processes);
    assert_null(cluster_node(w->cluster, "node-1")->processes);
    world_free(w);
}

/* Two jobs, and elsewhere room for one: that one moves, and its place is nobody else's. */
TEST(test_draining_moves_what_is_fixed_only_to_a_place)
{
    struct world *w = world_new(1, 2000, GIB, 1000);
    struct job *a = world_submit(w, world_spec("a", 1, 1, 1000, 0, 0));
    struct job *b = world_submit(w, world_spec("b", 1, 1, 1000, 0, 0));
    struct node *node = cluster_node(w->cluster, "node-0");
    struct node *other;
    struct job *c;

    world_run(w, 3);
    w->n_agents = 2;
    w->agents[1] = w->agents[0];
    w->agents[1].items = NULL;
    w->agents[1].n = 0;
    w->agents[1].cap = 0;
    w->agents[1].offer.cpu_millicores = 1000;
    (void)snprintf(w->agents[1].name, sizeof w->agents[1].name, "node-1");
    assert_int_equal(cluster_join_node(w->cluster, "node-1", "hash", &w->agents[1].offer, w->now,
                                       &other, NULL),
                     0);
    world_turn(w, 1);
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_DRAINING, w->now, NULL), 0);
    world_plan(w);
    c = world_submit(w, world_spec("c", 1, 1, 500, 0, 0)); /* it would fit there now */
    assert_int_equal(c->state, JOB_QUEUED);
    world_run(w, 4);
    assert_int_equal(a->state, JOB_RUNNING);
    assert_int_equal(b->state, JOB_RUNNING);
    assert_int_equal(trainers(a) + trainers(b), 2);
    assert_int_equal(node->n_processes, 1);
    assert_int_equal(granted(w, "node-1"), 1000);
    assert_string_equal(node_reason(node), "waits for room elsewhere: b");
    world_replan(w);
    world_free(w);
}

static bool is_on(const struct job *job, const struct node *node)
{
    const struct process *process;

    DL_FOREACH2(node->processes, process, node_next)
    if (process->job == job)
        return true;
    return false;
}

/* 3 nodes, two jobs of 3 processes each, and the node that they share dies. Returns its number.
 * take_third: NULL, or of another job. */
static size_t half_gangs(struct world *w, struct job **ret_a, struct job **ret_b,
                         struct job_spec *take_third)
{
    size_t shared = 0;

    *ret_a = world_submit(w, world_spec("a", 3, 3, 4000, 0, 0));
    *ret_b = world_submit(w, world_spec("b", 3, 3, 4000, 0, 0));
    if (take_third != NULL)
        (void)world_submit(w, take_third);
    world_run(w, 5);
    assert_int_equal(trainers(*ret_a) + trainers(*ret_b), 6);
    for (size_t i = 0; i < 3; i++) {
        const struct node *node = cluster_node(w->cluster, w->agents[i].name);

        if (is_on(*ret_a, node) && is_on(*ret_b, node))
            shared = i;
    }
    w->agents[shared].silent = true;
    seconds(w, 40);
    assert_string_equal((*ret_a)->reason_code, "replacement-does-not-fit");
    assert_string_equal((*ret_b)->reason_code, "replacement-does-not-fit");
    world_replan(w);
    return shared;
}

TEST(test_younger_half_gang_gives_up_for_the_older)
{
    struct job *a;
    struct job *b;
    struct world *w = world_new(3, 8000, GIB, 1000);
    size_t shared = half_gangs(w, &a, &b, NULL);

    assert_int_equal(cluster_set_dataset(w->cluster, b, world_queue(4, 1), "aa", w->now, NULL), 0);
    seconds(w, 40); /* they have waited for 55 s */
    assert_int_equal(b->state, JOB_RESIZING);
    seconds(w, 20);
    assert_int_equal(a->state, JOB_RUNNING);
    assert_int_equal(trainers(a), 3);
    assert_int_equal(b->state, JOB_QUEUED);
    assert_string_equal(b->reason_code, "gang-does-not-fit");
    assert_int_equal(task_queue_n_tasks(b->queue), 4);
    world_replan(w);
    w->agents[shared].silent = false;
    seconds(w, 5);
    assert_int_equal(b->state, JOB_RUNNING);
    assert_int_equal(trainers(b), 3);
    assert_int_equal(a->state, JOB_RUNNING);
    world_free(w);
}

TEST(test_node_that_comes_back_in_time_costs_nobody_anything)
{
    struct job *a;
    struct job *b;
    struct world *w = world_new(3, 8000, GIB, 1000);
    size_t shared = half_gangs(w, &a, &b, NULL);

    w->agents[shared].silent = false;
    seconds(w, 10);
    assert_int_equal(a->state, JOB_RUNNING);
    assert_int_equal(b->state, JOB_RUNNING);
    seconds(w, 120);
    assert_int_equal(b->state, JOB_RUNNING);
    assert_int_equal(b->next_incarnation, 5); /* one was started again */
    world_free(w);
}

/* The older one would not be complete by what the younger one holds. */
TEST(test_nobody_gives_up_in_vain)
{
    struct job *a;
    struct job *b;
    struct world *w = world_new(3, 8000, GIB, 1000);
    size_t shared = half_gangs(w, &a, &b, NULL);

    for (size_t i = 0; i < 3; i++)
        if (i != shared && world_live(b, "trainer", 2) != NULL &&
            streq(w->agents[i].name, world_live(b, "trainer", 2)->node->name))
            w->agents[i].foreign_cpu_millicores = 8000;
    seconds(w, 120);
    assert_int_equal(a->state, JOB_RESIZING);
    assert_int_equal(b->state, JOB_RESIZING);
    assert_int_equal(trainers(b), 2);
    world_replan(w);
    world_free(w);
}

/* The youngest could give up as well, but the older one has no use for that. */
TEST(test_who_holds_nothing_of_use_gives_nothing_up)
{
    struct job *a;
    struct job *b;
    struct world *w = world_new(3, 8900, GIB, 1000);
    const struct job *c;

    (void)half_gangs(w, &a, &b, world_spec("c", 3, 3, 900, 0, 0));
    c = cluster_find_job(w->cluster, "c");
    assert_string_equal(c->reason_code, "replacement-does-not-fit");
    seconds(w, 60);
    assert_int_equal(a->state, JOB_RUNNING);
    assert_int_equal(b->state, JOB_QUEUED);
    assert_int_equal(c->state, JOB_RUNNING);
    assert_int_equal(c->next_incarnation, 5);
    world_replan(w);
    world_free(w);
}

/* It would have to do again what one of it has finished; that one's room is taken by others. */
TEST(test_who_finishes_gives_nothing_up)
{
    struct job *a;
    struct job *b;
    struct world *w = world_new(3, 8000, GIB, 1000);
    size_t shared = half_gangs(w, &a, &b, NULL);
    const struct process *done = world_live(b, "trainer", 1);

    assert_non_null(done);
    for (size_t i = 0; i < 3; i++)
        if (i != shared && streq(w->agents[i].name, done->node->name))
            w->agents[i].foreign_cpu_millicores = 4000;
    world_exit(w, done, 0, 0);
    seconds(w, 120);
    assert_true(b->finishing);
    assert_int_equal(b->state, JOB_RESIZING);
    assert_int_equal(a->state, JOB_RESIZING);
    assert_int_equal(trainers(b), 1);
    world_free(w);
}

/* A machine that comes back smaller is not to start what was ordered for its former size. */
TEST(test_smaller_offer_withdraws_what_was_not_heard_of)
{
    struct world *w = world_new(1, 4000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 2, 2, 1000, 0, 0));
    struct node *node = cluster_node(w->cluster, "node-0");
    struct node_report report = { .boot_id = "boot-0", .offer = node->offer };
    struct process_report item = {
        .job_id = 1, .role = "trainer", .incarnation = 1, .state = PROCESS_RUNNING
    };

    world_plan(w);
    assert_int_equal(node->cpu_granted_millicores, 2000);
    report.processes = &item; /* the first was heard of, the second was not */
    report.n_processes = 1;
    assert_int_equal(cluster_report(w->cluster, node, &report, w->now, NULL), 0);
    report.offer.cpu_millicores = 1000;
    assert_int_equal(cluster_report(w->cluster, node, &report, w->now, NULL), 0);
    assert_int_equal(job->slots[0][0].live->state, PROCESS_RUNNING);
    assert_int_equal(job->slots[0][1].live->state, PROCESS_STOPPING);
    world_plan(w);
    world_free(w);
}

TEST(test_dataset_that_comes_when_a_job_finishes)
{
    struct world *w = world_new(1, 4000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 4, 1000, 0, 0));

    world_run(w, 6);
    assert_int_equal(job_count_running(job, 0), 4);
    world_exit(w, world_live(job, "trainer", 3), 0, 0);
    world_run(w, 1);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(8, 1), "d", w->now, NULL), 0);
    world_check(w); /* what its node could get from it is something else now */
    world_plan(w);
    world_free(w);
}
