/* SPDX-License-Identifier: Apache-2.0 */
/* test_notices.c - which moves of a job, and of an array, are told to its owner */
#include "scheduler/core/model/notices.h"

#include <stdio.h>
#include <string.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/job_sm.h"
#include "shared/error.h"
#include "shared/job_notify.h"
#include "tests/unit/after_world.h"
#include "tests/unit/test.h"

/* What was told, as "fail 3,end 1-5:3/1/1,": the event, and the job or the array's counts. */
struct told {
    struct memory_store *store; /* borrowed */
    char text[4096];
};

static void commit_and_hear(void *userdata, const struct effect *effects, size_t n)
{
    struct told *told = userdata;

    memory_store_commit(told->store, effects, n);
    for (size_t i = 0; i < n; i++) {
        const struct array_notice *array = effects[i].array;
        size_t at = strlen(told->text);

        if (effects[i].kind != EFFECT_NOTICE)
            continue;
        (void)snprintf(told->text + at, sizeof told->text - at, "%s %s",
                       notify_event_to_string((enum notify_event)effects[i].id),
                       effects[i].job->spec->name);
        at = strlen(told->text);
        if (array != NULL)
            (void)snprintf(told->text + at, sizeof told->text - at, ":%u/%u/%u of %u",
                           array->n_succeeded, array->n_failed, array->n_killed, array->n_jobs);
        at = strlen(told->text);
        (void)snprintf(told->text + at, sizeof told->text - at, ",");
    }
}

static int load_heard(void *userdata, struct cluster *cluster, struct instant now,
                      struct edl_error *error)
{
    const struct told *told = userdata;

    return memory_store_load(told->store, cluster, now, error);
}

static struct world *world_heard(struct told *told)
{
    struct world *w = world_new(1, 2500, GIB, 1000);

    *told = (struct told){ .store = w->store };
    w->disk = (struct world_disk){ commit_and_hear, load_heard, told };
    return w;
}

static struct job_spec *telling(struct job_spec *spec, uint32_t on)
{
    spec->notify = xcalloc(1, sizeof *spec->notify);
    spec->notify->on = on;
    spec->restart_max = 0; /* its first failure is its end */
    spec->notify->webhook = xstrdup("https://h/");
    return spec;
}

static struct job_spec *one(const char *name, uint32_t on)
{
    return telling(world_spec(name, 1, 1, 200, 0, 0), on);
}

static struct job *submit_array(struct world *w, struct job_spec *spec)
{
    struct job *first = NULL;
    struct edl_error error = { 0 };

    if (cluster_submit_array(w->cluster, spec, "", NULL, w->now, &first, &error) < 0)
        fail_msg("%s", error.text);
    return first;
}

static void heard(struct told *told, const char *text)
{
    if (!streq(told->text, text))
        fail_msg("told: %s; to be told: %s", told->text, text);
    told->text[0] = '\0';
}

static void fails(struct world *w, const char *name)
{
    world_exit(w, world_live(cluster_find_job(w->cluster, name), "trainer", 0), 1, 0);
    world_run(w, 3);
}

static void succeeds(struct world *w, const char *name)
{
    finish(w, cluster_find_job(w->cluster, name));
}

static void is_killed(struct world *w, const char *name)
{
    assert_int_equal(cluster_kill_job(w->cluster, cluster_find_job(w->cluster, name), NULL, w->now,
                                      NULL),
                     0);
    world_run(w, 3);
}

#define ALL (NOTIFY_BEGIN | NOTIFY_END | NOTIFY_FAIL | NOTIFY_REQUEUE)

TEST(test_a_job_tells_what_it_was_asked_for)
{
    static const struct {
        uint32_t on;
        const char *succeeded, *failed, *killed;
    } cases[] = {
        { NOTIFY_END, "end j,", "fail j,", "end j," },
        { NOTIFY_FAIL, "", "fail j,", "" },
        { NOTIFY_END | NOTIFY_FAIL, "end j,", "fail j,", "end j," },
        { NOTIFY_BEGIN, "begin j,", "begin j,", "begin j," },
        { NOTIFY_REQUEUE, "", "", "" },
        { ALL, "begin j,end j,", "begin j,fail j,", "begin j,end j," },
    };
    struct told told;

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct world *w = world_heard(&told);

        (void)world_submit(w, one("j", cases[i].on));
        world_run(w, 4);
        succeeds(w, "j");
        heard(&told, cases[i].succeeded);
        (void)world_submit(w, one("j", cases[i].on));
        world_run(w, 4);
        fails(w, "j");
        heard(&told, cases[i].failed);
        (void)world_submit(w, one("j", cases[i].on));
        world_run(w, 4);
        is_killed(w, "j");
        heard(&told, cases[i].killed);
        world_free(w);
    }
}

TEST(test_one_that_asks_for_nothing_tells_nothing)
{
    struct told told;
    struct world *w = world_heard(&told);

    (void)world_submit(w, world_spec("j", 1, 1, 200, 0, 0));
    world_run(w, 4);
    fails(w, "j");
    heard(&told, "");
    world_free(w);
}

/* Nobody killed it: its time was up. */
TEST(test_a_time_limit_is_a_failure)
{
    struct told told;
    struct world *w = world_heard(&told);
    struct job_spec *spec = one("j", NOTIFY_FAIL);

    spec->time_limit_us = 3 * USEC_PER_SEC;
    (void)world_submit(w, spec);
    for (int i = 0; i < 12; i++)
        world_second(w);
    assert_int_equal(cluster_find_job(w->cluster, "j")->state, JOB_KILLED);
    heard(&told, "fail j,");
    world_free(w);
}

/* A job that never ran fails with the one it was to run after. */
TEST(test_a_queued_job_that_fails_is_told)
{
    struct told told;
    struct world *w = world_heard(&told);

    (void)world_submit(w, world_spec("first", 1, 1, 200, 0, 0));
    (void)world_submit(w, telling(spec_after("second", "first", NULL), NOTIFY_FAIL));
    is_killed(w, "first");
    heard(&told, "fail second,");
    world_free(w);
}

/* It begins once, however often it is queued again. */
TEST(test_a_job_that_is_queued_again)
{
    struct told told;
    struct world *w = world_heard(&told);
    struct job *job = world_submit(w, one("j", ALL));

    world_run(w, 4);
    heard(&told, "begin j,");
    job_stop(w->cluster, job, w->now, INTENT_REQUEUED, CAUSE_MEMBER_LOST, "again");
    world_run(w, 6);
    heard(&told, "requeue j,");
    assert_int_equal(job->state, JOB_RUNNING);
    succeeds(w, "j");
    heard(&told, "end j,");
    world_free(w);
}

/* The first of each, and the end of all; the jobs before a restart count as well. */
TEST(test_an_array_tells_of_itself)
{
    struct told told;
    struct world *w = world_heard(&told);

    (void)submit_array(w, telling(array_spec("grid", 7, 5), ALL));
    world_run(w, 5);
    heard(&told, "begin grid-7:0/0/0 of 5,");
    succeeds(w, "grid-8");
    heard(&told, "");
    fails(w, "grid-9");
    heard(&told, "fail grid-9:1/1/0 of 5,");
    world_restart(w);
    world_run(w, 4);
    fails(w, "grid-7");
    is_killed(w, "grid-10");
    heard(&told, "");
    assert_non_null(w->cluster->array_notices);
    assert_int_equal(w->cluster->array_notices->first_failed, 3);
    succeeds(w, "grid-11");
    heard(&told, "end grid-11:2/2/1 of 5,");
    world_commit(w);
    assert_null(w->cluster->array_notices);
    world_restart(w);
    assert_null(w->cluster->array_notices);
    world_free(w);
}

/* Without `end` the failure is all that is told; one array's counts are not another's. */
TEST(test_arrays_do_not_mix)
{
    struct told told;
    struct world *w = world_heard(&told);

    (void)submit_array(w, telling(array_spec("a", 0, 2), NOTIFY_FAIL));
    (void)submit_array(w, telling(array_spec("b", 0, 2), NOTIFY_END));
    world_run(w, 5);
    fails(w, "b-0");
    heard(&told, "");
    fails(w, "a-1");
    heard(&told, "fail a-1:0/1/0 of 2,");
    fails(w, "a-0");
    heard(&told, "");
    succeeds(w, "b-1");
    heard(&told, "end b-1:1/1/0 of 2,");
    world_free(w);
}

/* A sweep of more jobs than an array may have is submitted in parts, one behind the other. */
TEST(test_parts_of_a_sweep_do_not_mix)
{
    struct told told;
    struct world *w = world_heard(&told);

    (void)submit_array(w, telling(array_spec("grid", 0, 2), NOTIFY_END));
    (void)submit_array(w, telling(array_spec("grid", 2, 2), NOTIFY_END));
    world_run(w, 5);
    fails(w, "grid-2");
    succeeds(w, "grid-0");
    heard(&told, "");
    world_restart(w);
    world_run(w, 4);
    succeeds(w, "grid-1");
    heard(&told, "end grid-1:2/0/0 of 2,");
    succeeds(w, "grid-3");
    heard(&told, "end grid-3:1/1/0 of 2,");
    world_commit(w);
    assert_null(w->cluster->array_notices);
    world_free(w);
}

TEST(test_each_job_of_an_array)
{
    struct told told;
    struct world *w = world_heard(&told);
    struct job_spec *spec = telling(array_spec("grid", 0, 2), NOTIFY_END);

    spec->notify->each = true;
    (void)submit_array(w, spec);
    world_run(w, 5);
    succeeds(w, "grid-1");
    heard(&told, "end grid-1,");
    fails(w, "grid-0");
    heard(&told, "fail grid-0,");
    assert_null(w->cluster->array_notices);
    world_free(w);
}

/* A thousand that are killed in one turn are one notice, and one row. */
TEST(test_a_thousand_are_one_notice)
{
    struct told told;
    struct world *w = world_heard(&told);
    struct edl_error error = { 0 };
    uint32_t n = 0;
    size_t n_rows = 0, n_effects;
    const struct effect *effects;

    (void)submit_array(w, telling(array_spec("grid", 0, 1000), NOTIFY_END | NOTIFY_FAIL));
    world_commit(w);
    assert_int_equal(cluster_kill_array(w->cluster, "grid", NULL, false, NULL, w->now, &n, &error),
                     0);
    effects = cluster_effects(w->cluster, &n_effects);
    for (size_t i = 0; i < n_effects; i++)
        n_rows += effects[i].kind == EFFECT_SAVE_ARRAY_NOTICE;
    assert_int_equal(n_rows, 1);
    world_commit(w);
    world_run(w, 3);
    heard(&told, "end grid-999:0/0/1000 of 1000,");
    world_free(w);
}
