/* SPDX-License-Identifier: Apache-2.0 */
/* test_arrays.c - many jobs of one document, and jobs that wait for all of them */
#include <errno.h>
#include <stdio.h>

#include "scheduler/core/ask/account.h"
#include "scheduler/core/ask/forecast.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/ask/reason.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/after_world.h"
#include "tests/unit/test.h"

static struct job *submit_array(struct world *w, struct job_spec *spec)
{
    struct job *first = NULL;
    struct edl_error error = { 0 };

    if (cluster_submit_array(w->cluster, spec, "", NULL, w->now, &first, &error) < 0)
        fail_msg("%s", error.text);
    return first;
}

/* All jobs of an array, in whatever order they end, also over a restart. */
TEST(test_waits_for_an_array)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_account account;
    struct job *job;
    char text[240];

    (void)submit_array(w, array_spec("grid", 5, 3));
    job = world_submit(w, spec_after("job", "grid", NULL));
    assert_string_equal(job->spec->after[0], "1-3");
    world_run(w, 4);
    assert_code(job, JOB_QUEUED, "waits-for-job");
    assert_string_equal(job->reason, "waits until all jobs of grid (1-3) have succeeded");
    finish(w, cluster_job(w->cluster, 1));
    finish(w, cluster_job(w->cluster, 3));
    assert_string_equal(cluster_explain(w->cluster, job, text, sizeof text),
                        "waits for grid (1-3), of whose jobs 1 of 3 has not succeeded; it is "
                        "placed when all have succeeded, and fails when one does not");
    cluster_account(w->cluster, job, &account);
    assert_int_equal(account.before->id, 2);
    assert_string_equal(account.text,
                        "the success of the array grid (1-3), of whose jobs 1 of 3 has not "
                        "succeeded");
    world_restart(w);
    world_run(w, 4);
    job = cluster_find_job(w->cluster, "job");
    assert_code(job, JOB_QUEUED, "waits-for-job");
    finish(w, cluster_job(w->cluster, 2));
    world_run(w, 3);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_null(w->cluster->awaited);
    world_free(w);
}

static unsigned n_in(const struct world *w, uint64_t first, unsigned n, enum job_state state)
{
    unsigned found = 0;

    while (n-- > 0)
        found += cluster_job(w->cluster, first + n)->state == state;
    return found;
}

static int bound(struct world *w, uint64_t id, uint32_t at_once)
{
    const struct job_change change = { .bound = true, .at_once = at_once };

    return cluster_change_job(w->cluster, cluster_job(w->cluster, id), &change, w->now, NULL);
}

/* One that takes long keeps one place, and not those behind it. Others of the same user and with
 * the same request go past. */
TEST(test_so_many_of_an_array_at_once)
{
    struct world *w = world_new(1, 20000, GIB, 1000);
    struct job_spec *spec = array_spec("sweep", 0, 6);
    struct job_spec *alone = job_spec_copy(spec);
    struct job_account account;
    struct job *slow, *job;

    spec->array.most = 2;
    slow = submit_array(w, spec);
    alone->array.n = 0;
    (void)snprintf(alone->name, sizeof alone->name, "alone");
    w->user = "";
    job = world_submit(w, alone);
    world_replan(w);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(n_in(w, slow->id, 6, JOB_RUNNING), 2);
    job = cluster_job(w->cluster, slow->id + 5);
    assert_code(job, JOB_QUEUED, "array-limit");
    assert_string_equal(job->reason, "at most 2 jobs of its array sweep run at once");
    cluster_account(w->cluster, job, &account);
    assert_string_equal(account.text,
                        "the end of a job of array sweep, or a higher bound: edl scale sweep%N");
    for (unsigned i = 1; i < 5; i++) {
        finish(w, cluster_job(w->cluster, slow->id + i));
        world_run(w, 4);
        assert_int_equal(n_in(w, slow->id, 6, JOB_RUNNING), 2);
    }
    assert_int_equal(slow->state + job->state, 2 * JOB_RUNNING);
    world_free(w);
}

/* Another bound while it runs, also over a restart: a lower one ends nothing. */
TEST(test_another_bound_of_an_array)
{
    struct world *w = world_new(1, 20000, GIB, 1000);
    struct job_spec *spec = array_spec("sweep", 3, 8);
    uint64_t id, other = world_submit(w, world_spec("other", 1, 1, 100, 0, 0))->id;

    spec->array.most = 2;
    id = submit_array(w, spec)->id;
    world_run(w, 4);
    assert_int_equal(bound(w, other, 3), -EINVAL);
    assert_int_equal(bound(w, id, 4), 0);
    world_commit(w);
    world_restart(w);
    world_run(w, 8);
    assert_int_equal(n_in(w, id, 8, JOB_RUNNING), 4);
    assert_int_equal(bound(w, id + 7, 1), 0);
    for (unsigned i = 0; i < 3; i++) {
        world_run(w, 4);
        assert_int_equal(n_in(w, id, 8, JOB_RUNNING), 4 - i);
        finish(w, cluster_job(w->cluster, id + i));
    }
    assert_int_equal(bound(w, id + 7, 0), 0);
    world_run(w, 4);
    assert_int_equal(n_in(w, id, 8, JOB_RUNNING), 5);
    world_free(w);
}

/* A thousand behind a thousand: each of them is told at once, and nothing is counted a million
 * times. */
TEST(test_arrays_behind_arrays)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *second = array_spec("second", 0, 300);
    struct job_spec *third = array_spec("third", 0, 300);
    struct job *first, *last;

    (void)submit_array(w, array_spec("first", 0, 300));
    second->after = xcalloc(2, sizeof *second->after);
    second->after[0] = xstrdup("first");
    third->after = xcalloc(3, sizeof *third->after);
    third->after[0] = xstrdup("second");
    third->after[1] = xstrdup("first-7");
    first = submit_array(w, second);
    last = submit_array(w, third);
    assert_int_equal(HASH_COUNT(w->cluster->awaited), 2);
    assert_string_equal(last->reason, "waits until all jobs of second (301-600) and 1 other have "
                                      "succeeded");
    world_run(w, 3);
    assert_int_equal(cluster_kill_job(w->cluster, cluster_find_job(w->cluster, "first-299"), "no",
                                      w->now, NULL),
                     0);
    world_run(w, 3);
    assert_code(first, JOB_FAILED, "dependency-failed");
    assert_string_equal(first->reason, "it was to run after first-299 (300), which was killed: no");
    assert_code(cluster_find_job(w->cluster, "second-299"), JOB_FAILED, "dependency-failed");
    assert_code(last, JOB_FAILED, "dependency-failed");
    assert_int_not_equal(cluster_find_job(w->cluster, "first-0")->state, JOB_FAILED);
    assert_null(w->cluster->awaited);
    world_free(w);
}

/* Who waits for it is killed, and the last of them takes what is known of it along. */
TEST(test_a_waiter_of_an_array_leaves)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *one, *two;

    (void)submit_array(w, array_spec("grid", 0, 3));
    one = world_submit(w, spec_after("one", "grid", NULL));
    two = world_submit(w, spec_after("two", "grid", "grid-0"));
    assert_int_equal(cluster_kill_job(w->cluster, one, "", w->now, NULL), 0);
    world_run(w, 3);
    assert_int_equal(HASH_COUNT(w->cluster->awaited), 1);
    assert_int_equal(cluster_kill_job(w->cluster, two, "", w->now, NULL), 0);
    world_run(w, 3);
    assert_null(w->cluster->awaited);
    assert_null(cluster_job(w->cluster, 1)->awaited);
    world_free(w);
}

/* The newest of that name; a job of that name goes before; one that has failed is refused. */
TEST(test_which_array)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *spec = spec_after("job", "grid", NULL);
    struct edl_error error = { 0 };

    (void)submit_array(w, array_spec("grid", 0, 2));
    (void)submit_array(w, array_spec("grid", 7, 3)); /* the same owner may */
    assert_string_equal(world_submit(w, spec_after("late", "grid", "grid-0"))->spec->after[0],
                        "3-5");
    assert_int_equal(cluster_kill_job(w->cluster, cluster_find_job(w->cluster, "grid-8"), "",
                                      w->now, NULL),
                     0);
    world_run(w, 3);
    assert_int_equal(cluster_submit(w->cluster, spec, "", w->now, NULL, &error), EDL_EBADSPEC);
    assert_string_equal(error.text, "job grid-8 (4) is killed: a job after it would never run");
    assert_string_equal(error.remedy, "submit grid again and wait for that one, or leave it out");
    assert_string_equal(spec->after[0], "grid");
    (void)world_submit(w, world_spec("grid", 1, 1, 200, 0, 0));
    assert_string_equal(world_submit(w, spec)->spec->after[0], "7");
    world_free(w);
}

/* What the core has let go of is told by who keeps it; what nobody keeps is not guessed. */
TEST(test_an_array_partly_archived)
{
    struct archived_array array = { .named = "grid", .n = 2, .first = 1 };
    struct archived_jobs archived = { .arrays = &array, .n_arrays = 1 };
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *spec = spec_after("job", "grid", NULL);
    struct job_spec *member = world_spec("grid-9", 1, 1, 200, 0, 0);
    struct edl_error error = { 0 };
    struct job *job = NULL;

    w->cluster->next_job_id = 3; /* grid-7 and grid-8 were 1 and 2 */
    member->array.name = xstrdup("grid");
    member->array.first = 9;
    member->array.n = 3;
    (void)world_submit(w, member);
    array.place = (struct array_place){ .id = 2, .index = 8, .n = 3 };
    assert_int_equal(cluster_submit(w->cluster, spec, "", w->now, NULL, &error), EDL_EBADSPEC);
    assert_string_equal(error.text, "the scheduler keeps 2 of 3 jobs of the array grid no "
                                    "more: whether all have succeeded is not known");
    array.failed = (struct archived_job){ .id = 1, .name = "grid-7", .state = JOB_FAILED };
    assert_int_equal(cluster_submit_array(w->cluster, spec, "", &archived, w->now, &job, &error),
                     EDL_EBADSPEC);
    assert_string_equal(error.text, "job grid-7 (1) is failed: a job after it would never run");
    array.failed.id = 0;
    assert_int_equal(cluster_submit_array(w->cluster, spec, "", &archived, w->now, &job, &error),
                     0);
    assert_string_equal(job->spec->after[0], "1-3");
    world_run(w, 4);
    assert_code(job, JOB_QUEUED, "waits-for-job");
    finish(w, cluster_find_job(w->cluster, "grid-9"));
    world_run(w, 3);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

/* All of them are over and only kept elsewhere: nobody is waited for. */
TEST(test_an_array_is_over)
{
    struct archived_array array = { .named = "grid", .n = 3, .first = 1 };
    struct archived_jobs archived = { .arrays = &array, .n_arrays = 1 };
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *spec = spec_after("job", "grid", NULL);
    struct forecast forecast = { 0 };
    struct edl_error error = { 0 };
    struct job *job = NULL;

    array.place = (struct array_place){ .id = 3, .index = 9, .n = 3 };
    world_run(w, 3);
    w->cluster->next_job_id = 4;
    assert_int_equal(cluster_forecast(w->cluster, spec, "", &archived, w->now, NULL, &forecast,
                                      &error),
                     0);
    assert_int_equal(forecast.verdict, FORECAST_NOW);
    forecast_done(&forecast);
    assert_int_equal(cluster_submit_array(w->cluster, spec, "", &archived, w->now, &job, &error),
                     0);
    world_run(w, 3);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

/* It stays in the core as long as somebody waits for another of its array. */
TEST(test_jobs_of_awaited_arrays_stay)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *job;

    (void)submit_array(w, array_spec("grid", 0, 3));
    job = world_submit(w, spec_after("job", "grid", NULL));
    (void)world_submit(w, world_spec("last", 1, 1, 200, 0, 0));
    cluster_keep_ended(w->cluster, 1, 0);
    world_run(w, 3);
    finish(w, cluster_job(w->cluster, 1));
    finish(w, cluster_job(w->cluster, 2));
    (void)cluster_archive_ended(w->cluster, w->now);
    assert_non_null(cluster_job(w->cluster, 1));
    finish(w, cluster_job(w->cluster, 3));
    world_run(w, 3);
    assert_int_equal(job->state, JOB_RUNNING);
    (void)cluster_archive_ended(w->cluster, w->now);
    assert_null(cluster_job(w->cluster, 1));
    world_free(w);
}

TEST(test_array)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job *first = NULL;
    struct job_spec *spec = array_spec("many", 5, 3);
    struct edl_error error = { 0 };
    uint32_t n = 0;

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
TEST(test_array_is_whole)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *spec = array_spec("many", 0, 3);
    struct job *first = NULL;
    struct edl_error error = { 0 };

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

/* Two users have an array of one name; each stops and waits for their own. */
TEST(test_arrays_are_of_users)
{
    static const struct {
        const char *user, *after, *wanted;
    } waiters[] = { { "ann", "many", "1-3" },      { "bob", "many", "4-5" },
                    { "ann", "bob/many", "4-5" },  { "ann", "many-1", "2" },
                    { "carl", "bob/many-1", "5" }, { "carl", "bobs", "6-7" },
                    { "carl", "many", NULL },      { "carl", "many-1", NULL } };
    struct world *w = world_new(1, 9000, GIB, 900);
    struct edl_error error = { 0 };
    struct job *job = NULL;
    uint32_t n = 0;

    assert_int_equal(cluster_submit_array(w->cluster, array_spec("many", 0, 3), "ann", NULL, w->now,
                                          &job, &error),
                     0);
    assert_int_equal(cluster_submit_array(w->cluster, array_spec("many", 0, 2), "bob", NULL, w->now,
                                          &job, &error),
                     0);
    assert_int_equal(cluster_submit_array(w->cluster, array_spec("bobs", 0, 2), "bob", NULL, w->now,
                                          &job, &error),
                     0);
    for (size_t i = 0; i < ELEMENTS(waiters); i++) {
        char name[] = "waiter-0";
        struct job_spec *spec;

        name[7] = (char)('0' + i);
        spec = spec_after(name, waiters[i].after, NULL);
        if (waiters[i].wanted == NULL) {
            assert_int_equal(cluster_submit(w->cluster, spec, waiters[i].user, w->now, &job,
                                            &error),
                             EDL_EBADSPEC);
            assert_string_equal(error.pointer, "/spec/after/0");
            assert_non_null(strstr(error.text, "several users have a"));
            assert_non_null(strstr(error.remedy, "/many"));
            (void)job_spec_free(spec);
            continue;
        }
        assert_int_equal(cluster_submit(w->cluster, spec, waiters[i].user, w->now, &job, &error),
                         0);
        assert_string_equal(job->spec->after[0], waiters[i].wanted);
    }
    assert_int_equal(cluster_kill_array(w->cluster, "many", "carl", false, "", w->now, &n, &error),
                     -ENOENT);
    assert_int_equal(cluster_kill_array(w->cluster, "many", "bob", false, "enough", w->now, &n,
                                        &error),
                     0);
    assert_int_equal(n, 2);
    assert_int_equal(cluster_kill_array(w->cluster, "many", "ann", false, "enough", w->now, &n,
                                        &error),
                     0);
    assert_int_equal(n, 3);
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
TEST(test_array_is_bounded)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *spec = array_spec("long", 0, 700);

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

TEST(test_array_is_archived)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct edl_error error = { 0 };
    uint32_t n = 0;

    assert_int_equal(cluster_kill_array(w->cluster, "many", NULL, true, "", w->now, &n, &error),
                     EDL_EBADTRANSITION);
    assert_string_equal(error.text, "every job of the array many is over");
    world_free(w);
}

/* --- what would become of an array --- */

static const struct forecast_options options = { .stop_us = USEC_PER_SEC,
                                                 .start_us = USEC_PER_SEC };

static struct forecast forecast_of(const struct world *w, struct job_spec *take_spec)
{
    struct forecast forecast = { 0 };
    struct edl_error error = { 0 };

    if (cluster_forecast(w->cluster, take_spec, "ann", NULL, w->now, &options, &forecast, &error) <
        0)
        fail_msg("%s", error.text);
    (void)job_spec_free(take_spec);
    return forecast;
}

static struct job_spec *cores_spec(const char *name, uint32_t n, uint64_t millicores)
{
    struct job_spec *spec = world_spec(name, 1, 1, millicores, 0, 0);

    spec->array.n = n;
    return spec;
}

TEST(test_all_of_an_array_start_now)
{
    struct world *w = world_new(2, 4000, GIB, 1000);
    struct forecast forecast = forecast_of(w, cores_spec("grid", 8, 1000));

    assert_int_equal(forecast.verdict, FORECAST_NOW);
    assert_string_equal(forecast.reason, "there is room for the minimum of each");
    assert_int_equal(forecast.wait_most_us, 0);
    assert_int_equal(forecast.array.n_jobs, 8);
    assert_int_equal(forecast.array.n_started, 8);
    assert_int_equal(forecast.array.first_least_us, 0);
    assert_int_equal(forecast.array.first_most_us, 0);
    assert_int_equal(forecast.n_placements, 8);
    assert_string_equal(forecast.placements[7].job, "grid-7");
    assert_int_equal(forecast.n_roles, 8);
    assert_true(forecast.roles[7].subject);
    assert_int_equal(forecast.n_resizes, 0);
    assert_int_equal(forecast.utilisation_after_ppm, 1000000);
    assert_null(w->cluster->jobs); /* nothing is done by asking */
    forecast_done(&forecast);
    world_free(w);
}

/* As many as there is room for start, and that comes true. */
TEST(test_some_of_an_array_start)
{
    struct world *w = world_new(2, 4000, GIB, 1000);
    struct job *first;
    struct forecast forecast;

    forecast = forecast_of(w, cores_spec("grid", 11, 1500));
    assert_int_equal(forecast.verdict, FORECAST_UNKNOWN);
    assert_int_equal(forecast.wait_least_us, NEVER_US);
    assert_int_equal(forecast.array.n_jobs, 11);
    assert_int_equal(forecast.array.n_started, 4);
    assert_int_equal(forecast.array.first_least_us, 0);
    assert_int_equal(forecast.n_placements, 4);
    if (strstr(forecast.reason, "job grid-4: ") != forecast.reason)
        fail_msg("%s", forecast.reason);
    first = submit_array(w, cores_spec("grid", 11, 1500));
    for (int i = 0; i < 30; i++)
        world_second(w);
    for (uint32_t i = 0; i < 11; i++) {
        const struct job *job = cluster_job(w->cluster, first->id + i);

        assert_int_equal(job->state, i < 4 ? JOB_RUNNING : JOB_QUEUED);
        if (i < 4)
            assert_string_equal(forecast.placements[i].node, job->slots[0][0].live->node_name);
    }
    forecast_done(&forecast);
    world_free(w);
}

/* Others give way for all of it: what that costs is of the whole. */
TEST(test_others_give_way_for_an_array)
{
    struct world *w = world_new(1, 10000, GIB, 1000);
    struct job_spec *spec = world_spec("a", 2, 10, 1000, 0, 0);
    struct forecast forecast;
    uint32_t n_victims = 0;

    spec->grace_us = 30 * USEC_PER_SEC;
    (void)world_submit(w, spec);
    for (int i = 0; i < 30; i++)
        world_second(w);
    forecast = forecast_of(w, cores_spec("grid", 3, 2000));
    assert_int_equal(forecast.verdict, FORECAST_AFTER_SHRINKING);
    assert_int_equal(forecast.array.n_started, 3);
    assert_true(forecast.array.first_least_us >= USEC_PER_SEC);
    assert_true(forecast.array.first_least_us <= forecast.wait_least_us);
    assert_true(forecast.array.first_most_us >= 30 * USEC_PER_SEC);
    assert_true(forecast.array.first_most_us <= forecast.wait_most_us);
    for (size_t i = 0; i < forecast.n_roles; i++) {
        assert_int_equal(forecast.roles[i].subject, !streq(forecast.roles[i].job, "a"));
        n_victims += streq(forecast.roles[i].job, "a") ? (uint32_t)forecast.roles[i].n_victims : 0;
    }
    assert_int_equal(n_victims, 6);
    assert_int_equal(forecast.n_victims, 6);
    forecast_done(&forecast);
    world_free(w);
}

/* However many there are, the answer has a bound; what it counts are all. */
TEST(test_a_large_array_is_listed_in_part)
{
    struct world *w = world_new(4, 100000, GIB, 1000);
    struct forecast forecast = forecast_of(w, cores_spec("grid", 300, 1000));

    assert_int_equal(forecast.verdict, FORECAST_NOW);
    assert_int_equal(forecast.array.n_started, 300);
    assert_int_equal(forecast.n_roles, FORECAST_ARRAY_LISTED);
    assert_int_equal(forecast.n_placements, FORECAST_ARRAY_LISTED);
    assert_int_equal(forecast.utilisation_after_ppm, 750000);
    forecast_done(&forecast);
    world_free(w);
}

/* Who asks for very much hears of a part of it: nobody is answered meanwhile. */
TEST(test_a_wide_array_is_played_in_part)
{
    struct world *w = world_new(4, 100000, GIB, 1000);
    struct job_spec *spec = cores_spec("grid", 50, 1);
    struct forecast forecast;

    spec->roles[0].min = spec->roles[0].max = 1000;
    forecast = forecast_of(w, spec);
    assert_int_equal(forecast.verdict, FORECAST_NOW);
    assert_int_equal(forecast.array.n_jobs, 50);
    assert_int_equal(forecast.array.n_played, 10);
    assert_int_equal(forecast.array.n_started, 10);
    assert_string_equal(forecast.reason, "there is room for the minimum of each; looked at were "
                                         "the first 10 of 50 jobs");
    forecast_done(&forecast);
    spec = cores_spec("grid", 50, 1);
    spec->roles[0].min = spec->roles[0].max = 1000;
    (void)world_submit(w, world_spec("grid-49", 1, 1, 1, 0, 0)); /* also what is not played */
    assert_int_equal(cluster_forecast(w->cluster, spec, w->user, NULL, w->now, NULL, &forecast,
                                      NULL),
                     -EEXIST);
    job_spec_free(spec);
    world_free(w);
}

/* What is refused is refused the same way, and what never fits is said to. */
TEST(test_an_array_that_cannot_be)
{
    struct world *w = world_new(1, 4000, GIB, 1000);
    struct job_spec *spec = array_spec("grid", 0, 3);
    struct forecast forecast = { 0 };
    struct edl_error error = { 0 };

    (void)world_submit(w, world_spec("grid-2", 1, 1, 200, 0, 0));
    assert_int_equal(cluster_forecast(w->cluster, spec, w->user, NULL, w->now, NULL, &forecast,
                                      &error),
                     -EEXIST);
    job_spec_free(spec);
    forecast = forecast_of(w, cores_spec("large", 3, 9000));
    assert_int_equal(forecast.verdict, FORECAST_NEVER);
    assert_int_equal(forecast.array.n_started, 0);
    assert_int_equal(forecast.array.first_least_us, NEVER_US);
    forecast_done(&forecast);
    world_free(w);
}

/* A deadline that comes while it waits is no start, of one job and of an array. */
TEST(test_a_deadline_is_no_start)
{
    struct world *w = world_new(1, 1000, GIB, 1000);

    (void)world_submit(w, world_spec("a", 1, 1, 1000, 0, 0));
    world_run(w, 3);
    for (uint32_t n = 0; n <= 2; n += 2) {
        struct job_spec *spec = cores_spec("late", n, 1000);
        struct forecast forecast;

        spec->deadline_us = 5 * USEC_PER_SEC;
        forecast = forecast_of(w, spec);
        assert_int_equal(forecast.verdict, FORECAST_UNKNOWN);
        assert_string_equal(forecast.code, "deadline");
        assert_int_equal(forecast.array.n_started, 0);
        forecast_done(&forecast);
    }
    world_free(w);
}
