/* SPDX-License-Identifier: Apache-2.0 */
/* test_owner_limits.c - nobody holds more than the limits of a user or group allow */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/core/ask/account.h"
#include "scheduler/core/ask/forecast.h"
#include "scheduler/core/ask/growth.h"
#include "scheduler/core/ask/reason.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/owner_limits.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/plan/planned.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

#define CORE 1000

/* ann and bob are of the group lab, eve of none. */
static struct group_table *table_of(const struct owner_limits *of_lab,
                                    const struct owner_limits *of_ann)
{
    static const struct group_member members[] = { { "ann", "lab" }, { "bob", "lab" } };
    struct group_spec spec = { .name = "lab", .weight = 1 };
    struct group_table *table;

    if (of_lab != NULL)
        spec.limits = *of_lab;
    table = group_table_new(&spec, 1, members, ELEMENTS(members));
    if (of_ann != NULL)
        group_table_limit_user(table, "ann", of_ann);
    return table;
}

static struct job *submit(struct world *w, const char *user, const char *name, uint32_t min,
                          uint32_t max, uint64_t cpu_millicores)
{
    w->user = user;
    return world_submit(w, world_spec(name, min, max, cpu_millicores, 0, 0));
}

static uint64_t held_by(const struct world *w, const char *user)
{
    uint64_t millicores = 0;

    for (const struct job *job = cluster_active_jobs(w->cluster); job != NULL;
         job = job->active_next)
        for (uint32_t r = 0; streq(job->user, user) && r < job->spec->n_roles; r++)
            millicores += job->counts[r].live * job->spec->roles[r].cpu_millicores;
    return millicores;
}

static void run(struct world *w, unsigned n, const char *user, uint64_t most)
{
    while (n-- > 0) {
        world_second(w);
        assert_true(held_by(w, user) <= most);
    }
}

/* The third waits, is told why, lets somebody else pass, and starts when the first has ended. */
TEST(test_cores_of_a_user)
{
    static const struct owner_limits four = { .cpu_millicores = 4 * CORE };
    struct world *w = world_new(2, 10 * CORE, GIB, 1000);
    struct group_table *table = table_of(NULL, &four);
    struct job *jobs[3], *other;
    struct job_account account;
    char text[JOB_REASON_SIZE];
    char name[8];

    cluster_set_groups(w->cluster, table);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "j%d", i);
        jobs[i] = submit(w, "ann", name, 1, 1, 2 * CORE);
    }
    other = submit(w, "eve", "other", 1, 1, 2 * CORE);
    run(w, 5, "ann", 4 * CORE);
    assert_int_equal(jobs[0]->state, JOB_RUNNING);
    assert_int_equal(jobs[1]->state, JOB_RUNNING);
    assert_int_equal(other->state, JOB_RUNNING);
    assert_int_equal(jobs[2]->state, JOB_QUEUED);
    assert_string_equal(jobs[2]->reason_code, "owner-limit");
    assert_string_equal(jobs[2]->reason,
                        "its owner ann may hold 4 cores at once, and the job needs 2");
    assert_string_equal(cluster_explain_code(w->cluster, jobs[2]), "owner-limit");
    assert_non_null(strstr(cluster_explain(w->cluster, jobs[2], text, sizeof text), "4 cores"));
    cluster_account(w->cluster, jobs[2], &account);
    assert_string_equal(wait_change_to_string(account.change), "owner-limit");
    assert_string_equal(account.text, "the end of other jobs of user ann, or a higher limit from "
                                      "an admin: edl user set ann");
    world_exit(w, world_live(jobs[0], "trainer", 0), 0, 0);
    run(w, 5, "ann", 4 * CORE);
    assert_int_equal(jobs[2]->state, JOB_RUNNING);
    world_free(w);
    (void)group_table_free(table);
}

/* Elastic jobs grow up to it and no further, both of them together, whatever is free. */
TEST(test_growth_ends_at_the_limit)
{
    static const struct owner_limits six = { .cpu_millicores = 6 * CORE };
    static const struct policy *const policies[] = { &policy_fulfilment, &policy_goodput };

    for (size_t i = 0; i < ELEMENTS(policies); i++) {
        struct group_table *table = table_of(NULL, &six);
        struct job *a, *b, *c;
        struct world *w;
        char text[400];

        world_policy = policies[i];
        w = world_new(2, 20 * CORE, GIB, 1000);
        cluster_set_groups(w->cluster, table);
        a = submit(w, "ann", "a", 1, 10, CORE);
        b = submit(w, "ann", "b", 1, 10, CORE);
        run(w, 200, "ann", 6 * CORE);
        assert_int_equal(job_count_running(a, 0) + job_count_running(b, 0), 6);
        (void)cluster_explain_growth(w->cluster, a, text, sizeof text);
        if (strstr(text, "one more is beyond what user ann may hold at once") == NULL)
            fail_msg("%s", text);
        c = submit(w, "eve", "c", 1, 10, CORE);
        run(w, 200, "ann", 6 * CORE);
        assert_int_equal(job_count_running(c, 0), 10);
        world_replan(w);
        /* it is lifted: they go on growing */
        cluster_set_groups(w->cluster, NULL);
        for (int s = 0; s < 200; s++)
            world_second(w);
        assert_true(held_by(w, "ann") > 10 * CORE);
        world_free(w);
        (void)group_table_free(table);
    }
    world_policy = &policy_fulfilment;
}

/* Of all members together; GPUs too; a limit below what runs stops nobody. */
TEST(test_limit_of_a_group)
{
    static const struct owner_limits ten = { .cpu_millicores = 10 * CORE };
    static const struct owner_limits one = { .cpu_millicores = CORE };
    struct world *w = world_new(2, 10 * CORE, GIB, 1000);
    struct group_table *wide = table_of(&ten, NULL), *narrow = table_of(&one, NULL);
    struct job *a, *b, *c;

    cluster_set_groups(w->cluster, wide);
    a = submit(w, "ann", "a", 3, 3, 2 * CORE);
    b = submit(w, "bob", "b", 2, 2, 2 * CORE);
    c = submit(w, "ann", "c", 1, 1, CORE);
    for (int i = 0; i < 5; i++)
        world_second(w);
    assert_int_equal(a->state, JOB_RUNNING);
    assert_int_equal(b->state, JOB_RUNNING);
    assert_int_equal(c->state, JOB_QUEUED);
    assert_non_null(strstr(c->reason, "its group lab may hold 10 cores"));
    cluster_set_groups(w->cluster, narrow);
    for (int i = 0; i < 5; i++)
        world_second(w);
    assert_int_equal(a->state, JOB_RUNNING);
    assert_int_equal(b->state, JOB_RUNNING);
    world_exit(w, world_live(a, "trainer", 0), 1, 0); /* what runs is repaired, too */
    for (int i = 0; i < 20; i++)
        world_second(w);
    assert_int_equal(job_count_running(a, 0), 3);
    world_restart(w);
    cluster_set_groups(w->cluster, narrow);
    for (int i = 0; i < 5; i++)
        world_second(w);
    assert_string_equal(cluster_find_job(w->cluster, "c")->reason_code, "owner-limit");
    cluster_set_groups(w->cluster, NULL);
    for (int i = 0; i < 5; i++)
        world_second(w);
    assert_int_equal(cluster_find_job(w->cluster, "c")->state, JOB_RUNNING);
    world_free(w);
    (void)group_table_free(wide);
    (void)group_table_free(narrow);
}

static void refused(struct world *w, struct job_spec *spec, const char *user, const char *pointer,
                    const char *words)
{
    struct edl_error error = { 0 };
    struct job *job;

    assert_int_equal(cluster_submit(w->cluster, spec, user, w->now, &job, &error), -EDQUOT);
    assert_string_equal(error.pointer, pointer);
    if (strstr(error.text, words) == NULL)
        fail_msg("%s", error.text);
    (void)job_spec_free(spec);
}

TEST(test_refused_at_the_submission)
{
    static const struct owner_limits of_ann = { .cpu_millicores = 4 * CORE,
                                                .jobs = 2,
                                                .time_us = 3600 * USEC_PER_SEC };
    static const struct owner_limits of_lab = { .gpus = 2, .time_us = 7200 * USEC_PER_SEC };
    struct world *w = world_new(1, 10 * CORE, GIB, 1000);
    struct group_table *table = table_of(&of_lab, &of_ann);
    struct edl_error error = { 0 };
    struct job_spec *spec;
    struct job *job;

    cluster_set_groups(w->cluster, table);
    refused(w, world_spec("a", 5, 5, CORE, 0, 0), "ann", "/spec", "may have 4 cores at once");
    spec = world_spec("a", 1, 1, CORE, 0, 0);
    spec->roles[0].gpus = 3;
    refused(w, spec, "bob", "/spec", "the group lab may have 2 GPUs");
    spec = world_spec("a", 1, 1, CORE, 0, 0);
    spec->time_limit_us = 3601 * USEC_PER_SEC;
    refused(w, spec, "ann", "/spec/time_limit", "3600 s at most");
    job = submit(w, "ann", "a", 1, 1, CORE); /* it gets the lower one of both */
    assert_int_equal(job->spec->time_limit_us, 3600 * USEC_PER_SEC);
    assert_int_equal(submit(w, "bob", "a", 1, 1, CORE)->spec->time_limit_us, 7200 * USEC_PER_SEC);
    assert_int_equal(submit(w, "eve", "a", 1, 1, CORE)->spec->time_limit_us, 0);
    (void)submit(w, "ann", "b", 1, 1, CORE);
    refused(w, world_spec("c", 1, 1, CORE, 0, 0), "ann", "/spec", "at most 2 jobs: there are 2");
    world_run(w, 4);
    assert_int_equal(cluster_scale_job(w->cluster, job, "trainer", 4, 4, w->now, &error), -EDQUOT);
    assert_int_equal(cluster_scale_job(w->cluster, job, "trainer", 3, 3, w->now, NULL), 0);
    world_run(w, 4);
    world_free(w);
    (void)group_table_free(table);
}

/* A forecast knows who waits for a limit. */
TEST(test_forecast_of_a_limited_job)
{
    static const struct owner_limits four = { .cpu_millicores = 4 * CORE };
    struct world *w = world_new(1, 10 * CORE, GIB, 1000);
    struct group_table *table = table_of(NULL, &four);
    struct job_spec *spec = world_spec("b", 1, 1, CORE, 0, 0);
    struct forecast forecast = { 0 };

    cluster_set_groups(w->cluster, table);
    (void)submit(w, "ann", "a", 4, 4, CORE);
    world_run(w, 4);
    assert_int_equal(cluster_forecast(w->cluster, spec, "ann", NULL, w->now, NULL, &forecast, NULL),
                     0);
    assert_int_equal(forecast.verdict, FORECAST_UNKNOWN);
    assert_string_equal(forecast.code, "owner-limit");
    forecast_done(&forecast);
    (void)job_spec_free(spec);
    world_free(w);
    (void)group_table_free(table);
}

/* Many jobs wait for it: each filing costs a sort of them and no more. */
TEST(test_ten_thousand_wait)
{
    static const struct owner_limits four = { .cpu_millicores = 4 * CORE };
    struct world *w = world_new(1, 10 * CORE, GIB, 1000);
    struct group_table *table = table_of(NULL, &four);
    char name[16];
    struct job *job;

    cluster_set_groups(w->cluster, table);
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(name, sizeof name, "j%d", i);
        assert_int_equal(cluster_submit(w->cluster, world_spec(name, 1, 1, 1 * CORE, 0, 0), "ann",
                                        w->now, &job, NULL),
                         0);
    }
    world_run(w, 3);
    assert_int_equal(held_by(w, "ann"), 4 * CORE);
    assert_string_equal(job->reason_code, "owner-limit");
    world_free(w);
    (void)group_table_free(table);
}

/* Jobs that find no place keep none of the limit from others of their owner. */
TEST(test_jobs_without_a_place_are_not_counted)
{
    static const struct owner_limits ten = { .cpu_millicores = 10 * CORE };
    struct world *w = world_new(1, 6 * CORE, GIB, 1000);
    struct group_table *table = table_of(NULL, &ten);
    struct job *eve, *full, *never, *small;
    struct job_spec *spec;

    cluster_set_groups(w->cluster, table);
    eve = submit(w, "eve", "eve", 1, 1, 4 * CORE);
    world_run(w, 4);
    never = submit(w, "ann", "never", 1, 1, 9 * CORE);
    world_run(w, 4);
    spec = world_spec("small", 1, 1, 2 * CORE, 0, 0);
    spec->priority = -1;
    assert_int_equal(cluster_submit(w->cluster, spec, "ann", w->now, &small, NULL), 0);
    world_run(w, 4);
    assert_int_equal(eve->state, JOB_RUNNING);
    assert_string_equal(never->reason_code, "never-fits");
    assert_int_equal(small->state, JOB_RUNNING);
    full = submit(w, "ann", "full", 1, 1, 5 * CORE);
    world_run(w, 4);
    small = submit(w, "ann", "later", 1, 1, 4 * CORE);
    world_run(w, 4);
    assert_string_equal(full->reason_code, "group-share");
    assert_string_equal(small->reason_code, "group-share");
    world_free(w);
    (void)group_table_free(table);
}

/* Room is being made for one. Another of the same owner that goes before it takes the limit, and
 * nothing is left of the promise. */
TEST(test_a_promise_goes_with_the_limit)
{
    static const struct owner_limits four = { .cpu_millicores = 4 * CORE };
    struct world *w = world_new(1, 8 * CORE, GIB, 1000);
    struct group_table *table = table_of(NULL, &four);
    struct job *first, *second;
    struct job_spec *spec;

    cluster_set_groups(w->cluster, table);
    (void)submit(w, "eve", "elastic", 1, 8, CORE);
    for (int s = 0; s < 200; s++)
        world_second(w);
    first = submit(w, "ann", "first", 1, 1, 4 * CORE);
    world_replan(w);
    assert_true(planned_promised(first));
    spec = world_spec("second", 1, 1, 3 * CORE, 0, 0);
    spec->priority = 5;
    assert_int_equal(cluster_submit(w->cluster, spec, "ann", w->now, &second, NULL), 0);
    world_replan(w);
    assert_false(planned_promised(first));
    assert_string_equal(first->reason_code, "owner-limit");
    assert_true(planned_promised(second) || job_is_started(second));
    assert_int_equal(planned_is(first)->lack.cpu_millicores, 0);
    run(w, 60, "ann", 4 * CORE);
    assert_int_equal(second->state, JOB_RUNNING);
    assert_int_equal(first->state, JOB_QUEUED);
    world_free(w);
    (void)group_table_free(table);
}

/* A job that waits may ask for what a submission may ask for: of all its roles, and of the limit
 * itself. Two started jobs do not both take what is left of it before the next plan. */
TEST(test_scaled_within_the_limit)
{
    static const struct owner_limits six = { .cpu_millicores = 6 * CORE };
    struct world *w = world_new(1, 20 * CORE, GIB, 1000);
    struct group_table *table = table_of(NULL, &six);
    struct edl_error error = { 0 };
    struct job *a, *b, *waits;

    cluster_set_groups(w->cluster, table);
    a = submit(w, "ann", "a", 2, 2, CORE);
    b = submit(w, "ann", "b", 2, 2, CORE);
    world_run(w, 4);
    waits = submit(w, "ann", "waits", 3, 3, CORE);
    world_run(w, 4);
    assert_string_equal(waits->reason_code, "owner-limit");
    assert_int_equal(cluster_scale_job(w->cluster, waits, "trainer", 6, 6, w->now, &error), 0);
    assert_int_equal(cluster_scale_job(w->cluster, waits, "trainer", 7, 7, w->now, &error),
                     -EDQUOT);
    assert_string_equal(error.pointer, "/min");
    assert_non_null(strstr(error.text, "the minimum of this job needs 7"));
    assert_int_equal(cluster_scale_job(w->cluster, a, "trainer", 4, 4, w->now, &error), 0);
    assert_int_equal(cluster_scale_job(w->cluster, b, "trainer", 3, 3, w->now, &error), -EDQUOT);
    run(w, 5, "ann", 6 * CORE);
    assert_int_equal(job_count_running(a, 0), 4);
    world_free(w);
    (void)group_table_free(table);
}

/* Of all members of a group together, and of those that are not over. */
TEST(test_jobs_of_a_group)
{
    static const struct owner_limits three = { .jobs = 3 };
    struct world *w = world_new(1, 20 * CORE, GIB, 1000);
    struct group_table *table = table_of(&three, NULL);
    struct job *first;

    cluster_set_groups(w->cluster, table);
    first = submit(w, "ann", "a", 1, 1, CORE);
    (void)submit(w, "eve", "a", 1, 1, CORE);
    (void)submit(w, "bob", "a", 1, 1, CORE);
    (void)submit(w, "ann", "b", 1, 1, CORE);
    refused(w, world_spec("b", 1, 1, CORE, 0, 0), "bob", "/spec", "at most 3 jobs: there are 3");
    world_run(w, 3);
    world_exit(w, world_live(first, "trainer", 0), 0, 0);
    world_run(w, 3);
    (void)submit(w, "bob", "b", 1, 1, CORE);
    refused(w, world_spec("c", 1, 1, CORE, 0, 0), "ann", "/spec", "at most 3 jobs: there are 3");
    world_restart(w);
    cluster_set_groups(w->cluster, table);
    refused(w, world_spec("c", 1, 1, CORE, 0, 0), "ann", "/spec", "at most 3 jobs: there are 3");
    world_free(w);
    (void)group_table_free(table);
}

/* The limit falls while room is promised to a job: it waits for the limit then, once. */
TEST(test_a_limit_falls_below_a_promise)
{
    static const struct owner_limits four = { .cpu_millicores = 4 * CORE };
    static const struct owner_limits one = { .cpu_millicores = CORE };
    struct world *w = world_new(1, 8 * CORE, GIB, 1000);
    struct group_table *wide = table_of(NULL, &four), *narrow = table_of(NULL, &one);
    struct job *job;

    cluster_set_groups(w->cluster, wide);
    (void)submit(w, "eve", "elastic", 1, 8, CORE);
    for (int s = 0; s < 200; s++)
        world_second(w);
    (void)submit(w, "ann", "small", 1, 1, CORE);
    job = submit(w, "ann", "job", 1, 1, 3 * CORE);
    world_replan(w);
    assert_true(planned_promised(job));
    w->cluster->config.groups = narrow; /* as where started jobs come to hold more: none is filed */
    w->cluster->groups_version++;
    w->cluster->plan_wanted = true;
    world_plan(w);
    assert_false(planned_promised(job));
    assert_string_equal(job->reason_code, "owner-limit");
    world_free(w);
    (void)group_table_free(wide);
    (void)group_table_free(narrow);
}

/* The rest of a user's limit is with an elastic job. It gives way to the next one, as it does to
 * those of others, and grows again later. */
TEST(test_an_elastic_job_gives_way_to_its_owners_next)
{
    static const struct owner_limits six = { .cpu_millicores = 6 * CORE };
    static const struct policy *const policies[] = { &policy_fulfilment, &policy_goodput };

    for (size_t i = 0; i < ELEMENTS(policies); i++) {
        struct group_table *table = table_of(NULL, &six);
        struct job *elastic, *next, *last;
        struct world *w;
        char text[400];

        world_policy = policies[i];
        w = world_new(2, 20 * CORE, GIB, 1000);
        w->max_linger = 2;
        cluster_set_groups(w->cluster, table);
        elastic = submit(w, "ann", "elastic", 2, 10, CORE);
        run(w, 200, "ann", 6 * CORE);
        assert_int_equal(job_count_running(elastic, 0), 6);
        next = submit(w, "ann", "next", 3, 3, CORE);
        world_replan(w);
        assert_true(planned_promised(next)); /* until those that stop are gone */
        assert_int_equal(elastic->counts[0].stopping, 3);
        run(w, 20, "ann", 6 * CORE);
        assert_int_equal(job_count_running(next, 0), 3);
        assert_int_equal(job_count_running(elastic, 0), 3);
        (void)cluster_explain_growth(w->cluster, elastic, text, sizeof text);
        assert_non_null(strstr(text, "one more is beyond what user ann may hold at once"));
        last = submit(w, "ann", "last", 2, 2, CORE); /* beyond its minimum nothing is enough */
        run(w, 20, "ann", 6 * CORE);
        assert_string_equal(last->reason_code, "owner-limit");
        assert_int_equal(job_count_running(elastic, 0), 3);
        for (uint32_t at = 0; at < 3; at++)
            world_exit(w, world_live(next, "trainer", at), 0, 0);
        run(w, 200, "ann", 6 * CORE);
        assert_int_equal(job_count_running(last, 0), 2);
        assert_int_equal(job_count_running(elastic, 0), 4);
        world_free(w);
        (void)group_table_free(table);
    }
    world_policy = &policy_fulfilment;
}

/* Nobody gives way for a job that has no place all the same. */
TEST(test_nobody_gives_way_in_vain)
{
    static const struct owner_limits six = { .cpu_millicores = 6 * CORE };
    struct world *w = world_new(1, 8 * CORE, GIB, 1000);
    struct group_table *table = table_of(NULL, &six);
    struct job *elastic, *next;

    cluster_set_groups(w->cluster, table);
    (void)submit(w, "eve", "fixed", 1, 1, 4 * CORE);
    elastic = submit(w, "ann", "elastic", 1, 6, CORE);
    run(w, 200, "ann", 6 * CORE);
    assert_int_equal(job_count_running(elastic, 0), 4);
    next = submit(w, "ann", "next", 1, 1, 5 * CORE);
    run(w, 10, "ann", 6 * CORE);
    assert_int_equal(job_count_running(elastic, 0), 4);
    assert_string_equal(next->reason_code, "owner-limit");
    next = submit(w, "ann", "smaller", 1, 1, 3 * CORE);
    run(w, 10, "ann", 6 * CORE);
    assert_int_equal(job_count_running(next, 0), 1);
    assert_int_equal(job_count_running(elastic, 0), 1);
    world_free(w);
    (void)group_table_free(table);
}

/* Of two limits that one is given back of which the job needs some: a job with GPUs alone keeps
 * them. */
TEST(test_what_is_short_is_given)
{
    static const struct owner_limits limits = { .cpu_millicores = 6 * CORE, .gpus = 6 };
    struct world *w = world_new(2, 10 * CORE, GIB, 1000);
    struct group_table *table = table_of(NULL, &limits);
    struct job *cores, *gpus, *next;
    struct job_spec *spec;

    cluster_set_groups(w->cluster, table);
    for (size_t i = 0; i < w->n_agents; i++)
        w->agents[i].offer.gpus = 3;
    world_run(w, 3);
    cores = submit(w, "ann", "cores", 1, 4, CORE);
    run(w, 100, "ann", 6 * CORE);
    spec = world_spec("gpus", 1, 6, 0, 0, 0);
    spec->roles[0].gpus = 1;
    gpus = world_submit(w, spec); /* it would give first */
    run(w, 100, "ann", 6 * CORE);
    assert_int_equal(job_count_running(gpus, 0), 6);
    assert_int_equal(job_count_running(cores, 0), 4);
    next = submit(w, "ann", "next", 1, 1, 3 * CORE);
    world_plan(w);
    assert_int_equal(gpus->counts[0].stopping, 0);
    assert_int_equal(cores->counts[0].stopping, 1);
    run(w, 10, "ann", 6 * CORE);
    assert_int_equal(job_count_running(next, 0), 1);
    assert_int_equal(job_count_running(gpus, 0), 6);
    assert_int_equal(job_count_running(cores, 0), 3);
    world_free(w);
    (void)group_table_free(table);
}

/* A limit falls below what runs: elastic jobs come down to their minima, no program ends for it
 * beside, and nothing starts. */
TEST(test_a_limit_falls_below_what_runs)
{
    static const struct owner_limits seven = { .cpu_millicores = 7 * CORE };
    static const struct owner_limits two = { .cpu_millicores = 2 * CORE };
    struct world *w = world_new(2, 10 * CORE, GIB, 1000);
    struct group_table *wide = table_of(&seven, NULL), *narrow = table_of(&two, NULL);
    struct job *fixed, *elastic, *small;

    cluster_set_groups(w->cluster, wide);
    fixed = submit(w, "ann", "fixed", 2, 2, CORE);
    elastic = submit(w, "bob", "elastic", 1, 10, CORE);
    for (int i = 0; i < 100; i++)
        world_second(w);
    assert_int_equal(job_count_running(elastic, 0), 5);
    cluster_set_groups(w->cluster, narrow);
    world_replan(w);
    world_run(w, 5);
    assert_int_equal(job_count_running(fixed, 0), 2);
    assert_int_equal(job_count_running(elastic, 0), 1);
    small = submit(w, "bob", "small", 1, 1, CORE);
    for (int i = 0; i < 20; i++)
        world_second(w);
    assert_string_equal(small->reason_code, "owner-limit");
    assert_int_equal(job_count_running(elastic, 0), 1);
    world_free(w);
    (void)group_table_free(wide);
    (void)group_table_free(narrow);
}

/* A limit lets a job have the fewest of its parameter servers, and it starts with these. */
TEST(test_servers_below_a_limit)
{
    static const struct owner_limits six = { .cpu_millicores = 6 * CORE };
    struct world *w = world_new(1, 20 * CORE, GIB, 1000);
    struct group_table *table = table_of(NULL, &six);
    struct job_spec *spec = world_spec("job", 1, 4, CORE, 1, CORE);
    struct job *job;

    cluster_set_groups(w->cluster, table);
    spec->roles[0].max = 6;
    w->user = "ann";
    job = world_submit(w, spec);
    run(w, 10, "ann", 6 * CORE);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job_count_running(job, 0), 1);
    assert_int_equal(job->spec->roles[0].max, 1);
    world_free(w);
    (void)group_table_free(table);
}

/* Two jobs of one owner grow towards its limit, and one of another owner beside them: each plan is
 * whole. */
TEST(test_growth_to_a_limit_is_settled)
{
    static const struct owner_limits limits = { .cpu_millicores = 7 * CORE };
    static const struct policy *const policies[] = { &policy_fulfilment, &policy_goodput };

    for (size_t i = 0; i < ELEMENTS(policies); i++) {
        struct group_table *table = table_of(NULL, &limits);
        struct job *a, *b, *c, *waits;
        struct world *w;

        world_policy = policies[i];
        w = world_new(3, 6 * CORE, GIB, 1000);
        cluster_set_groups(w->cluster, table);
        a = submit(w, "ann", "a", 1, 10, CORE);
        b = submit(w, "ann", "b", 1, 10, CORE);
        c = submit(w, "bob", "c", 1, 10, CORE);
        waits = NULL;
        for (int s = 0; s < 150; s++) {
            world_second(w);
            world_replan(w);
            if (s == 100)
                waits = submit(w, "ann", "waits", 1, 1, 2 * CORE);
        }
        assert_int_equal(waits->state, JOB_RUNNING);
        assert_int_equal(job_count_running(a, 0) + job_count_running(b, 0), 5);
        assert_int_equal(job_count_running(c, 0), 10);
        world_free(w);
        (void)group_table_free(table);
    }
    world_policy = &policy_fulfilment;
}
