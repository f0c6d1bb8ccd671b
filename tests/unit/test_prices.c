/* SPDX-License-Identifier: Apache-2.0 */
/* test_prices.c - a scarce resource has a price, an idle one costs nothing, and moves are told with
 * it */
#include <stdio.h>
#include <string.h>

#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/plan/planner.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

#define CORE UINT64_C(1000) /* millicores */
#define CORES 10

/* What the world's disk gets passes here first. */
struct listener {
    struct world_disk disk;
    char grown[240], shrunk[240]; /* the last event of each */
};

static struct listener listener;

static void listen_and_commit(void *userdata, const struct effect *effects, size_t n)
{
    (void)userdata;
    for (size_t i = 0; i < n; i++) {
        if (effects[i].kind != EFFECT_EVENT || !streq(effects[i].event, "job-resized"))
            continue;
        (void)snprintf(strstr(effects[i].text, "(grown: ") != NULL ? listener.grown
                                                                   : listener.shrunk,
                       sizeof listener.grown, "%s", effects[i].text);
    }
    listener.disk.commit(listener.disk.userdata, effects, n);
}

static struct world *begin(uint32_t gpus)
{
    struct world *w;

    world_policy = &policy_goodput;
    w = world_new(1, CORES * CORE, 64 * GIB, 1000);
    w->agents[0].offer.gpus = gpus;
    listener = (struct listener){ .disk = w->disk };
    w->disk.commit = listen_and_commit;
    world_run(w, 1);
    return w;
}

static void end(struct world *w)
{
    world_free(w);
    world_policy = &policy_fulfilment;
}

static struct job *run_job(struct world *w, const char *name, uint32_t min, uint32_t max,
                           uint32_t gpus)
{
    struct job_spec *spec = world_spec(name, min, max, gpus > 0 ? CORE / 10 : CORE, 0, 0);
    struct job *job;

    spec->roles[spec->n_roles - 1].gpus = gpus;
    job = world_submit(w, spec);
    world_fall_silent(w); /* it takes what nobody else wants more */
    assert_int_equal(job->state, JOB_RUNNING);
    return job;
}

static struct policy_price price(const struct world *w, enum policy_resource resource)
{
    struct policy_price prices[POLICY_RESOURCES];

    assert_true(cluster_prices(w->cluster, prices));
    return prices[resource];
}

static void assert_idle(const struct world *w, enum policy_resource resource)
{
    assert_true(price(w, resource).for_sale);
    assert_near(price(w, resource).worth, 0, 0);
}

TEST(test_idle_costs_nothing_and_scarce_does)
{
    struct world *w = begin(2);
    double with_two, with_three;

    assert_idle(w, POLICY_CPU);
    (void)run_job(w, "a", 1, 4, 0);
    assert_idle(w, POLICY_CPU); /* six cores are free */
    (void)run_job(w, "b", 1, 20, 0);
    with_two = price(w, POLICY_CPU).worth;
    assert_true(with_two > 0);
    assert_idle(w, POLICY_MEMORY);
    assert_idle(w, POLICY_GPU);
    (void)run_job(w, "c", 1, 20, 0); /* more who want them: dearer */
    with_three = price(w, POLICY_CPU).worth;
    assert_true(with_three > with_two);
    /* all of the ten together cannot save more than a second for each of three jobs in a second */
    assert_true(CORES * with_three <= 3 * 1.1);
    assert_true(CORES * with_three > 0.3);
    end(w);
}

/* What is on its way from one to the other is not idle. */
TEST(test_price_stays_while_instances_change_hands)
{
    struct world *w = begin(0);

    (void)run_job(w, "a", 1, 20, 0);
    (void)run_job(w, "b", 1, 20, 0);
    w->agents[0].silent = true; /* what is asked to stop stays */
    (void)world_submit(w, world_spec("c", 1, 20, CORE, 0, 0));
    world_plan(w);
    assert_true(w->cluster->planner->stopping.cpu_millicores > 0);
    assert_true(price(w, POLICY_CPU).worth > 0);
    end(w);
}

/* Each resource has a price of its own. */
TEST(test_gpus_have_their_own_price)
{
    struct world *w = begin(4);
    struct job *a = run_job(w, "a", 1, 8, 1), *b = run_job(w, "b", 1, 8, 1);

    assert_true(price(w, POLICY_GPU).worth > 0);
    assert_idle(w, POLICY_CPU);
    (void)run_job(w, "c", 1, 20, 0);
    (void)run_job(w, "d", 1, 20, 0);
    assert_true(price(w, POLICY_CPU).worth > 0);
    assert_true(price(w, POLICY_GPU).worth > 0);
    assert_int_equal(cluster_kill_job(w->cluster, a, NULL, w->now, NULL), 0);
    world_run(w, 6);
    assert_int_equal(job_count_running(b, 0), 4);
    assert_int_equal(cluster_kill_job(w->cluster, b, NULL, w->now, NULL), 0);
    world_run(w, 6);
    assert_idle(w, POLICY_GPU);
    assert_true(price(w, POLICY_CPU).worth > 0);
    end(w);
}

TEST(test_minima_are_not_for_sale)
{
    struct world *w = begin(0);
    struct job *a;

    assert_true(price(w, POLICY_GPU).none && price(w, POLICY_GPU).for_sale);
    assert_false(price(w, POLICY_CPU).none);
    a = run_job(w, "a", 5, 20, 0);
    assert_true(price(w, POLICY_CPU).for_sale);
    assert_true(price(w, POLICY_CPU).worth > 0 || job_count_running(a, 0) < CORES);
    (void)run_job(w, "b", 5, 20, 0);
    world_run(w, 6);
    assert_false(price(w, POLICY_CPU).for_sale);
    assert_idle(w, POLICY_MEMORY);
    end(w);
}

/* Nor is what a deadline needs. */
TEST(test_what_a_deadline_needs_is_not_for_sale)
{
    struct world *w = begin(0);
    struct job_spec *spec = world_spec("a", 1, 10, CORE, 0, 0);
    struct job *job;

    spec->deadline_us = 200 * USEC_PER_SEC;
    job = world_submit(w, spec);
    world_run(w, 6);
    assert_true(price(w, POLICY_CPU).for_sale);
    for (uint32_t k = 1; k <= 10; k++) {
        (void)goodput_pserver_add(&job->learned->of.fit,
                                  &(struct goodput_pserver_report){ k, 1, 1.0 / k });
        job->learned->of.windows++;
        job->learned->of.largest = k;
    }
    job->learned->told = job->learned->of;
    job->learned->units_left = 1850; /* needs all of them */
    job->learned->units_done = 1;
    job->learned->told_us = w->now.now_us;
    job_touch(w->cluster, job);
    w->cluster->plan_wanted = true;
    world_run(w, 6);
    assert_false(price(w, POLICY_CPU).for_sale);
    end(w);
}

static double number_behind(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    double number = NAN;

    if (at == NULL || sscanf(at + strlen(words), "%lf", &number) != 1)
        fail_msg("no number behind \"%s\": %s", words, text);
    return number;
}

/* Both in one unit: who takes finds it worth more than its price, who gives is the cheapest. */
TEST(test_moves_are_told_with_the_price)
{
    struct world *w = begin(0);
    char first[240];

    (void)run_job(w, "a", 1, 20, 0);
    assert_near(number_behind(listener.grown, ", price "), 0, 0);
    assert_non_null(strstr(listener.grown, ", price 0 per core, load "));
    (void)run_job(w, "b", 1, 20, 0);
    assert_non_null(strstr(listener.shrunk, " per core, load "));
    memcpy(first, listener.shrunk, sizeof first);
    assert_near(number_behind(first, "the last is worth "), number_behind(first, ", price "), 1e-9);
    assert_true(number_behind(first, ", price ") > 0);
    end(w);
}

TEST(test_fulfilment_knows_no_prices)
{
    struct world *w = world_new(1, CORES * CORE, GIB, 1000);
    struct policy_price prices[POLICY_RESOURCES];

    assert_false(cluster_prices(w->cluster, prices));
    world_free(w);
}
