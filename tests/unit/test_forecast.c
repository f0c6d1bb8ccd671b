/* SPDX-License-Identifier: Apache-2.0 */
/* test_forecast.c - what a submission, other bounds or a drain would do; nothing is changed by
 * asking
 *
 * That a forecast comes true is tested with many clusters in test_forecast_random.c. */
#include <errno.h>
#include <utlist.h>

#include "scheduler/core/ask/forecast.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

#define GRACE_US (30 * USEC_PER_SEC)

static const struct forecast_options options = { .stop_us = USEC_PER_SEC,
                                                 .start_us = USEC_PER_SEC };

static int forecast_scale(const struct cluster *cluster, const struct job *job, const char *role,
                          uint32_t min, uint32_t max, struct instant now,
                          const struct forecast_options *with, struct forecast *ret,
                          struct edl_error *error)
{
    const struct job_change change = { .scale = true, .role = role, .min = min, .max = max };

    return cluster_forecast_change(cluster, job, &change, now, with, ret, error);
}

static struct job_spec *spec_of(const char *name, uint32_t min, uint32_t max, uint64_t cpu)
{
    struct job_spec *spec = world_spec(name, min, max, cpu, 0, 0);

    spec->grace_us = GRACE_US;
    return spec;
}

static struct forecast forecast_of(const struct world *w, const char *name, uint32_t min,
                                   uint32_t max, uint64_t cpu)
{
    struct job_spec *spec = spec_of(name, min, max, cpu);
    struct forecast forecast = { 0 };
    struct edl_error error = { 0 };

    if (cluster_forecast(w->cluster, spec, "ann", NULL, w->now, &options, &forecast, &error) < 0)
        fail_msg("%s", error.text);
    (void)job_spec_free(spec);
    return forecast;
}

static const struct forecast_role *role_in(const struct forecast *forecast, const char *job)
{
    for (size_t i = 0; i < forecast->n_roles; i++)
        if (streq(forecast->roles[i].job, job))
            return &forecast->roles[i];
    fail_msg("the forecast does not speak of job %s", job);
    return NULL;
}

/* A job that fills the world's one node of ten cores. */
static struct job *fill(struct world *w, uint32_t min)
{
    struct job *job = world_submit(w, spec_of("a", min, 10, 1000));

    for (int i = 0; i < 30; i++)
        world_second(w);
    assert_int_equal(job_count_running(job, 0), 10);
    return job;
}

/* Every process of the job takes a task, works on it for so long and finishes it. */
static void work(struct world *w, const struct job *job, unsigned seconds, bool finish)
{
    struct process *process;

    DL_FOREACH2(job->processes, process, job_next)
    {
        enum task_lease_result result;
        struct task *task = NULL;
        bool save;

        assert_int_equal(cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task,
                                            &save, NULL),
                         0);
        assert_int_equal(result, TASK_LEASE_GIVEN);
    }
    while (seconds-- > 0)
        world_second(w);
    DL_FOREACH2(job->processes, process, job_next)
    for (uint32_t i = 0; finish && i < task_queue_n_tasks(job->queue); i++) {
        const struct task *task = task_queue_task(job->queue, i);

        if (task->state == TASK_LEASED && task->holder == process->incarnation)
            assert_int_equal(cluster_finish_task(w->cluster, process, i,
                                                 task_queue_pass(job->queue), task->lease, w->now,
                                                 NULL),
                             0);
    }
    world_plan(w);
}

/* All passes ended: one saves the model, all end well. */
static void finish(struct world *w, const struct job *job)
{
    struct process *process;

    DL_FOREACH2(job->processes, process, job_next)
    {
        enum task_lease_result result;
        struct task *task;
        bool save = false;

        assert_int_equal(cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task,
                                            &save, NULL),
                         0);
        assert_int_equal(result, TASK_LEASE_FINISHED);
        if (save)
            assert_int_equal(cluster_model_saved(w->cluster, process, "/out/model", w->now, NULL),
                             0);
        world_exit(w, process, 0, 0);
    }
    world_second(w);
    assert_int_equal(job->state, JOB_SUCCEEDED);
}

TEST(test_starts_now)
{
    struct world *w = world_new(2, 4000, GIB, 1000);
    struct forecast forecast = forecast_of(w, "a", 3, 6, 1000);

    assert_int_equal(forecast.verdict, FORECAST_NOW);
    assert_string_equal(forecast.code, "at-once");
    assert_int_equal(forecast.wait_least_us, 0);
    assert_int_equal(forecast.wait_most_us, 0);
    assert_int_equal(forecast.n_placements, 3);
    assert_string_equal(forecast.placements[0].node, "node-0");
    assert_string_equal(forecast.placements[2].role, "trainer");
    assert_int_equal(forecast.n_roles, 1);
    assert_true(forecast.roles[0].subject);
    assert_int_equal(forecast.roles[0].to, 3);
    assert_int_equal(forecast.roles[0].later, 6);
    assert_int_equal(forecast.n_victims, 0);
    assert_int_equal(forecast.utilisation_before_ppm, 0);
    assert_int_equal(forecast.utilisation_after_ppm, 750000);
    forecast_done(&forecast);
    world_free(w);
}

TEST(test_starts_after_shrinking)
{
    struct world *w = world_new(1, 10000, GIB, 1000);
    struct job *a = fill(w, 2);
    struct forecast forecast;
    const struct forecast_role *role;

    assert_int_equal(cluster_set_dataset(w->cluster, a, world_queue(100, 2), "digest", w->now,
                                         NULL),
                     0);
    work(w, a, 7, false);
    forecast = forecast_of(w, "b", 2, 2, 1000);
    assert_int_equal(forecast.verdict, FORECAST_AFTER_SHRINKING);
    assert_string_equal(forecast.reason, "job a gives up 2 of 10 trainers");
    assert_int_equal(forecast.wait_least_us, USEC_PER_SEC);
    assert_int_equal(forecast.wait_most_us, GRACE_US);
    role = role_in(&forecast, "a");
    assert_int_equal(role->from, 10);
    assert_int_equal(role->to, 8);
    assert_int_equal(role->later, 8);
    assert_int_equal(role->n_victims, 2);
    assert_int_equal(role->victims[0].index, 9);
    assert_int_equal(role->victims[1].index, 8);
    assert_string_equal(role->victims[0].node, "node-0");
    assert_int_equal(role->victims[0].lost_us, 7 * USEC_PER_SEC);
    assert_int_equal(forecast.lost_us, 14 * USEC_PER_SEC);
    assert_int_equal(forecast.n_victims, 2);
    assert_int_equal(forecast.n_resizes, 1);
    assert_int_equal(forecast.n_placements, 2);
    forecast_done(&forecast);
    world_free(w);
}

TEST(test_starts_after_a_job_ends)
{
    struct world *w = world_new(1, 10000, GIB, 1000);
    struct job *a = world_submit(w, spec_of("a", 10, 10, 1000));
    struct forecast forecast;
    uint64_t asked_us;
    struct job *b;

    world_second(w);
    world_second(w);
    assert_int_equal(cluster_set_dataset(w->cluster, a, world_queue(40, 1), "d", w->now, NULL), 0);
    work(w, a, 59, true);
    /* 10 of 40 tasks in 60 seconds of running */
    forecast = forecast_of(w, "b", 2, 4, 1000);
    assert_int_equal(forecast.verdict, FORECAST_AFTER_END);
    assert_string_equal(forecast.code, "job-ends");
    assert_string_equal(forecast.reason,
                        "when job a has ended, in about 3 min at its present rate");
    assert_in_range(forecast.wait_least_us, 180 * USEC_PER_SEC, 182 * USEC_PER_SEC);
    assert_in_range(forecast.wait_most_us, 209 * USEC_PER_SEC, 212 * USEC_PER_SEC);
    assert_true(role_in(&forecast, "a")->ends);
    assert_int_equal(role_in(&forecast, "a")->to, 0);
    assert_int_equal(role_in(&forecast, "a")->n_victims, 0);
    assert_int_equal(role_in(&forecast, "b")->later, 4);
    /* and so it comes */
    asked_us = w->now.now_us;
    b = world_submit(w, spec_of("b", 2, 4, 1000));
    for (int i = 0; i < 3; i++)
        work(w, a, 59, true);
    assert_int_equal(b->state, JOB_QUEUED);
    finish(w, a);
    assert_int_equal(b->state, JOB_STARTING);
    assert_in_range(w->now.now_us - asked_us, forecast.wait_least_us - 5 * USEC_PER_SEC,
                    forecast.wait_most_us);
    for (size_t i = 0; i < forecast.n_placements; i++)
        assert_string_equal(world_live(b, "trainer", forecast.placements[i].index)->node_name,
                            forecast.placements[i].node);
    forecast_done(&forecast);
    world_free(w);
}

/* A job that happens to end meanwhile is not what it waits for. */
TEST(test_end_that_is_not_needed_is_no_cause)
{
    const struct forecast_options slow = { .stop_us = USEC_PER_SEC,
                                           .start_us = 300 * USEC_PER_SEC };
    struct world *w = world_new(1, 20000, GIB, 1000);
    struct job *a = world_submit(w, spec_of("a", 8, 8, 1000));
    struct job *c = world_submit(w, spec_of("c", 2, 2, 1000));
    struct forecast forecast = { 0 };

    world_second(w);
    world_second(w);
    assert_int_equal(cluster_set_dataset(w->cluster, a, world_queue(24, 1), "d", w->now, NULL), 0);
    work(w, a, 59, true); /* two minutes are left */
    assert_int_equal(forecast_scale(w->cluster, c, NULL, 4, 4, w->now, &slow, &forecast, NULL), 0);
    assert_int_equal(forecast.verdict, FORECAST_LATER);
    assert_string_equal(forecast.reason, "there is room for its new size");
    assert_true(forecast.wait_least_us == 300 * USEC_PER_SEC);
    forecast_done(&forecast);
    world_free(w);
}

/* What is over is not copied: its tasks may be many. */
TEST(test_copy_of_the_active_leaves_out_what_is_over)
{
    struct world *w = world_new(1, 20000, GIB, 1000);
    struct job *a = world_submit(w, spec_of("a", 8, 8, 1000));
    struct job *c = world_submit(w, spec_of("c", 2, 2, 1000));
    struct cluster *copy;

    world_run(w, 2);
    assert_int_equal(cluster_kill_job(w->cluster, a, NULL, w->now, NULL), 0);
    world_run(w, 4);
    assert_int_equal(a->state, JOB_KILLED);
    copy = cluster_clone_active(w->cluster, w->now);
    assert_null(cluster_job(copy, a->id));
    assert_non_null(cluster_job(copy, c->id));
    assert_true(copy->next_job_id == w->cluster->next_job_id);
    cluster_replan(copy, w->now);
    assert_int_equal(cluster_check(copy, NULL), 0);
    (void)cluster_free(copy);
    world_free(w);
}

/* As the change itself would be. */
TEST(test_a_change_of_what_is_over_is_refused)
{
    struct world *w = world_new(1, 20000, GIB, 1000);
    struct job *a = world_submit(w, spec_of("a", 1, 1, 1000));
    const struct job_change change = { .prioritise = true, .priority = 1 };
    struct forecast forecast;
    struct edl_error error = { 0 };

    assert_int_equal(cluster_kill_job(w->cluster, a, NULL, w->now, NULL), 0);
    world_run(w, 4);
    assert_int_equal(a->state, JOB_KILLED);
    assert_int_equal(cluster_forecast_change(w->cluster, a, &change, w->now, NULL, &forecast,
                                             &error),
                     EDL_EBADTRANSITION);
    assert_string_equal(error.text, "job a is killed");
    assert_int_equal(cluster_change_job(w->cluster, a, &change, w->now, &error),
                     EDL_EBADTRANSITION);
    assert_string_equal(error.text, "job a is killed");
    world_free(w);
}

TEST(test_waits_and_nobody_knows_how_long)
{
    struct world *w = world_new(1, 10000, GIB, 1000);
    struct job *a = world_submit(w, spec_of("a", 10, 10, 1000));
    const struct forecast_options impatient = { .horizon_us = 100 * USEC_PER_SEC };
    const struct forecast_options hasty = { .steps_max = 1 };
    struct job_spec *spec = spec_of("b", 2, 4, 1000);
    struct forecast forecast;

    world_second(w);
    world_second(w);
    forecast = forecast_of(w, "b", 2, 4, 1000);
    assert_int_equal(forecast.verdict, FORECAST_UNKNOWN);
    assert_string_equal(forecast.code, "gang-does-not-fit");
    assert_non_null(strstr(forecast.reason, "; when a job ends is not known"));
    assert_true(forecast.wait_least_us == NEVER_US && forecast.wait_most_us == NEVER_US);
    assert_int_equal(forecast.n_roles, 1);
    forecast_done(&forecast);
    /* its end is known, and further away than anybody looks */
    assert_int_equal(cluster_set_dataset(w->cluster, a, world_queue(40, 1), "d", w->now, NULL), 0);
    work(w, a, 59, true);
    assert_int_equal(cluster_forecast(w->cluster, spec, "ann", NULL, w->now, &impatient, &forecast,
                                      NULL),
                     0);
    assert_int_equal(forecast.verdict, FORECAST_UNKNOWN);
    assert_non_null(strstr(forecast.reason, "; no end of a job within 100 s is enough"));
    forecast_done(&forecast);
    assert_int_equal(cluster_forecast(w->cluster, spec, "ann", NULL, w->now, &hasty, &forecast,
                                      NULL),
                     0);
    assert_int_equal(forecast.verdict, FORECAST_UNKNOWN);
    assert_non_null(strstr(forecast.reason, " was not looked: too much happens"));
    forecast_done(&forecast);
    forecast = forecast_of(w, "b", 2, 4, 1000);
    assert_int_equal(forecast.verdict, FORECAST_AFTER_END);
    forecast_done(&forecast);
    (void)job_spec_free(spec);
    world_free(w);
}

TEST(test_never_fits)
{
    struct world *w = world_new(2, 4000, GIB, 1000);
    struct forecast forecast = forecast_of(w, "a", 1, 1, 5000);
    struct job *b;

    assert_int_equal(forecast.verdict, FORECAST_NEVER);
    assert_string_equal(forecast.code, "never-fits");
    assert_non_null(strstr(forecast.reason, "no node offers that much"));
    assert_int_equal(forecast.n_placements, 0);
    forecast_done(&forecast);
    /* nor does a running job that is to have more than there is */
    b = world_submit(w, spec_of("b", 2, 2, 1000));
    world_run(w, 3);
    assert_int_equal(b->state, JOB_RUNNING);
    assert_int_equal(forecast_scale(w->cluster, b, NULL, 9, 9, w->now, &options, &forecast, NULL),
                     0);
    assert_int_equal(forecast.verdict, FORECAST_NEVER);
    assert_string_equal(forecast.code, "never-fits");
    assert_non_null(strstr(forecast.reason, "9 of trainer need 1000m"));
    forecast_done(&forecast);
    assert_int_equal(forecast_scale(w->cluster, b, NULL, 8, 9, w->now, &options, &forecast, NULL),
                     0);
    assert_int_equal(forecast.verdict, FORECAST_LATER);
    forecast_done(&forecast);
    world_free(w);
}

TEST(test_what_is_refused_is_refused_the_same_way)
{
    struct world *w = world_new(1, 10000, GIB, 1000);
    struct job *a = fill(w, 2);
    struct job_spec *taken = spec_of("a", 1, 1, 1000);
    struct job_spec *bad = spec_of("b", 3, 2, 1000);
    struct forecast forecast = { 0 };
    struct edl_error error = { 0 };
    struct edl_error real = { 0 };

    assert_int_equal(cluster_forecast(w->cluster, taken, "ann", NULL, w->now, &options, &forecast,
                                      &error),
                     -EEXIST);
    assert_int_equal(cluster_submit(w->cluster, taken, "ann", w->now, NULL, &real), -EEXIST);
    assert_memory_equal(&error, &real, sizeof error);
    assert_int_equal(cluster_forecast(w->cluster, bad, "ann", NULL, w->now, &options, &forecast,
                                      &error),
                     EDL_EBADSPEC);
    assert_int_equal(forecast_scale(w->cluster, a, "trainer", 3, 2, w->now, &options, &forecast,
                                    &error),
                     -EINVAL);
    assert_string_equal(error.pointer, "/max");
    assert_int_equal(cluster_forecast_node(w->cluster, cluster_node(w->cluster, "node-0"),
                                           NODE_LOST, w->now, &options, &forecast, &error),
                     -EINVAL);
    assert_null(forecast.roles);
    (void)job_spec_free(taken);
    (void)job_spec_free(bad);
    world_free(w);
}

TEST(test_what_stops_already_makes_room)
{
    struct world *w = world_new(1, 10000, GIB, 1000);
    struct job *a = fill(w, 2);
    struct forecast forecast;

    assert_int_equal(cluster_kill_job(w->cluster, a, NULL, w->now, NULL), 0);
    world_plan(w);
    forecast = forecast_of(w, "b", 2, 2, 1000);
    assert_int_equal(forecast.verdict, FORECAST_LATER);
    assert_int_equal(forecast.wait_least_us, USEC_PER_SEC);
    assert_int_equal(forecast.n_victims, 0);
    assert_int_equal(forecast.n_placements, 2);
    forecast_done(&forecast);
    world_free(w);
}

TEST(test_scale_tells_who_gives_way)
{
    struct world *w = world_new(1, 10000, GIB, 1000);
    struct job *a = fill(w, 2);
    struct job *b = world_submit(w, spec_of("b", 2, 2, 1000));
    struct forecast forecast = { 0 };

    for (int i = 0; i < 10; i++)
        world_second(w);
    assert_int_equal(b->state, JOB_RUNNING);
    assert_int_equal(forecast_scale(w->cluster, b, NULL, 4, 4, w->now, &options, &forecast, NULL),
                     0);
    assert_int_equal(forecast.verdict, FORECAST_AFTER_SHRINKING);
    assert_string_equal(forecast.reason, "job a gives up 2 of 8 trainers");
    assert_int_equal(role_in(&forecast, "b")->to, 4);
    assert_true(role_in(&forecast, "b")->subject);
    assert_int_equal(forecast.wait_least_us, 2 * USEC_PER_SEC);
    assert_int_equal(forecast.n_placements, 2);
    forecast_done(&forecast);
    assert_int_equal(forecast_scale(w->cluster, a, NULL, 2, 8, w->now, &options, &forecast, NULL),
                     0);
    assert_int_equal(forecast.verdict, FORECAST_NOW);
    forecast_done(&forecast);
    assert_int_equal(forecast_scale(w->cluster, a, NULL, 2, 5, w->now, &options, &forecast, NULL),
                     0);
    assert_int_equal(forecast.verdict, FORECAST_AFTER_SHRINKING);
    assert_string_equal(forecast.reason, "job a gives up 3 of 8 trainers");
    assert_int_equal(forecast.n_resizes, 0);
    forecast_done(&forecast);
    world_free(w);
}

TEST(test_drain_tells_who_moves)
{
    struct world *w = world_new(2, 4000, GIB, 1000);
    const struct node *node = cluster_node(w->cluster, "node-0");
    struct forecast forecast = { 0 };
    struct job *a = world_submit(w, spec_of("a", 3, 3, 1000));
    struct job *b;

    world_second(w);
    world_second(w);
    assert_int_equal(a->state, JOB_RUNNING);
    assert_int_equal(cluster_forecast_node(w->cluster, node, NODE_DRAINING, w->now, &options,
                                           &forecast, NULL),
                     0);
    assert_int_equal(forecast.verdict, FORECAST_AFTER_SHRINKING);
    assert_string_equal(forecast.reason, "job a moves 3 of 3 trainers");
    assert_int_equal(forecast.n_placements, 3);
    assert_string_equal(forecast.placements[0].node, "node-1");
    assert_string_equal(forecast.placements[0].job, "a");
    forecast_done(&forecast);
    /* the other node is taken: a would stay where it is, and the node would not be emptied */
    b = world_submit(w, spec_of("b", 4, 4, 1000));
    world_second(w);
    world_second(w);
    assert_int_equal(b->state, JOB_RUNNING);
    assert_int_equal(cluster_forecast_node(w->cluster, node, NODE_DRAINING, w->now, &options,
                                           &forecast, NULL),
                     0);
    assert_int_equal(forecast.verdict, FORECAST_UNKNOWN);
    assert_string_equal(forecast.code, "drain-waits");
    assert_string_equal(forecast.reason,
                        "node node-0 waits for room elsewhere: a; when a job ends is not known");
    assert_int_equal(forecast.n_roles, 0); /* nobody stops or moves */
    forecast_done(&forecast);
    world_free(w);
}

TEST(test_drain_waits_for_what_is_not_fault_tolerant)
{
    struct world *w = world_new(2, 4000, GIB, 1000);
    struct job_spec *spec = spec_of("mpi", 2, 2, 1000);
    struct forecast forecast = { 0 };
    const struct node *node;
    struct job *mpi;

    spec->fault_tolerant = false;
    mpi = world_submit(w, spec);
    world_second(w);
    world_second(w);
    node = world_live(mpi, "trainer", 0)->node;
    assert_int_equal(cluster_forecast_node(w->cluster, node, NODE_DRAINING, w->now, &options,
                                           &forecast, NULL),
                     0);
    assert_int_equal(forecast.verdict, FORECAST_UNKNOWN);
    assert_string_equal(forecast.code, "drain-waits");
    assert_non_null(strstr(forecast.reason, "the end of jobs that are not fault tolerant: mpi"));
    assert_int_equal(forecast.n_roles, 0);
    forecast_done(&forecast);
    world_free(w);
}

TEST(test_silent_nodes_stay_for_the_time_of_a_forecast)
{
    struct world *w = world_new(2, 4000, GIB, 1000);
    struct job_spec *spec = spec_of("a", 8, 8, 1000);
    struct forecast forecast;
    struct job *a;

    spec->passes = 100;
    a = world_submit(w, spec);
    world_second(w);
    world_second(w);
    assert_int_equal(cluster_set_dataset(w->cluster, a, world_queue(40, 100), "d", w->now, NULL),
                     0);
    work(w, a, 30, true);
    /* many leases and task deadlines would pass until then */
    forecast = forecast_of(w, "b", 1, 1, 1000);
    assert_int_equal(forecast.verdict, FORECAST_AFTER_END);
    assert_true(forecast.wait_least_us > 10000 * USEC_PER_SEC);
    forecast_done(&forecast);
    world_free(w);
}

/* --- jobs that tell nothing grow older --- */

#define STOP_US (90 * USEC_PER_SEC)

/* One instance, which uses memory above all. */
static struct job_spec *large_spec(const char *name, uint64_t memory_bytes)
{
    struct job_spec *spec = spec_of(name, 1, 1, 1000);

    spec->roles[0].memory_bytes = memory_bytes;
    return spec;
}

/* Elastic jobs that tell nothing, of which one was started every other second. Of two that hold the
 * memory of a node each, one is killed and takes long to go. */
static struct world *silent_world(unsigned n_silent, struct job **ret_killed)
{
    struct world *w;

    world_policy = &policy_goodput;
    w = world_new(2, 10000, 4 * GIB, 1000);
    *ret_killed = world_submit(w, large_spec("killed", 3 * GIB));
    (void)world_submit(w, large_spec("stays", 3 * GIB));
    for (unsigned i = 0; i < n_silent; i++) {
        const char name[] = { (char)('a' + i), '\0' };

        (void)world_submit(w, spec_of(name, 1, 10, 1000 / n_silent));
        world_second(w);
        world_second(w);
    }
    for (int i = 0; i < 4; i++)
        world_second(w);
    world_hang(w, world_live(*ret_killed, "trainer", 0), true);
    assert_int_equal(cluster_kill_job(w->cluster, *ret_killed, NULL, w->now, NULL), 0);
    world_plan(w);
    return w;
}

/* What the next job does, which needs the place of the one that was killed. */
static struct forecast forecast_of_next(const struct world *w, uint32_t steps_max)
{
    const struct forecast_options slow = { .stop_us = STOP_US,
                                           .start_us = USEC_PER_SEC,
                                           .steps_max = steps_max };
    struct job_spec *spec = large_spec("next", 2 * GIB);
    struct forecast forecast = { 0 };

    assert_int_equal(cluster_forecast(w->cluster, spec, "ann", NULL, w->now, &slow, &forecast,
                                      NULL),
                     0);
    (void)job_spec_free(spec);
    return forecast;
}

/* Silent for a minute, such a job is no longer kept at four times its minimum. */
TEST(test_job_that_tells_nothing_grows_older_in_a_forecast)
{
    struct job *killed;
    struct world *w = silent_world(1, &killed);
    const struct job *a = cluster_job(w->cluster, killed->id + 2), *next;
    struct forecast forecast = forecast_of_next(w, 0);

    assert_int_equal(job_count_running(a, 0), 4);
    assert_int_equal(forecast.verdict, FORECAST_LATER);
    assert_int_equal(forecast.wait_least_us, STOP_US);
    assert_int_equal(role_in(&forecast, "a")->from, 4);
    assert_int_equal(role_in(&forecast, "a")->to, 10);
    forecast_done(&forecast);
    next = world_submit(w, large_spec("next", 2 * GIB));
    for (uint64_t us = 0; us < STOP_US; us += USEC_PER_SEC)
        world_second(w);
    assert_int_equal(next->state, JOB_QUEUED);
    world_hang(w, world_live(killed, "trainer", 0), false);
    world_second(w);
    assert_int_equal(next->state, JOB_STARTING);
    assert_int_equal(job_count(a, 0, false), 10);
    world_free(w);
    world_policy = &policy_fulfilment;
}

/* Of few steps most are left for what starts and stops. */
TEST(test_age_of_jobs_takes_few_steps_of_a_forecast)
{
    struct job *killed;
    struct world *w = silent_world(8, &killed);
    struct forecast forecast = forecast_of_next(w, 12);

    assert_int_equal(forecast.verdict, FORECAST_LATER);
    assert_int_equal(forecast.wait_least_us, STOP_US);
    forecast_done(&forecast);
    world_free(w);
    world_policy = &policy_fulfilment;
}
