/* SPDX-License-Identifier: Apache-2.0 */
/* test_after.c - jobs that wait for others to succeed, jobs that have to be over by a time, and
 * many jobs of one document */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "scheduler/core/account.h"
#include "scheduler/core/forecast.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"

static void assert_code(const struct job *job, enum job_state state, const char *code)
{
    if (job->state != state || !streq(job->reason_code, code))
        fail_msg("%s is %s: %s (%s)", job->spec->name, job_state_to_string(job->state),
                 job->reason_code, job->reason);
}

static struct job_spec *spec_after(const char *name, const char *first, const char *second)
{
    struct job_spec *spec = world_spec(name, 1, 1, 200, 0, 0);

    spec->after = xcalloc(3, sizeof *spec->after);
    spec->after[0] = xstrdup(first);
    spec->after[1] = second != NULL ? xstrdup(second) : NULL;
    return spec;
}

static void finish(struct world *w, const struct job *job)
{
    world_exit(w, world_live(job, "trainer", 0), 0, 0);
    world_run(w, 3);
}

static void test_waits_for_success(void **state)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *first = world_submit(w, world_spec("first", 1, 1, 200, 0, 0));
    struct job *second = world_submit(w, world_spec("second", 1, 1, 200, 0, 0));
    struct job *job = world_submit(w, spec_after("job", "first", "2"));
    char text[240];

    (void)state;
    assert_string_equal(job->spec->after[0], "1"); /* names are of now: what is kept are ids */
    world_run(w, 4);
    assert_int_equal(first->state, JOB_RUNNING);
    assert_code(job, JOB_QUEUED, "waits-for-job");
    assert_string_equal(job->reason, "waits until first (1) and 1 other jobs have succeeded");
    assert_string_equal(cluster_explain(w->cluster, job, text, sizeof text),
                        "waits for first (1), which is running, and for 1 other jobs; it is placed "
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
static void test_each_is_waited_for_once(void **state)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_account account;
    struct job *job;

    (void)state;
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

static void test_an_array_is_not_named_as_a_whole(void **state)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *array = world_spec("grid", 1, 1, 200, 0, 0);
    struct job_spec *spec = spec_after("job", "grid", NULL);
    struct edl_error error = { 0 };
    struct job *first;

    (void)state;
    array->array.n = 3;
    assert_int_equal(cluster_submit_array(w->cluster, array, "", NULL, w->now, &first, NULL), 0);
    assert_int_equal(cluster_submit(w->cluster, spec, "", w->now, NULL, &error), EDL_EBADSPEC);
    assert_string_equal(error.remedy, "it is an array: name its jobs, grid-0 and so on");
    job_spec_free(spec);
    (void)world_submit(w, spec_after("job", "grid-0", "grid-2"));
    world_free(w);
}

/* However long the chain, it falls at once. */
static void test_fails_with_what_it_waits_for(void **state)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *first = world_submit(w, world_spec("first", 1, 1, 200, 0, 0));
    struct job *job;
    struct job *last = NULL;

    (void)state;
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

static void test_refused(void **state)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *first = world_submit(w, world_spec("first", 1, 1, 200, 0, 0));
    struct job_spec *spec = spec_after("job", "first", "nobody");
    struct edl_error error = { 0 };
    struct forecast forecast = { 0 };

    (void)state;
    assert_int_equal(cluster_submit(w->cluster, spec, "", w->now, NULL, &error), EDL_EBADSPEC);
    assert_string_equal(error.pointer, "/spec/after/1");
    assert_string_equal(spec->after[0], "first"); /* nothing is half done */
    free(spec->after[1]);
    spec->after[1] = NULL;
    assert_int_equal(cluster_kill_job(w->cluster, first, "", w->now, NULL), 0);
    world_run(w, 3);
    assert_int_equal(cluster_submit(w->cluster, spec, "", w->now, NULL, &error), EDL_EBADSPEC);
    assert_string_equal(error.text, "job first (1) is killed: what is to run after it never would");
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
static void test_forecast(void **state)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *first = world_submit(w, world_spec("first", 1, 1, 200, 0, 0));
    struct job_spec *spec = spec_after("job", "first", NULL);
    struct forecast forecast = { 0 };
    struct edl_error error = { 0 };

    (void)state;
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

static void test_deadline(void **state)
{
    struct world *w = world_new(1, 1000, GIB, 900);
    struct job *runs = submit_until(w, "runs", 20 * USEC_PER_SEC);
    struct job *done = submit_until(w, "done", 20 * USEC_PER_SEC);

    (void)state;
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
static void test_deadline_of_queued(void **state)
{
    struct world *w = world_new(1, 1000, GIB, 900);
    struct job_spec *spec = world_spec("large", 1, 1, 5000, 0, 0);
    struct job *large;
    struct job *job;

    (void)state;
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
static void test_clock_set_back(void **state)
{
    struct world *w = world_new(1, 1000, GIB, 900);
    struct job *job = submit_until(w, "job", 5 * USEC_PER_SEC);

    (void)state;
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
static void test_waiting_for_others_is_no_waiting_for_room(void **state)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *first = world_submit(w, world_spec("first", 1, 1, 200, 0, 0));
    struct job *job = world_submit(w, spec_after("job", "first", NULL));
    const struct histogram *wait = &w->cluster->figures.queue_wait;

    (void)state;
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

static struct job_spec *array_spec(const char *name, uint32_t first, uint32_t n)
{
    struct job_spec *spec = world_spec(name, 1, 1, 200, 0, 0);

    spec->array.first = first;
    spec->array.n = n;
    return spec;
}

static void test_array(void **state)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *first = NULL;
    struct job_spec *spec = array_spec("many", 5, 3);
    struct edl_error error = { 0 };
    uint32_t n = 0;

    (void)state;
    (void)world_submit(w, world_spec("before", 1, 1, 200, 0, 0));
    spec->after = xcalloc(2, sizeof *spec->after);
    spec->after[0] = xstrdup("before");
    spec->deadline_us = 3600 * USEC_PER_SEC;
    assert_int_equal(cluster_submit_array(w->cluster, spec, "ann", NULL, w->now, &first, &error),
                     0);
    assert_int_equal(first->id, 2);
    world_run(w, 3);
    world_restart(w);
    for (uint32_t i = 0; i < 3; i++) {
        const struct job *job = cluster_job(w->cluster, 2 + i);
        char name[16];

        (void)snprintf(name, sizeof name, "many-%u", 5 + i);
        assert_string_equal(job->spec->name, name);
        assert_string_equal(job->spec->array.name, "many");
        assert_int_equal(job->spec->array.first, 5 + i);
        assert_int_equal(job->spec->array.n, 3);
        assert_string_equal(job->spec->after[0], "1");
        assert_int_equal(job->spec->deadline_wall_us, job->submitted_wall_us + 3600 * USEC_PER_SEC);
        assert_code(job, JOB_QUEUED, "waits-for-job");
    }
    finish(w, cluster_job(w->cluster, 1));
    world_run(w, 3);
    assert_int_equal(cluster_job(w->cluster, 4)->state, JOB_RUNNING);
    finish(w, cluster_job(w->cluster, 3));
    assert_int_equal(cluster_kill_array(w->cluster, "many", NULL, false, "enough", w->now, &n,
                                        &error),
                     0);
    assert_int_equal(n, 2);
    world_run(w, 3);
    assert_code(cluster_job(w->cluster, 2), JOB_KILLED, "killed");
    assert_code(cluster_job(w->cluster, 3), JOB_SUCCEEDED, "done");
    assert_code(cluster_job(w->cluster, 4), JOB_KILLED, "killed");
    assert_int_equal(cluster_kill_array(w->cluster, "many", NULL, false, "enough", w->now, &n,
                                        &error),
                     EDL_EBADTRANSITION);
    assert_int_equal(cluster_kill_array(w->cluster, "before", NULL, false, "", w->now, &n, &error),
                     -ENOENT);
    assert_int_equal(cluster_kill_array(w->cluster, "", NULL, false, "", w->now, &n, &error),
                     -ENOENT);
    world_free(w);
}

/* All of an array or none of it. */
static void test_array_is_whole(void **state)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *spec = array_spec("many", 0, 3);
    struct job *first = NULL;
    struct edl_error error = { 0 };

    (void)state;
    (void)world_submit(w, world_spec("many-2", 1, 1, 200, 0, 0));
    assert_int_equal(cluster_submit_array(w->cluster, spec, "ann", NULL, w->now, &first, &error),
                     -EEXIST);
    assert_non_null(strstr(error.text, "many-2"));
    assert_null(cluster_find_job(w->cluster, "many-0"));
    assert_int_equal(cluster_submit(w->cluster, spec, "ann", w->now, &first, &error), EDL_EBADSPEC);
    assert_string_equal(error.pointer, "/spec/array");
    job_spec_free(spec);
    world_free(w);
}

/* As a database of before may have it: one of another owner among them. */
static void test_array_is_of_one_owner(void **state)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *more = array_spec("many", 4, 2);
    struct edl_error error = { 0 };
    struct job *job = NULL;
    uint32_t n = 0;

    (void)state;
    assert_int_equal(cluster_submit_array(w->cluster, array_spec("many", 0, 3), "ann", NULL, w->now,
                                          &job, &error),
                     0);
    assert_int_equal(cluster_submit_array(w->cluster, more, "bob", NULL, w->now, &job, &error),
                     -EEXIST);
    assert_string_equal(error.text, "there is an array many of ann's");
    assert_string_equal(error.pointer, "/metadata/name");
    assert_int_equal(cluster_submit_array(w->cluster, more, "ann", NULL, w->now, &job, &error), 0);
    holdings_leave(&w->cluster->holdings, job);
    (void)snprintf(job->user, sizeof job->user, "bob");
    holdings_enter(&w->cluster->holdings, job);
    assert_int_equal(cluster_kill_array(w->cluster, "many", "bob", false, "enough", w->now, &n,
                                        &error),
                     0);
    assert_int_equal(n, 1);
    assert_int_equal(cluster_kill_array(w->cluster, "many", "ann", false, "enough", w->now, &n,
                                        &error),
                     0);
    assert_int_equal(n, 4);
    world_free(w);
}

static char *text_of(size_t length, char c)
{
    char *text = xcalloc(length + 1, 1);

    memset(text, c, length);
    return text;
}

static void set_env(struct job_spec *spec, size_t length, char c)
{
    spec->env = xcalloc(1, sizeof *spec->env);
    spec->env[0] = (struct env_pair){ .name = xstrdup("LONG"), .value = text_of(length, c) };
    spec->n_env = 1;
}

static void assert_refused(struct world *w, struct job_spec *take_spec, const char *pointer,
                           const char *remedy)
{
    struct edl_error error = { 0 };
    struct job *job = NULL;

    assert_int_equal(cluster_submit_array(w->cluster, take_spec, "ann", NULL, w->now, &job, &error),
                     EDL_EBADSPEC);
    assert_string_equal(error.pointer, pointer);
    assert_non_null(strstr(error.remedy, remedy));
    assert_null(w->cluster->jobs);
    job_spec_free(take_spec);
}

static void assert_accepted(struct world *w, struct job_spec *take_spec)
{
    struct edl_error error = { 0 };
    struct job *job = NULL;

    if (cluster_submit_array(w->cluster, take_spec, "ann", NULL, w->now, &job, &error) < 0)
        fail_msg("%s: %s", error.pointer, error.text);
    assert_non_null(job);
}

/* What a short call asks for is bounded: whoever makes it all answers nobody meanwhile. */
static void test_array_is_bounded(void **state)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *spec = array_spec("long", 0, 700);

    (void)state;
    set_env(spec, 60000, 'x');
    assert_refused(w, spec, "/spec/array", "submit at most 1");
    spec = array_spec("escaped", 0, 1000); /* six bytes each in the database */
    set_env(spec, 2000, '\001');
    assert_refused(w, spec, "/spec/array", "into a file");
    spec = array_spec("wide", 0, 98);
    spec->roles[0].min = spec->roles[0].max = 1024;
    assert_refused(w, spec, "/spec/array", "submit at most 97 jobs");
    spec = array_spec("one", 0, 0);
    set_env(spec, JOB_ENV_BYTES_MAX, 'x');
    assert_refused(w, spec, "/spec/env", "into a file");

    spec = array_spec("wide", 0, 97);
    spec->roles[0].min = spec->roles[0].max = 1024;
    assert_accepted(w, spec);
    spec = array_spec("one", 0, 0);
    set_env(spec, JOB_ENV_BYTES_MAX - strlen("LONG"), 'x');
    assert_accepted(w, spec);
    spec = array_spec("most", 0, 1000);
    set_env(spec, 4000, 'x');
    assert_accepted(w, spec);
    world_free(w);
}

/* Jobs that are not in the core any more, as the event that names them tells of them. */
static void test_archived(void **state)
{
    static const struct archived_job jobs[] = {
        { .named = "old", .id = 7, .name = "old", .state = JOB_SUCCEEDED },
        { .named = "8", .id = 8, .name = "bad", .state = JOB_KILLED },
        { .named = "first", .id = 9, .name = "first", .state = JOB_FAILED },
    };
    const struct archived_jobs archived = { jobs, ELEMENTS(jobs) };
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *spec = spec_after("job", "old", "8");
    struct forecast forecast = { 0 };
    struct edl_error error = { 0 };
    struct job *job = NULL;

    (void)state;
    (void)world_submit(w, world_spec("first", 1, 1, 200, 0, 0));
    world_run(w, 3);
    assert_int_equal(cluster_submit_array(w->cluster, spec, "", &archived, w->now, &job, &error),
                     EDL_EBADSPEC);
    assert_string_equal(error.pointer, "/spec/after/1");
    assert_string_equal(error.text, "job bad (8) is killed: what is to run after it never would");
    assert_int_equal(cluster_forecast(w->cluster, spec, "", &archived, w->now, NULL, &forecast,
                                      &error),
                     EDL_EBADSPEC);
    assert_string_equal(spec->after[0], "old"); /* nothing is half done */
    free(spec->after[1]);
    spec->after[1] = xstrdup("first"); /* the core knows a newer one of that name */
    assert_int_equal(cluster_forecast(w->cluster, spec, "", &archived, w->now, NULL, &forecast,
                                      &error),
                     0);
    assert_string_equal(forecast.code, "waits-for-job");
    forecast_done(&forecast);
    assert_int_equal(cluster_submit_array(w->cluster, spec, "", &archived, w->now, &job, &error),
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

static void test_array_is_archived(void **state)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct edl_error error = { 0 };
    uint32_t n = 0;

    (void)state;
    assert_int_equal(cluster_kill_array(w->cluster, "many", NULL, true, "", w->now, &n, &error),
                     EDL_EBADTRANSITION);
    assert_string_equal(error.text, "every job of the array many is over");
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_for_success),
        cmocka_unit_test(test_each_is_waited_for_once),
        cmocka_unit_test(test_an_array_is_not_named_as_a_whole),
        cmocka_unit_test(test_fails_with_what_it_waits_for),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_forecast),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_deadline_of_queued),
        cmocka_unit_test(test_clock_set_back),
        cmocka_unit_test(test_waiting_for_others_is_no_waiting_for_room),
        cmocka_unit_test(test_array),
        cmocka_unit_test(test_array_is_whole),
        cmocka_unit_test(test_array_is_of_one_owner),
        cmocka_unit_test(test_array_is_bounded),
        cmocka_unit_test(test_archived),
        cmocka_unit_test(test_array_is_archived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
