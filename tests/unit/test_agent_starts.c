/* SPDX-License-Identifier: Apache-2.0 */
/* test_agent_starts.c - what thousands of processes cost the core of an agent, and how many of
 * their starts are under way at a time */
#include <stdint.h>
#include <stdlib.h>

#include "agent/core/agent_core.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define LEASE (9 * USEC_PER_SEC)
#define START (100 * USEC_PER_SEC)
#define MANY 4000U

static struct agent_core *core;
static uint64_t now;
static struct process_id started[MANY]; /* in the order in which they were given */
static size_t n_started;

static const struct agent_facts running = { .phase = AGENT_RUNNING, .found = true };
static const struct agent_facts gone = { .phase = AGENT_GONE, .exit_code = 1 };

static struct process_id id_of(uint32_t index)
{
    return (struct process_id){
        .job_id = 1 + index / 4, .role = "trainer", .index = index % 4, .incarnation = 1
    };
}

/* take - the ids of what is to be started go to started */
static void take(void)
{
    struct agent_action action;

    while (agent_core_take(core, &action)) {
        if (action.kind != AGENT_START)
            continue;
        assert_true(n_started < MANY);
        started[n_started++] = action.id;
    }
}

static void order(uint32_t first, uint32_t n)
{
    struct reconcile_order *orders = xcalloc(n, sizeof *orders);

    for (uint32_t i = 0; i < n; i++)
        orders[i] = (struct reconcile_order){ id_of(first + i), true, USEC_PER_SEC, 0 };
    agent_core_orders(core, orders, n, now, now);
    free(orders);
    take();
}

static void observe(const struct process_id *id, const struct agent_facts *facts)
{
    agent_core_observed(core, id, facts, now);
    take();
}

static int setup(void **state)
{
    (void)state;
    now = START;
    n_started = 0;
    core = agent_core_new((struct lease_word){ 0 });
    agent_core_reported(core, now, LEASE, true, now);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    core = agent_core_free(core);
    return 0;
}

TEST_EACH(setup, teardown);

TEST(test_starts_under_way_are_bounded)
{
    order(0, MANY);
    assert_int_equal(n_started, AGENT_STARTS_MAX);
    observe(&started[3], &running);
    assert_int_equal(n_started, AGENT_STARTS_MAX + 1);
    observe(&started[3], &gone); /* it was not under way any more */
    assert_int_equal(n_started, AGENT_STARTS_MAX + 1);
    observe(&started[4], &gone); /* too short to be seen running */
    assert_int_equal(n_started, AGENT_STARTS_MAX + 2);
    agent_core_start_failed(core, &started[5], START_FAULT_NODE, "cannot", now);
    take();
    assert_int_equal(n_started, AGENT_STARTS_MAX + 3);
}

/* order_of - n processes of each of so many owners, one after the other */
static void order_of(uint32_t owners, uint32_t n)
{
    struct reconcile_order *orders = xcalloc((size_t)owners * n, sizeof *orders);

    for (uint32_t i = 0; i < owners * n; i++)
        orders[i] = (struct reconcile_order){ id_of(i), true, USEC_PER_SEC, 1 + i / n };
    agent_core_orders(core, orders, (size_t)owners * n, now, now);
    free(orders);
    take();
}

/* n_of - how many of these are the owner's */
static size_t n_of(uint32_t owner, uint32_t n, size_t first)
{
    size_t found = 0;

    for (size_t i = first; i < n_started; i++) {
        uint32_t at = (uint32_t)(started[i].job_id - 1) * 4 + started[i].index;

        found += 1 + at / n == owner;
    }
    return found;
}

TEST(test_slow_starts_of_one_owner_leave_room_for_others)
{
    order_of(1, 1000);
    assert_int_equal(n_started, AGENT_STARTS_MAX); /* all of them slow */
    order_of(3, 1000);
    assert_int_equal(n_of(1, 1000, 0), AGENT_STARTS_MAX);
    assert_true(n_of(2, 1000, 0) >= AGENT_STARTS_MAX / 4);
    assert_true(n_of(3, 1000, 0) >= AGENT_STARTS_MAX / 8);
    assert_true(n_started < (size_t)2 * AGENT_STARTS_MAX);
}

TEST(test_owners_take_turns)
{
    size_t first;

    order_of(2, 1000);
    first = n_started;
    for (size_t i = 0; i < 600; i++)
        observe(&started[i], &gone);
    assert_in_range(n_of(2, 1000, first), (n_started - first) / 2 - 30,
                    (n_started - first) / 2 + 30);
}

TEST(test_each_starts_in_its_turn)
{
    order(0, MANY);
    for (size_t i = 0; i < MANY; i++) {
        const struct process_id id = id_of((uint32_t)i);

        assert_true(i < n_started);
        assert_true(process_id_equal(&started[i], &id));
        observe(&started[i], &gone);
        if (i % 100 == 0) { /* looks at all, and keeps the turns */
            agent_core_reported(core, now, LEASE, true, now);
            take();
        }
    }
    assert_int_equal(n_started, MANY);
}

TEST(test_held_start_that_is_not_wanted_any_more)
{
    order(0, AGENT_STARTS_MAX + 2);
    order(0, AGENT_STARTS_MAX + 1);
    observe(&started[0], &running);
    observe(&started[1], &running);
    assert_int_equal(n_started, AGENT_STARTS_MAX + 1);
}

TEST(test_slow_starts_hold_nobody_up)
{
    order(0, AGENT_STARTS_MAX + 2);
    now += LEASE / 2;
    agent_core_reported(core, now, LEASE, true, now);
    now += AGENT_START_SLOW_US - LEASE / 2 - 1;
    agent_core_reported(core, now, LEASE, true, now);
    take();
    assert_int_equal(n_started, AGENT_STARTS_MAX);
    now++;
    agent_core_reported(core, now, LEASE, true, now);
    take();
    assert_int_equal(n_started, AGENT_STARTS_MAX + 2);
}

TEST(test_start_that_waits_holds_nobody_up)
{
    order(0, AGENT_STARTS_MAX + 2);
    agent_core_start_waits(core, &started[7], now);
    take();
    assert_int_equal(n_started, AGENT_STARTS_MAX + 1);
    assert_true(agent_core_start_late(core, &started[7], now)); /* it is counted again */
    observe(&started[0], &running);
    assert_int_equal(n_started, AGENT_STARTS_MAX + 1);
    observe(&started[1], &running);
    assert_int_equal(n_started, AGENT_STARTS_MAX + 2);
}

/* One archive may be what thousands wait for: with it there, they find no room beyond the others'.
 */
TEST(test_late_starts_find_the_same_room)
{
    order(0, AGENT_STARTS_MAX + 1);
    assert_false(agent_core_may_start_more(core, 0));
    agent_core_start_waits(core, &started[7], now);
    take(); /* another has its place */
    assert_false(agent_core_may_start_more(core, 0));
    observe(&started[0], &running);
    assert_true(agent_core_may_start_more(core, 0));
    assert_true(agent_core_start_late(core, &started[7], now));
    assert_false(agent_core_may_start_more(core, 0));
}

TEST(test_no_start_is_left_behind_when_the_lease_is_over)
{
    order(0, AGENT_STARTS_MAX + 1);
    now += LEASE;
    observe(&started[0], &running);
    assert_int_equal(n_started, AGENT_STARTS_MAX);
    agent_core_reported(core, now, LEASE, true, now);
    order(0, AGENT_STARTS_MAX + 1);
    assert_int_equal(n_started, AGENT_STARTS_MAX + 1);
}

/* Comparisons, not time: what grows with orders times units is 16 million here. */
TEST(test_cost_is_that_of_what_changed)
{
    uint64_t before;

    order(0, MANY);
    assert_true(agent_core_compared(core) <= MANY + 8 * AGENT_STARTS_MAX);
    for (size_t i = 0; i < MANY; i++)
        observe(&started[i], &running);
    before = agent_core_compared(core);
    observe(&started[MANY / 2], &gone);
    assert_true(agent_core_compared(core) - before <= 8);
    before = agent_core_compared(core);
    agent_core_reported(core, now, LEASE, true, now);
    assert_true(agent_core_compared(core) - before <= 4 * MANY);
}
