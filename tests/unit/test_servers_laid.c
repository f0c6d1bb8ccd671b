/* SPDX-License-Identifier: Apache-2.0 */
/* test_servers_laid.c - parameters lie on as many servers as their job began with */
#include <stdio.h>

#include "scheduler/core/ask/forecast.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_servers.h"
#include "scheduler/core/model/job_sm.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static struct job *submit(struct world *w)
{
    return world_submit(w, world_spec("one", 2, 4, 200, 2, 500));
}

static void set_nodes(struct world *w, enum node_state state)
{
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(cluster_set_node_state(w->cluster,
                                                cluster_node(w->cluster, w->agents[i].name), state,
                                                w->now, NULL),
                         0);
}

static uint32_t servers(const struct job *job)
{
    return (uint32_t)spec_servers(job->spec);
}

static int scale(struct world *w, struct job *job, uint32_t n, struct edl_error *error)
{
    return cluster_scale_job(w->cluster, job, "pserver", n, n, w->now, error);
}

/* In the plan that people ask for as well as in earnest, and nothing of it stays. */
static void assert_refused(struct world *w, struct job *job, uint32_t n, const char *remedy)
{
    const struct job_change change = { .scale = true, .role = "pserver", .min = n, .max = n };
    uint32_t min = job->spec->roles[servers(job)].min;
    struct edl_error error = { 0 };
    struct forecast forecast = { 0 };

    assert_int_equal(scale(w, job, n, &error), EDL_EBADTRANSITION);
    assert_string_equal(error.pointer, "/min");
    assert_non_null(strstr(error.text, "the parameters of job one lie on 2 parameter servers"));
    assert_non_null(strstr(error.remedy, remedy));
    error = (struct edl_error){ 0 };
    assert_int_equal(cluster_forecast_change(w->cluster, job, &change, w->now, NULL, &forecast,
                                             &error),
                     EDL_EBADTRANSITION);
    assert_non_null(strstr(error.text, "the parameters of job one lie on 2 parameter servers"));
    forecast_done(&forecast);
    assert_int_equal(job->spec->roles[servers(job)].min, min);
}

TEST(test_number_stays_once_the_job_began)
{
    struct world *w = world_new(4, 2500, GIB, 900);
    struct job *job = submit(w);
    struct edl_error error = { 0 };

    world_plan(w);
    assert_int_equal(job->state, JOB_STARTING);
    assert_refused(w, job, 3, "edl scale one MIN:MAX changes its trainers; for 3 servers kill it");
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_refused(w, job, 3, "for 3 servers kill it and submit it anew");
    assert_refused(w, job, 1, "for 1 server kill it and submit it anew");
    assert_int_equal(cluster_scale_job(w->cluster, job, "pserver", 2, 4, w->now, &error),
                     EDL_EBADTRANSITION);
    assert_string_equal(error.pointer, "/max"); /* and what it asked for is told */
    assert_non_null(strstr(error.text, "it cannot go on with 4"));
    assert_non_null(strstr(error.remedy, "for 4 servers kill it"));
    assert_int_equal(scale(w, job, 2, NULL), 0); /* which changes nothing */
    assert_int_equal(cluster_scale_job(w->cluster, job, "trainer", 3, 3, w->now, NULL), 0);
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job_count_running(job, servers(job)), 2);
    world_free(w);
}

/* Its checkpoint is divided as its parameters were. */
TEST(test_number_stays_when_the_job_is_queued_again)
{
    struct world *w = world_new(4, 2500, GIB, 900);
    struct job *job = submit(w);

    world_run(w, 6);
    set_nodes(w, NODE_CORDONED);
    job_stop(w->cluster, job, w->now, INTENT_REQUEUED, CAUSE_HALF_GANG, "for a test");
    world_run(w, 6);
    assert_int_equal(job->state, JOB_QUEUED);
    assert_refused(w, job, 3, "for 3 servers");
    world_restart(w);
    assert_refused(w, cluster_find_job(w->cluster, "one"), 3, "for 3 servers");
    world_free(w);
}

TEST(test_number_is_free_before_the_job_began)
{
    struct world *w = world_new(4, 2500, GIB, 900);
    struct job *job;

    set_nodes(w, NODE_CORDONED);
    job = submit(w);
    world_run(w, 1);
    assert_int_equal(job->state, JOB_QUEUED);
    assert_int_equal(scale(w, job, 3, NULL), 0);
    set_nodes(w, NODE_READY);
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job_count_running(job, servers(job)), 3);
    assert_int_equal(job_servers_laid(job), 3);
    world_free(w);
}

/* As an earlier scheduler did: it gave the job another server and had its trainers fail. */
static struct job *wedge(struct world *w)
{
    struct job *job = submit(w);
    struct role_spec *role = &job->spec->roles[servers(job)];

    world_run(w, 6);
    world_second(w);
    role->min = role->max = 3;
    job_grow_slots(job, servers(job), 3);
    effect_save_spec(w->cluster, job);
    job_touch(w->cluster, job);
    w->cluster->plan_wanted = true;
    world_run(w, 6);
    assert_int_equal(job_count_running(job, servers(job)), 3);
    for (unsigned i = 0; i < 3; i++) {
        world_exit(w, world_live(job, "trainer", 0), 2, 0);
        world_exit(w, world_live(job, "trainer", 1), 2, 0);
        for (unsigned s = 0; s < 2U << i; s++)
            world_second(w);
        world_run(w, 3);
    }
    world_restart(w);
    for (unsigned s = 0; s < 3; s++)
        world_second(w);
    return cluster_find_job(w->cluster, "one");
}

TEST(test_job_with_a_wrong_number_recovers)
{
    struct world *w = world_new(4, 2500, GIB, 900);
    struct job *job = wedge(w);
    uint32_t trainer = (uint32_t)job_spec_role(job->spec, "trainer");

    assert_int_equal(job->slots[trainer][0].failures, 3);
    assert_refused(w, job, 4, "edl scale one 2 --role pserver makes it whole again");
    assert_refused(w, job, 3, "edl scale one 2 --role pserver");
    world_exit(w, world_live(job, "trainer", 0), 2, 0); /* it would be back in 8 s */
    assert_int_equal(scale(w, job, 2, NULL), 0);
    assert_int_equal(job->slots[trainer][0].failures, 0);
    for (unsigned i = 0; i < 3; i++) {
        world_second(w);
        world_run(w, 3);
    }
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job_count_running(job, servers(job)), 2);
    assert_true(job_count_running(job, trainer) >= 2);
    assert_int_equal(job->target[servers(job)], 2); /* what trainers ask for */
    world_check(w);
    world_free(w);
}
