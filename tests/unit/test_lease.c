/* SPDX-License-Identifier: Apache-2.0 */
/* test_lease.c - a scheduler that stood still makes leases longer, and no longer than it has to */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/core/base/permission.h"
#include "scheduler/core/core.h"
#include "scheduler/core/events/scheduler_away.h"
#include "scheduler/core/events/lease.h"
#include "scheduler/core/model/cluster_internal.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

#define LEASE_US (20 * USEC_PER_SEC) /* cluster_world.c */

static uint64_t left_us(const struct world *w, unsigned i)
{
    return cluster_node(w->cluster, w->agents[i].name)->lease_deadline_us - w->now.now_us;
}

static enum node_state state_of(const struct world *w, unsigned i)
{
    return cluster_node(w->cluster, w->agents[i].name)->state;
}

/* Time passes, and nobody is judged yet. */
static void pass(struct world *w, uint64_t us)
{
    w->now.now_us += us;
    w->now.wall_us += us;
}

static void judge(struct world *w)
{
    cluster_tick(w->cluster, w->now);
    world_plan(w);
}

/* Both were heard before, one of them 10 s earlier than the other. */
static struct world *two_nodes(void)
{
    struct world *w = world_new(2, 4000, GIB, 900);

    world_turn(w, 0);
    pass(w, 10 * USEC_PER_SEC);
    world_turn(w, 1);
    return w;
}

TEST(test_silence_of_a_standstill_does_not_count)
{
    struct world *w = two_nodes();
    uint64_t left[2] = { left_us(w, 0), left_us(w, 1) };

    pass(w, 60 * USEC_PER_SEC);
    cluster_stalled(w->cluster, 60 * USEC_PER_SEC, w->now);
    judge(w);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(state_of(w, i), NODE_READY);
        assert_int_equal(left_us(w, i), left[i]);
    }
    assert_int_equal(w->cluster->figures.nodes_lost, 0);
    assert_int_equal(w->cluster->figures.stalls, 1);
    assert_int_equal(w->cluster->figures.stalled_us, 60 * USEC_PER_SEC);
    world_free(w);
}

TEST(test_a_thousand_nodes_need_five_seconds)
{
    struct world *w = world_new(2, 4000, GIB, 900);

    assert_int_equal(cluster_least_lease_us(w->cluster) * 500, 5 * USEC_PER_SEC);
    world_free(w);
}

/* Silence without a word of a standstill: what the first test is there for. */
TEST(test_silence_counts_else)
{
    struct world *w = two_nodes();

    pass(w, 60 * USEC_PER_SEC);
    judge(w);
    assert_int_equal(w->cluster->figures.nodes_lost, 2);
    world_free(w);
}

TEST(test_a_dead_node_is_lost_as_soon_as_it_can_be)
{
    struct world *w = two_nodes();

    pass(w, 60 * USEC_PER_SEC);
    cluster_stalled(w->cluster, 60 * USEC_PER_SEC, w->now);
    world_turn(w, 1);
    pass(w, left_us(w, 0));
    judge(w);
    assert_int_equal(state_of(w, 0), NODE_LOST);
    assert_int_equal(state_of(w, 1), NODE_READY);
    world_free(w);
}

/* What waits in the sockets is read first. */
TEST(test_nobody_is_judged_at_once)
{
    struct world *w = two_nodes();

    pass(w, left_us(w, 0) - 1);
    pass(w, 30 * USEC_PER_SEC);
    cluster_stalled(w->cluster, 30 * USEC_PER_SEC, w->now);
    pass(w, LEASE_US / 8 - 1);
    judge(w);
    assert_int_equal(state_of(w, 0), NODE_READY);
    pass(w, 1);
    judge(w);
    assert_int_equal(state_of(w, 0), NODE_LOST);
    world_free(w);
}

/* One that was read before the standstill was told of has a full lease, not two; hours do not
 * overflow. */
TEST(test_no_lease_is_longer_than_a_full_one)
{
    struct world *w = two_nodes();
    uint64_t full_us;

    pass(w, 60 * USEC_PER_SEC);
    world_turn(w, 1);
    full_us = left_us(w, 1);
    cluster_stalled(w->cluster, 60 * USEC_PER_SEC, w->now);
    assert_int_equal(left_us(w, 1), full_us);
    cluster_stalled(w->cluster, UINT64_MAX, w->now);
    assert_int_equal(left_us(w, 0), full_us);
    world_check(w);
    world_free(w);
}

TEST(test_a_standstill_stores_nothing)
{
    struct world *w = two_nodes();
    size_t n;

    world_commit(w);
    cluster_stalled(w->cluster, 60 * USEC_PER_SEC, w->now);
    (void)cluster_effects(w->cluster, &n);
    assert_int_equal(n, 0);
    assert_false(w->cluster->plan_wanted);
    assert_true(cluster_stall_least_us(w->cluster) < LEASE_US / 4); /* agents report so often */
    world_free(w);
}

/* --- a start --- */

/* restart - with leases of 5 s, as by default; both nodes had one */
static struct world *restart(void)
{
    struct world *w = two_nodes();

    w->cluster->config.lease_us = 5 * USEC_PER_SEC;
    w->cluster->config.lease_margin_us = 1250 * USEC_PER_MSEC;
    world_restart(w);
    return w;
}

/* report - nothing but a sign of life, which repeats this session */
static void report(struct world *w, unsigned i, uint64_t session)
{
    struct node *node = cluster_node(w->cluster, w->agents[i].name);
    struct node_report report = {
        .boot_id = node->boot_id, .offer = node->offer, .session = session, .complete = true
    };

    assert_int_equal(cluster_report(w->cluster, node, &report, w->now, NULL), 0);
}

static uint64_t session_of(const struct world *w, unsigned i)
{
    return cluster_node(w->cluster, w->agents[i].name)->start_session;
}

TEST(test_a_start_waits_for_agents_that_back_off)
{
    struct world *w = restart();

    assert_int_equal(w->cluster->config.lease_us, 5 * USEC_PER_SEC);
    pass(w, 15 * USEC_PER_SEC - 1);
    judge(w);
    assert_int_equal(state_of(w, 0), NODE_READY);
    assert_int_equal(cluster_next_deadline_us(w->cluster), w->now.now_us + 1);
    pass(w, 1);
    judge(w);
    assert_int_equal(state_of(w, 0), NODE_LOST);
    assert_int_equal(state_of(w, 1), NODE_LOST);
    world_free(w);
}

/* That it was heard does not say that it hears. */
TEST(test_a_start_waits_until_its_answer_is_repeated)
{
    struct world *w = restart();
    uint64_t sessions[2] = { session_of(w, 0), session_of(w, 1) };

    assert_true(sessions[0] != 0 && sessions[1] != 0 && sessions[0] != sessions[1]);
    pass(w, 2 * USEC_PER_SEC);
    report(w, 0, 0);
    report(w, 1, sessions[0]); /* another's */
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(left_us(w, i), 13 * USEC_PER_SEC);
    report(w, 1, sessions[1]);
    assert_int_equal(session_of(w, 1), 0);
    assert_int_equal(left_us(w, 1), 6250 * USEC_PER_MSEC);
    world_check(w);
    pass(w, 6250 * USEC_PER_MSEC);
    judge(w);
    assert_int_equal(state_of(w, 0), NODE_READY);
    assert_int_equal(state_of(w, 1), NODE_LOST);
    pass(w, 4 * USEC_PER_SEC); /* the lease of a report is longer by now */
    report(w, 0, 0);
    assert_int_equal(left_us(w, 0), 6250 * USEC_PER_MSEC);
    assert_int_equal(session_of(w, 0), 0);
    world_check(w);
    world_free(w);
}

TEST(test_a_standstill_right_after_a_start_counts_for_nobody)
{
    struct world *w = restart();

    report(w, 1, session_of(w, 1));
    pass(w, 40 * USEC_PER_SEC);
    cluster_stalled(w->cluster, 40 * USEC_PER_SEC, w->now);
    judge(w);
    assert_int_equal(left_us(w, 0), 15 * USEC_PER_SEC);
    assert_int_equal(left_us(w, 1), 6250 * USEC_PER_MSEC);
    world_check(w);
    world_free(w);
}

/* One that is heard while nothing can be stored has no longer lease than it would have else, and a
 * standstill that is told of twice made that of another one longer. */
TEST(test_leases_of_a_start_stay_in_order)
{
    struct world *w = restart();
    struct node *nodes[2];

    for (unsigned i = 0; i < 2; i++)
        nodes[i] = cluster_node(w->cluster, w->agents[i].name);
    pass(w, 10 * USEC_PER_SEC);
    node_extend_lease(w->cluster, nodes[0], w->now);
    assert_int_equal(left_us(w, 0), 6250 * USEC_PER_MSEC);
    pass(w, 2 * USEC_PER_SEC);
    for (int i = 0; i < 2; i++)
        cluster_stalled(w->cluster, 2 * USEC_PER_SEC, w->now);
    pass(w, 1500 * USEC_PER_MSEC);
    node_extend_lease(w->cluster, nodes[1], w->now);
    world_check(w);
    assert_int_equal(left_us(w, 0), 6750 * USEC_PER_MSEC);
    assert_int_equal(left_us(w, 1), 6750 * USEC_PER_MSEC);
    world_free(w);
}

/* leave - in order, for a minute; what is stored is what the next one loads */
static void leave(struct world *w)
{
    cluster_leave(w->cluster, 60 * USEC_PER_SEC);
    world_commit(w);
    world_restart(w);
}

#define AWAY_US (62450 * USEC_PER_MSEC) /* a fiftieth for clocks, and the margin */

TEST(test_the_next_start_waits_for_what_was_told)
{
    struct world *w = restart();

    for (unsigned i = 0; i < 2; i++)
        report(w, i, session_of(w, i));
    leave(w);
    w->now.wall_us += 3600 * USEC_PER_SEC; /* set at the boot; it says nothing */
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(left_us(w, i), AWAY_US);
    pass(w, 30 * USEC_PER_SEC);
    report(w, 0, 0);
    report(w, 1, session_of(w, 1));
    assert_int_equal(left_us(w, 0), AWAY_US - 30 * USEC_PER_SEC);
    assert_int_equal(left_us(w, 1), 6250 * USEC_PER_MSEC);
    assert_int_equal(w->cluster->away_us, 60 * USEC_PER_SEC);
    pass(w, 32450 * USEC_PER_MSEC - 1);
    judge(w);
    assert_int_equal(state_of(w, 0), NODE_READY);
    assert_int_equal(state_of(w, 1), NODE_LOST);
    pass(w, 1);
    judge(w);
    assert_int_equal(state_of(w, 0), NODE_LOST);
    assert_int_equal(w->cluster->away_us, 0); /* it is over for all */
    world_commit(w);
    world_restart(w);
    assert_int_equal(w->cluster->away_us, 0);
    world_free(w);
}

/* A crash meanwhile forgets nothing, and the wait begins anew. */
TEST(test_what_was_told_outlasts_a_crash)
{
    struct world *w = restart();

    leave(w);
    report(w, 1, session_of(w, 1));
    pass(w, 10 * USEC_PER_SEC);
    world_commit(w);
    world_restart(w);
    assert_int_equal(left_us(w, 0), AWAY_US);
    world_free(w);
}

/* A second stop, before all have heard that the first is over, for a shorter time. */
TEST(test_a_shorter_absence_does_not_end_a_longer_one)
{
    struct world *w = restart();

    leave(w);
    report(w, 1, session_of(w, 1));
    cluster_leave(w->cluster, USEC_PER_SEC);
    assert_int_equal(w->cluster->away_us, 60 * USEC_PER_SEC);
    world_commit(w);
    world_restart(w);
    for (unsigned i = 0; i < 2; i++)
        report(w, i, session_of(w, i));
    assert_int_equal(w->cluster->away_us, 0);
    cluster_leave(w->cluster, USEC_PER_SEC);
    assert_int_equal(w->cluster->away_us, USEC_PER_SEC);
    cluster_leave(w->cluster, UINT64_MAX);
    assert_int_equal(w->cluster->away_us, CLUSTER_AWAY_MOST_US);
    world_free(w);
}

TEST(test_without_nodes_nobody_is_waited_for)
{
    struct world *w = restart();

    pass(w, 15 * USEC_PER_SEC);
    judge(w);
    cluster_leave(w->cluster, 60 * USEC_PER_SEC);
    assert_int_equal(w->cluster->away_us, 0);
    world_free(w);
}

/* --- a leader that follows another --- */

TEST(test_a_new_leader_waits_for_the_permission_of_the_one_before)
{
    struct world *w = restart();

    w->cluster->config.follows_leader = true;
    world_restart(w);
    assert_int_equal(left_us(w, 0), 15 * USEC_PER_SEC); /* longer than 13 s of it */
    w->cluster->config.lease_us = 42 * USEC_PER_SEC;
    world_restart(w);
    assert_int_equal(left_us(w, 0), 52250 * USEC_PER_MSEC); /* 8 + 42, a fiftieth, the margin */
    w->cluster->config.follows_leader = false;
    world_restart(w);
    assert_int_equal(left_us(w, 0), 43250 * USEC_PER_MSEC);
    world_free(w);
}

/* The one before may tell it until its permission ends. */
TEST(test_a_new_leader_waits_longer_for_what_was_told)
{
    struct world *w = restart();

    w->cluster->config.follows_leader = true;
    leave(w);
    assert_int_equal(left_us(w, 0), AWAY_US + PERMISSION_US + PERMISSION_US / 50);
    world_free(w);
}
