/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_names.c - which job a name means: names are of users */
#include <errno.h>
#include <string.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/job_names.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static struct job *submit(struct world *w, const char *user, const char *name)
{
    w->user = user;
    return world_submit(w, world_spec(name, 1, 1, 100, 0, 0));
}

static void end(struct world *w, struct job *job)
{
    assert_int_equal(cluster_kill_job(w->cluster, job, "", w->now, NULL), 0);
    world_run(w, 6);
    assert_int_equal(job->state, JOB_KILLED);
}

TEST(test_each_user_has_one)
{
    struct world *w = world_new(2, 4000, GIB, 900);
    struct job_spec *again = world_spec("train", 1, 1, 100, 0, 0);
    struct job *ann = submit(w, "ann", "train");
    struct job *bob = submit(w, "bob", "train");
    struct edl_error error = { 0 };
    struct job *found;

    assert_ptr_equal(cluster_own_job(w->cluster, "ann", "train"), ann);
    assert_ptr_equal(cluster_own_job(w->cluster, "bob", "train"), bob);
    assert_null(cluster_own_job(w->cluster, "carl", "train"));
    assert_null(cluster_own_job(w->cluster, "ann", "trai"));
    assert_int_equal(cluster_submit(w->cluster, again, "ann", w->now, NULL, &error), -EEXIST);
    assert_string_equal(error.text, "a job named train (1) is starting");
    assert_int_equal(cluster_only_job(w->cluster, "train", &found, &error), -ENOTUNIQ);
    assert_string_equal(error.text, "several users have a job \"train\", ann and bob among them");
    assert_string_equal(error.remedy, "say whose it is: ann/train");
    end(w, ann);
    assert_int_equal(cluster_submit(w->cluster, again, "ann", w->now, &found, &error), 0);
    assert_ptr_equal(cluster_own_job(w->cluster, "ann", "train"), found);
    assert_ptr_equal(cluster_own_job(w->cluster, "bob", "train"), bob);
    world_free(w);
}

TEST(test_what_is_meant)
{
    struct world *w = world_new(2, 4000, GIB, 900);
    struct job *ann = submit(w, "ann", "train");
    struct job *bob = submit(w, "bob", "train");
    struct job *only = submit(w, "bob", "only");
    struct job *found;
    const struct {
        const char *user, *text;
        const struct job *wanted;
    } cases[] = {
        { "ann", "train", ann },
        { "bob", "train", bob },
        { "ann", "bob/train", bob },
        { "carl", "ann/train", ann },
        { "carl", "1", ann },
        { "carl", "train", NULL },
        { "carl", "only", NULL },
        { "carl", "bob/only", only },
        { "ann", "ann/only", NULL },
        { "ann", "/train", NULL },
        { "ann", "ann/", NULL },
        { "ann", "", NULL },
        { "ann", "ann/train/x", NULL },
        { "ann", "ann/1", NULL },
        { "ann", "a-name-that-is-longer-than-any-account-may-have/train", NULL },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct job_ref ref = job_ref_read(cases[i].text);

        if (cluster_job_of(w->cluster, cases[i].user, &ref) != cases[i].wanted)
            fail_msg("%s, asked by %s", cases[i].text, cases[i].user);
    }
    assert_int_equal(cluster_only_job(w->cluster, "only", &found, NULL), 1);
    assert_ptr_equal(found, only);
    assert_int_equal(cluster_only_job(w->cluster, "nobodys", &found, NULL), 0);
    assert_null(found);
    assert_ptr_equal(cluster_find_job(w->cluster, "train"), bob); /* the newest of anybody */
    world_free(w);
}

/* Rows come in any order, and those that are over go one by one. */
TEST(test_after_a_restart)
{
    struct world *w = world_new(2, 4000, GIB, 900);
    static const char *const users[] = { "ann", "bob", "ann", "bob", "ann" };
    struct job *job;

    for (size_t i = 0; i < ELEMENTS(users); i++) {
        job = submit(w, users[i], "train");
        if (i + 2 < ELEMENTS(users))
            end(w, job);
    }
    world_restart(w);
    assert_int_equal(cluster_own_job(w->cluster, "ann", "train")->id, 5);
    assert_int_equal(cluster_own_job(w->cluster, "bob", "train")->id, 4);
    cluster_keep_ended(w->cluster, 1, 0);
    world_run(w, 2);
    while (cluster_archive_ended(w->cluster, w->now) > 0)
        world_run(w, 1);
    assert_null(cluster_job(w->cluster, 1)); /* the one of bob's that is before it keeps nobody */
    assert_null(cluster_job(w->cluster, 2));
    assert_int_equal(cluster_own_job(w->cluster, "ann", "train")->id, 5);
    assert_int_equal(cluster_own_job(w->cluster, "bob", "train")->id, 4);
    world_free(w);
}
