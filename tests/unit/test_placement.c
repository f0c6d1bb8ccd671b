/* SPDX-License-Identifier: Apache-2.0 */
/* test_placement.c - gangs as a whole and close together, labels, ports */
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/node_pick.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/placement_pins.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planner.h"
#include "shared/clock.h"
#include "shared/random.h"
#include "tests/unit/test.h"

#define NODES 4

/* Nodes in an index, as the planner has them. */
struct fixture {
    struct capacity capacity;
    struct node nodes[NODES];
    struct room rooms[NODES];
};

static struct fixture *fixture_new(const int64_t cpu[NODES])
{
    struct fixture *f = xcalloc(1, sizeof *f);

    capacity_init(&f->capacity);
    for (size_t i = 0; i < NODES; i++) {
        struct room_facts facts = {
            .now = { .cpu_millicores = cpu[i], .memory_bytes = 1000, .ports = 4 }
        };

        facts.later = facts.now;
        (void)snprintf(f->nodes[i].name, sizeof f->nodes[i].name, "node-%zu", i);
        assert_int_equal(labels_set(&f->nodes[i].offer.labels, LABEL_RACK, i < 2 ? "r0" : "r1",
                                    NULL),
                         0);
        f->nodes[i].room = &f->rooms[i];
        f->rooms[i] = (struct room){ .node = &f->nodes[i],
                                     .name = f->nodes[i].name,
                                     .labels = &f->nodes[i].offer.labels };
        (void)capacity_set(&f->capacity, &f->rooms[i], &facts);
    }
    return f;
}

static void fixture_free(struct fixture *f)
{
    capacity_done(&f->capacity);
    free(f);
}

TEST(test_gang_demands_puts_pservers_first_then_larger)
{
    struct role_spec roles[] = { { .name = "trainer", .min = 1, .cpu_millicores = 200 },
                                 { .name = "teacher", .min = 2, .cpu_millicores = 900 },
                                 { .name = "pserver", .min = 3, .cpu_millicores = 100 } };
    struct job_spec spec = { .n_roles = ELEMENTS(roles), .roles = roles };
    struct demand demands[JOB_ROLES_MAX];

    assert_int_equal(gang_demands(&spec, demands), 3);
    assert_int_equal(demands[0].role, 2);
    assert_int_equal(demands[0].count, 3);
    assert_int_equal(demands[1].role, 1);
    assert_int_equal(demands[2].role, 0);
}

TEST(test_gang_is_placed_as_a_whole_or_leaves_rooms_untouched)
{
    struct fixture *f = fixture_new((int64_t[]){ 1000, 1000, 100, 100 });
    struct demand demand = { .count = 3, .want = { .need = { .cpu_millicores = 600 } } };
    struct placed placed[3];

    assert_false(place_gang(&f->capacity, &demand, 1, true, placed));
    assert_int_equal(f->rooms[0].now.cpu_millicores, 1000);
    assert_int_equal(f->rooms[1].later.cpu_millicores, 1000);
    assert_int_equal(capacity_mark(&f->capacity), 0);
    demand.want.need.cpu_millicores = 500;
    assert_true(place_gang(&f->capacity, &demand, 1, true, placed));
    assert_ptr_equal(placed[0].room, placed[1].room);
    assert_true(placed[2].room != placed[0].room);
    assert_int_equal(f->rooms[0].now.cpu_millicores + f->rooms[1].now.cpu_millicores, 500);
    fixture_free(f);
}

TEST(test_gang_goes_to_one_node_if_one_holds_it)
{
    struct fixture *f = fixture_new((int64_t[]){ 500, 2000, 700, 1500 });
    struct demand demands[] = {
        { .count = 1, .want = { .need = { .cpu_millicores = 500 } } },
        { .role = 1, .count = 2, .want = { .need = { .cpu_millicores = 400 } } }
    };
    struct placed placed[3];

    assert_true(place_gang(&f->capacity, demands, 2, true, placed));
    for (size_t i = 0; i < 3; i++) /* the tightest of the two that hold it */
        assert_ptr_equal(placed[i].room, &f->rooms[3]);
    fixture_free(f);
}

/* The large one of three roles has to go to the slower node, or the others find no room. */
/* One instance on each idle node, of those the largest first; together where there are too few. */
TEST(test_gang_that_is_to_spread_goes_to_idle_nodes)
{
    struct fixture *f = fixture_new((int64_t[]){ 1000, 1000, 600, 400 });
    struct demand demand = { .count = 2,
                             .want = { .need = { .cpu_millicores = 300, .memory_bytes = 10 } },
                             .spread = true };
    struct placed placed[2];

    for (size_t i = 0; i < NODES; i++) {
        struct room_facts facts = f->rooms[i].facts;

        facts.most = facts.now;
        (void)capacity_set(&f->capacity, &f->rooms[i], &facts);
    }
    assert_true(place_gang(&f->capacity, &demand, 1, true, placed));
    assert_ptr_not_equal(placed[0].room, placed[1].room);
    assert_int_equal(placed[0].room->facts.now.cpu_millicores, 1000);
    assert_int_equal(placed[1].room->facts.now.cpu_millicores, 1000);
    assert_true(place_gang(&f->capacity, &demand, 1, true, placed));
    assert_ptr_not_equal(placed[0].room, placed[1].room);
    assert_true(place_gang(&f->capacity, &demand, 1, true, placed)); /* nothing is idle now */
    assert_ptr_equal(placed[0].room, placed[1].room);
    capacity_roll_back(&f->capacity, 0);
    demand.spread = false;
    assert_true(place_gang(&f->capacity, &demand, 1, true, placed));
    assert_ptr_equal(placed[0].room, placed[1].room);
    fixture_free(f);
}

TEST(test_fast_node_does_not_keep_a_gang_from_starting)
{
    struct fixture *f = fixture_new((int64_t[]){ 4100, 3000, 50, 50 });
    struct demand demands[] = {
        { .count = 1, .want = { .need = { .cpu_millicores = 3000 } } },
        { .role = 1, .count = 2, .want = { .need = { .cpu_millicores = 2000 } } },
        { .role = 2, .count = 1, .want = { .need = { .cpu_millicores = 100 } } },
    };
    struct room_facts facts = f->rooms[0].facts;
    struct placed placed[4];

    f->rooms[0].speed[SPEED_CPU] = 1;
    (void)capacity_set(&f->capacity, &f->rooms[0], &facts);
    assert_true(place_gang(&f->capacity, demands, 3, true, placed));
    fixture_free(f);
}

/* Whether the instances from the i-th on can be put anywhere: every way is tried. */
static bool any_way(const struct fixture *f, const struct demand demands[2],
                    struct resources left[NODES], uint32_t i)
{
    const struct demand *demand = &demands[i < demands[0].count ? 0 : 1];

    if (i == demands[0].count + demands[1].count)
        return true;
    for (size_t n = 0; n < NODES; n++) {
        bool fits = demand->want.selector == NULL ||
                    labels_cover(f->rooms[n].labels, demand->want.selector);

        if (!fits || !resources_fit(&left[n], &demand->want.need))
            continue;
        resources_add(&left[n], &demand->want.need, -1);
        fits = any_way(f, demands, left, i + 1);
        resources_add(&left[n], &demand->want.need, 1);
        if (fits)
            return true;
    }
    return false;
}

static void random_demand(struct demand *demand, uint64_t *random)
{
    *demand = (struct demand){
        .role = demand->role,
        .count = 1 + (uint32_t)random_below(random, 4),
        .want = { .need = { .cpu_millicores = (int64_t)random_below(random, 7) * 100,
                            .memory_bytes = (int64_t)random_below(random, 7) * 100,
                            .ports = (int64_t)random_below(random, 3) } }
    };
}

/* What was placed is what was asked for, and what is left is what there was less that. */
static void check_placed(const struct fixture *f, const struct demand demands[2],
                         const struct placed *placed, const struct resources before[NODES])
{
    size_t n[2] = { 0 };

    for (size_t i = 0; i < demands[0].count + demands[1].count; i++)
        n[placed[i].role]++;
    assert_int_equal(n[0], demands[0].count);
    assert_int_equal(n[1], demands[1].count);
    for (size_t r = 0; r < NODES; r++) {
        struct resources left = before[r];

        for (size_t i = 0; i < n[0] + n[1]; i++)
            if (placed[i].room == &f->rooms[r])
                resources_add(&left, &placed[i].need, -1);
        assert_false(resources_owe(&left));
        assert_true(resources_equal(&left, &f->rooms[r].now));
        assert_true(resources_equal(&left, &f->rooms[r].later));
    }
}

TEST(test_two_roles_find_a_place_whenever_there_is_one)
{
    uint64_t random = 20181103;
    struct labels r1 = { 0 };
    unsigned n_placed = 0;

    assert_int_equal(labels_set(&r1, LABEL_RACK, "r1", NULL), 0);
    for (int round = 0; round < 3000; round++) {
        struct demand demands[2] = { { .role = 0 }, { .role = 1 } };
        struct resources before[NODES];
        struct placed placed[8];
        struct fixture *f;
        int64_t cpu[NODES];
        bool fits;

        for (size_t i = 0; i < NODES; i++)
            cpu[i] = (int64_t)random_below(&random, 12) * 100;
        f = fixture_new(cpu);
        for (size_t i = 0; i < NODES; i++)
            before[i] = f->rooms[i].now;
        random_demand(&demands[0], &random);
        random_demand(&demands[1], &random);
        if (random_below(&random, 4) == 0)
            demands[1].want.selector = &r1;
        fits = place_gang(&f->capacity, demands, 2, true, placed);
        n_placed += fits;
        if (fits)
            check_placed(f, demands, placed, before);
        else
            assert_int_equal(capacity_mark(&f->capacity), 0);
        if (fits != (any_way(f, demands, before, 0)))
            fail_msg("round %d: it %s", round, fits ? "fits, which cannot be" : "would fit");
        fixture_free(f);
    }
    assert_true(n_placed > 300 && n_placed < 2700);
}

TEST(test_instance_prefers_its_job_s_node_then_its_rack)
{
    struct fixture *f = fixture_new((int64_t[]){ 400, 900, 1000, 450 });
    struct want want = { .need = { .cpu_millicores = 400 } };
    struct near near = { 0 };

    near_add(&near, &f->rooms[2]);
    assert_ptr_equal(place_one(&f->capacity, &want, &near, true), &f->rooms[2]);
    capacity_take(&f->capacity, &f->rooms[2], &(struct resources){ .cpu_millicores = 700 }, true);
    assert_ptr_equal(place_one(&f->capacity, &want, &near, true), &f->rooms[3]);
    capacity_take(&f->capacity, &f->rooms[3], &(struct resources){ .cpu_millicores = 100 }, true);
    assert_ptr_equal(place_one(&f->capacity, &want, &near, true), &f->rooms[0]);
    fixture_free(f);
}

/* Two nodes of each of two types; GPUs as given. */
static struct fixture *of_two_types(const int64_t gpus[NODES])
{
    struct fixture *f = fixture_new((int64_t[]){ 1000, 1000, 1000, 1000 });

    for (size_t i = 0; i < NODES; i++) {
        struct room_facts facts = f->rooms[i].facts;

        facts.now.gpus = facts.later.gpus = gpus[i];
        f->rooms[i].gpu_type = i < 2 ? 1 : 2;
        (void)capacity_set(&f->capacity, &f->rooms[i], &facts);
    }
    return f;
}

static struct demand of_gpus(uint32_t count, int8_t step_1, int8_t step_2)
{
    return (struct demand){
        .count = count,
        .want = { .need = { .cpu_millicores = 100, .gpus = 1 },
                  .order = { .step = { [1] = step_1, [2] = step_2 } } },
    };
}

static uint32_t n_of_type(const struct placed *placed, size_t n, uint8_t type)
{
    uint32_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += placed[i].room->gpu_type == type;
    return found;
}

TEST(test_gang_goes_to_the_types_that_are_best_for_it)
{
    struct fixture *f = of_two_types((int64_t[]){ 1, 1, 4, 4 });
    struct demand demand = of_gpus(3, 0, -9);
    struct placed placed[5];

    /* one node would hold it, of a type that is slow for it */
    assert_true(place_gang(&f->capacity, &demand, 1, true, placed));
    assert_int_equal(n_of_type(placed, 3, 1), 2);
    capacity_roll_back(&f->capacity, 0);
    demand = of_gpus(3, 0, -2); /* not much slower: together */
    assert_true(place_gang(&f->capacity, &demand, 1, true, placed));
    assert_int_equal(n_of_type(placed, 3, 2), 3);
    assert_ptr_equal(placed[0].room, placed[2].room);
    capacity_roll_back(&f->capacity, 0);
    fixture_free(f);
}

TEST(test_selector_keeps_to_the_nodes_that_carry_it)
{
    struct fixture *f = fixture_new((int64_t[]){ 1000, 1000, 500, 2000 });
    struct role_spec role = { .cpu_millicores = 600 };
    struct near near = { 0 };
    struct want want;

    assert_int_equal(role_select(&role, LABEL_RACK, "r1", NULL), 0);
    want = want_of_role(&role);
    assert_ptr_equal(place_one(&f->capacity, &want, &near, true), &f->rooms[3]);
    near_add(&near, &f->rooms[0]);
    assert_ptr_equal(place_one(&f->capacity, &want, &near, true), &f->rooms[3]);
    assert_int_equal(role_select(&role, LABEL_RACK, "r9", NULL), 0);
    want = want_of_role(&role);
    assert_null(place_one(&f->capacity, &want, &near, true));
    free(role.selector);
    fixture_free(f);
}

TEST(test_ports_go_round_and_skip_used_ones)
{
    struct node node = { .offer = { .port_first = 65533, .port_last = 65535 }, .port_next = 65534 };
    struct process process = { .ports = { 65535 }, .n_ports = 1 };
    uint16_t ports[3];

    assert_true(node_pick_ports(&node, 3, ports));
    assert_int_equal(ports[0], 65534);
    assert_int_equal(ports[2], 65533);
    process.node_prev = &process;
    node.processes = &process;
    assert_false(node_pick_ports(&node, 3, ports));
    assert_true(node_pick_ports(&node, 2, ports));
    assert_true(ports[0] != 65535 && ports[1] != 65535 && ports[0] != ports[1]);
    node.offer.port_first = 0;
    assert_false(node_pick_ports(&node, 1, ports));
    assert_true(node_pick_ports(&node, 0, ports));
}

TEST(test_describe_exit_says_what_upstream_said)
{
    char text[100];

    process_describe_exit(1, 0, text, sizeof text);
    assert_string_equal(text, "exit code 1 (General Error)");
    process_describe_exit(0, 11, text, sizeof text);
    assert_string_equal(text, "signal 11 (Segmentation Fault)");
    process_describe_exit(136, 0, text, sizeof text);
    assert_string_equal(text,
                        "exit code 136 (Error Arithmetic Operation(Floating Point Exception))");
    process_describe_exit(7, 0, text, sizeof text);
    assert_string_equal(text, "exit code 7");
}

TEST(test_state_names_round_trip)
{
    for (int i = JOB_QUEUED; i <= JOB_KILLED; i++)
        assert_int_equal(job_state_from_string(job_state_to_string((enum job_state)i)), i);
    for (int i = PROCESS_ASSIGNED; i <= PROCESS_LOST; i++)
        assert_int_equal(process_state_from_string(process_state_to_string((enum process_state)i)),
                         i);
    for (int i = NODE_READY; i <= NODE_QUARANTINED; i++)
        assert_int_equal(node_state_from_string(node_state_to_string((enum node_state)i)), i);
    assert_true(job_state_from_string("nonsense") < 0);
    assert_string_equal(node_state_to_string((enum node_state)99), "?");
}

/* Each has one place, which several may share: together they fit, or they do not. */
TEST(test_pinned_instances_are_counted_on_their_nodes)
{
    const int64_t cpu[NODES] = { 100, 100, 300, 100 };
    char node_2[] = "node-2", node_0[] = "node-0", node_9[] = "node-9";
    char *names[] = { node_2, node_2, node_0, NULL };
    const struct role_spec role = { .nodes = names, .n_nodes = 3 };
    const uint32_t last[] = { 2 };
    struct demand demand = { .count = 3,
                             .want = { .need = { .cpu_millicores = 100 } },
                             .pinned = &role };
    struct fixture *f = fixture_new(cpu);
    struct placed placed[3];

    assert_true(demand_fits(&f->capacity, &demand, true));
    assert_true(place_gang(&f->capacity, &demand, 1, true, placed));
    assert_ptr_equal(placed[0].room, &f->rooms[2]);
    assert_ptr_equal(placed[1].room, &f->rooms[2]);
    assert_ptr_equal(placed[2].room, &f->rooms[0]);
    assert_false(demand_fits(&f->capacity, &demand, true));
    capacity_roll_back(&f->capacity, 0);
    demand.want.need.cpu_millicores = 200; /* one there would, and none on node-0 */
    assert_false(demand_fits(&f->capacity, &demand, true));
    assert_false(place_gang(&f->capacity, &demand, 1, true, NULL));
    assert_int_equal(capacity_mark(&f->capacity), 0);
    demand.count = 2;
    assert_false(demand_fits(&f->capacity, &demand, true));
    demand.count = 1;
    assert_true(demand_fits(&f->capacity, &demand, true));
    demand.want.need.cpu_millicores = 100;
    demand.slots = last;
    assert_true(place_gang(&f->capacity, &demand, 1, true, placed));
    assert_ptr_equal(placed[0].room, &f->rooms[0]);
    capacity_roll_back(&f->capacity, 0);
    names[2] = node_9;
    assert_false(demand_fits(&f->capacity, &demand, true));
    for (size_t i = 0; i < NODES; i++)
        assert_int_equal(f->rooms[i].noted, 0);
    fixture_free(f);
}

TEST(test_a_room_of_another_name_is_none)
{
    const int64_t cpu[NODES] = { 100, 100, 100, 100 };
    const struct want want = { .need = { .cpu_millicores = 100 }, .only = "node-1" };
    struct fixture *f = fixture_new(cpu);
    const struct room *room = capacity_best_fit(&f->capacity, &want, true);

    assert_ptr_equal(room, &f->rooms[1]);
    assert_true(room_carries(room, &want));
    assert_false(room_carries(&f->rooms[0], &want));
    assert_ptr_equal(place_one(&f->capacity, &want,
                               &(struct near){ .rooms = { &f->rooms[0] }, .n = 1 }, true),
                     room);
    capacity_take(&f->capacity, &f->rooms[1], &want.need, true);
    assert_null(capacity_best_fit(&f->capacity, &want, true));
    assert_false(capacity_might_fit(&f->capacity, &want));
    fixture_free(f);
}
