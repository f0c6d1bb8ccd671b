/* SPDX-License-Identifier: Apache-2.0 */
/* test_time_limit.c - a job is killed when it has run for its time limit, over all its runs */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "scheduler/core/ask/forecast.h"
#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_turn.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/time_limit.h"
#include "shared/error.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

#define LIMIT_S 20

static struct job *submit(struct world *w, const char *name, uint64_t cpu_millicores,
                          uint64_t limit_s)
{
    struct job_spec *spec = world_spec(name, 1, 1, cpu_millicores, 0, 0);

    spec->time_limit_us = limit_s * USEC_PER_SEC;
    return world_submit(w, spec);
}

static void seconds(struct world *w, unsigned n)
{
    while (n-- > 0)
        world_second(w);
}

static void runs(struct world *w, const struct job *job)
{
    for (int i = 0; i < 5 && job->state != JOB_RUNNING; i++)
        world_second(w);
    assert_int_equal(job->state, JOB_RUNNING);
}

static void assert_ran_out(const struct job *job, const char *limit)
{
    assert_int_equal(job->state, JOB_KILLED);
    assert_string_equal(job->reason_code, "time-limit");
    assert_non_null(strstr(job->reason, limit));
}

/* What waits has all of its time still. */
TEST(test_one_ends_and_the_next_begins)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *first = submit(w, "first", 1000, LIMIT_S);
    struct job *second = submit(w, "second", 1000, LIMIT_S);

    runs(w, first);
    seconds(w, LIMIT_S - 2);
    assert_int_equal(first->state, JOB_RUNNING);
    seconds(w, 4);
    assert_ran_out(first, "20s");
    runs(w, second);
    seconds(w, LIMIT_S - 2);
    assert_int_equal(second->state, JOB_RUNNING);
    seconds(w, 4);
    assert_ran_out(second, "20s");
    world_free(w);
}

static int limit(struct world *w, struct job *job, uint64_t limit_s, struct edl_error *error)
{
    const struct job_change change = { .limit = true, .time_limit_us = limit_s * USEC_PER_SEC };

    return cluster_change_job(w->cluster, job, &change, w->now, error);
}

/* Of a job that runs, of one that waits, and none any more. */
TEST(test_another_limit)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *first = submit(w, "first", 1000, 0);
    struct job *second = submit(w, "second", 1000, LIMIT_S);
    struct edl_error error = { 0 };

    runs(w, first);
    seconds(w, 10);
    assert_int_equal(limit(w, first, 5, &error), -EINVAL);
    assert_string_equal(error.pointer, "/time_limit");
    assert_non_null(strstr(error.text, "job first has run for 1"));
    assert_int_equal(limit(w, first, LIMIT_S, NULL), 0);
    assert_int_equal(limit(w, second, 2 * LIMIT_S, NULL), 0);
    world_commit(w);
    world_restart(w);
    first = cluster_find_job(w->cluster, "first");
    second = cluster_find_job(w->cluster, "second");
    seconds(w, LIMIT_S - 12);
    assert_int_equal(first->state, JOB_RUNNING);
    seconds(w, 5);
    assert_ran_out(first, "20s");
    runs(w, second);
    seconds(w, 2 * LIMIT_S - 3);
    assert_int_equal(second->state, JOB_RUNNING);
    assert_int_equal(limit(w, second, 0, NULL), 0);
    seconds(w, 10);
    assert_int_equal(second->state, JOB_RUNNING);
    assert_int_equal(limit(w, second, 3 * LIMIT_S, NULL), 0);
    seconds(w, LIMIT_S);
    assert_ran_out(second, "1m");
    world_free(w);
}

TEST(test_limits_in_words)
{
    static const struct {
        uint64_t s;
        const char *text;
    } table[] = { { 7200, " 2h" }, { 5400, " 90m" }, { 61, " 61s" }, { 1, " 1s" } };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct world *w = world_new(1, 1000, GIB, 1000);
        struct job *job = submit(w, "job", 100, table[i].s);

        runs(w, job);
        world_advance(w, table[i].s * USEC_PER_SEC);
        job_ran_out(w->cluster, job, w->now);
        assert_non_null(strstr(job->reason, table[i].text));
        world_free(w);
    }
}

/* Neither a restart nor a time in the queue gives it any time, or takes any. */
TEST(test_runs_add_up)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = submit(w, "job", 1000, LIMIT_S);
    uint64_t left_us;

    runs(w, job);
    seconds(w, 5);
    left_us = job_limit_left_us(job, w->now);
    world_restart(w);
    job = cluster_find_job(w->cluster, "job");
    assert_int_equal(job_limit_left_us(job, w->now), left_us);
    world_run(w, 3);
    assert_int_equal(cluster_set_node_state(w->cluster, w->cluster->nodes, NODE_CORDONED, w->now,
                                            NULL),
                     0);
    job_stop(w->cluster, job, w->now, INTENT_REQUEUED, CAUSE_HALF_GANG, "for a test");
    world_run(w, 3);
    assert_int_equal(job->state, JOB_QUEUED);
    left_us = job_limit_left_us(job, w->now);
    assert_true(left_us > 0 && left_us < (LIMIT_S - 4) * USEC_PER_SEC);
    seconds(w, 2 * LIMIT_S);
    assert_int_equal(job->state, JOB_QUEUED);
    assert_int_equal(job_limit_left_us(job, w->now), left_us);
    world_restart(w);
    job = cluster_find_job(w->cluster, "job");
    assert_int_equal(cluster_set_node_state(w->cluster, w->cluster->nodes, NODE_READY, w->now,
                                            NULL),
                     0);
    runs(w, job);
    assert_true(job_limit_left_us(job, w->now) <= left_us);
    seconds(w, (unsigned)(left_us / USEC_PER_SEC) + 3);
    assert_ran_out(job, "20s");
    world_free(w);
}

TEST(test_no_limit_no_end)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = submit(w, "job", 1000, 0);

    runs(w, job);
    assert_int_equal(job_limit_left_us(job, w->now), UINT64_MAX);
    seconds(w, 3 * LIMIT_S);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

static struct forecast ask(struct world *w, uint64_t cpu_millicores)
{
    struct job_spec *spec = world_spec("asked", 1, 1, cpu_millicores, 0, 0);
    struct forecast forecast = { 0 };
    struct edl_error error = { 0 };

    if (cluster_forecast(w->cluster, spec, "ann", NULL, w->now, NULL, &forecast, &error) < 0)
        fail_msg("%s", error.text);
    (void)job_spec_free(spec);
    return forecast;
}

/* The one that waits before it will be over by its own limit, too. */
TEST(test_forecast_knows_the_end)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = submit(w, "first", 1000, 1000);
    struct forecast forecast;

    runs(w, job);
    forecast = ask(w, 1000);
    assert_int_equal(forecast.verdict, FORECAST_AFTER_END);
    assert_true(forecast.wait_least_us > 990 * USEC_PER_SEC);
    assert_true(forecast.wait_least_us < 1005 * USEC_PER_SEC);
    assert_non_null(strstr(forecast.reason, "when job first has ended, in about 17 min"));
    assert_non_null(strstr(forecast.reason, "at the latest, by its time limit"));
    forecast_done(&forecast);
    (void)submit(w, "second", 1000, 2000);
    world_run(w, 2);
    forecast = ask(w, 1000);
    assert_int_equal(forecast.verdict, FORECAST_AFTER_END);
    assert_true(forecast.wait_least_us > 2990 * USEC_PER_SEC);
    assert_true(forecast.wait_least_us < 3010 * USEC_PER_SEC);
    forecast_done(&forecast);
    world_free(w);
}

/* A guess beyond its limit counts as the limit; what nobody knows stays unknown. */
TEST(test_limit_bounds_the_expected_length)
{
    struct job_spec *spec = world_spec("guessed", 1, 1, 100, 0, 0);
    struct world *w;
    struct job *job;

    world_policy = &policy_goodput;
    w = world_new(1, 1000, GIB, 1000);
    spec->expected_us = 500 * USEC_PER_SEC;
    spec->time_limit_us = 60 * USEC_PER_SEC;
    job = world_submit(w, spec);
    assert_int_equal(job->turn_wall_us - job->submitted_wall_us, 60 * USEC_PER_SEC);
    job = submit(w, "unknown", 100, 60);
    assert_true(job_expected_s(w->cluster, job) <= 0);
    world_free(w);
    world_policy = &policy_fulfilment;
}
