/* SPDX-License-Identifier: Apache-2.0 */
/* test_growth.c - a job that tells nothing has all room that nobody wants, and gives it back at
 * once; edl why tells the bound that keeps a job from more */
#include "scheduler/core/ask/account.h"
#include "scheduler/core/ask/growth.h"
#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/ask/reason.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

#define CORE 1000

static struct world *world_of(size_t nodes, uint32_t load_permille)
{
    struct world *w;

    world_policy = &policy_goodput;
    w = world_new(nodes, 4 * CORE, GIB, load_permille);
    world_run(w, 1);
    return w;
}

static void end(struct world *w)
{
    world_free(w);
    world_policy = &policy_fulfilment;
}

static struct job *submit(struct world *w, const char *name, uint32_t min, uint32_t max)
{
    return world_submit(w, world_command(world_spec(name, min, max, CORE, 0, 0), "program"));
}

static void assert_kept_by(const struct world *w, const struct job *job, const char *words)
{
    char why[320];

    (void)cluster_explain_growth(w->cluster, job, why, sizeof why);
    if (strstr(why, words) == NULL)
        fail_msg("\"%s\" is not in: %s", words, why);
}

static void assert_has_all(const struct world *w, const struct job *job)
{
    char why[320];

    assert_string_equal(cluster_explain_growth(w->cluster, job, why, sizeof why), "");
}

static void succeed(struct world *w, const struct job *job)
{
    for (uint32_t i = 0; i < job->n_slots[0]; i++)
        if (job->slots[0][i].live != NULL)
            world_exit(w, job->slots[0][i].live, 0, 0);
    world_run(w, 6);
    assert_int_equal(job->state, JOB_SUCCEEDED);
}

/* The reserve keeps one of twelve cores. */
TEST(test_silent_job_has_what_nobody_wants)
{
    struct world *w = world_of(3, 920);
    struct job *quiet = submit(w, "quiet", 2, 20), *gang;

    world_run(w, 5);
    assert_int_equal(job_count_running(quiet, 0), 8);
    assert_kept_by(w, quiet, "it has 8 of at most 20 trainer instances: nobody knows its speed");
    world_fall_silent(w);
    assert_int_equal(job_count_running(quiet, 0), 11);
    assert_kept_by(w, quiet, "11.00 of the cluster's 12.00 cores are requested");
    gang = submit(w, "gang", 10, 10);
    world_run(w, 5);
    assert_int_equal(job_count_running(gang, 0), 10);
    assert_int_equal(job_count_running(quiet, 0), 2);
    succeed(w, gang);
    world_run(w, 5);
    assert_int_equal(job_count_running(quiet, 0), 11);
    end(w);
}

/* A reserve of a part of a core keeps no core. */
TEST(test_small_reserve_keeps_no_core)
{
    for (size_t nodes = 1; nodes <= 4; nodes++) {
        struct world *w = world_of(nodes, 970);
        struct job *quiet = submit(w, "quiet", 1, 20);

        world_fall_silent(w);
        assert_int_equal(job_count_running(quiet, 0), 4 * nodes);
        end(w);
    }
}

/* A job of the program has told nothing and ended. The next one need not be waited for. */
TEST(test_silence_of_a_family_is_known)
{
    struct world *w = world_of(3, 1000);
    struct job *first = submit(w, "first", 1, 12), *next;

    world_fall_silent(w);
    assert_int_equal(job_count_running(first, 0), 12);
    succeed(w, first);
    next = submit(w, "next", 1, 12);
    world_run(w, 10);
    assert_true(next->learned->told.silent);
    assert_int_equal(job_count_running(next, 0), 12);
    assert_has_all(w, next);
    end(w);
}

/* One that ended within seconds had no time to tell. */
TEST(test_short_run_tells_nothing_of_its_family)
{
    struct world *w = world_of(3, 1000);
    struct job *first = submit(w, "first", 1, 12), *next;

    world_run(w, 5);
    succeed(w, first);
    next = submit(w, "next", 1, 12);
    world_run(w, 10);
    assert_int_equal(job_count_running(next, 0), 4);
    end(w);
}

TEST(test_what_keeps_a_job_from_more_is_told)
{
    struct world *w = world_of(2, 1000);
    struct job *quiet, *other, *fixed = submit(w, "fixed", 1, 1);

    world_run(w, 3);
    assert_has_all(w, fixed);
    quiet = world_submit(w, world_command(world_spec("quiet", 1, 4, 3 * CORE, 0, 0), "other"));
    world_fall_silent(w);
    assert_int_equal(job_count_running(quiet, 0), 2);
    assert_kept_by(w, quiet, "7.00 of the cluster's 8.00 cores are requested");
    w->agents[0].offer.cpu_millicores += CORE;
    w->agents[1].offer.cpu_millicores += CORE;
    world_run(w, 4);
    assert_int_equal(job_count_running(quiet, 0), 2);
    assert_kept_by(w, quiet, "no node has room for one more, which needs");
    other = submit(w, "wide", 2, 8);
    world_run(w, 4);
    assert_true(job_count_running(other, 0) >= 2);
    assert_kept_by(w, other, "it has ");
    end(w);
}

/* Three hundred jobs wait, and a core is idle: it is too small for each of them. The first is told
 * so, and those behind it are told its name. */
TEST(test_idle_core_beside_many_that_wait)
{
    struct world *w = world_of(1, 970);
    struct job *first = NULL, *last = NULL;
    struct job_account account;

    (void)submit(w, "holds", 3, 3);
    world_run(w, 3);
    for (int i = 0; i < 300; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "waits-%d", i);
        last = world_submit(w, world_command(world_spec(name, 1, 1, 2 * CORE, 0, 0), "large"));
        first = first == NULL ? last : first;
    }
    world_run(w, 2);
    assert_string_equal(first->reason_code, "gang-does-not-fit");
    assert_string_equal(last->reason_code, "queued");
    assert_non_null(strstr(last->reason, "waits-0"));
    cluster_account(w->cluster, first, &account);
    assert_int_equal(account.change, CHANGE_ROOM);
    assert_int_equal(account.more.cpu_millicores, CORE);
    assert_int_equal(account.nodes[0].free.cpu_millicores, CORE);
    cluster_account(w->cluster, last, &account);
    assert_int_equal(account.change, CHANGE_JOB);
    assert_ptr_equal(account.before, first);
    end(w);
}
