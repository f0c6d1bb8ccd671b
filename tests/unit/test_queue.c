/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue.c - what waits: promises that break, order that holds, words that are true */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"

static void assert_says(const struct job *job, const char *code, const char *words)
{
    if (!streq(job->reason_code, code) || strstr(job->reason, words) == NULL)
        fail_msg("%s: %s (%s)", job->spec->name, job->reason_code, job->reason);
}

/* A node goes on which room was being made: nobody remembers a place there. */
static void test_places_are_kept_only_while_promised(void **state)
{
    struct world *w = world_new(2, 10000, GIB, 1000);
    struct job *elastic;
    struct job *gang;

    (void)state;
    w->agents[1].silent = true;
    world_advance(w, 40 * USEC_PER_SEC);
    world_run(w, 1);
    elastic = world_submit(w, world_spec("elastic", 1, 10, 1000, 0, 0));
    world_run(w, 12);
    assert_int_equal(job_count_running(elastic, 0), 10);
    gang = world_submit(w, world_spec("gang", 1, 1, 5000, 0, 0));
    assert_true(gang->plan.promised);
    assert_non_null(gang->plan.places);
    w->agents[0].silent = true;
    world_advance(w, 40 * USEC_PER_SEC);
    assert_says(gang, "no-nodes", "");
    assert_null(gang->plan.places);
    assert_int_equal(cluster_remove_node(w->cluster, cluster_node(w->cluster, "node-0"), w->now,
                                         NULL),
                     0);
    world_plan(w);
    cluster_free(cluster_clone(w->cluster, w->now));
    w->agents[1].silent = false;
    world_run(w, 4);
    assert_int_equal(gang->state, JOB_RUNNING);
    world_free(w);
}

static void test_who_loses_its_promise_is_told(void **state)
{
    struct world *w = world_new(1, 10000, GIB, 1000);
    struct job *first;
    struct job *second;

    (void)state;
    (void)world_submit(w, world_spec("elastic", 1, 10, 1000, 0, 0));
    world_run(w, 12);
    first = world_submit(w, world_spec("first", 1, 1, 4000, 0, 0));
    second = world_submit(w, world_spec("second", 1, 1, 4000, 0, 0));
    assert_says(second, "gang-does-not-fit", "room is being made");
    w->agents[0].foreign_cpu_millicores = 6000;
    world_turn(w, 0);
    world_run(w, 6);
    assert_false(first->plan.promised);
    assert_false(second->plan.promised);
    assert_says(second, "queued", "behind 1 jobs that ask for the same");
    assert_null(second->plan.places);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_are_kept_only_while_promised),
        cmocka_unit_test(test_who_loses_its_promise_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
