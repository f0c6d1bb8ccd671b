/* SPDX-License-Identifier: Apache-2.0 */
/* test_backlog.c - services that tell of their queues: the number of instances, and their room
 */
#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>

#include "scheduler/core/ask/growth.h"
#include "scheduler/core/model/backlog.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/record/clone.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/seeds.h"

#define SEEDS 200
#define HOLD_S ((unsigned)(BACKLOG_HOLD_US / USEC_PER_SEC))

static const struct policy *const policies[] = { &policy_fulfilment, &policy_goodput };

static struct world *world_of(const struct policy *policy, size_t nodes)
{
    struct world *w;

    world_policy = policy;
    w = world_new(nodes, 4000, 64 * GIB, 1000);
    world_policy = &policy_fulfilment;
    world_run(w, 1);
    return w;
}

static struct job *service(struct world *w, uint32_t min, uint32_t max)
{
    struct job_spec *spec = world_spec("digits", min, max, 1000, 0, 0);

    spec->mode = JOB_MODE_SERVICE;
    return world_submit(w, spec);
}

/* Its running instances tell: each computes for its part of a load of so many teachers, and what
 * is too much for all waits. */
static void tell(struct world *w, const struct job *job, double load)
{
    uint32_t n = job_count_running(job, 0);
    double each = n > 0 ? load / n : 0;

    for (size_t a = 0; a < w->n_agents; a++)
        for (size_t i = 0; i < w->agents[a].n; i++) {
            struct fake_process *fake = &w->agents[a].items[i];

            if (fake->job_id == job->id && fake->state == PROCESS_RUNNING)
                fake->backlog = (struct backlog_told){
                    .any = true,
                    .waiting_milli = each > 1 ? (uint32_t)(2000 * (each - 1)) + 1000 : 0,
                    .busy_permille = each > 1 ? 1000 : (uint32_t)(1000 * each)
                };
        }
}

static void run(struct world *w, const struct job *job, double load, unsigned seconds)
{
    for (; seconds > 0; seconds--) {
        tell(w, job, load);
        world_second(w);
        world_check(w);
    }
}

static void seconds(struct world *w, unsigned n)
{
    for (; n > 0; n--)
        world_second(w);
}

static struct job *submit(struct world *w, const char *name, uint32_t min, uint32_t max)
{
    return world_submit(w, world_spec(name, min, max, 1000, 0, 0));
}

TEST(test_a_service_grows_while_tasks_wait_and_shrinks_while_it_idles)
{
    for (size_t p = 0; p < ELEMENTS(policies); p++) {
        struct world *w = world_of(policies[p], 2);
        struct job *job = service(w, 1, 6);

        run(w, job, 0, 2 * HOLD_S);
        assert_int_equal(job_count_running(job, 0), 1); /* there is room for 8 */
        run(w, job, 3.5, 20);
        assert_int_equal(job_count_running(job, 0), 5); /* each computes for 70 % of the time */
        run(w, job, 100, 20);
        assert_int_equal(job_count_running(job, 0), 6);
        run(w, job, 1.1, HOLD_S - 3);
        assert_int_equal(job_count_running(job, 0), 6); /* it may come back */
        run(w, job, 1.1, 15);
        assert_int_equal(job_count_running(job, 0), 3);
        run(w, job, 0, HOLD_S + 5);
        assert_int_equal(job_count_running(job, 0), 1);
        world_free(w);
    }
}

/* Whatever the load is, as long as it stays the same. */
TEST(test_a_load_that_stays_moves_nothing)
{
    for (double load = 0.1; load < 5; load += 0.17) {
        struct world *w = world_of(&policy_goodput, 2);
        struct job *job = service(w, 1, 8);
        uint32_t resizes;

        run(w, job, load, 25);
        resizes = job->resizes;
        assert_true(job_count_running(job, 0) >= load);
        assert_true(job_count_running(job, 0) <= load / 0.4 + 1);
        run(w, job, load, 60);
        assert_int_equal(job->resizes, resizes);
        world_free(w);
    }
}

/* still_stands - the first instance says again what it said of a load that is gone */
static void still_stands(struct world *w, const struct job *job, bool old)
{
    for (size_t a = 0; a < w->n_agents; a++)
        for (size_t i = 0; i < w->agents[a].n; i++) {
            struct fake_process *fake = &w->agents[a].items[i];

            if (fake->job_id == job->id && fake->index == 0)
                fake->backlog = (struct backlog_told){
                    .any = true, .old = old, .waiting_milli = 8000, .busy_permille = 1000
                };
        }
}

TEST(test_one_that_stands_still_keeps_nobody)
{
    struct world *w = world_of(&policy_fulfilment, 2);
    struct job *job = service(w, 1, 4);

    run(w, job, 100, 20);
    assert_int_equal(job_count_running(job, 0), 4);
    for (unsigned i = 0; i < HOLD_S + 5; i++) {
        tell(w, job, 0);
        still_stands(w, job, i > 1);
        world_second(w);
        world_check(w);
    }
    assert_int_equal(job_wanted_by_backlog(job), 1);
    assert_int_equal(job_count_running(job, 0), 1);
    world_free(w);
}

TEST(test_a_gang_gets_its_room_from_services_first)
{
    for (size_t p = 0; p < ELEMENTS(policies); p++) {
        struct world *w = world_of(policies[p], 2);
        struct job *trains = submit(w, "trains", 1, 4), *job, *gang;

        seconds(w, 10);
        assert_int_equal(job_count_running(trains, 0), 4);
        job = service(w, 1, 4);
        run(w, job, 10, 20);
        assert_int_equal(job_count_running(job, 0), 4);
        gang = submit(w, "gang", 2, 2);
        run(w, job, 10, 3);
        assert_int_equal(job_count_running(gang, 0), 2);
        assert_int_equal(job_count_running(trains, 0), 4);
        assert_int_equal(job_count_running(job, 0), 2);
        run(w, job, 10, 30); /* nobody gives anything up for a service */
        assert_int_equal(job_count_running(trains, 0), 4);
        assert_int_equal(job_count_running(job, 0), 2);
        (void)submit(w, "more", 2, 2);
        run(w, job, 10, 10);
        assert_int_equal(job_count_running(job, 0), 1); /* its minimum */
        assert_int_equal(job_count_running(trains, 0), 3);
        world_free(w);
    }
}

static struct job *submit_on(struct world *w, struct job_spec *spec, size_t node)
{
    char kind[16];

    (void)snprintf(kind, sizeof kind, "k%zu", node);
    assert_int_equal(role_select(&spec->roles[0], "kind", kind, NULL), 0);
    return world_submit(w, spec);
}

/* Whichever node is looked at first. */
TEST(test_a_gang_spares_what_trains_on_another_node)
{
    for (size_t there = 0; there < 2; there++) {
        struct world *w = world_of(&policy_goodput, 2);
        struct job_spec *spec;
        struct job *job, *trains;

        for (size_t i = 0; i < 2; i++)
            assert_int_equal(labels_set(&w->agents[i].offer.labels, "kind", i == 0 ? "k0" : "k1",
                                        NULL),
                             0);
        world_run(w, 1);
        trains = submit_on(w, world_spec("trains", 1, 4, 1000, 0, 0), 1 - there);
        spec = world_spec("digits", 1, 4, 1000, 0, 0);
        spec->mode = JOB_MODE_SERVICE;
        job = submit_on(w, spec, there);
        run(w, job, 10, 20);
        assert_int_equal(job_count_running(job, 0), 4);
        assert_int_equal(job_count_running(trains, 0), 4);
        (void)submit(w, "gang", 1, 1);
        run(w, job, 10, 3);
        assert_int_equal(job_count_running(job, 0), 3);
        assert_int_equal(job_count_running(trains, 0), 4);
        world_free(w);
    }
}

/* Where that is not enough, others give only the rest. */
TEST(test_a_service_gives_before_the_others)
{
    struct world *w;
    struct job *trains, *job;

    world_policy = &policy_fulfilment;
    w = world_new(1, 5000, 64 * GIB, 1000);
    world_run(w, 1);
    trains = submit(w, "trains", 1, 3);
    seconds(w, 10);
    assert_int_equal(job_count_running(trains, 0), 3);
    job = service(w, 1, 8);
    run(w, job, 10, 20);
    assert_int_equal(job_count_running(job, 0), 2);
    (void)world_submit(w, world_spec("gang", 1, 1, 2000, 0, 0));
    run(w, job, 10, 3);
    assert_int_equal(job_count_running(job, 0), 1);
    assert_int_equal(job_count_running(trains, 0), 2);
    world_free(w);
}

/* What grows takes from it, also beyond what has room. */
TEST(test_a_job_that_grows_takes_from_a_service)
{
    struct world *w = world_of(&policy_fulfilment, 1);
    struct job *job = service(w, 1, 4), *trains;

    run(w, job, 10, 20);
    assert_int_equal(job_count_running(job, 0), 4);
    trains = submit(w, "trains", 1, 3);
    run(w, job, 10, 30);
    assert_int_equal(job_count_running(trains, 0), 3);
    assert_int_equal(job_count_running(job, 0), 1);
    assert_int_equal(cluster_kill_job(w->cluster, trains, NULL, w->now, NULL), 0);
    run(w, job, 10, 20);
    assert_int_equal(job_count_running(job, 0), 4);
    world_free(w);
}

TEST(test_a_service_that_tells_nothing_is_planned_as_before)
{
    struct world *w = world_of(&policy_fulfilment, 1);
    struct job *job = service(w, 1, 4);

    seconds(w, HOLD_S - 2);
    assert_int_equal(job_count_running(job, 0), 1); /* it is heard first */
    seconds(w, 8);
    assert_int_equal(job_count_running(job, 0), 4);
    assert_int_equal(job_wanted_by_backlog(job), 0);
    world_free(w);
}

/* What is no service may tell what it likes. */
TEST(test_only_services_are_heard)
{
    struct world *w = world_of(&policy_fulfilment, 1);
    struct job *trains = submit(w, "trains", 1, 4);
    struct job_spec *spec = world_spec("beside", 1, 2, 100, 0, 0);
    struct job *teaches;

    run(w, trains, 0, 20);
    assert_int_equal(job_count_running(trains, 0), 4);
    assert_int_equal(job_wanted_by_backlog(trains), 0);
    (void)snprintf(spec->roles[0].name, sizeof spec->roles[0].name, "teacher");
    teaches = world_submit(w, spec);
    run(w, teaches, 0, 20);
    assert_int_equal(job_wanted_by_backlog(teaches), 1);
    world_free(w);
}

/* Students may take a while until they ask those that came. */
TEST(test_nobody_goes_while_tasks_wait)
{
    struct world *w = world_of(&policy_goodput, 1);
    struct job *job = service(w, 1, 4);

    run(w, job, 4, 20);
    assert_int_equal(job_count_running(job, 0), 4);
    for (unsigned s = 0; s < 3 * HOLD_S; s++) {
        for (size_t i = 0; i < w->agents[0].n; i++)
            w->agents[0].items[i].backlog = (struct backlog_told){
                .any = true, .waiting_milli = i == 0 ? 7000 : 0, .busy_permille = i == 0 ? 1000 : 0
            };
        world_second(w);
    }
    assert_int_equal(job_count_running(job, 0), 4);
    world_free(w);
}

/* Neither a scheduler that starts again nor a copy comes to another number. */
TEST(test_a_restart_changes_no_size)
{
    for (int told = 0; told < 2; told++) {
        struct world *w = world_of(&policy_goodput, 2);
        struct job *job = service(w, 1, 8);
        uint64_t id = job->id;
        struct cluster *copy;
        uint32_t resizes;

        run(w, job, 2.9, 20);
        assert_int_equal(job_count_running(job, 0), 4);
        resizes = job->resizes;
        copy = cluster_clone(w->cluster, w->now);
        assert_int_equal(job_wanted_by_backlog(cluster_job(copy, id)), 4);
        cluster_free(copy);
        world_commit(w);
        world_restart(w);
        job = cluster_job(w->cluster, id);
        for (int i = 0; i < 5; i++) { /* the agents were started again as well: nothing is told */
            if (told)
                tell(w, job, 2.9);
            else
                for (size_t a = 0; a < w->n_agents; a++)
                    for (size_t k = 0; k < w->agents[a].n; k++)
                        w->agents[a].items[k].backlog.any = false;
            world_second(w);
        }
        run(w, job, 2.9, 30);
        assert_int_equal(job_count_running(job, 0), 4);
        assert_int_equal(job->resizes, resizes);
        world_free(w);
    }
}

/* Also of what there is no room for. */
TEST(test_a_copy_wants_as_many)
{
    struct world *w = world_of(&policy_goodput, 1);
    struct job *job = service(w, 1, 8);
    struct cluster *copy;

    run(w, job, 20, 20);
    assert_int_equal(job_count_running(job, 0), 4);
    assert_int_equal(job_wanted_by_backlog(job), 8);
    copy = cluster_clone(w->cluster, w->now);
    assert_int_equal(job_wanted_by_backlog(cluster_job(copy, job->id)), 8);
    cluster_free(copy);
    world_free(w);
}

TEST(test_reasons_tell_of_the_queue)
{
    struct world *w = world_of(&policy_goodput, 1);
    struct job *job = service(w, 1, 4);
    char text[400];
    bool told = false;

    seconds(w, 4);
    (void)cluster_explain_growth(w->cluster, job, text, sizeof text);
    assert_non_null(strstr(text, "it serves, and has not told of its queue yet"));
    for (int i = 0; i < 20; i++) {
        run(w, job, 2, 1);
        told = told || (job->resize_why != NULL &&
                        strstr(job->resize_why, "tasks wait for each trainer") != NULL);
    }
    assert_true(told || job->resizes > 0);
    (void)cluster_explain_growth(w->cluster, job, text, sizeof text);
    assert_non_null(strstr(text, "compute 6"));
    world_free(w);
}

/* Loads that change, instances that fail, jobs that come and go: never below the minimum while
 * there is room, never above the maximum, and what has no work is gone in the end. */
TEST(test_random_loads)
{
    uint64_t first = first_seed(1);
    unsigned n_over = 0, n_shrunk = 0;

    for (uint64_t seed = first; seed < first + SEEDS; seed++) {
        struct world *w = world_of(policies[seed % ELEMENTS(policies)], 2);
        struct job *job = service(w, 1 + (uint32_t)(seed % 2), 6);
        uint32_t min = job->spec->roles[0].min;
        double load = 0;
        uint64_t gang = 0;

        w->seed = seed;
        w->max_linger = 2;
        for (int i = 0; i < 120; i++) {
            struct process *process;

            if (world_random(w, 8) == 0)
                load = (double)world_random(w, 80) / 10;
            if (world_random(w, 15) == 0) {
                struct job *before = gang != 0 ? cluster_job(w->cluster, gang) : NULL;
                char name[32];

                if (before != NULL)
                    (void)cluster_kill_job(w->cluster, before, NULL, w->now, NULL);
                (void)snprintf(name, sizeof name, "gang-%d", i);
                gang = submit(w, name, 1, 1 + (uint32_t)world_random(w, 3))->id;
            }
            if (world_random(w, 30) == 0 && (process = world_live(job, "trainer", 0)) != NULL)
                world_exit(w, process, 1, 0);
            if (world_random(w, 40) == 0) {
                uint64_t id = job->id;

                world_commit(w);
                world_restart(w);
                job = cluster_job(w->cluster, id);
            }
            run(w, job, load, 1);
            if (job_state_is_final(job->state))
                break;
            n_shrunk += job_count(job, 0, false) > min;
            assert_true(job_count(job, 0, false) <= job->spec->roles[0].max);
            if (job->state == JOB_RUNNING)
                assert_true(job_count(job, 0, false) + job_count_due(job, 0) >= min);
        }
        if (job->state == JOB_RUNNING || job->state == JOB_RESIZING) {
            run(w, job, 0, 3 * HOLD_S);
            assert_int_equal(job_count(job, 0, false), min);
        } else {
            n_over++;
        }
        world_free(w);
    }
    assert_true(n_over < SEEDS / 4);
    assert_true(n_shrunk > 10 * SEEDS);
}
