/* SPDX-License-Identifier: Apache-2.0 */
/* test_groups_random.c - many random events with groups whose shares and members change, also with
 * limits of groups and users: the invariants after each, a full plan changes nothing, a copy plans
 * as the original, a restart remembers all
 *
 * EDL_SEED and EDL_EVENTS choose the run; the seed is printed. */
#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/plan/start.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"
#include "tests/unit/world_storm.h"

#define EVENTS 12000
#define ACTIVE_MAX 16
#define KINDS_SEEDS 12
#define KINDS_MAX 180

static const char *const users[] = { "ann", "ben", "cyd", "dan", "eve" };
static const char *const names[] = { "one", "two", "three", "" };
static struct group_table *table;
static bool with_limits; /* of groups and users, beside the shares */

static struct owner_limits some_limits(struct world *w)
{
    struct owner_limits limits = { 0 };

    if (with_limits && world_random(w, 2) == 0)
        limits.cpu_millicores = 1000 * (1 + world_random(w, 12));
    return limits;
}

static void regroup(struct world *w)
{
    struct group_table *old = table;
    struct group_spec specs[3];
    struct group_member members[ELEMENTS(users)];
    uint32_t left = 1000;
    size_t n = (size_t)world_random(w, 4);

    for (size_t i = 0; i < n; i++) {
        specs[i] = (struct group_spec){ .guaranteed_permille = (uint32_t)world_random(w, left + 1),
                                        .weight = 1 + (uint32_t)world_random(w, 4) };
        left -= specs[i].guaranteed_permille;
        specs[i].limits = some_limits(w);
        (void)snprintf(specs[i].name, sizeof specs[i].name, "%s", names[i]);
    }
    for (size_t i = 0; i < ELEMENTS(users); i++)
        members[i] = (struct group_member){ users[i], names[world_random(w, ELEMENTS(names))] };
    table = n > 0 || with_limits ? group_table_new(specs, n, members, ELEMENTS(users)) : NULL;
    for (size_t i = 0; with_limits && i < ELEMENTS(users); i++) {
        const struct owner_limits limits = some_limits(w);

        group_table_limit_user(table, users[i], &limits);
    }
    cluster_set_groups(w->cluster, table);
    old = group_table_free(old);
}

static void do_submit(struct world *w)
{
    uint32_t min = 1 + (uint32_t)world_random(w, 4);
    struct job_spec *spec;
    char name[16];

    (void)snprintf(name, sizeof name, "job-%" PRIu64, world_random(w, 40));
    spec =
        world_spec(name, min, min + (uint32_t)world_random(w, 10), 100 * (1 + world_random(w, 12)),
                   (uint32_t)world_random(w, 3), 100 * world_random(w, 10));
    spec->fault_tolerant = world_random(w, 5) != 0;
    spec->priority = (int32_t)world_random(w, 3);
    spec->restart_max = (uint32_t)world_random(w, 6);
    spec->passes = 2;
    w->user = users[world_random(w, ELEMENTS(users))];
    storm_submit(w, spec, ACTIVE_MAX);
}

/* What is promised or held back shows where little else happens; of a size that no other has. */
static void calm_down(struct world *w)
{
    struct job_spec *spec;
    char name[16];

    storm_calm(w);
    for (uint64_t n = world_random(w, 20); n > 0; n--)
        world_turn(w, world_random(w, w->n_agents));
    (void)snprintf(name, sizeof name, "odd-%" PRIu64, world_random(w, 40));
    spec = world_spec(name, 1 + (uint32_t)world_random(w, 4), 5, 900, 0, 0);
    spec->passes = 2;
    w->user = users[world_random(w, ELEMENTS(users))];
    storm_submit(w, spec, ACTIVE_MAX);
    for (int i = 0; i < 12; i++) {
        world_turn(w, world_random(w, w->n_agents));
        world_replan(w);
    }
}

static void act(struct world *w)
{
    static const struct storm_event events[] = {
        { 40, storm_turn },   { 8, do_submit },   { 1, storm_kill },
        { 3, storm_scale },   { 4, storm_exit },  { 8, storm_advance },
        { 1, storm_silence }, { 1, storm_boot },  { 2, storm_node_state },
        { 2, storm_foreign }, { 1, regroup },     { 1, storm_remove_or_join },
        { 1, storm_restart }, { 10, storm_work }, { 1, calm_down },
    };

    storm_happen(w, events, ELEMENTS(events));
}

static void plan_with_a_copy(struct world *w)
{
    struct cluster *copy = cluster_clone(w->cluster, w->now);
    struct edl_error error = { 0 };

    if (cluster_check(copy, &error) < 0)
        fail_msg("a copy contradicts itself: %s", error.text);
    cluster_plan(copy, w->now);
    cluster_plan(w->cluster, w->now);
    if (cluster_compare(w->cluster, copy, &error) < 0)
        fail_msg("a copy plans otherwise: %s", error.text);
    (void)cluster_free(copy);
    world_commit(w);
}

TEST(test_random_events_with_groups_keep_invariants)
{
    uint64_t events = storm_number("EDL_EVENTS", EVENTS);
    struct world *w = storm_world(WORLD_NODES);
    unsigned n_told = 0, n_limited = 0;
    const struct job *job;

    w->max_linger = 3;
    regroup(w);
    for (uint64_t i = 0; i < events; i++) {
        act(w);
        storm_archive(w);
        world_check(w);
        if (world_random(w, 8) == 0)
            world_replan(w);
        else if (world_random(w, 4) == 0)
            plan_with_a_copy(w);
        else if (world_random(w, 4) != 0)
            world_plan(w);
        DL_FOREACH2(w->cluster->active, job, active_next)
        {
            n_told += streq(job->reason_code, "group-share");
            n_limited += streq(job->reason_code, "owner-limit");
        }
    }
    print_message("%" PRIu64 " checks, %u jobs, told of shares %u times\n", w->n_checks,
                  (unsigned)w->cluster->next_job_id - 1, n_told);
    assert_true(events < EVENTS || n_told > 0);
    assert_true(events < EVENTS || (n_limited > 0) == with_limits);
    world_free(w);
    table = group_table_free(table);
}

/* And no plan lets an owner hold more (world_plan). */
TEST(test_random_events_with_limits_keep_invariants)
{
    with_limits = true;
    test_random_events_with_groups_keep_invariants(state);
    world_policy = &policy_goodput;
    test_random_events_with_groups_keep_invariants(state);
    world_policy = &policy_fulfilment;
    with_limits = false;
}

TEST(test_random_events_with_groups_and_goodput_keep_invariants)
{
    world_policy = &policy_goodput;
    test_random_events_with_groups_keep_invariants(state);
    world_policy = &policy_fulfilment;
}

/* Almost each is a kind of its own, most of them more than fits beside another; some never fit. */
static void submit_a_kind(struct world *w)
{
    uint32_t min = 1 + (uint32_t)world_random(w, 3);
    struct job_spec *spec;
    char name[16];

    (void)snprintf(name, sizeof name, "kind-%" PRIu64, world_random(w, 100000));
    spec = world_spec(name, min, min + (uint32_t)world_random(w, 3), 300 + world_random(w, 2300), 0,
                      0);
    spec->priority = world_random(w, 2) == 0 ? (int32_t)world_random(w, 3) : 2;
    w->user = users[world_random(w, ELEMENTS(users))];
    storm_submit(w, spec, KINDS_MAX);
}

static void submit_some(struct world *w)
{
    for (uint64_t n = 1 + world_random(w, 4); n > 0; n--)
        submit_a_kind(w);
}

/* All nodes, so that nothing is promised or kept. */
static void shut_or_open(struct world *w)
{
    enum node_state state = world_random(w, 2) == 0 ? NODE_READY : NODE_CORDONED;

    for (size_t i = 0; i < w->n_agents; i++)
        assert_int_equal(cluster_set_node_state(w->cluster,
                                                cluster_node(w->cluster, w->agents[i].name), state,
                                                w->now, NULL),
                         0);
}

/* Where a class stands with groups is known to a plan of the whole queue alone; but as many as are
 * looked at one by one are told what they wait for, and all others that they are behind those. */
static void assert_told(const struct planner *planner)
{
    const struct queue_class *class = queue_after(planner, NULL);
    uint32_t n_told = 0;

    while (class != NULL) {
        const struct queue_key key = queue_key(planner, class);

        n_told += planned_verdict(class->next) != VERDICT_DEEP;
        class = queue_after(planner, &key);
    }
    assert_int_equal(n_told, MIN_OF(planner->queue.n_open, QUEUE_DEPTH));
}

static void settle(struct world *w)
{
    world_plan(w);
    for (int i = 0; w->cluster->plan_wanted; i++) {
        if (i == 4)
            fail_msg("not settled after %d turns more", i);
        world_plan(w);
    }
}

static void many_kinds(uint64_t seed)
{
    static const struct storm_event fills[] = {
        { 20, submit_some },     { 4, storm_kill }, { 4, storm_scale },
        { 4, storm_prioritise }, { 2, storm_exit }, { 4, storm_turn },
        { 1, storm_node_state }, { 1, regroup },    { 2, shut_or_open },
    };
    static const struct storm_event drains[] = {
        { 2, submit_some },      { 20, storm_kill }, { 4, storm_scale },
        { 4, storm_prioritise }, { 1, storm_turn },  { 1, regroup },
    };
    struct world *w = world_new(WORLD_NODES, 2500, GIB, 900);

    print_message("seed %" PRIu64 "\n", seed);
    w->seed = seed * 7919;
    w->replay_every = 50;
    regroup(w);
    for (int i = 0; i < KINDS_MAX; i++)
        submit_a_kind(w);
    for (int i = 0; i < 240; i++) {
        if (i / 40 % 2 == 0)
            storm_happen(w, drains, ELEMENTS(drains));
        else
            storm_happen(w, fills, ELEMENTS(fills));
        settle(w);
        if (!with_limits) /* jobs beyond these are told so, and count as none of the depth */
            assert_told(w->cluster->planner);
        if (world_random(w, 12) == 0)
            world_replan(w);
    }
    world_free(w);
    table = group_table_free(table);
}

/* More kinds of jobs wait than are looked at one by one, and which groups go first changes: the
 * words are those that a plan from the start would leave, and it leaves what is running. */
TEST(test_more_kinds_than_the_depth_with_groups)
{
    for (uint64_t seed = 1; seed <= KINDS_SEEDS; seed++) {
        world_policy = seed % 2 == 0 ? &policy_goodput : &policy_fulfilment;
        many_kinds(seed);
    }
    world_policy = &policy_fulfilment;
}

TEST(test_more_kinds_than_the_depth_with_limits)
{
    with_limits = true;
    test_more_kinds_than_the_depth_with_groups(state);
    with_limits = false;
}
