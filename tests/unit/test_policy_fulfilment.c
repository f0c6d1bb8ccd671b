/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy_fulfilment.c - the conformance cases of the original autoscaler, and what was mended
 * in it
 *
 * Case names A2..A19, B1 and B2 are those of the reference (the unit tests of the 2018 controller,
 * its tutorial's trace, and its GPU livelock). Memory is in megabytes of 10^6 as there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "scheduler/core/policy.h"
#include "shared/macro.h"

#define MEGA INT64_C(1000000)

struct cluster_row {
    int64_t cpu_requested, cpu_total, memory_requested, memory_total, gpu_requested, gpu_total;
};

struct job_row {
    uint64_t cpu_millicores, memory_bytes;
    uint32_t gpus, min, max, parallelism;
};

static struct policy_view view_of(const struct cluster_row *row, uint32_t load_permille)
{
    return (struct policy_view){ .cpu_total_millicores = row->cpu_total,
                                 .cpu_requested_millicores = row->cpu_requested,
                                 .memory_total_bytes = row->memory_total * MEGA,
                                 .memory_requested_bytes = row->memory_requested * MEGA,
                                 .gpu_total = row->gpu_total,
                                 .gpu_requested = row->gpu_requested,
                                 .max_load_permille = load_permille };
}

static struct policy_job job_of(const struct job_row *row)
{
    return (struct policy_job){ .id = 1,
                                .min = row->min,
                                .max = row->max,
                                .parallelism = row->parallelism,
                                .stable = true,
                                .cpu_millicores = row->cpu_millicores,
                                .memory_bytes = row->memory_bytes,
                                .gpus = row->gpus };
}

/* The reference's node0: more idle than any case needs. */
static struct policy_node big_node(void)
{
    return (struct policy_node){ 99999, 99999 * MEGA, 99999 };
}

static const uint64_t mem_100mi = 105 * 1000000, mem_10mi = 11 * 1000000;

static void test_dry_run_conforms(void **state)
{
    const struct {
        const char *id;
        struct cluster_row cluster;
        struct job_row job;
        int n_nodes;
        int32_t delta;
        bool down;
        int expect;
    } rows[] = {
        { "A2", { 0, 2000, 0, 1000, 0, 0 }, { 0, mem_100mi, 0, 1, 2, 2 }, 0, 0, false, 0 },
        { "A3", { 100, 3000, 100, 1000, 0, 0 }, { 1000, mem_100mi, 0, 1, 3, 1 }, 1, 0, false, 1 },
        { "A4", { 1000, 1000, 100, 1000, 0, 0 }, { 1000, mem_100mi, 0, 1, 3, 1 }, 1, 0, false, 0 },
        { "A5 up", { 0, 2000, 100, 1000, 0, 10 }, { 1000, mem_10mi, 1, 1, 3, 1 }, 1, 0, false, 1 },
        { "A5 down", { 0, 2000, 100, 1000, 0, 10 }, { 1000, mem_10mi, 1, 1, 3, 1 }, 1, 0, true, 0 },
        { "A6", { 0, 2000, 100, 1000, 10, 10 }, { 1000, mem_10mi, 1, 1, 3, 1 }, 1, 0, false, 0 },
        { "A8 0",
          { 5000, 3000, 1000, 1000, 10, 10 },
          { 1000, mem_10mi, 0, 1, 3, 3 },
          1,
          0,
          true,
          -1 },
        { "A8 -1",
          { 5000, 3000, 1000, 1000, 10, 10 },
          { 1000, mem_10mi, 0, 1, 3, 3 },
          1,
          -1,
          true,
          -1 },
        { "A8 -2",
          { 5000, 3000, 1000, 1000, 10, 10 },
          { 1000, mem_10mi, 0, 1, 3, 3 },
          1,
          -2,
          true,
          0 },
        { "A9 down",
          { 2000, 1000, 1000, 1000, 10, 10 },
          { 1000, mem_10mi, 0, 1, 3, 3 },
          1,
          0,
          true,
          -1 },
        { "A9 up",
          { 2000, 1000, 1000, 1000, 10, 10 },
          { 1000, mem_10mi, 0, 1, 3, 3 },
          1,
          0,
          false,
          0 },
        { "A10",
          { 1000, 1000, 1000, 1000, 10, 10 },
          { 1000, mem_100mi, 0, 1, 3, 1 },
          1,
          0,
          false,
          0 },
        { "over max up",
          { 0, 9000, 0, 9000, 0, 0 },
          { 1000, mem_10mi, 0, 1, 3, 5 },
          1,
          0,
          false,
          -2 },
        { "over max down",
          { 0, 9000, 0, 9000, 0, 0 },
          { 1000, mem_10mi, 0, 1, 3, 5 },
          1,
          0,
          true,
          -1 },
        { "no node", { 0, 9000, 0, 9000, 0, 0 }, { 1000, mem_10mi, 0, 1, 3, 1 }, 0, 0, false, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct policy_view view = view_of(&rows[i].cluster, 1000);
        struct policy_node node = big_node();
        struct policy_job job = job_of(&rows[i].job);
        int change;

        view.nodes = &node;
        view.n_nodes = (size_t)rows[i].n_nodes;
        change = policy_fulfilment_dry_run(&view, &node, &job, rows[i].delta, rows[i].down);
        if (change != rows[i].expect)
            fail_msg("%s: %d, expected %d", rows[i].id, change, rows[i].expect);
        assert_int_equal(view.cpu_requested_millicores,
                         rows[i].cluster.cpu_requested + change * (int64_t)job.cpu_millicores);
    }
}

static void test_plan_conforms(void **state)
{
    const struct {
        const char *id;
        struct cluster_row cluster;
        struct job_row job;
        uint32_t load_permille;
        int expect; /* change */
    } rows[] = {
        { "A11", { 0, 1000, 1000, 1000, 0, 10 }, { 1000, 1, 1, 1, 3, 1 }, 1000, 0 },
        { "A12", { 1000, 4000, 100, 1000, 8, 10 }, { 1000, mem_100mi, 0, 1, 3, 1 }, 1000, 2 },
        { "A14", { 3000, 3000, 100, 1000, 0, 10 }, { 1000, mem_100mi, 0, 1, 3, 3 }, 800, -1 },
        { "A16", { 990, 2000, 100, 1000, 9, 10 }, { 1000, 1, 1, 1, 3, 1 }, 1000, 1 },
        /* the original adds and removes the tenth GPU for ever */
        { "B2", { 1000, 100000, 100, 100000, 1, 10 }, { 1000, mem_10mi, 1, 1, 10, 1 }, 970, 8 },
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct policy_view view = view_of(&rows[i].cluster, rows[i].load_permille);
        struct policy_node node = big_node();
        struct policy_job job = job_of(&rows[i].job);
        uint32_t target = 0;

        view.nodes = &node;
        view.n_nodes = 1;
        view.jobs = &job;
        view.n_jobs = 1;
        policy_fulfilment.plan(&view, &target);
        if ((int)target - (int)job.parallelism != rows[i].expect)
            fail_msg("%s: target %u from %u, expected a change of %d", rows[i].id, target,
                     job.parallelism, rows[i].expect);
    }
}

/* A17 */
static void test_score_is_the_share_of_the_range(void **state)
{
    const struct policy_job full = { .min = 1, .max = 2, .parallelism = 2 };
    const struct policy_job none = { .min = 1, .max = 2, .parallelism = 1 };
    const struct policy_job half = { .min = 1, .max = 3, .parallelism = 2 };
    const struct policy_job fixed = { .min = 4, .max = 4, .parallelism = 4 };

    (void)state;
    assert_int_equal(policy_fulfilment_score_ppm(&full), 1000000);
    assert_int_equal(policy_fulfilment_score_ppm(&none), 0);
    assert_int_equal(policy_fulfilment_score_ppm(&half), 500000);
    assert_int_equal(policy_fulfilment_score_ppm(&fixed), 1000000);
}

/* A18: b (1..20), c (1..10), a (1..2), all at 2; then the finer keys */
static void test_order_is_score_gpu_cpu_memory_id(void **state)
{
    const struct policy_job order[] = {
        { .id = 9, .min = 1, .max = 20, .parallelism = 2, .gpus = 1 },
        { .id = 8, .min = 1, .max = 10, .parallelism = 2, .gpus = 1 },
        { .id = 7, .min = 1, .max = 2, .parallelism = 2, .gpus = 0, .cpu_millicores = 9 },
        { .id = 6,
          .min = 1,
          .max = 2,
          .parallelism = 2,
          .gpus = 1,
          .cpu_millicores = 1,
          .memory_bytes = 9 },
        { .id = 5,
          .min = 1,
          .max = 2,
          .parallelism = 2,
          .gpus = 1,
          .cpu_millicores = 2,
          .memory_bytes = 1 },
        { .id = 3,
          .min = 1,
          .max = 2,
          .parallelism = 2,
          .gpus = 1,
          .cpu_millicores = 2,
          .memory_bytes = 2 },
        { .id = 4,
          .min = 1,
          .max = 2,
          .parallelism = 2,
          .gpus = 1,
          .cpu_millicores = 2,
          .memory_bytes = 2 },
    };

    (void)state;
    for (size_t i = 0; i + 1 < ELEMENTS(order); i++) {
        assert_true(policy_fulfilment_compare(&order[i], &order[i + 1]) < 0);
        assert_true(policy_fulfilment_compare(&order[i + 1], &order[i]) > 0);
    }
    assert_int_equal(policy_fulfilment_compare(&order[0], &order[0]), 0);
}

/* B1: 10,000 millicores, 1,840 used by others, load 0.9; each job 1,600 fixed and trainers of
 * 200, 2..10. */
static void test_tutorial_trace(void **state)
{
    struct policy_node node = { 10000 - 1840 - 1600 - 400, 100000 * MEGA, 0 };
    struct policy_job jobs[3] = { 0 };
    struct policy_view view = { .cpu_total_millicores = 10000,
                                .cpu_requested_millicores = 1840 + 1600 + 2 * 200,
                                .memory_total_bytes = 100000 * MEGA,
                                .max_load_permille = 900,
                                .nodes = &node,
                                .n_nodes = 1,
                                .jobs = jobs,
                                .n_jobs = 1 };
    uint32_t target[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        jobs[i] = (struct policy_job){ .id = (uint64_t)i + 1,
                                       .min = 2,
                                       .max = 10,
                                       .parallelism = 2,
                                       .stable = true,
                                       .cpu_millicores = 200,
                                       .memory_bytes = 1 };
    policy_fulfilment.plan(&view, target);
    assert_int_equal(target[0], 10); /* 54.40 % */

    jobs[0].parallelism = 10;
    view.n_jobs = 2;
    view.cpu_requested_millicores = 1840 + 2 * 1600 + 12 * 200;
    node.cpu_idle_millicores = 10000 - view.cpu_requested_millicores;
    policy_fulfilment.plan(&view, target);
    assert_int_equal(target[0], 10);
    assert_int_equal(target[1], 9); /* 88.40 % <= 90 %, a tenth would be 90.40 % */

    jobs[1].parallelism = 8;
    jobs[2].pending = true;
    jobs[2].stable = false;
    jobs[2].parallelism = 0;
    view.n_jobs = 3;
    view.cpu_requested_millicores = 1840 + 3 * 1600 + (10 + 8 + 2) * 200;
    node.cpu_idle_millicores = 10000 - 1840 - 2 * 1600 - 18 * 200;
    policy_fulfilment.plan(&view, target);
    assert_int_equal(target[0], 5);
    assert_int_equal(target[1], 4);
    assert_int_equal(target[2], 2);

    /* and it stays: 11 trainers, 88.40 % */
    jobs[0].parallelism = 5;
    jobs[1].parallelism = 4;
    jobs[2] = (struct policy_job){ .id = 3,
                                   .min = 2,
                                   .max = 10,
                                   .parallelism = 2,
                                   .stable = true,
                                   .cpu_millicores = 200,
                                   .memory_bytes = 1 };
    view.cpu_requested_millicores = 1840 + 3 * 1600 + 11 * 200;
    node.cpu_idle_millicores = 10000 - view.cpu_requested_millicores;
    policy_fulfilment.plan(&view, target);
    assert_int_equal(target[0], 5);
    assert_int_equal(target[1], 4);
    assert_int_equal(target[2], 2);
}

static void test_unstable_jobs_wait_unless_one_is_pending(void **state)
{
    struct policy_node node = { 9000, 9000 * MEGA, 0 };
    struct policy_job jobs[2] = {
        { .id = 1,
          .min = 1,
          .max = 4,
          .parallelism = 1,
          .cpu_millicores = 1000,
          .memory_bytes = 1 },
        { .id = 2, .min = 1, .max = 1, .pending = true, .cpu_millicores = 1000, .memory_bytes = 1 },
    };
    struct policy_view view = { .cpu_total_millicores = 10000,
                                .cpu_requested_millicores = 1000,
                                .memory_total_bytes = 10000 * MEGA,
                                .max_load_permille = 1000,
                                .nodes = &node,
                                .n_nodes = 1,
                                .jobs = jobs,
                                .n_jobs = 1 };
    uint32_t target[2];

    (void)state;
    policy_fulfilment.plan(&view, target);
    assert_int_equal(target[0], 1);
    view.n_jobs = 2;
    policy_fulfilment.plan(&view, target);
    assert_int_equal(target[0], 4);
}

/* Whatever the numbers, it ends, keeps the bounds, never grows over the limit, and asking again
 * changes nothing more. */
static void test_random_plans_end_within_bounds_at_a_fixpoint(void **state)
{
    uint64_t seed = getenv("EDL_SEED") != NULL ? strtoull(getenv("EDL_SEED"), NULL, 10) : 7;

    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 3000; round++) {
        struct policy_job jobs[6] = { 0 };
        struct policy_node nodes[4];
        uint32_t target[6], again[6];
        struct policy_view view = { .max_load_permille = 500 + (uint32_t)(seed >> 40) % 501,
                                    .nodes = nodes,
                                    .n_nodes = 4,
                                    .jobs = jobs,
                                    .n_jobs = 6 };
        int64_t wanted = 0;

#define RANDOM(n)                                                                                  \
    (seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u, (seed >> 33) % (n))
        for (size_t i = 0; i < 4; i++) {
            nodes[i] = (struct policy_node){ (int64_t)RANDOM(8000), (int64_t)RANDOM(8000),
                                             (int64_t)RANDOM(8) };
            view.cpu_total_millicores += 8000;
            view.memory_total_bytes += 8000;
            view.gpu_total += 8;
            view.cpu_requested_millicores += 8000 - nodes[i].cpu_idle_millicores;
            view.memory_requested_bytes += 8000 - nodes[i].memory_free_bytes;
            view.gpu_requested += 8 - nodes[i].gpus_free;
        }
        for (size_t i = 0; i < 6; i++) {
            jobs[i].id = i + 1;
            jobs[i].min = 1 + (uint32_t)RANDOM(3);
            jobs[i].max = jobs[i].min + (uint32_t)RANDOM(8);
            jobs[i].parallelism = jobs[i].min + (uint32_t)RANDOM(jobs[i].max - jobs[i].min + 1);
            jobs[i].stable = RANDOM(4) != 0;
            jobs[i].cpu_millicores = RANDOM(3000);
            jobs[i].memory_bytes = RANDOM(3000);
            jobs[i].gpus = (uint32_t)RANDOM(3);
        }
        policy_fulfilment.plan(&view, target);
        for (size_t i = 0; i < 6; i++) {
            assert_in_range(target[i], jobs[i].min, jobs[i].max);
            wanted += ((int64_t)target[i] - jobs[i].parallelism) * (int64_t)jobs[i].cpu_millicores;
            if (target[i] > jobs[i].parallelism)
                assert_true(jobs[i].stable);
        }
        if (wanted > 0)
            assert_true(view.cpu_requested_millicores + wanted <=
                        view.cpu_total_millicores * view.max_load_permille / 1000);
        /* the same question has the same answer */
        policy_fulfilment.plan(&view, again);
        assert_memory_equal(target, again, sizeof target);
    }
}

static void test_policy_find_knows_it(void **state)
{
    (void)state;
    assert_ptr_equal(policy_find("fulfilment"), &policy_fulfilment);
    assert_null(policy_find("fulfil"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dry_run_conforms),
        cmocka_unit_test(test_plan_conforms),
        cmocka_unit_test(test_score_is_the_share_of_the_range),
        cmocka_unit_test(test_order_is_score_gpu_cpu_memory_id),
        cmocka_unit_test(test_tutorial_trace),
        cmocka_unit_test(test_unstable_jobs_wait_unless_one_is_pending),
        cmocka_unit_test(test_random_plans_end_within_bounds_at_a_fixpoint),
        cmocka_unit_test(test_policy_find_knows_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
