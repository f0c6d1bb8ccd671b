/* SPDX-License-Identifier: Apache-2.0 */
/* test_after.c - jobs that wait for others to succeed, jobs that have to be over by a time */
#include <errno.h>
#include <stdio.h>

#include "scheduler/core/ask/account.h"
#include "scheduler/core/ask/forecast.h"
#include "scheduler/core/base/histogram.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/ask/reason.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/after_world.h"
#include "tests/unit/test.h"

TEST(test_waits_for_success)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *first = world_submit(w, world_spec("first", 1, 1, 200, 0, 0));
    struct job *second = world_submit(w, world_spec("second", 1, 1, 200, 0, 0));
    struct job *job = world_submit(w, spec_after("job", "first", "2"));
    char text[240];

    assert_string_equal(job->spec->after[0], "1"); /* names are of now: what is kept are ids */
    world_run(w, 4);
    assert_int_equal(first->state, JOB_RUNNING);
    assert_code(job, JOB_QUEUED, "waits-for-job");
    assert_string_equal(job->reason, "waits until first (1) and 1 other have succeeded");
    assert_string_equal(cluster_explain(w->cluster, job, text, sizeof text),
                        "waits for first (1), which is running, and for 1 other; it is placed "
                        "when all have succeeded, and fails when one does not");
    world_restart(w);
    world_run(w, 4);
    job = cluster_find_job(w->cluster, "job");
    assert_code(job, JOB_QUEUED, "waits-for-job");
    finish(w, cluster_find_job(w->cluster, "first"));
    assert_code(job, JOB_QUEUED, "waits-for-job");
    assert_string_equal(job->reason, "waits until second (2) has succeeded");
    finish(w, cluster_find_job(w->cluster, "second"));
    world_run(w, 3);
    assert_int_equal(job->state, JOB_RUNNING);
    (void)second;
    world_free(w);
}

/* 1, "1" and the name of 1 are one job, and it is waited for once. */
TEST(test_each_is_waited_for_once)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_account account;
    struct job *job;

    (void)world_submit(w, world_spec("first", 1, 1, 200, 0, 0));
    job = world_submit(w, spec_after("job", "first", "1"));
    assert_string_equal(job->spec->after[0], "1");
    assert_null(job->spec->after[1]);
    world_run(w, 3);
    assert_string_equal(job->reason, "waits until first (1) has succeeded");
    cluster_account(w->cluster, job, &account);
    assert_int_equal(account.change, CHANGE_AFTER);
    assert_int_equal(account.before->id, 1);
    assert_string_equal(account.text, "the success of job first (1), which is running");
    finish(w, cluster_find_job(w->cluster, "first"));
    assert_int_equal(job->state, JOB_RUNNING);
    cluster_account(w->cluster, job, &account);
    assert_int_equal(account.change, CHANGE_NONE);
    world_free(w);
}

/* However long the chain, it falls at once. */
TEST(test_fails_with_what_it_waits_for)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *first = world_submit(w, world_spec("first", 1, 1, 200, 0, 0));
    struct job *job;
    struct job *last = NULL;

    job = world_submit(w, spec_after("job", "first", NULL));
    for (unsigned i = 0; i < 300; i++) {
        char name[32];
        char before[32];

        (void)snprintf(name, sizeof name, "chain-%u", i);
        (void)snprintf(before, sizeof before, "chain-%u", i - 1);
        last = world_submit(w, spec_after(name, i == 0 ? "job" : before, "first"));
    }
    world_run(w, 3);
    assert_int_equal(cluster_kill_job(w->cluster, first, "no more", w->now, NULL), 0);
    world_run(w, 3);
    assert_code(first, JOB_KILLED, "killed");
    assert_code(job, JOB_FAILED, "dependency-failed");
    assert_string_equal(job->reason, "it was to run after first (1), which was killed: no more");
    assert_code(last, JOB_FAILED, "dependency-failed");
    world_free(w);
}

TEST(test_refused)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *first = world_submit(w, world_spec("first", 1, 1, 200, 0, 0));
    struct job_spec *spec = spec_after("job", "first", "nobody");
    struct edl_error error = { 0 };
    struct forecast forecast = { 0 };

    assert_int_equal(cluster_submit(w->cluster, spec, "", w->now, NULL, &error), EDL_EBADSPEC);
    assert_string_equal(error.pointer, "/spec/after/1");
    assert_string_equal(spec->after[0], "first"); /* nothing is half done */
    free(spec->after[1]);
    spec->after[1] = NULL;
    assert_int_equal(cluster_kill_job(w->cluster, first, "", w->now, NULL), 0);
    world_run(w, 3);
    assert_int_equal(cluster_submit(w->cluster, spec, "", w->now, NULL, &error), EDL_EBADSPEC);
    assert_string_equal(error.text, "job first (1) is killed: a job after it would never run");
    assert_int_equal(cluster_forecast(w->cluster, spec, "", NULL, w->now, NULL, &forecast, &error),
                     EDL_EBADSPEC);
    job_spec_free(spec);
    spec = world_spec("late", 1, 1, 200, 0, 0);
    spec->deadline_wall_us = w->now.wall_us;
    assert_int_equal(cluster_submit(w->cluster, spec, "", w->now, NULL, &error), EDL_EBADSPEC);
    assert_string_equal(error.pointer, "/spec/deadline");
    job_spec_free(spec);
    world_free(w);
}

/* A forecast is made in a copy without the jobs that are over. */
TEST(test_forecast)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *first = world_submit(w, world_spec("first", 1, 1, 200, 0, 0));
    struct job_spec *spec = spec_after("job", "first", NULL);
    struct forecast forecast = { 0 };
    struct edl_error error = { 0 };

    world_run(w, 3);
    assert_int_equal(cluster_forecast(w->cluster, spec, "", NULL, w->now, NULL, &forecast, &error),
                     0);
    assert_int_equal(forecast.verdict, FORECAST_UNKNOWN);
    assert_string_equal(forecast.code, "waits-for-job");
    forecast_done(&forecast);
    finish(w, first);
    assert_int_equal(first->state, JOB_SUCCEEDED);
    assert_int_equal(cluster_forecast(w->cluster, spec, "", NULL, w->now, NULL, &forecast, &error),
                     0);
    assert_int_equal(forecast.verdict, FORECAST_NOW);
    forecast_done(&forecast);
    job_spec_free(spec);
    world_free(w);
}

static struct job *submit_until(struct world *w, const char *name, uint64_t us)
{
    struct job_spec *spec = world_spec(name, 1, 1, 200, 0, 0);

    spec->deadline_us = us;
    return world_submit(w, spec);
}

TEST(test_deadline)
{
    struct world *w = world_new(1, 1000, GIB, 900);
    struct job *runs = submit_until(w, "runs", 20 * USEC_PER_SEC);
    struct job *done = submit_until(w, "done", 20 * USEC_PER_SEC);

    assert_int_equal(runs->spec->deadline_us, 0);
    assert_int_equal(runs->spec->deadline_wall_us, w->now.wall_us + 20 * USEC_PER_SEC);
    (void)submit_until(w, "waits", 10 * USEC_PER_SEC);
    world_run(w, 3);
    finish(w, done);
    assert_int_equal(done->state, JOB_SUCCEEDED);
    world_restart(w); /* it is known to the new one as well */
    while (w->now.wall_us < cluster_find_job(w->cluster, "runs")->spec->deadline_wall_us)
        world_second(w);
    world_run(w, 3);
    assert_code(cluster_find_job(w->cluster, "waits"), JOB_KILLED, "deadline");
    assert_code(cluster_find_job(w->cluster, "runs"), JOB_KILLED, "deadline");
    assert_code(cluster_find_job(w->cluster, "done"), JOB_SUCCEEDED, "done");
    assert_non_null(strstr(cluster_find_job(w->cluster, "runs")->reason, "by its deadline, "));
    world_free(w);
}

/* Nobody waits for a job without hope: a queued one ends at its deadline, too, and who waits for it
 * fails. */
TEST(test_deadline_of_queued)
{
    struct world *w = world_new(1, 1000, GIB, 900);
    struct job_spec *spec = world_spec("large", 1, 1, 5000, 0, 0);
    struct job *large;
    struct job *job;

    spec->deadline_us = 5 * USEC_PER_SEC;
    large = world_submit(w, spec);
    job = world_submit(w, spec_after("job", "large", NULL));
    for (unsigned i = 0; i < 6; i++)
        world_second(w);
    assert_code(large, JOB_KILLED, "deadline");
    assert_code(job, JOB_FAILED, "dependency-failed");
    world_free(w);
}

/* The wall clock is set back while a job runs: its deadline comes later by that. */
TEST(test_clock_set_back)
{
    struct world *w = world_new(1, 1000, GIB, 900);
    struct job *job = submit_until(w, "job", 5 * USEC_PER_SEC);

    world_run(w, 3);
    w->now.wall_us -= 10 * USEC_PER_SEC;
    for (unsigned i = 0; i < 7; i++)
        world_second(w);
    assert_int_equal(job->state, JOB_RUNNING);
    for (unsigned i = 0; i < 10; i++)
        world_second(w);
    assert_code(job, JOB_KILLED, "deadline");
    world_free(w);
}

/* How long jobs wait for room is no business of those that wait for others: nobody is alarmed. */
TEST(test_waiting_for_others_is_no_waiting_for_room)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *first = world_submit(w, world_spec("first", 1, 1, 200, 0, 0));
    struct job *job = world_submit(w, spec_after("job", "first", NULL));
    const struct histogram *wait = &w->cluster->figures.queue_wait;

    for (unsigned i = 0; i < 100; i++)
        world_second(w);
    assert_null(w->cluster->first_queued);
    assert_int_equal(figures_oldest_wait_us(w->cluster, w->now), 0);
    world_exit(w, world_live(first, "trainer", 0), 0, 0);
    for (unsigned i = 0; i < 5; i++)
        world_second(w);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(histogram_count(wait), 2);
    assert_true(wait->sum_us < 10 * USEC_PER_SEC);
    world_free(w);
}

/* Jobs that are not in the core any more, as the event that names them tells of them. */
TEST(test_archived)
{
    static const struct archived_job jobs[] = {
        { .named = "old", .id = 7, .name = "old", .state = JOB_SUCCEEDED },
        { .named = "8", .id = 8, .name = "bad", .state = JOB_KILLED },
        { .named = "first", .id = 9, .name = "first", .state = JOB_FAILED },
    };
    const struct archived_jobs archived = { .jobs = jobs, .n = ELEMENTS(jobs) };
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *spec = spec_after("job", "old", "8");
    struct forecast forecast = { 0 };
    struct edl_error error = { 0 };
    struct job *job = NULL;

    (void)world_submit(w, world_spec("first", 1, 1, 200, 0, 0));
    world_run(w, 3);
    assert_int_equal(cluster_submit_array(w->cluster, spec, "", &archived, w->now, &job, &error),
                     EDL_EBADSPEC);
    assert_string_equal(error.pointer, "/spec/after/1");
    assert_string_equal(error.text, "job bad (8) is killed: a job after it would never run");
    assert_int_equal(cluster_forecast(w->cluster, spec, "", &archived, w->now, NULL, &forecast,
                                      &error),
                     EDL_EBADSPEC);
    assert_string_equal(spec->after[0], "old"); /* nothing is half done */
    free(spec->after[1]);
    spec->after[1] = xstrdup("first"); /* the core knows a newer one of that name */
    assert_int_equal(cluster_forecast(w->cluster, spec, w->user, &archived, w->now, NULL, &forecast,
                                      &error),
                     0);
    assert_string_equal(forecast.code, "waits-for-job");
    forecast_done(&forecast);
    assert_int_equal(cluster_submit_array(w->cluster, spec, w->user, &archived, w->now, &job,
                                          &error),
                     0);
    world_plan(w);
    assert_string_equal(job->spec->after[0], "7");
    assert_string_equal(job->spec->after[1], "1");
    world_restart(w); /* that it succeeded follows from what waits for it being there */
    job = cluster_find_job(w->cluster, "job");
    assert_string_equal(job->reason, "waits until first (1) has succeeded");
    finish(w, cluster_find_job(w->cluster, "first"));
    world_run(w, 3);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

/* ---- after the end of another, however that ends ---- */

TEST(test_any_end_will_do)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *first = world_submit(w, world_spec("first", 1, 1, 200, 0, 0));
    struct job *job = world_submit(w, spec_after("job", "any:first", NULL));
    struct job *both = world_submit(w, spec_after("both", "any:1", "first"));
    struct job_account account;
    char text[240];

    assert_string_equal(job->spec->after[0], "any:1");
    assert_string_equal(both->spec->after[0], "any:1");
    assert_string_equal(both->spec->after[1], "1");
    world_run(w, 3);
    assert_string_equal(job->reason, "waits until first (1) is over");
    assert_string_equal(cluster_explain(w->cluster, job, text, sizeof text),
                        "waits for first (1), which is running; it is placed when that one is "
                        "over, however it ends");
    assert_string_equal(both->reason,
                        "waits until first (1) and 1 other have ended as they have to");
    cluster_account(w->cluster, job, &account);
    assert_string_equal(account.text, "the end of job first (1), which is running");
    world_restart(w);
    world_run(w, 3);
    first = cluster_find_job(w->cluster, "first");
    assert_int_equal(cluster_kill_job(w->cluster, first, "no more", w->now, NULL), 0);
    world_run(w, 6);
    assert_int_equal(cluster_find_job(w->cluster, "job")->state, JOB_RUNNING);
    assert_code(cluster_find_job(w->cluster, "both"), JOB_FAILED, "dependency-failed");
    /* one that has failed already is over, too */
    job = world_submit(w, spec_after("late", "any:first", NULL));
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

static struct job *submit_array(struct world *w, struct job_spec *spec)
{
    struct edl_error error = { 0 };
    struct job *first = NULL;

    if (cluster_submit_array(w->cluster, spec, w->user, NULL, w->now, &first, &error) < 0)
        fail_msg("%s", error.text);
    return first;
}

/* Who needs success fails with the first failure; who needs the end waits for the last one. */
TEST(test_any_end_of_an_array)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *first = submit_array(w, array_spec("a", 0, 3));
    struct job *any = world_submit(w, spec_after("any", "any:a", NULL));
    struct job *strict = world_submit(w, spec_after("strict", "a", NULL));

    world_run(w, 3);
    assert_string_equal(any->spec->after[0], "any:1-3");
    assert_string_equal(any->reason, "waits until all jobs of a (1-3) are over");
    assert_int_equal(cluster_kill_job(w->cluster, first, "", w->now, NULL), 0);
    world_run(w, 4);
    assert_code(strict, JOB_FAILED, "dependency-failed");
    assert_code(any, JOB_QUEUED, "waits-for-job");
    finish(w, cluster_find_job(w->cluster, "a-1"));
    assert_code(any, JOB_QUEUED, "waits-for-job");
    finish(w, cluster_find_job(w->cluster, "a-2"));
    world_run(w, 3);
    assert_int_equal(any->state, JOB_RUNNING);
    world_free(w);
}

static unsigned count_running(const struct world *w)
{
    unsigned n = 0;

    for (const struct job *job = w->cluster->jobs; job != NULL; job = job->hh.next)
        n += job->state == JOB_RUNNING;
    return n;
}

/* However they end, so many run and no more; a restart changes nothing of it. */
TEST(test_bound_of_an_array_over_a_restart)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *spec = array_spec("a", 1, 5);

    spec->array.most = 2;
    (void)submit_array(w, spec);
    world_run(w, 4);
    assert_int_equal(count_running(w), 2);
    world_restart(w);
    world_run(w, 4);
    assert_int_equal(count_running(w), 2);
    assert_int_equal(cluster_kill_job(w->cluster, cluster_find_job(w->cluster, "a-1"), "", w->now,
                                      NULL),
                     0);
    world_run(w, 4);
    assert_int_equal(cluster_find_job(w->cluster, "a-3")->state, JOB_RUNNING);
    assert_int_equal(count_running(w), 2);
    finish(w, cluster_find_job(w->cluster, "a-2"));
    world_run(w, 4);
    finish(w, cluster_find_job(w->cluster, "a-3"));
    world_run(w, 4);
    assert_int_equal(cluster_find_job(w->cluster, "a-5")->state, JOB_RUNNING);
    assert_int_equal(count_running(w), 2);
    world_free(w);
}

/* A sweep that is submitted in parts has as many bounds, and each is changed by itself. */
TEST(test_bounds_of_the_parts_of_a_sweep)
{
    const struct job_change change = { .bound = true, .at_once = 2 };
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *first = array_spec("a", 1, 4), *second = array_spec("a", 5, 4);
    uint64_t id;

    first->array.most = second->array.most = 1;
    id = submit_array(w, first)->id;
    world_advance(w, 1);
    assert_int_equal(submit_array(w, second)->id, id + 4);
    world_run(w, 4);
    assert_int_equal(count_running(w), 2);
    assert_int_equal(cluster_find_job(w->cluster, "a-5")->state, JOB_RUNNING);
    assert_int_equal(cluster_change_job(w->cluster, cluster_job(w->cluster, id), &change, w->now,
                                        NULL),
                     0);
    assert_int_equal(cluster_find_job(w->cluster, "a-4")->spec->array.most, 2);
    assert_int_equal(cluster_find_job(w->cluster, "a-5")->spec->array.most, 1);
    world_free(w);
}
