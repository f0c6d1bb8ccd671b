/* SPDX-License-Identifier: Apache-2.0 */
/* test_hold.c - who grows keeps off the nodes that are kept for a gang which waits for ends
 *
 * A job that grows there and is shrunk elsewhere has its minimum there, and no gang makes that give
 * way. */
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/core/plan/planned.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static struct job_spec *on_node(struct job_spec *spec, const char *where)
{
    assert_int_equal(role_select(&spec->roles[0], "where", where, NULL), 0);
    return spec;
}

static uint32_t n_on(const struct job *job, const char *where)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < job->n_slots[0]; i++) {
        const struct process *process = job->slots[0][i].live;

        n += process != NULL && streq(labels_get(&process->node->offer.labels, "where"), where);
    }
    return n;
}

/* All of node x is kept for a gang, of which a fixed job has six cores still; on y three are free.
 */
struct stage {
    struct world *w;
    struct job *fixed, *gang;
};

static void begin(struct stage *s, const struct policy *policy)
{
    static const char *const labels[] = { "x", "y" };

    world_policy = policy;
    s->w = world_new(2, 10000, GIB, 1000);
    for (size_t i = 0; i < ELEMENTS(labels); i++)
        assert_int_equal(labels_set(&s->w->agents[i].offer.labels, "where", labels[i], NULL), 0);
    world_run(s->w, 1);
    s->fixed = world_submit(s->w, on_node(world_spec("fixed", 1, 1, 6000, 0, 0), "x"));
    (void)world_submit(s->w, on_node(world_spec("other", 1, 1, 7000, 0, 0), "y"));
    world_run(s->w, 4);
    s->gang = world_submit(s->w, on_node(world_spec("gang", 1, 1, 10000, 0, 0), "x"));
    world_run(s->w, 2);
    /* places are chosen when somebody behind it might take them */
    (void)world_submit(s->w, on_node(world_spec("behind", 1, 1, 4000, 0, 0), "x"));
    world_run(s->w, 2);
    assert_int_equal(planned_is(s->gang)->n_places, 1);
}

static void end(struct stage *s)
{
    world_free(s->w);
    world_policy = &policy_fulfilment;
}

static void grow_beside(const struct policy *policy)
{
    struct stage s;
    struct job *elastic;

    begin(&s, policy);
    elastic = world_submit(s.w, world_spec("elastic", 1, 8, 1000, 0, 0));
    world_fall_silent(s.w);
    assert_int_equal(n_on(elastic, "y"), 3);
    assert_int_equal(n_on(elastic, "x"), 0);
    assert_int_equal(job_count_running(elastic, 0), 3);
    world_replan(s.w);
    world_exit(s.w, world_live(s.fixed, "trainer", 0), 0, 0);
    world_run(s.w, 6);
    assert_int_equal(s.gang->state, JOB_RUNNING); /* the moment that all of it is free */
    /* nothing is kept for anybody any more */
    assert_int_equal(cluster_kill_job(s.w->cluster, s.gang, NULL, s.w->now, NULL), 0);
    world_fall_silent(s.w);
    assert_int_equal(job_count_running(elastic, 0), 8);
    end(&s);
}

TEST(test_growth_keeps_off_what_is_kept)
{
    grow_beside(&policy_fulfilment);
    grow_beside(&policy_goodput);
}

/* It runs there already when room begins to be kept: it keeps what it has, and takes no more. */
TEST(test_who_is_there_grows_no_further)
{
    struct world *w = world_new(1, 10000, GIB, 1000);
    struct job *elastic = world_submit(w, world_spec("elastic", 2, 2, 1000, 0, 0));
    struct job *fixed = world_submit(w, world_spec("fixed", 1, 1, 5000, 0, 0));
    struct job *gang;

    world_run(w, 6);
    gang = world_submit(w, world_spec("gang", 1, 1, 8000, 0, 0));
    world_run(w, 2);
    (void)world_submit(w, world_spec("behind", 1, 1, 3000, 0, 0));
    world_run(w, 2);
    assert_int_equal(planned_is(gang)->n_places, 1);
    assert_int_equal(cluster_scale_job(w->cluster, elastic, "trainer", 2, 8, w->now, NULL), 0);
    world_run(w, 6);
    assert_int_equal(job_count_running(elastic, 0), 2);
    world_exit(w, world_live(fixed, "trainer", 0), 0, 0);
    world_run(w, 6);
    assert_int_equal(gang->state, JOB_RUNNING);
    assert_int_equal(job_count_running(elastic, 0), 2);
    world_free(w);
}
