/* SPDX-License-Identifier: Apache-2.0 */
/* test_archive.c - jobs that are over leave the core: by number, by age, and never one that is
 * needed */
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static struct world *world_that_keeps(uint64_t jobs, uint64_t us)
{
    struct world *w = world_new(1, 4000, 4 * GIB, 1000);

    w->cluster->config.keep_ended_jobs = jobs;
    w->cluster->config.keep_ended_us = us;
    w->replay_every = 1;
    return w;
}

/* A job of that name is submitted and ends. */
static uint64_t run_one(struct world *w, const char *name)
{
    uint64_t id = world_submit(w, world_spec(name, 1, 1, 100, 0, 0))->id;

    world_run(w, 3);
    world_exit(w, world_live(cluster_job(w->cluster, id), "trainer", 0), 0, 0);
    world_run(w, 3);
    assert_true(job_state_is_final(cluster_job(w->cluster, id)->state));
    return id;
}

static size_t let_go(struct world *w)
{
    size_t n = cluster_archive_ended(w->cluster, w->now);

    world_commit(w); /* what is loaded from the store is what is there */
    world_check(w);
    return n;
}

TEST(test_the_oldest_go_when_there_are_too_many)
{
    struct world *w = world_that_keeps(2, 0);
    uint64_t ids[5];
    char name[8];

    for (size_t i = 0; i < ELEMENTS(ids); i++) {
        (void)snprintf(name, sizeof name, "j%zu", i);
        ids[i] = run_one(w, name);
    }
    assert_int_equal(let_go(w), 3);
    for (size_t i = 0; i < ELEMENTS(ids); i++)
        assert_int_equal(cluster_job(w->cluster, ids[i]) == NULL, i < 3);
    assert_null(cluster_find_job(w->cluster, "j0"));
    assert_int_equal(w->cluster->n_ended, 2);
    assert_int_equal(let_go(w), 0);
    world_free(w);
}

TEST(test_they_go_with_time)
{
    struct world *w = world_that_keeps(0, 100 * USEC_PER_SEC);
    uint64_t first = run_one(w, "first");
    uint64_t second;

    world_advance(w, 60 * USEC_PER_SEC);
    second = run_one(w, "second");
    (void)run_one(w, "third");
    assert_int_equal(let_go(w), 0);
    world_advance(w, 50 * USEC_PER_SEC);
    assert_int_equal(let_go(w), 1);
    assert_null(cluster_job(w->cluster, first));
    assert_non_null(cluster_job(w->cluster, second));
    world_free(w);
}

/* The next number follows from the highest that is stored: a number is never given twice. */
TEST(test_the_newest_stays)
{
    struct world *w = world_that_keeps(0, USEC_PER_SEC);
    uint64_t id = run_one(w, "only");

    world_advance(w, 1000 * USEC_PER_SEC);
    assert_int_equal(let_go(w), 0);
    world_restart(w);
    w->cluster->config.keep_ended_us = USEC_PER_SEC;
    assert_int_equal(run_one(w, "next"), id + 1);
    assert_int_equal(let_go(w), 1);
    assert_null(cluster_job(w->cluster, id));
    world_free(w);
}

/* What runs stays, however old it is; and a job is not forgotten in the turn in which it ends. */
TEST(test_what_is_needed_stays)
{
    struct world *w = world_that_keeps(1, 0);
    struct job *runs = world_submit(w, world_spec("runs", 1, 1, 100, 0, 0));
    struct job *killed;
    uint64_t id;

    world_run(w, 3);
    (void)run_one(w, "a");
    killed = world_submit(w, world_spec("killed", 9, 9, 4000, 0, 0));
    id = killed->id;
    (void)run_one(w, "b");
    (void)world_submit(w, world_spec("last", 1, 1, 100, 0, 0)); /* the newest number */
    world_run(w, 3);
    assert_int_equal(let_go(w), 1); /* a */
    assert_int_equal(cluster_kill_job(w->cluster, killed, "no more", w->now, NULL), 0);
    assert_int_equal(cluster_archive_ended(w->cluster, w->now), 1); /* b: its end is on disk */
    assert_ptr_equal(cluster_job(w->cluster, id), killed);
    world_plan(w);
    world_commit(w);
    assert_ptr_equal(cluster_find_job(w->cluster, "runs"), runs);
    assert_true(!job_state_is_final(runs->state));
    world_free(w);
}

/* The clock was set back between two jobs of one name: the newer one ended "before" the older, and
 * leaves after it, because what is found by a name is its newest job. */
TEST(test_of_one_name_the_newest_is_found)
{
    struct world *w = world_that_keeps(1, 0);
    uint64_t first = run_one(w, "twice");
    uint64_t second;

    w->now.wall_us -= 3600 * USEC_PER_SEC;
    second = run_one(w, "twice");
    assert_int_equal(cluster_find_job(w->cluster, "twice")->id, second);
    (void)run_one(w, "another");
    assert_int_equal(let_go(w), 1);
    assert_null(cluster_job(w->cluster, first));
    assert_int_equal(cluster_find_job(w->cluster, "twice")->id, second);
    world_restart(w);
    assert_int_equal(cluster_find_job(w->cluster, "twice")->id, second);
    w->cluster->config.keep_ended_jobs = 1;
    assert_int_equal(let_go(w), 1);
    assert_null(cluster_find_job(w->cluster, "twice"));
    world_free(w);
}

/* Since when it waits for room is counted from the end of what it was to run after. */
TEST(test_what_a_queued_job_was_to_run_after_stays)
{
    struct world *w = world_that_keeps(0, USEC_PER_SEC);
    uint64_t id = run_one(w, "first");
    struct job *large = world_submit(w, world_spec("large", 1, 1, 4000, 0, 0));
    struct job_spec *spec = world_spec("after", 1, 1, 4000, 0, 0);
    struct job *job;

    spec->after = xcalloc(2, sizeof *spec->after);
    spec->after[0] = xstrdup("first");
    world_run(w, 3);
    job = world_submit(w, spec);
    assert_int_equal(job->state, JOB_QUEUED);
    for (int i = 0; i < 2; i++) {
        world_advance(w, 1000 * USEC_PER_SEC);
        world_run(w, 3);
        (void)let_go(w);
        assert_non_null(cluster_job(w->cluster, id));
        world_restart(w);
        w->cluster->config.keep_ended_us = USEC_PER_SEC;
    }
    large = cluster_find_job(w->cluster, "large");
    world_exit(w, world_live(large, "trainer", 0), 0, 0);
    world_run(w, 3);
    assert_int_equal(cluster_find_job(w->cluster, "after")->state, JOB_RUNNING);
    assert_int_equal(cluster_job(w->cluster, id)->n_named, 0);
    assert_true(let_go(w) >= 1);
    assert_null(cluster_job(w->cluster, id));
    world_free(w);
}

/* No room for any of them: they wait, and are killed. */
static void submit_and_kill(struct world *w, unsigned n)
{
    char name[16];

    for (unsigned i = 0; i < n; i++) {
        struct job *job;

        (void)snprintf(name, sizeof name, "k%llu", (unsigned long long)w->cluster->next_job_id);
        job = world_submit(w, world_spec(name, 9, 9, 4000, 0, 0));
        assert_int_equal(cluster_kill_job(w->cluster, job, "enough", w->now, NULL), 0);
    }
    world_plan(w);
}

/* Turns until none is asked for; how many. */
static unsigned drain(struct world *w, size_t most_a_turn)
{
    unsigned turns = 0;

    do {
        size_t n = cluster_archive_ended(w->cluster, w->now);

        assert_in_range(n, 0, most_a_turn);
        world_commit(w);
        assert_in_range(++turns, 1, 1000);
    } while (cluster_archive_is_due(w->cluster));
    world_check(w);
    return turns;
}

/* However many a turn ends: those that follow let all of them go, so many each. */
TEST(test_all_that_a_turn_ends_go)
{
    struct world *w = world_that_keeps(10, 0);

    w->replay_every = UINT32_MAX; /* to load them after each takes long */
    submit_and_kill(w, 1500);
    w->replay_every = 1;
    assert_int_equal(w->cluster->n_ended, 1500);
    assert_in_range(drain(w, 128), 1490 / 128, 1490 / 128 + 4);
    assert_int_equal(w->cluster->n_ended, 10);
    assert_int_equal(drain(w, 0), 1); /* and then nothing asks for turns */
    world_free(w);
}

/* A turn lets go of few jobs with long documents. */
TEST(test_long_documents_take_more_turns)
{
    struct world *w = world_that_keeps(1, 0);
    struct job *job;

    for (unsigned i = 0; i < 12; i++) {
        struct job_spec *spec = world_spec("long", 9, 9, 4000, 0, 0);
        char *command = xcalloc(300001, 1);

        memset(command, 'x', 300000);
        (void)world_command(spec, command);
        free(command);
        job = world_submit(w, spec);
        assert_int_equal(cluster_kill_job(w->cluster, job, "enough", w->now, NULL), 0);
    }
    world_plan(w);
    assert_in_range(drain(w, 4), 3, 6);
    assert_int_equal(w->cluster->n_ended, 1);
    world_free(w);
}

/* Those that have to stay are passed, however many they are, up to a bound. */
TEST(test_named_jobs_hold_up_nobody)
{
    struct world *w = world_that_keeps(1, 0);
    struct job_spec *spec = world_spec("after", 1, 1, 4000, 0, 0);
    struct job *names;
    char name[8];

    w->cluster->config.keep_named_jobs = 30;
    spec->after = xcalloc(41, sizeof *spec->after);
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "j%u", i);
        spec->after[i] = xstrdup(name);
        (void)run_one(w, name);
    }
    (void)world_submit(w, world_spec("large", 1, 1, 4000, 0, 0));
    world_run(w, 3);
    names = world_submit(w, spec);
    assert_int_equal(names->state, JOB_QUEUED);
    submit_and_kill(w, 300);
    (void)drain(w, 128);
    assert_int_equal(w->cluster->n_ended, 31); /* 30 of those that are named, and the newest job */
    assert_int_equal(cluster_archive_leaving(w->cluster), 0); /* they stay on purpose */
    assert_non_null(cluster_find_job(w->cluster, "j29"));
    assert_null(cluster_find_job(w->cluster, "j30"));
    assert_int_equal(names->state, JOB_QUEUED);
    assert_int_equal(cluster_kill_job(w->cluster, names, "enough", w->now, NULL), 0);
    world_plan(w);
    (void)drain(w, 128);
    assert_int_equal(w->cluster->n_ended, 1);
    world_free(w);
}
