/* SPDX-License-Identifier: Apache-2.0 */
/* test_groups.c - guaranteed shares: had at once, lent while idle, taken back by shrinking; the
 * rest beyond them is shared by weight. One node of ten cores; alice is of group a, bob of b, carol
 * of none. */
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/ask/account.h"
#include "scheduler/core/ask/forecast.h"
#include "scheduler/core/core.h"
#include "scheduler/core/ask/reason.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static const struct group_member members[] = { { "alice", "a" }, { "bob", "b" } };
static struct group_table *table;

static struct world *world_of(uint32_t a_permille, uint32_t b_permille, uint32_t b_weight)
{
    const struct group_spec specs[] = {
        { .name = "b", .guaranteed_permille = b_permille, .weight = b_weight },
        { .name = "a", .guaranteed_permille = a_permille, .weight = 1 },
    };
    struct world *w = world_new(1, 10000, GIB, 1000);

    table = group_table_new(specs, ELEMENTS(specs), members, ELEMENTS(members));
    cluster_set_groups(w->cluster, table);
    world_plan(w);
    return w;
}

static void done(struct world *w)
{
    world_replan(w);
    world_free(w);
    table = group_table_free(table);
}

static struct job *submit(struct world *w, const char *user, const char *name, uint32_t min,
                          uint32_t max, uint64_t cpu)
{
    struct job *job;

    w->user = user;
    job = world_submit(w, world_spec(name, min, max, cpu, 0, 0));
    world_run(w, 24);
    return job;
}

static void assert_runs(const struct job *job, uint32_t n)
{
    if (job->state != JOB_RUNNING || job_count_running(job, 0) != n)
        fail_msg("%s: %s with %u, not %u: %s (%s)", job->spec->name,
                 job_state_to_string(job->state), job_count_running(job, 0), n, job->reason_code,
                 job->reason);
}

static void assert_waits(const struct job *job, const char *code, const char *words)
{
    if (job->state != JOB_QUEUED || !streq(job->reason_code, code) ||
        strstr(job->reason, words) == NULL)
        fail_msg("%s: %s: %s (%s)", job->spec->name, job_state_to_string(job->state),
                 job->reason_code, job->reason);
}

static bool shrank_for(const struct job *job, const char *words)
{
    const struct process *process;

    DL_FOREACH2(job->processes, process, job_next)
    if (strstr(process->reason, words) != NULL)
        return true;
    return false;
}

TEST(test_what_is_idle_is_lent_and_taken_back_at_once)
{
    struct world *w = world_of(500, 300, 1);
    struct job *lender = submit(w, "alice", "lender", 1, 10, 1000);
    struct job *gang;

    assert_runs(lender, 10);
    gang = submit(w, "bob", "gang", 3, 3, 1000);
    assert_runs(gang, 3);
    assert_runs(lender, 7);
    assert_true(shrank_for(lender, "job gang (group b has 0.0% of 30.0%)"));
    assert_int_equal(cluster_kill_job(w->cluster, gang, NULL, w->now, NULL), 0);
    world_run(w, 24);
    assert_runs(lender, 10); /* and lent again */
    done(w);
}

/* Beyond its share nothing is taken that is guaranteed to another. */
TEST(test_who_is_over_its_share_takes_no_guaranteed_room)
{
    struct world *w = world_of(500, 300, 1);
    struct job *a = submit(w, "alice", "a", 1, 10, 1000);
    struct job *over;

    assert_runs(submit(w, "bob", "first", 3, 3, 1000), 3);
    assert_runs(a, 7);
    assert_runs(submit(w, "bob", "two", 2, 2, 1000), 2);
    assert_runs(a, 5);
    over = submit(w, "bob", "three", 3, 3, 1000);
    assert_runs(a, 5);
    assert_waits(over, "group-share",
                 "group b holds 50.0% of the cluster, 30.0% are guaranteed to it");
    assert_waits(submit(w, "carol", "one", 1, 1, 1000), "group-share", "users of no group hold");
    assert_runs(a, 5);
    done(w);
}

/* Nobody has more than its share, and what others hold is not theirs to lend: a start is worth it.
 */
TEST(test_who_is_below_its_share_takes_from_anyone_at_last)
{
    struct world *w = world_of(500, 300, 1);
    struct job *a;

    assert_runs(submit(w, "carol", "rigid", 3, 3, 1000), 3);
    a = submit(w, "alice", "a", 1, 10, 1000);
    assert_runs(a, 7);
    assert_runs(submit(w, "bob", "gang", 3, 3, 1000), 3);
    assert_runs(a, 4);
    done(w);
}

TEST(test_nobody_goes_below_its_minimum_for_a_share)
{
    struct world *w = world_of(500, 300, 1);
    struct job *a = submit(w, "alice", "a", 8, 10, 1000);
    assert_runs(submit(w, "bob", "two", 2, 2, 1000), 2);
    assert_runs(a, 8);
    assert_waits(submit(w, "bob", "one", 1, 1, 1000), "gang-does-not-fit", "");
    assert_runs(a, 8);
    done(w);
}

TEST(test_who_is_below_its_share_goes_before_higher_priorities)
{
    struct world *w = world_of(500, 300, 1);
    struct job *rigid = submit(w, "alice", "rigid", 10, 10, 1000);
    struct job_spec *spec = world_spec("urgent", 3, 3, 1000, 0, 0);
    struct job *urgent;
    struct job *entitled;

    spec->priority = 50;
    w->user = "carol";
    urgent = world_submit(w, spec);
    entitled = submit(w, "bob", "entitled", 3, 3, 1000);
    assert_int_equal(cluster_kill_job(w->cluster, rigid, NULL, w->now, NULL), 0);
    (void)submit(w, "alice", "again", 5, 5, 1000);
    assert_runs(entitled, 3);
    assert_waits(urgent, "group-share", "");
    done(w);
}

/* 40 % and 20 % are guaranteed; of the 40 % that remain b has three quarters. */
TEST(test_what_is_beyond_is_shared_by_weight)
{
    struct world *w = world_of(400, 200, 3);
    struct job *a = submit(w, "alice", "a", 1, 20, 500);
    struct job *b;

    assert_runs(a, 20);
    b = submit(w, "bob", "b", 1, 20, 500);
    assert_runs(a, 10);
    assert_runs(b, 10);
    assert_true(shrank_for(a, "shrunk by the policy"));
    (void)submit(w, "bob", "more", 1, 20, 500); /* of the same group: it changes nothing for a */
    assert_runs(a, 10);
    assert_int_equal(cluster_kill_job(w->cluster, b, NULL, w->now, NULL), 0);
    world_run(w, 40);
    assert_runs(a, 10);
    done(w);
}

TEST(test_growth_comes_to_the_group_that_has_least)
{
    struct world *w = world_of(0, 0, 1);
    struct job *jobs[] = { submit(w, "alice", "a0", 1, 10, 500),
                           submit(w, "alice", "a1", 1, 10, 500),
                           submit(w, "alice", "a2", 1, 10, 500) };
    struct job *b = submit(w, "bob", "b", 1, 10, 500);
    uint32_t n = 0;

    assert_runs(b, 10);
    for (size_t i = 0; i < ELEMENTS(jobs); i++)
        n += job_count_running(jobs[i], 0);
    assert_int_equal(n, 10);
    done(w);
}

/* As without any groups: who came first keeps nothing, and nobody asks who owns what. */
TEST(test_other_groups_share_anew)
{
    struct world *w = world_of(700, 0, 1);
    struct job *a = submit(w, "alice", "a", 1, 10, 1000);
    struct job *b = submit(w, "bob", "b", 1, 10, 1000);

    assert_in_range(job_count_running(a, 0), 8, 9);
    cluster_set_groups(w->cluster, NULL);
    world_run(w, 40);
    assert_runs(a, 6); /* as two jobs share that nobody else owns */
    assert_runs(b, 4);
    done(w);
}

/* One that waits for another to succeed is no more in the queue than before. */
TEST(test_other_groups_start_nobody_who_waits_for_a_job)
{
    struct world *w = world_of(500, 0, 1);
    struct job *first = submit(w, "alice", "first", 1, 1, 1000);
    struct job_spec *spec = world_spec("then", 1, 1, 1000, 0, 0);
    struct edl_error error = { 0 };
    struct job *then;

    spec->after = xcalloc(2, sizeof *spec->after);
    spec->after[0] = xstrdup("first");
    then = world_submit(w, spec);
    world_run(w, 10);
    assert_waits(then, "waits-for-job", "first");
    cluster_set_groups(w->cluster, table);
    if (cluster_check(w->cluster, &error) < 0)
        fail_msg("%s", error.text);
    world_run(w, 10);
    assert_waits(then, "waits-for-job", "first");
    world_exit(w, world_live(first, "trainer", 0), 0, 0);
    world_run(w, 24);
    assert_runs(then, 1);
    done(w);
}

static struct forecast forecast_of(const struct world *w, const char *user, uint32_t min)
{
    struct job_spec *spec = world_spec("asked", min, min, 1000, 0, 0);
    struct forecast forecast = { 0 };
    struct edl_error error = { 0 };

    if (cluster_forecast(w->cluster, spec, user, NULL, w->now, NULL, &forecast, &error) < 0)
        fail_msg("%s", error.text);
    (void)job_spec_free(spec);
    return forecast;
}

static void assert_forecast(const struct forecast *forecast, enum forecast_verdict verdict,
                            const char *code, const char *words)
{
    if (forecast->verdict != verdict || !streq(forecast->code, code) ||
        strstr(forecast->reason, words) == NULL)
        fail_msg("%s: %s (%s)", forecast_verdict_to_string(forecast->verdict), forecast->code,
                 forecast->reason);
}

/* Who is below its share is told who gives way, who has it that nothing is taken for it; and so it
 * comes. */
TEST(test_forecast_says_what_a_share_allows)
{
    struct world *w = world_of(500, 300, 1);
    struct job *a = submit(w, "alice", "a", 1, 10, 1000);
    struct forecast forecast = forecast_of(w, "bob", 3);

    assert_forecast(&forecast, FORECAST_AFTER_SHRINKING, "gives-way",
                    "job a gives up 3 of 10 trainers");
    forecast_done(&forecast);
    assert_runs(submit(w, "bob", "first", 3, 3, 1000), 3);
    assert_runs(a, 7);
    forecast = forecast_of(w, "bob", 2); /* of what alice has beyond her share */
    assert_forecast(&forecast, FORECAST_AFTER_SHRINKING, "gives-way",
                    "job a gives up 2 of 7 trainers");
    forecast_done(&forecast);
    forecast = forecast_of(w, "bob", 3);
    assert_forecast(&forecast, FORECAST_UNKNOWN, "group-share",
                    "group b holds 30.0% of the cluster, 30.0% are guaranteed to it");
    assert_int_equal(forecast.n_victims, 0);
    assert_non_null(strstr(forecast.reason, "when a job ends is not known"));
    forecast_done(&forecast);
    assert_waits(submit(w, "bob", "over", 3, 3, 1000), "group-share", "group b holds 30.0%");
    assert_runs(a, 7);
    done(w);
}

/* The reason tells the numbers of when it was written, why those of now. */
TEST(test_why_tells_what_the_group_holds_now)
{
    struct world *w = world_of(500, 300, 1);
    struct job *first = submit(w, "bob", "first", 1, 1, 1000);
    struct job *over;
    char text[JOB_REASON_SIZE];

    assert_runs(submit(w, "bob", "second", 3, 3, 1000), 3);
    assert_runs(submit(w, "alice", "a", 6, 6, 1000), 6);
    over = submit(w, "bob", "over", 5, 5, 1000);
    assert_waits(over, "group-share", "group b holds 40.0% of the cluster");
    assert_int_equal(cluster_kill_job(w->cluster, first, NULL, w->now, NULL), 0);
    world_run(w, 2);
    assert_waits(over, "group-share", "group b holds 40.0% of the cluster");
    assert_non_null(strstr(cluster_explain(w->cluster, over, text, sizeof text),
                           "group b holds 30.0% of the cluster, 30.0% are guaranteed to it"));
    done(w);
}
