/* SPDX-License-Identifier: Apache-2.0 */
/* test_holdings.c - what jobs that are not over take of the scheduler is counted, and bounded */
#include <errno.h>
#include <stdio.h>

#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/holdings.h"
#include "scheduler/core/model/job.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static uint64_t held(const struct world *w, const char *user, enum holding_amount amount)
{
    const struct holding *holding = w->cluster->holdings.users;

    while (holding != NULL && !streq(holding->user, user))
        holding = holding->hh.next;
    return holding != NULL ? holding->amounts[amount] : 0;
}

TEST(test_counted_from_submission_to_end)
{
    struct world *w = world_new(2, 2500, GIB, 900);
    struct job_spec *array = world_spec("many", 1, 4, 200, 0, 0);
    struct edl_error error = { 0 };
    struct job *first = NULL;
    uint64_t bytes;

    w->user = "ann";
    (void)world_submit(w, world_spec("one", 1, 2, 200, 2, 500)); /* and two parameter servers */
    bytes = held(w, "ann", HOLDING_BYTES);
    assert_true(bytes > 100);
    array->array.n = 3;
    assert_int_equal(cluster_submit_array(w->cluster, array, "bob", NULL, w->now, &first, &error),
                     0);
    world_plan(w);
    assert_int_equal(held(w, "ann", HOLDING_JOBS), 1);
    assert_int_equal(held(w, "ann", HOLDING_INSTANCES), 4);
    assert_int_equal(held(w, "bob", HOLDING_JOBS), 3);
    assert_int_equal(held(w, "bob", HOLDING_INSTANCES), 12);
    assert_int_equal(w->cluster->holdings.all[HOLDING_INSTANCES], 16);
    world_run(w, 4);
    /* larger: what is kept account of stays so */
    assert_int_equal(cluster_scale_job(w->cluster, first, "trainer", 1, 9, w->now, &error), 0);
    assert_int_equal(held(w, "bob", HOLDING_INSTANCES), 17);
    assert_int_equal(cluster_scale_job(w->cluster, first, "trainer", 1, 2, w->now, &error), 0);
    assert_int_equal(held(w, "bob", HOLDING_INSTANCES), 17);
    world_run(w, 4);
    world_restart(w);
    assert_int_equal(held(w, "ann", HOLDING_BYTES), bytes);
    assert_int_equal(held(w, "bob", HOLDING_JOBS), 3);
    for (struct job *job = w->cluster->jobs; job != NULL; job = job->hh.next)
        assert_int_equal(cluster_kill_job(w->cluster, job, "enough", w->now, NULL), 0);
    world_run(w, 6);
    assert_null(w->cluster->active);
    assert_int_equal(held(w, "bob", HOLDING_JOBS), 0);
    assert_int_equal(w->cluster->holdings.all[HOLDING_BYTES], 0);
    w->cluster->config.keep_ended_jobs = 1;
    while (cluster_archive_ended(w->cluster, w->now) > 0)
        world_commit(w);
    assert_int_equal(HASH_COUNT(w->cluster->holdings.users), 1); /* whose the newest job is */
    world_free(w);
}

/* Who submits and kills faster than jobs leave the core is refused; others are not. */
TEST(test_jobs_that_leave_count)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *spec = world_spec("next", 1, 4, 200, 0, 0);
    const struct holding_limits limits = { .user = { 20, 0, 0 }, .all = { 60, 0, 0 } };
    struct edl_error error = { 0 };

    w->user = "ann";
    w->cluster->config.keep_ended_jobs = 5;
    for (unsigned i = 0; i < 25; i++) {
        struct job *job = world_submit(w, world_spec("a", 9, 9, 2000, 0, 0));

        assert_int_equal(cluster_kill_job(w->cluster, job, "enough", w->now, NULL), 0);
        assert_int_equal(cluster_check_submit(w->cluster, spec, "ann", &limits, &error),
                         i < 24 ? 0 : -EDQUOT);
    }
    assert_string_equal(error.text, "jobs of ann: 0 are not over and 20 that ended are being put "
                                    "away, 20 may be");
    assert_string_equal(error.remedy, "submit again in a second");
    assert_int_equal(cluster_check_submit(w->cluster, spec, "bob", &limits, &error), 0);
    spec->array.n = 41;
    assert_int_equal(cluster_check_submit(w->cluster, spec, "bob", &limits, &error), -EDQUOT);
    spec->array.n = 0;
    world_plan(w);
    world_commit(w);
    while (cluster_archive_ended(w->cluster, w->now) > 0)
        world_commit(w);
    assert_int_equal(cluster_check_submit(w->cluster, spec, "ann", &limits, &error), 0);
    job_spec_free(spec);
    world_free(w);
}

/* Submits as much as user may, as jobs of so many instances; how many jobs. */
static unsigned fill(struct world *w, const char *user, const struct holding_limits *limits)
{
    struct edl_error error = { 0 };
    unsigned n = 0;

    w->user = user;
    for (;; n++) {
        struct job_spec *spec;
        char name[16];
        int r;

        (void)snprintf(name, sizeof name, "f%d", (int)w->cluster->next_job_id);
        spec = world_spec(name, 4, 4, 2000, 0, 0);
        r = cluster_check_submit(w->cluster, spec, user, limits, &error);

        if (r == 0) {
            (void)world_submit(w, spec);
            continue;
        }
        assert_int_equal(r, -EDQUOT);
        job_spec_free(spec);
        return n;
    }
}

/* A limit of all that is a few users' limits: they do not shut out anybody. */
TEST(test_a_share_is_left)
{
    static const char *const greedy[] = { "u1", "u2", "u3", "u4" };
    const struct holding_limits limits = { .user = { 50, 0, 0 }, .all = { 200, 0, 0 } };
    const struct holding_limits instances = { .user = { 0, 200, 0 }, .all = { 0, 800, 0 } };
    struct world *w = world_new(1, 2500, GIB, 900);
    struct edl_error error = { 0 };
    struct job_spec *spec = world_spec("fill", 4, 4, 2000, 0, 0);
    unsigned n = 0;

    for (unsigned round = 0; round < 3; round++) /* who comes again when others are there */
        for (size_t i = 0; i < ELEMENTS(greedy); i++)
            n += fill(w, greedy[i], &limits);
    assert_int_equal(n, 50 + 50 + 50 + 25); /* of 200 */
    assert_int_equal(cluster_check_submit(w->cluster, spec, "u4", &limits, &error), -EDQUOT);
    assert_non_null(strstr(error.text, "nobody takes more than he leaves"));
    assert_true(error.remedy[0] != '\0');
    assert_int_equal(cluster_check_submit(w->cluster, spec, "u1", &instances, &error), -EDQUOT);
    assert_int_equal(cluster_check_submit(w->cluster, spec, NULL, &limits, &error), 0);
    spec->array.n = 20; /* at once no more than one by one */
    assert_int_equal(cluster_check_submit(w->cluster, spec, "late", &limits, &error), -EDQUOT);
    spec->array.n = 12;
    assert_int_equal(cluster_check_submit(w->cluster, spec, "late", &limits, &error), 0);
    assert_int_equal(fill(w, "late", &limits), 12);
    assert_int_equal(fill(w, "later", &limits), 6);
    for (unsigned i = 0; i < 4; i++) { /* one job each, as long as there is room */
        char user[8];

        (void)snprintf(user, sizeof user, "l%u", i);
        assert_true(fill(w, user, &limits) >= 1);
    }
    job_spec_free(spec);
    world_free(w);
}

TEST(test_limits)
{
    struct world *w = world_new(1, 2500, GIB, 900);
    struct job_spec *spec = world_spec("next", 1, 4, 200, 0, 0);
    struct holding_limits limits = { .user = { 2, 9, 0 }, .all = { 4, 0, 0 } };
    struct edl_error error = { 0 };
    struct job *job;

    w->user = "ann";
    job = world_submit(w, world_spec("a", 1, 4, 200, 0, 0));
    assert_int_equal(cluster_check_submit(w->cluster, spec, "ann", &limits, &error), 0);
    assert_int_equal(cluster_check_scale(w->cluster, job, 0, 9, true, &limits, &error), 0);
    assert_int_equal(cluster_check_scale(w->cluster, job, 0, 10, true, &limits, &error), -EDQUOT);
    assert_int_equal(cluster_check_scale(w->cluster, job, 0, 10, false, &limits, &error), 0);
    assert_int_equal(cluster_check_scale(w->cluster, job, 0, 1, true, &limits, &error), 0);
    (void)world_submit(w, world_spec("b", 1, 4, 200, 0, 0));
    limits.all[HOLDING_JOBS] = 3;
    assert_int_equal(cluster_check_submit(w->cluster, spec, "ann", &limits, &error), -EDQUOT);
    assert_non_null(strstr(error.text, "jobs that are not over of ann: 2 there are, 1 would come"));
    assert_non_null(strstr(error.remedy, "kill some"));
    assert_int_equal(cluster_check_submit(w->cluster, spec, "bob", &limits, &error), 0);
    assert_int_equal(cluster_check_submit(w->cluster, spec, NULL, &limits, &error), 0);
    spec->array.n = 2; /* each of them counts */
    assert_int_equal(cluster_check_submit(w->cluster, spec, "bob", &limits, &error), -EDQUOT);
    assert_int_equal(cluster_check_submit(w->cluster, spec, NULL, &limits, &error), -EDQUOT);
    assert_non_null(strstr(error.text, "jobs that are not over: 2 there are, 2 would come"));
    spec->array.n = 0;
    limits = (struct holding_limits){ .user = { 0, 11, 0 } };
    assert_int_equal(cluster_check_submit(w->cluster, spec, "ann", &limits, &error), -EDQUOT);
    assert_non_null(strstr(error.remedy, "fewer instances"));
    limits = (struct holding_limits){ .all = { 0, 0, w->cluster->holdings.all[HOLDING_BYTES] } };
    assert_int_equal(cluster_check_submit(w->cluster, spec, NULL, &limits, &error), -EDQUOT);
    assert_non_null(strstr(error.remedy, "into a file"));
    limits = (struct holding_limits){ .user = { 0, 0, 0 } };
    assert_int_equal(cluster_check_submit(w->cluster, spec, "ann", &limits, &error), 0);
    limits = (struct holding_limits){ .user = { 1, 1, 1 } };
    spec->array.n = 1000; /* too large for anybody: to wait would not help */
    spec->roles[0].max = 1000;
    assert_int_equal(cluster_check_submit(w->cluster, spec, "ann", &limits, &error), EDL_EBADSPEC);
    assert_string_equal(error.pointer, "/spec/array");
    job_spec_free(spec);
    world_free(w);
}
