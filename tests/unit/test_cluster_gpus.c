/* SPDX-License-Identifier: Apache-2.0 */
/* test_cluster_gpus.c - devices: their holders, GPUs that are gone, GPUs that others use; ports
 * that others use */
#include <errno.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/gpu_idle.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

/* One process that holds devices of a node with four. */
static struct process *hold_gpus(struct world *w, uint32_t n)
{
    struct job_spec *spec = world_spec("g", 1, 1, 100, 0, 0);
    struct job *job;

    w->agents[0].offer.gpus = 4;
    world_run(w, 1);
    spec->roles[0].gpus = n;
    job = world_submit(w, spec);
    world_run(w, 2);
    assert_int_equal(job->state, JOB_RUNNING);
    return world_live(job, "trainer", 0);
}

TEST(test_devices_are_checked)
{
    struct world *w = world_new(1, 4000, GIB, 900);
    struct process *process = hold_gpus(w, 2);
    struct process *other;
    struct job_spec *spec = world_spec("h", 1, 1, 100, 0, 0);
    struct edl_error error = { 0 };
    uint64_t mask;

    spec->roles[0].gpus = 1;
    other = world_live(world_submit(w, spec), "trainer", 0);
    mask = other->gpu_mask;
    other->gpu_mask = process->gpu_mask & -process->gpu_mask;
    assert_int_equal(cluster_check(w->cluster, &error), EDL_EBADTRANSITION);
    assert_non_null(strstr(error.text, "twice"));
    other->gpu_mask = 0;
    assert_int_equal(cluster_check(w->cluster, &error), EDL_EBADTRANSITION);
    other->gpu_mask = UINT64_C(1) << 9;
    assert_int_equal(cluster_check(w->cluster, &error), EDL_EBADTRANSITION);
    assert_non_null(strstr(error.text, "offers 4"));
    other->gpu_mask = mask;
    world_free(w);
}

static struct process *hold_one_gpu(struct world *w, const char *name)
{
    struct job_spec *spec = world_spec(name, 1, 1, 100, 0, 0);

    spec->roles[0].gpus = 1;
    return world_live(world_submit(w, spec), "trainer", 0);
}

TEST(test_devices_held_from_before_are_kept_and_granted_to_nobody_else)
{
    struct world *w = world_new(1, 4000, GIB, 900);
    struct process *process = hold_gpus(w, 3);
    const struct process *last = hold_one_gpu(w, "h");

    assert_int_equal(last->gpu_mask, 8);
    world_exit(w, process, 0, 0);
    world_run(w, 2);
    w->agents[0].offer.gpus = 2; /* and then the agent sees only two */
    world_run(w, 1);
    assert_int_equal(last->gpu_mask, 8);
    assert_int_equal(hold_one_gpu(w, "i")->gpu_mask, 1);
    world_run(w, 1);
    world_free(w);
}

TEST(test_devices_that_others_use_are_not_granted)
{
    struct world *w = world_new(1, 4000, GIB, 900);
    struct node *node = cluster_node(w->cluster, "node-0");
    const struct process *first, *second;
    struct job_spec *spec = world_spec("wide", 1, 1, 100, 0, 0);
    struct job *wide;

    w->agents[0].offer.gpus = 4;
    w->agents[0].gpus_foreign = 0x5;
    world_run(w, 1);
    first = hold_one_gpu(w, "a");
    assert_int_equal(first->gpu_mask, 2);
    spec->roles[0].gpus = 2;
    wide = world_submit(w, spec);
    world_run(w, 2);
    assert_int_equal(wide->state, JOB_QUEUED);
    w->agents[0].gpus_foreign = 0x6; /* one comes to where ours runs: it is not disturbed */
    world_run(w, 2);
    assert_int_equal(wide->state, JOB_RUNNING);
    assert_int_equal(world_live(wide, "trainer", 0)->gpu_mask, 9);
    assert_int_equal(first->state, PROCESS_RUNNING);
    assert_int_equal(figures_sum_nodes(w->cluster).gpus_foreign, 1);
    assert_int_equal(figures_sum_nodes(w->cluster).gpus_free, 0);
    w->agents[0].gpus_foreign = 0;
    world_run(w, 1);
    second = hold_one_gpu(w, "b");
    assert_int_equal(second->gpu_mask, 4);
    w->agents[0].gpus_foreign = UINT64_MAX; /* beyond what it offers as well */
    world_run(w, 1);
    assert_int_equal(cluster_check(w->cluster, NULL), 0);
    w->agents[0].silent = true;
    world_advance(w, 60 * USEC_PER_SEC);
    assert_int_equal(node->gpus_foreign, 0);
    world_free(w);
}

TEST(test_a_start_that_a_device_prevents_is_nobodys_fault)
{
    struct world *w = world_new(1, 4000, GIB, 900);
    struct process_report report = { .role = "trainer",
                                     .state = PROCESS_EXITED,
                                     .exit_code = -1,
                                     .start_fault = START_FAULT_PLACE,
                                     .reason = "GPU 0 is held by pid 4711 of alice" };
    struct node *node = cluster_node(w->cluster, "node-0");
    struct node_report told = { .boot_id = "b", .processes = &report, .n_processes = 1 };
    struct process *process;

    w->agents[0].offer.gpus = 1;
    world_run(w, 1);
    process = hold_one_gpu(w, "a");
    report.job_id = process->job->id;
    report.incarnation = process->incarnation;
    told.offer = w->agents[0].offer;
    told.boot_id = node->boot_id;
    told.gpus_foreign = 1;
    assert_int_equal(cluster_report(w->cluster, node, &told, w->now, NULL), 0);
    assert_int_equal(process->state, PROCESS_LOST);
    assert_int_equal(node->n_start_failures, 0);
    assert_int_equal(process->job->slots[0][0].failures, 0);
    world_plan(w);
    assert_null(process->job->slots[0][0].live);
    world_free(w);
}

/* One node with four devices, and elastic jobs that would have all of them. */
static struct job *elastic(struct world *w, const char *name)
{
    struct job_spec *spec = world_spec(name, 1, 4, 100, 0, 0);

    spec->roles[0].gpus = 1;
    return world_submit(w, spec);
}

/* All of the job's instances do nothing, but for the first of them that works. */
static void run_idle(struct world *w, struct job *job, unsigned rounds)
{
    for (; rounds > 0; rounds--) {
        struct process *process, *first = NULL;
        uint64_t mask = 0;

        DL_FOREACH2(job->processes, process, job_next)
        {
            if (process->state != PROCESS_RUNNING)
                continue;
            if (first == NULL)
                first = process;
            else
                mask |= process->gpu_mask;
        }
        w->agents[0].gpus_idle = mask;
        world_run(w, 1);
        assert_int_equal(cluster_check(w->cluster, NULL), 0);
    }
}

static struct world *world_with_gpus(const struct policy *policy)
{
    struct world *w;

    world_policy = policy;
    w = world_new(1, 4000, GIB, 1000);
    w->agents[0].offer.gpus = 4;
    world_run(w, 1);
    return w;
}

static void pass_minutes(struct world *w, struct job *idler, int minutes)
{
    for (int i = 0; i < 3 * minutes; i++) { /* no lease ends */
        world_advance(w, 20 * USEC_PER_SEC);
        run_idle(w, idler, 1);
    }
}

/* Whenever somebody wants them; its job has them back half an hour later. */
TEST(test_devices_that_idle_go_to_others)
{
    for (int late = 0; late < 2; late++) {
        struct world *w = world_with_gpus(&policy_goodput);
        struct job *idler = elastic(w, "idler"), *worker;

        world_run(w, 8);
        assert_int_equal(job_count_running(idler, 0), 4);
        run_idle(w, idler, 3);
        assert_int_equal(figures_sum_nodes(w->cluster).gpus_idle, 3);
        assert_int_equal(job_busy_most(idler, 0), 1);
        pass_minutes(w, idler, late * 29);
        assert_int_equal(job_count_running(idler, 0), 4); /* nobody wants them */
        worker = elastic(w, "worker");
        pass_minutes(w, idler, 1); /* it rests at first */
        run_idle(w, idler, 20);
        assert_int_equal(job_count_running(idler, 0), 1); /* and that is the one that works */
        assert_int_equal(world_live(idler, "trainer", 0)->index, 0);
        assert_int_equal(job_count_running(worker, 0), 3);
        assert_int_equal(cluster_kill_job(w->cluster, worker, NULL, w->now, NULL), 0);
        pass_minutes(w, idler, 25);
        assert_int_equal(job_count_running(idler, 0), 1); /* it would let them idle again */
        pass_minutes(w, idler, 6);
        assert_int_equal(job_count_running(idler, 0), 4); /* it is tried again */
        world_free(w);
    }
    world_policy = &policy_fulfilment;
}

/* Who uses them after all has its part again at once, also who had its minimum only. */
TEST(test_devices_that_are_used_again_count)
{
    for (int beside = 0; beside < 2; beside++) {
        struct world *w = world_with_gpus(&policy_goodput);
        struct job_spec *spec = world_spec("fixed", 1, 1, 100, 0, 0);
        struct job *idler, *fixed;

        spec->roles[0].gpus = beside ? 3 : 1;
        fixed = world_submit(w, spec);
        world_run(w, 4);
        idler = elastic(w, "idler");
        world_run(w, 8);
        assert_int_equal(job_count_running(idler, 0), beside ? 1 : 3);
        w->agents[0].gpus_idle = UINT64_MAX; /* of all, beyond what is offered as well */
        world_run(w, 4);
        assert_int_equal(job_busy_most(idler, 0), 1);
        assert_int_equal(job_busy_most(fixed, 0), 1);
        w->agents[0].gpus_idle = 0;
        world_run(w, 1);
        assert_int_equal(job_busy_most(idler, 0), 0);
        assert_int_equal(cluster_kill_job(w->cluster, fixed, NULL, w->now, NULL), 0);
        world_run(w, 12);
        assert_int_equal(job_count_running(idler, 0), 4);
        w->agents[0].gpus_idle = 1;
        w->agents[0].silent = true;
        world_advance(w, 60 * USEC_PER_SEC);
        assert_int_equal(cluster_node(w->cluster, "node-0")->gpus_idle, 0);
        assert_int_equal(cluster_check(w->cluster, NULL), 0);
        world_free(w);
    }
    world_policy = &policy_fulfilment;
}

/* What is not there yet is not known to idle, and who begins anew is not either. */
TEST(test_instances_that_come_do_not_idle)
{
    struct world *w = world_with_gpus(&policy_goodput);
    struct job *job = elastic(w, "job");

    world_run(w, 8);
    w->agents[0].gpus_idle = world_live(job, "trainer", 0)->gpu_mask;
    world_run(w, 1);
    world_exit(w, world_live(job, "trainer", 1), 1, 0);
    world_run(w, 1);
    assert_in_range(job_busy_most(job, 0), 2, 3);
    world_advance(w, 10 * USEC_PER_SEC);
    world_run(w, 8);
    assert_int_equal(job_count_running(job, 0), 4);
    assert_int_equal(job_busy_most(job, 0), 3);
    world_free(w);
    world_policy = &policy_fulfilment;
}

static void listen_there(struct world *w, const uint16_t *ports, size_t n)
{
    memcpy(w->agents[0].ports_foreign, ports, n * sizeof *ports);
    w->agents[0].n_ports_foreign = n;
    world_run(w, 2);
}

static struct job *submit_with_ports(struct world *w, const char *name, uint32_t n)
{
    struct job_spec *spec = world_spec(name, 1, 1, 100, 0, 0);
    struct job *job;

    spec->roles[0].n_ports = n;
    job = world_submit(w, spec);
    world_run(w, 2);
    return job;
}

/* What somebody listens on is not granted, nor counted as room; whom it was granted to keeps it. */
TEST(test_ports_of_others_are_not_granted)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *first, *second;

    w->agents[0].offer.port_last = w->agents[0].offer.port_first + 4;
    listen_there(w, (const uint16_t[]){ 20000, 20002, 20003, 30000 }, 4);
    first = submit_with_ports(w, "first", 2);
    assert_int_equal(first->state, JOB_RUNNING);
    assert_int_equal(world_live(first, "trainer", 0)->ports[0], 20001);
    assert_int_equal(world_live(first, "trainer", 0)->ports[1], 20004);
    second = submit_with_ports(w, "second", 1);
    assert_int_equal(second->state, JOB_QUEUED);
    listen_there(w, (const uint16_t[]){ 20000, 20001, 20002 }, 3);
    assert_int_equal(first->state, JOB_RUNNING);
    assert_int_equal(second->state, JOB_RUNNING);
    assert_int_equal(world_live(second, "trainer", 0)->ports[0], 20003);
    w->agents[0].silent = true;
    world_advance(w, 60 * USEC_PER_SEC);
    assert_int_equal(cluster_node(w->cluster, w->agents[0].name)->n_ports_foreign, 0);
    world_free(w);
}
