/* SPDX-License-Identifier: Apache-2.0 */
/* test_placement.c - best fit, gangs as a whole, ports */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "scheduler/core/core_internal.h"

static struct rooms make_rooms(struct room *items, size_t n)
{
    return (struct rooms){ .items = items, .n = n };
}

static struct room make_room(int64_t now_cpu, int64_t later_cpu, int64_t gpus)
{
    struct room room = {
        .now = { .cpu_millicores = now_cpu, .memory_bytes = 1000, .gpus = gpus, .ports = 4 }
    };

    room.later = room.now;
    room.later.cpu_millicores = later_cpu;
    return room;
}

static void test_best_fit_takes_the_tightest_that_fits(void **state)
{
    struct room items[] = { make_room(3000, 3000, 0), make_room(500, 500, 0),
                            make_room(1000, 1000, 0) };
    struct rooms rooms = make_rooms(items, ELEMENTS(items));
    struct resources need = { .cpu_millicores = 800, .memory_bytes = 10 };

    (void)state;
    assert_ptr_equal(rooms_best_fit(&rooms, &need, true), &items[2]);
    need.cpu_millicores = 3001;
    assert_null(rooms_best_fit(&rooms, &need, true));
    need.cpu_millicores = 1;
    need.memory_bytes = 1001;
    assert_null(rooms_best_fit(&rooms, &need, true));
}

static void test_best_fit_spares_gpus(void **state)
{
    struct room items[] = { make_room(1000, 1000, 4), make_room(3000, 3000, 0),
                            make_room(3000, 3000, 2) };
    struct rooms rooms = make_rooms(items, ELEMENTS(items));
    struct resources need = { .cpu_millicores = 800 };

    (void)state;
    assert_ptr_equal(rooms_best_fit(&rooms, &need, true), &items[1]);
    need.gpus = 1;
    assert_ptr_equal(rooms_best_fit(&rooms, &need, true), &items[2]);
}

static void test_best_fit_now_needs_room_that_is_not_promised(void **state)
{
    struct room items[] = { make_room(1000, 400, 0) /* 600 promised */,
                            make_room(0, 1000, 0) /* being freed */ };
    struct rooms rooms = make_rooms(items, ELEMENTS(items));
    struct resources need = { .cpu_millicores = 500 };

    (void)state;
    assert_null(rooms_best_fit(&rooms, &need, true));
    assert_ptr_equal(rooms_best_fit(&rooms, &need, false), &items[1]);
    need.cpu_millicores = 400;
    assert_ptr_equal(rooms_best_fit(&rooms, &need, true), &items[0]);
}

static void test_fit_ignores_debts_of_what_is_not_needed(void **state)
{
    struct resources have = { .cpu_millicores = 100, .memory_bytes = -5 };
    struct resources need = { .cpu_millicores = 100 };

    (void)state;
    assert_true(resources_fit(&have, &need));
    need.memory_bytes = 1;
    assert_false(resources_fit(&have, &need));
}

static void test_gang_demands_puts_pservers_first_then_larger(void **state)
{
    struct job_spec spec = { .n_roles = 3,
                             .roles = { { .name = "trainer", .min = 1, .cpu_millicores = 200 },
                                        { .name = "teacher", .min = 2, .cpu_millicores = 900 },
                                        { .name = "pserver", .min = 3, .cpu_millicores = 100 } } };
    struct demand demands[JOB_ROLES_MAX];

    (void)state;
    assert_int_equal(gang_demands(&spec, demands), 3);
    assert_int_equal(demands[0].role, 2);
    assert_int_equal(demands[0].count, 3);
    assert_int_equal(demands[1].role, 1);
    assert_int_equal(demands[2].role, 0);
}

static void test_gang_is_placed_as_a_whole_or_leaves_rooms_untouched(void **state)
{
    struct room items[] = { make_room(1000, 1000, 0), make_room(1000, 1000, 0) };
    struct rooms rooms = make_rooms(items, ELEMENTS(items));
    struct demand demand = { .count = 3, .need = { .cpu_millicores = 600 } };
    struct placed placed[3];
    size_t n;

    (void)state;
    assert_false(rooms_place_gang(&rooms, &demand, 1, true, placed, &n));
    assert_int_equal(n, 2);
    assert_int_equal(items[0].now.cpu_millicores, 1000);
    assert_int_equal(items[1].later.cpu_millicores, 1000);
    demand.need.cpu_millicores = 500;
    assert_true(rooms_place_gang(&rooms, &demand, 1, true, placed, &n));
    assert_int_equal(n, 3);
    assert_ptr_equal(placed[0].room, placed[1].room);
    assert_ptr_equal(placed[2].room, &items[1]);
}

static void test_ports_go_round_and_skip_used_ones(void **state)
{
    struct node node = { .offer = { .port_first = 65533, .port_last = 65535 }, .port_next = 65534 };
    struct process process = { .ports = { 65535 }, .n_ports = 1 };
    uint16_t ports[3];

    (void)state;
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

static void test_describe_exit_says_what_upstream_said(void **state)
{
    char text[100];

    (void)state;
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

static void test_state_names_round_trip(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_best_fit_takes_the_tightest_that_fits),
        cmocka_unit_test(test_best_fit_spares_gpus),
        cmocka_unit_test(test_best_fit_now_needs_room_that_is_not_promised),
        cmocka_unit_test(test_fit_ignores_debts_of_what_is_not_needed),
        cmocka_unit_test(test_gang_demands_puts_pservers_first_then_larger),
        cmocka_unit_test(test_gang_is_placed_as_a_whole_or_leaves_rooms_untouched),
        cmocka_unit_test(test_ports_go_round_and_skip_used_ones),
        cmocka_unit_test(test_describe_exit_says_what_upstream_said),
        cmocka_unit_test(test_state_names_round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
