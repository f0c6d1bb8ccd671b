/* SPDX-License-Identifier: Apache-2.0 */
/* test_group.c - processes that train as a group while they are killed, frozen, told to leave and
 * joined: each step has the bits of one process alone
 *
 * EDL_SEED chooses what happens to them; it is printed. EDL_ROUNDS runs so many (1). */
#include "tests/unit/group_cluster.h"

#include <math.h>

#include "shared/macro.h"
#include "tests/unit/seeds.h"
#include "tests/unit/test.h"

static const struct cluster_plan usual = {
    .ranks = 3, .steps = 120, .micro_batches = 8, .n_values = 1009, .exact = true
};

static uint64_t seed(void)
{
    static uint64_t state;

    if (state == 0)
        state = the_seed(1);
    return ++state;
}

static struct cluster_result run(struct cluster_plan plan)
{
    static struct cluster_result result;

    plan.seed = seed();
    cluster_run(&plan, &result);
    if (result.fault[0] != '\0')
        fail_msg("seed %" PRIu64 ": %s; %s", plan.seed, result.fault, result.error);
    return result;
}

static void assert_as_alone(const struct cluster_plan *plan, const struct cluster_result *result)
{
    static uint64_t alone[CLUSTER_STEPS + 1];

    cluster_alone(plan, alone);
    for (unsigned step = 1; step <= plan->steps; step++)
        if (result->hash[step] != alone[step])
            fail_msg("step %u differs from that of one process alone", step);
    assert_int_equal(result->last_stable, plan->steps);
    assert_int_equal(result->n_restarted, 0);
}

struct told {
    uint64_t hash[CLUSTER_STEPS + 1], stable;
};

static void keep(void *userdata, const struct edl_group_step *step, uint64_t hash)
{
    struct told *told = userdata;

    if (hash != 0)
        told->hash[step->step] = hash;
    told->stable = step->stable;
}

TEST(test_alone_it_is_a_group_of_one)
{
    static struct told told;
    static uint64_t alone[CLUSTER_STEPS + 1];
    struct cluster_model *model = cluster_model_new(&usual);
    struct edl_group_options options;
    struct edl_group *group;

    cluster_options(model, &options);
    assert_int_equal(edl_group_new(NULL, &options, &group), 0);
    assert_int_equal(cluster_train(group, model, keep, &told), 0);
    cluster_alone(&usual, alone);
    assert_memory_equal(told.hash, alone, sizeof alone);
    assert_int_equal(told.stable, usual.steps);
    group = edl_group_free(group);
    cluster_model_free(model);
}

TEST(test_any_number_of_ranks_has_the_same_bits)
{
    for (unsigned ranks = 1; ranks <= 6; ranks++) {
        struct cluster_plan plan = usual;
        struct cluster_result result;

        plan.ranks = ranks;
        plan.steps = 20;
        plan.micro_batches = ranks == 6 ? 4 : 8; /* two ranks have nothing to do */
        plan.n_values = ranks == 5 ? 4 : 1009;   /* one rank owns no value */
        plan.apart = ranks % 2 == 0;
        result = run(plan);
        if (ranks == 3 || ranks == 5)
            assert_int_equal(result.n_shared, result.n_steps);
        if (ranks == 1)
            assert_int_equal(result.n_shared, 0);
        assert_as_alone(&plan, &result);
        assert_int_equal(result.n_finished, ranks);
        assert_int_equal(result.n_steps, ranks * plan.steps);
    }
}

TEST(test_killed_ranks_take_nothing_along)
{
    uint64_t rounds = number_from_environment("EDL_ROUNDS", 1);

    for (uint64_t i = 0; i < 2 * rounds; i++) {
        struct cluster_plan plan = usual;
        struct cluster_result result;

        plan.steps = 400;
        plan.kills = 12;
        plan.apart = i % 2 == 1;
        result = run(plan);
        assert_as_alone(&plan, &result);
        assert_in_range(result.n_killed, 6, 12);
        print_message("%u kills, %u generations, %u states given\n", result.n_killed,
                      result.n_generations, result.n_states);
    }
}

TEST(test_a_rank_may_die_at_each_point_of_the_protocol)
{
    for (int point = 1; point < GROUP_POINTS; point++) {
        struct cluster_plan plan = usual;
        struct cluster_result result;

        plan.point = (enum group_point)point;
        plan.crashes = 4 * (unsigned)number_from_environment("EDL_ROUNDS", 1);
        plan.kills = 3; /* so that some come late, and take a state */
        plan.steps = 150;
        result = run(plan);
        assert_as_alone(&plan, &result);
        print_message("point %d: %u crashes, %u generations, %u states given\n", point,
                      result.n_crashed, result.n_generations, result.n_states);
        assert_in_range(result.n_crashed, 1, CLUSTER_PROCESSES);
    }
}

/* ---- nodes of several ranks: they sum in memory first ---- */

static const struct {
    const char *name;
    unsigned nodes[CLUSTER_NODES], ranks;
} shapes[] = { { "2+2", { 2, 2 }, 4 },
               { "3+1", { 3, 1 }, 4 },
               { "1+3", { 1, 3 }, 4 },
               { "2+2+1", { 2, 2, 1 }, 5 },
               { "3+2+1", { 3, 2, 1 }, 6 } };

static struct cluster_plan plan_of(size_t shape)
{
    struct cluster_plan plan = usual;

    memcpy(plan.nodes, shapes[shape].nodes, sizeof plan.nodes);
    plan.ranks = shapes[shape].ranks;
    return plan;
}

TEST(test_nodes_of_any_shape_have_the_same_bits)
{
    for (size_t i = 0; i < ELEMENTS(shapes); i++)
        for (unsigned kind = 0; kind < 4; kind++) {
            struct cluster_plan plan = plan_of(i);
            struct cluster_result result;

            plan.steps = 20;
            plan.micro_batches = kind == 1 ? 3 : kind == 2 ? plan.ranks : 8; /* some have none */
            plan.n_values = kind == 3 ? 4 : 1009;                            /* some collect none */
            result = run(plan);
            assert_as_alone(&plan, &result);
            assert_int_equal(result.n_finished, plan.ranks);
            assert_int_equal(result.n_steps, plan.ranks * plan.steps);
            assert_int_equal(result.n_by_node, result.n_steps);
        }
}

TEST(test_one_node_or_one_rank_on_each_is_as_before)
{
    static const unsigned nodes[][CLUSTER_NODES] = { { 3 }, { 1, 1, 1 } };

    for (size_t i = 0; i < ELEMENTS(nodes); i++) {
        struct cluster_plan plan = usual;
        struct cluster_result result;

        plan.steps = 20;
        memcpy(plan.nodes, nodes[i], sizeof plan.nodes);
        result = run(plan);
        assert_as_alone(&plan, &result);
        assert_int_equal(result.n_by_node, 0);
        assert_int_equal(result.n_shared, i == 0 ? result.n_steps : 0);
    }
}

TEST(test_ranks_that_cannot_see_each_other_are_apart)
{
    struct cluster_plan plan = plan_of(0);
    struct cluster_result result;

    plan.steps = 20;
    plan.blind = true;
    result = run(plan);
    assert_as_alone(&plan, &result);
    assert_int_equal(result.n_by_node, 0);
    assert_int_equal(result.n_steps, 80);
    assert_in_range(result.n_shared, 1, 79); /* they read what they can */
}

/* Each node of two sends half of its sum, eight bytes a value, and gives half of the sum of all. */
TEST(test_a_node_sends_its_sum_once)
{
    enum { VALUES = 60000, NODES = 2, HEADS = 100 * 1000 };
    struct cluster_plan plan = plan_of(0);
    struct cluster_result result;
    uint64_t expected = (uint64_t)NODES * 20 * VALUES / 2 * (8 + 4);

    plan.steps = 20;
    plan.n_values = VALUES;
    result = run(plan);
    assert_as_alone(&plan, &result);
    assert_in_range(result.n_bytes, expected, expected + HEADS);
}

TEST(test_ranks_of_nodes_may_be_killed)
{
    uint64_t rounds = number_from_environment("EDL_ROUNDS", 1);

    for (uint64_t i = 0; i < ELEMENTS(shapes) * rounds; i++) {
        struct cluster_plan plan = plan_of(i % ELEMENTS(shapes));
        struct cluster_result result;

        plan.steps = 250;
        plan.kills = 8;
        plan.stops = plan.thaws = 1;
        result = run(plan);
        assert_as_alone(&plan, &result);
        assert_in_range(result.n_by_node, 1, result.n_steps);
        print_message("%s: %u kills, %u generations, %u states given, %u of %u steps by node\n",
                      shapes[i % ELEMENTS(shapes)].name, result.n_killed, result.n_generations,
                      result.n_states, result.n_by_node, result.n_steps);
    }
}

TEST(test_a_rank_of_a_node_may_die_at_each_point)
{
    uint64_t rounds = number_from_environment("EDL_ROUNDS", 1);

    for (uint64_t i = 0; i < rounds * (GROUP_POINTS - 1); i++) {
        struct cluster_plan plan = plan_of(i % ELEMENTS(shapes));
        struct cluster_result result;

        plan.point = (enum group_point)(1 + i % (GROUP_POINTS - 1));
        plan.crashes = 4;
        plan.kills = 3;
        plan.steps = 150;
        result = run(plan);
        assert_as_alone(&plan, &result);
        assert_in_range(result.n_crashed, 1, CLUSTER_PROCESSES);
        assert_in_range(result.n_by_node, 1, result.n_steps);
    }
}

/* From one node of two to 2+2+2, and fewer again, with newcomers that follow. */
TEST(test_nodes_come_and_go)
{
    struct cluster_plan plan = usual;
    struct cluster_result result;

    plan.ranks = 2;
    memcpy(plan.nodes, (const unsigned[]){ 2, 2, 2 }, 3 * sizeof *plan.nodes);
    plan.joins = 4;
    plan.leaves = 2;
    plan.kills = 3;
    plan.follow = true;
    plan.steps = 500;
    result = run(plan);
    assert_as_alone(&plan, &result);
    assert_int_equal(result.n_joined, 4);
    assert_in_range(result.n_by_node, 1, result.n_steps);
}

TEST(test_floats_are_alike_in_nodes)
{
    struct cluster_plan plan = plan_of(3);
    struct cluster_result result;

    plan.exact = false;
    plan.kills = 4;
    result = run(plan);
    assert_int_equal(result.last_stable, plan.steps);
    assert_int_equal(result.n_restarted, 0);
    assert_in_range(result.n_by_node, 1, result.n_steps);
}

TEST(test_ranks_come_and_go)
{
    struct cluster_plan plan = usual;
    struct cluster_result result;

    plan.ranks = 2;
    plan.joins = 4;
    plan.leaves = 3;
    plan.kills = 3;
    plan.steps = 500;
    result = run(plan);
    assert_as_alone(&plan, &result);
    assert_in_range(result.n_left, 1, 3);
    assert_int_equal(result.n_joined, 4);
}

TEST(test_a_newcomer_is_met_behind_a_step)
{
    struct cluster_plan plan = usual;
    struct cluster_result result;

    plan.joins = 2;
    plan.steps = 400;
    plan.cut_off = true; /* rank 0 watches on when the scheduler is back */
    result = run(plan);
    assert_as_alone(&plan, &result);
    assert_int_equal(result.n_states, 2); /* nobody else had a reason to meet */
    assert_in_range(result.n_generations, 2, 3);
    assert_int_equal(result.n_finished, 5);
}

TEST(test_a_newcomer_follows_before_it_arrives)
{
    struct cluster_plan plan = usual;
    struct cluster_result result;

    plan.follow = true;
    plan.joins = 3;
    plan.ranks = 2;
    plan.steps = 600;
    result = run(plan);
    assert_as_alone(&plan, &result);
    print_message("%u steps followed, %u states given, %u generations\n", result.n_followed,
                  result.n_states, result.n_generations);
    /* one that has its state just before the group meets follows none */
    assert_in_range(result.n_followed, 1, result.n_steps);
    assert_int_equal(result.n_finished, 5);
}

TEST(test_a_follower_and_its_member_may_die)
{
    uint64_t rounds = number_from_environment("EDL_ROUNDS", 1);

    for (uint64_t i = 0; i < rounds; i++) {
        struct cluster_plan plan = usual;
        struct cluster_result result;

        plan.follow = true;
        plan.joins = 2;
        plan.kills = 10;
        plan.stops = plan.thaws = 1;
        plan.steps = 500;
        result = run(plan);
        assert_as_alone(&plan, &result);
        assert_in_range(result.n_killed, 5, 10);
    }
}

TEST(test_the_batch_follows_the_ranks)
{
    for (int follow = 0; follow < 2; follow++) {
        struct cluster_plan plan = usual;
        struct cluster_result result;

        plan.linear = true;
        plan.micro_batches = 3;
        plan.ranks = 2;
        plan.follow = follow;
        plan.joins = 3;
        plan.leaves = 2;
        plan.kills = 4;
        plan.steps = 400;
        result = run(plan); /* all ranks have the same bits, and no step is left out */
        assert_int_equal(result.last_stable, plan.steps);
        assert_int_equal(result.n_restarted, 0);
        assert_int_equal(result.n_joined, 3);
    }
}

/* A choice that follows from the state: those with an older one, and newcomers, take that of the
 * donor. A sum with other micro-batches than the step has ends all of them. */
TEST(test_the_batch_follows_the_state)
{
    for (int follow = 0; follow < 2; follow++) {
        struct cluster_plan plan = usual;
        struct cluster_result result;

        plan.linear = plan.chooses = true;
        plan.micro_batches = 12;
        plan.ranks = 3;
        plan.follow = follow;
        plan.joins = 2;
        plan.leaves = 1;
        plan.kills = 6;
        plan.steps = 400;
        result = run(plan);
        assert_int_equal(result.last_stable, plan.steps);
        assert_int_equal(result.n_restarted, 0);
        assert_true(result.n_generations > plan.steps / 16); /* they met anew */
    }
}

TEST(test_a_frozen_rank_is_waited_for_or_replaced)
{
    struct cluster_plan plan = usual;
    struct cluster_result result;

    plan.stops = 3;
    plan.thaws = 3;
    plan.steps = 300;
    result = run(plan);
    assert_as_alone(&plan, &result);
    assert_in_range(result.n_stopped, 6, 12); /* two at once count once */
}

TEST(test_floats_are_alike_in_all_ranks)
{
    struct cluster_plan plan = usual;
    struct cluster_result result;

    plan.exact = false;
    plan.kills = 4;
    result = run(plan);
    assert_int_equal(result.last_stable, plan.steps);
    assert_int_equal(result.n_restarted, 0);
}

TEST(test_a_rank_with_another_network_is_told)
{
    struct cluster_plan plan = usual;
    struct cluster_result result;

    plan.ranks = 2;
    plan.other_values = 1;
    result = run(plan);
    assert_int_equal(result.n_finished, 0);
    assert_non_null(strstr(result.error, "values in a gradient"));
}

TEST(test_a_newcomer_with_other_options_ends_nobody)
{
    struct cluster_plan plan = usual;
    struct cluster_result result;

    plan.follow = true;
    plan.joins = 1;
    plan.other_batches = 1;
    plan.steps = 300;
    result = run(plan);
    assert_non_null(strstr(result.error, "micro-batches"));
    assert_int_equal(result.n_restarted, 1);
    assert_int_equal(result.n_finished, plan.ranks);
}

TEST(test_ranks_that_compute_otherwise_are_told)
{
    struct cluster_plan plan = usual;
    struct cluster_result result;

    plan.ranks = 2;
    plan.other_signature = true;
    result = run(plan);
    assert_int_equal(result.n_finished, 0);
    assert_non_null(strstr(result.error, "kernels avx2"));
    assert_non_null(strstr(result.error, "kernels avx512f"));
    assert_non_null(strstr(result.error, "node-0"));
    assert_non_null(strstr(result.error, "node-1"));
    assert_null(strstr(result.error, "network 7"));
}

TEST(test_a_newcomer_that_computes_otherwise_ends_nobody)
{
    for (int follow = 0; follow < 2; follow++) {
        struct cluster_plan plan = usual;
        struct cluster_result result;

        plan.other_signature = plan.odd_joins = true;
        plan.joins = 1;
        plan.follow = follow;
        result = run(plan);
        assert_int_equal(result.n_restarted, 1); /* the newcomer */
        result.n_restarted = 0;
        assert_as_alone(&plan, &result);
        assert_int_equal(result.n_finished, 3);
        assert_non_null(strstr(result.error, "with \"kernels avx512f\", this rank"));
        assert_int_equal(result.n_followed, 0);
    }
}

TEST(test_a_stranger_without_the_secret_is_no_rank)
{
    struct cluster_plan plan = usual;
    struct cluster_result result;

    plan.ranks = 2;
    plan.other_secret = true;
    result = run(plan);
    assert_non_null(strstr(result.error, "does not know the secret"));
}

TEST(test_what_is_no_number_is_told_before_it_is_added)
{
    struct cluster_plan plan = usual;
    struct cluster_result result;

    plan.bad_step = 7;
    plan.ranks = 1;
    result = run(plan);
    assert_string_equal(result.error,
                        "step 7, rank 0, micro-batch 0: value 2 of the gradient of \"second\" is "
                        "nan; lower the learning rate, or clip the gradients");
    assert_int_equal(result.hash[7], 0);
}
