/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy_asked.c - after it moved somebody the policy waits, and nothing is forgotten
 *
 * A job holds a whole node. The node has more cores twice, a second apart. */
#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/plan/planner.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

#define CORE UINT64_C(1000) /* millicores, of one instance */
#define CORES 4             /* of the node at first */
#define MORE 2              /* each time */

struct stage {
    struct world *w;
    struct job *job;
    uint64_t moved_us;
};

static void wait_s(struct stage *s, int seconds)
{
    while (seconds-- > 0)
        world_second(s->w);
}

static void more_cores(struct stage *s)
{
    s->w->agents[0].offer.cpu_millicores += MORE * CORE;
    world_turn(s->w, 0);
}

static void begin(struct stage *s)
{
    *s = (struct stage){ .w = world_new(1, CORES * CORE, GIB, 1000) };
    world_run(s->w, 1);
    s->job = world_submit(s->w, world_spec("job", 1, 4 * CORES, CORE, 0, 0));
    wait_s(s, 20);
    assert_int_equal(job_count_running(s->job, 0), CORES);
    more_cores(s);
    assert_int_equal(job_count(s->job, 0, false), CORES + MORE); /* that did not wait */
    s->moved_us = s->w->cluster->planner->moved_us;
    assert_int_equal(s->moved_us, s->w->now.now_us);
    wait_s(s, 1);
}

static void end(struct stage *s)
{
    world_free(s->w);
}

/* Nobody reports anything more: time alone brings it. */
TEST(test_room_is_handed_out_when_the_time_has_come)
{
    struct stage s;
    struct cluster *copy;
    uint64_t due_us;

    begin(&s);
    more_cores(&s);
    assert_int_equal(job_count(s.job, 0, false), CORES + MORE);
    due_us = cluster_next_deadline_us(s.w->cluster);
    assert_int_equal(due_us, s.moved_us + 2 * USEC_PER_SEC);
    copy = cluster_clone(s.w->cluster, s.w->now);
    assert_int_equal(cluster_next_deadline_us(copy), due_us);
    (void)cluster_free(copy);
    world_advance(s.w, due_us - s.w->now.now_us);
    assert_int_equal(job_count(s.job, 0, false), CORES + 2 * MORE);
    assert_int_equal(s.w->cluster->planner->moved_us, due_us);
    end(&s);
}

/* Then there is nothing left to ask. */
TEST(test_who_has_nothing_to_ask_does_not_wake)
{
    struct stage s;

    begin(&s);
    wait_s(&s, 20);
    assert_int_equal(deadline_at(&s.w->cluster->planner->asked), NEVER_US);
    assert_int_equal(s.w->cluster->planner->moved_us, s.moved_us);
    end(&s);
}

/* Foreign load passes the limit of half of all cores, on a node that has room for it: that cannot
 * wait. */
TEST(test_over_a_limit_it_is_asked_at_once)
{
    struct stage s = { .w = world_new(2, CORES * CORE, GIB, 500) };
    uint64_t most = (2 * CORES + MORE) / 2;
    size_t idle;

    s.job = world_submit(s.w, world_spec("job", 1, 4 * CORES, CORE, 0, 0));
    wait_s(&s, 20);
    more_cores(&s);
    assert_int_equal(job_count(s.job, 0, false), most);
    wait_s(&s, 1);
    idle = cluster_node(s.w->cluster, "node-1")->cpu_granted_millicores > MORE * CORE ? 0 : 1;
    s.w->agents[idle].foreign_cpu_millicores = MORE * CORE;
    world_turn(s.w, idle);
    assert_int_equal(s.w->cluster->planner->moved_us, s.w->now.now_us);
    assert_int_equal(job_count(s.job, 0, false), most - MORE);
    end(&s);
}

/* A gang waits for room that others are to make. */
TEST(test_for_a_gang_it_is_asked_at_once)
{
    struct stage s;
    struct job *gang;

    begin(&s);
    gang = world_submit(s.w, world_spec("gang", CORES, CORES, CORE, 0, 0));
    assert_int_equal(job_count(s.job, 0, false), MORE);
    wait_s(&s, 4);
    assert_int_equal(job_count_running(gang, 0), CORES);
    assert_int_equal(job_count_running(s.job, 0), MORE);
    end(&s);
}
