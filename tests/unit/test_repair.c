/* SPDX-License-Identifier: Apache-2.0 */
/* test_repair.c - a job that would stand in its own way: the order of placing, and moves */
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/node_starts.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static struct world *world_of(size_t n_nodes, uint64_t cpu_millicores)
{
    struct world *w = world_new(n_nodes, cpu_millicores, GIB, 1000);

    for (size_t i = 0; i < n_nodes; i++)
        (void)labels_set(&w->agents[i].offer.labels, "disk", i == 0 ? "ssd" : "hdd", NULL);
    world_run(w, 1);
    return w;
}

/* Its trainers want the disk of node-0, its pserver nothing. */
static struct job_spec *picky_spec(uint64_t cpu, uint64_t pserver_cpu)
{
    struct job_spec *spec = world_spec("a", 1, 1, cpu, 1, pserver_cpu);

    (void)role_select(&spec->roles[1], "disk", "ssd", NULL);
    return spec;
}

static const char *node_of(const struct job *job, const char *role, uint32_t index)
{
    const struct process *process = world_live(job, role, index);

    return process != NULL ? process->node_name : "nowhere";
}

static void seconds(struct world *w, unsigned n)
{
    for (; n > 0; n--) {
        world_advance(w, USEC_PER_SEC); /* who is silent stops at the end of its lease */
        world_run(w, 1);
    }
}

/* Both nodes are as good for the pserver, only one for the trainer, and it holds one of them. */
TEST(test_gang_leaves_the_only_node_to_who_wants_its_labels)
{
    struct world *w = world_of(2, 1000);
    struct job *job = world_submit(w, picky_spec(600, 800));

    world_run(w, 2);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_string_equal(node_of(job, "trainer", 0), "node-0");
    assert_string_equal(node_of(job, "pserver", 0), "node-1");
    world_free(w);
}

/* All of it is lost; what comes back first must not be what comes in the other's way. */
TEST(test_repair_serves_first_who_has_the_fewest_nodes)
{
    struct world *w = world_of(2, 1000);
    struct job *job = world_submit(w, picky_spec(600, 800));

    world_run(w, 2);
    w->agents[0].silent = w->agents[1].silent = true;
    seconds(w, 40);
    assert_string_equal(node_of(job, "pserver", 0), "nowhere");
    w->agents[0].silent = w->agents[1].silent = false;
    seconds(w, 10);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_string_equal(node_of(job, "trainer", 0), "node-0");
    world_replan(w);
    world_free(w);
}

/* It was alone there when it came. */
TEST(test_larger_one_moves_from_the_only_node_with_the_labels)
{
    struct world *w = world_of(2, 1400);
    struct job *job;

    w->agents[1].silent = true;
    seconds(w, 40);
    job = world_submit(w, picky_spec(600, 800));
    seconds(w, 3);
    assert_string_equal(node_of(job, "pserver", 0), "node-0");
    w->agents[1].silent = false;
    seconds(w, 3);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 2, 2, w->now, NULL), 0);
    world_plan(w);
    assert_string_equal(world_live(job, "pserver", 0)->reason,
                        "moved: it fits elsewhere, and another process of its job only on node-0");
    seconds(w, 5);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_string_equal(node_of(job, "trainer", 1), "node-0");
    assert_string_equal(node_of(job, "pserver", 0), "node-1");
    world_replan(w);
    world_free(w);
}

/* The small trainers came to sit where alone the large pserver fits. */
TEST(test_smaller_one_moves_from_where_the_larger_one_fits)
{
    struct world *w = world_of(3, 1200);
    struct job *job;

    w->agents[2].offer.cpu_millicores = 600;
    seconds(w, 1);
    w->agents[2].silent = true;
    seconds(w, 40);
    job = world_submit(w, world_spec("a", 1, 1, 300, 1, 900));
    seconds(w, 3);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 3, 3, w->now, NULL), 0);
    seconds(w, 3);
    assert_int_equal(job->state, JOB_RUNNING);
    for (size_t i = 0; i < 2; i++)
        w->agents[i].silent = streq(w->agents[i].name, node_of(job, "pserver", 0));
    w->agents[2].silent = false;
    seconds(w, 50);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job->slots[role_of(job, "trainer")][1].live->incarnation > 4 ||
                         job->slots[role_of(job, "trainer")][2].live->incarnation > 4,
                     1);
    world_replan(w);
    world_free(w);
}

/* "x" backs off: of what is free node-1 is the tighter place as long as "e" has both its trainers,
 * node-0 when one of them gave way - and the gang finds room by that with "x" on node-1 alone. */
TEST(test_what_backs_off_keeps_its_place_when_others_give_way)
{
    struct world *w = world_of(2, 2000);
    struct job_spec *spec = world_spec("e", 1, 2, 1000, 0, 0);
    struct job *elastic, *gang, *x;

    w->agents[1].offer.cpu_millicores = 3500;
    seconds(w, 1);
    (void)role_select(&spec->roles[0], "disk", "hdd", NULL);
    x = world_submit(w, world_spec("x", 1, 1, 600, 0, 0));
    elastic = world_submit(w, spec);
    seconds(w, 5);
    assert_string_equal(node_of(x, "trainer", 0), "node-0");
    assert_int_equal(elastic->counts[0].running, 2);
    world_exit(w, world_live(x, "trainer", 0), 1, 0);
    world_run(w, 1);
    assert_string_equal(node_of(x, "trainer", 0), "nowhere");
    gang = world_submit(w, world_spec("g", 1, 1, 2000, 1, 1900));
    world_run(w, 20); /* no time passes, nor does the back-off */
    assert_int_equal(elastic->next_incarnation, 3);
    assert_int_equal(gang->state, JOB_RUNNING);
    seconds(w, 5);
    assert_string_equal(node_of(x, "trainer", 0), "node-1");
    world_replan(w);
    world_free(w);
}

/* Whatever the document says, what fails again and again does not keep everybody busy. */
TEST(test_what_fails_again_waits)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job_spec *spec = world_spec("one", 1, 1, 200, 0, 0);
    struct job *job;

    spec->restart_backoff_us = 0;
    spec->restart_max = 1000000;
    job = world_submit(w, spec);
    world_run(w, 3);
    world_exit(w, world_live(job, "trainer", 0), 1, 0);
    world_run(w, 3); /* the first time at once: as it asks for */
    assert_non_null(world_live(job, "trainer", 0));
    for (unsigned i = 0; i < 800; i++) {
        struct process *process = world_live(job, "trainer", 0);

        if (process != NULL && process->state == PROCESS_RUNNING)
            world_exit(w, process, 1, 0);
        world_advance(w, 10 * USEC_PER_MSEC);
        world_run(w, 1);
    }
    assert_in_range(job->next_incarnation, 8, 10); /* in 8 s; without a wait some 400 */
    world_free(w);
}

/* The agent says that it cannot be started, and what it offers. */
static void fail_start_with(struct world *w, const struct job *job, const struct node_offer *offer)
{
    const struct process *process = world_live(job, "trainer", 0);
    struct node_report report = { .boot_id = process->node->boot_id,
                                  .offer = *offer,
                                  .n_processes = 1 };
    const struct process_report item = { .job_id = job->id,
                                         .role = "trainer",
                                         .incarnation = process->incarnation,
                                         .state = PROCESS_EXITED,
                                         .exit_code = 127,
                                         .start_fault = START_FAULT_NODE,
                                         .reason = "cannot start: no such file" };

    report.processes = &item;
    assert_int_equal(cluster_report(w->cluster, process->node, &report, w->now, NULL), 0);
    world_plan(w);
}

/* as it is offered; then its back-off is over */
static void fail_start(struct world *w, const struct job *job)
{
    fail_start_with(w, job, &world_live(job, "trainer", 0)->node->offer);
    world_advance(w, USEC_PER_SEC);
    cluster_tick(w->cluster, w->now);
    world_plan(w);
}

static struct job *submit_failing(struct world *w, const char *name, uint64_t cpu)
{
    struct job_spec *spec = world_spec(name, 1, 1, cpu, 0, 0);

    spec->restart_max = 4;
    spec->restart_backoff_us = 0;
    return world_submit(w, spec);
}

/* What a node lacks another one may have: each is tried once before one is tried again. */
TEST(test_what_cannot_start_is_tried_elsewhere)
{
    struct world *w = world_new(3, 1000, GIB, 1000);
    struct job *job, *other;
    bool seen[3] = { false };

    job = submit_failing(w, "a", 300);
    for (unsigned i = 0; i < 3; i++) {
        unsigned at = (unsigned)(node_of(job, "trainer", 0)[5] - '0');

        assert_in_range(at, 0, 2);
        assert_false(seen[at]);
        seen[at] = true;
        fail_start(w, job);
    }
    assert_string_not_equal(node_of(job, "trainer", 0), "nowhere"); /* it failed on all of them */
    assert_int_equal(cluster_node(w->cluster, "node-0")->state, NODE_READY);
    /* another job is placed where it fits best, whatever could not start there */
    other = world_submit(w, world_spec("b", 1, 1, 300, 0, 0));
    assert_string_equal(node_of(other, "trainer", 0), node_of(job, "trainer", 0));
    world_free(w);
}

/* Its program failed on one node, and the other one cannot start it: that one is the worse. */
TEST(test_where_it_failed_is_better_than_where_it_cannot_start)
{
    for (int other_first = 0; other_first < 2; other_first++) {
        struct world *w = world_new(2, 1000, GIB, 1000);
        struct job *job = submit_failing(w, "a", 300);
        char failed_on[NODE_NAME_MAX + 1];

        (void)state;
        if (other_first == 1)
            fail_start(w, job);
        (void)snprintf(failed_on, sizeof failed_on, "%s", node_of(job, "trainer", 0));
        world_run(w, 6);
        world_exit(w, world_live(job, "trainer", 0), 1, 0);
        world_run(w, 2);
        for (unsigned i = 0; i < 2 && streq(node_of(job, "trainer", 0), "nowhere"); i++) {
            world_second(w);
            world_run(w, 2);
        }
        if (other_first == 0) {
            assert_string_not_equal(node_of(job, "trainer", 0), failed_on);
            fail_start(w, job);
        }
        assert_string_equal(node_of(job, "trainer", 0), failed_on);
        world_free(w);
    }
}

/* A second at a time, until its back-off is over and it is placed. */
static const char *await_place(struct world *w, const struct job *job)
{
    for (unsigned i = 0; i < 1000 && streq(node_of(job, "trainer", 0), "nowhere"); i++) {
        world_second(w);
        world_plan(w);
    }
    return node_of(job, "trainer", 0);
}

/* It spends no restart where it cannot start while a good node is full, and goes there at last. */
TEST(test_restarts_are_kept_for_nodes_that_are_full)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job *full = world_submit(w, world_spec("full", 1, 1, 1000, 0, 0));
    struct job *job = submit_failing(w, "a", 300);
    char bad[NODE_NAME_MAX + 1];

    world_run(w, 2);
    (void)snprintf(bad, sizeof bad, "%s", node_of(job, "trainer", 0));
    for (unsigned i = 0; i < 8; i++) {
        assert_string_equal(await_place(w, job), bad);
        fail_start_with(w, job, &cluster_node(w->cluster, bad)->offer);
        assert_int_equal(job->slots[0][0].failures, 0);
    }
    assert_string_equal(job->reason_code, "restarting");
    assert_int_equal(cluster_kill_job(w->cluster, full, NULL, w->now, NULL), 0);
    world_run(w, 2);
    assert_string_not_equal(await_place(w, job), bad);
    world_run(w, 3);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job->slots[0][0].failures, 0);
    world_free(w);
}

/* With nowhere else to go to, its restarts are what ends it. */
TEST(test_restarts_are_spent_where_no_node_is_left)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job *job = submit_failing(w, "a", 300);
    unsigned tries = 0;

    for (; tries < 20 && job->state != JOB_FAILED; tries++) {
        (void)await_place(w, job);
        fail_start_with(w, job, &world_live(job, "trainer", 0)->node->offer);
    }
    assert_int_equal(job->state, JOB_FAILED);
    assert_in_range(tries, 6, 8); /* the first on each node at least, then five */
    world_free(w);
}

/* Where there is no other place it is tried again in the same one, and after ten minutes the
 * tightest is again the best. */
TEST(test_what_cannot_start_waits_for_no_other_node)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job *job;
    const struct node *first;

    (void)world_submit(w, world_spec("full", 1, 1, 1000, 0, 0));
    job = submit_failing(w, "a", 300);
    first = world_live(job, "trainer", 0)->node;
    fail_start(w, job);
    assert_string_equal(node_of(job, "trainer", 0), first->name);
    assert_true(node_failed_to_start(first, job, w->now));
    world_advance(w, 601 * USEC_PER_SEC);
    assert_false(node_failed_to_start(first, job, w->now));
    world_free(w);
}

/* The order was on its way when the node was told to offer less: no job is blamed for that. */
TEST(test_what_a_smaller_node_refuses_goes_elsewhere)
{
    static const struct {
        uint64_t cpu, memory;
        uint16_t port_first;
        bool elsewhere, counts;
    } rows[] = {
        { 200, GIB, 20000, true, false },
        { 1000, GIB / 64, 20000, true, false },
        { 1000, GIB, 40000, false, false }, /* other ports are as good */
        { 999, GIB, 20000, true, true },    /* enough for this one: it is the node that fails */
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct world *w = world_new(2, 1000, GIB, 1000);
        struct job_spec *spec = world_spec("a", 1, 1, 300, 0, 0);
        struct fake_agent *agent;
        struct job *job;

        spec->restart_max = 0;
        spec->roles[0].memory_bytes = GIB / 2;
        spec->roles[0].n_ports = 1;
        job = world_submit(w, spec);
        agent = &w->agents[node_of(job, "trainer", 0)[5] - '0'];
        agent->offer.cpu_millicores = rows[i].cpu;
        agent->offer.memory_bytes = rows[i].memory;
        agent->offer.port_first = rows[i].port_first;
        agent->offer.port_last = (uint16_t)(rows[i].port_first + 999);
        fail_start_with(w, job, &agent->offer);
        assert_string_not_equal(node_of(job, "trainer", 0), "nowhere");
        assert_int_equal(!streq(node_of(job, "trainer", 0), agent->name), rows[i].elsewhere);
        assert_int_equal(job->slots[0][0].failures, 0);
        assert_int_equal(node_failed_to_start(cluster_node(w->cluster, agent->name), job, w->now),
                         rows[i].counts);
        world_run(w, 3);
        assert_int_equal(job->state, JOB_RUNNING);
        world_free(w);
    }
}

/* Free slots that an earlier maximum left over are no room beside what is still being stopped. */
TEST(test_moves_stay_within_a_lower_maximum)
{
    struct world *w = world_new(3, 1300, GIB, 1000);
    struct job_spec *spec = world_spec("a", 1, 6, 600, 0, 0);
    struct job *job;
    const struct node *drained;

    spec->restart_backoff_us = 60 * USEC_PER_SEC;
    job = world_submit(w, spec);
    seconds(w, 30);
    assert_int_equal(job_count_running(job, 0), 6);
    world_exit(w, world_live(job, "trainer", 2), 1, 0); /* in back-off they are the first to go */
    world_exit(w, world_live(job, "trainer", 3), 1, 0);
    seconds(w, 3);
    assert_int_equal(cluster_scale_job(w->cluster, job, "trainer", 4, 4, w->now, NULL), 0);
    seconds(w, 60);
    assert_int_equal(job_count(job, 0, true), 4);
    assert_non_null(world_live(job, "trainer", 5)); /* and 2 and 3 are free */
    drained = world_live(job, "trainer", 0)->node;
    assert_int_equal(cluster_set_node_state(w->cluster, cluster_node(w->cluster, drained->name),
                                            NODE_DRAINING, w->now, NULL),
                     0);
    for (unsigned i = 0; i < 60; i++) {
        world_plan(w);
        assert_in_range(job_count(job, 0, true), 0, 4);
        seconds(w, 1);
    }
    assert_null(drained->processes);
    assert_int_equal(job_count_running(job, 0), 4);
    world_free(w);
}
