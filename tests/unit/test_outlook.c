/* SPDX-License-Identifier: Apache-2.0 */
/* test_outlook.c - when a job will be over, and the needs of its deadline */

#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/outlook.h"
#include "scheduler/core/speed/measure.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

#define CORE UINT64_C(1000) /* millicores, of one instance */

/* Of two to eight instances, on a node with room for two. */
static struct job *begin(struct world **ret, uint64_t deadline_us)
{
    struct job_spec *spec = world_spec("a", 2, 8, CORE, 0, 0);
    struct world *w;
    struct job *job;

    world_policy = &policy_goodput;
    w = world_new(1, 2 * CORE, GIB, 1000);
    world_run(w, 1);
    spec->deadline_us = deadline_us;
    job = world_submit(w, spec);
    world_run(w, 4);
    assert_int_equal(job_count_running(job, 0), 2);
    *ret = w;
    return job;
}

static void end(struct world *w)
{
    world_free(w);
    world_policy = &policy_fulfilment;
}

/* A second a unit with one instance, as fast as it has instances, so many units left. */
static void teach(const struct world *w, struct job *job, double units_left)
{
    struct goodput_learned *of = &job->learned->of;

    for (uint32_t k = 1; k <= 8; k *= 2) {
        (void)goodput_pserver_add(&of->fit, &(struct goodput_pserver_report){ k, 1, 1.0 / k });
        of->windows++;
        of->largest = k;
    }
    of->measured_s = 0.5;
    job->learned->told = *of;
    job->learned->units_left = units_left;
    job->learned->told_us = w->now.now_us;
}

TEST(test_it_ends_when_its_units_are_done)
{
    struct job_outlook outlook;
    struct world *w;
    struct job *job = begin(&w, 0);
    struct instant later = w->now;

    assert_false(job_outlook(job, w->now, &outlook)); /* nothing was told yet */
    teach(w, job, 1000);
    assert_true(job_outlook(job, w->now, &outlook));
    assert_int_equal(outlook.instances, 2);
    assert_near(outlook.left_s, 500, 1);
    assert_false(outlook.has_deadline);
    assert_int_equal(outlook.needed, 0);
    later.now_us += 100 * USEC_PER_SEC;
    assert_true(job_outlook(job, later, &outlook));
    assert_near(outlook.left_s, 400, 1);
    later.now_us += 1000 * USEC_PER_SEC; /* it should be over */
    assert_true(job_outlook(job, later, &outlook));
    assert_near(outlook.left_s, 0, 1e-9);
    for (int i = 0; i < 100; i++) /* its queue is gone: what was told of it stays */
        world_second(w);
    assert_near(job->learned->units_left, 1000, 0);
    end(w);
}

TEST(test_deadline_is_kept_or_not)
{
    struct job_outlook outlook;
    struct world *w;
    struct job *job = begin(&w, 260 * USEC_PER_SEC);
    double due_in_s;

    due_in_s = (double)(deadline_at(&job->due) - w->now.now_us) / USEC_PER_SEC;
    teach(w, job, 4.8 * 0.95 * due_in_s);
    assert_true(job_outlook(job, w->now, &outlook));
    assert_true(outlook.has_deadline);
    assert_int_equal(outlook.deadline_wall_us, job->spec->deadline_wall_us);
    assert_false(outlook.in_time);
    assert_int_equal(outlook.needed, 5);
    job->learned->units_left = 1.8 * due_in_s;
    assert_true(job_outlook(job, w->now, &outlook));
    assert_true(outlook.in_time);
    assert_int_equal(outlook.needed, 2);
    job->learned->units_left = 7.9 * due_in_s; /* just in time with all that it may have */
    assert_true(job_outlook(job, w->now, &outlook));
    assert_int_equal(outlook.needed, 8);
    job->learned->units_left = 9 * due_in_s; /* eight are the most that it may have */
    assert_true(job_outlook(job, w->now, &outlook));
    assert_int_equal(outlook.needed, 0);
    end(w);
}
