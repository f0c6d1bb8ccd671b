/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_figures.c - whether the database answers, and the figures that operators watch */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "scheduler/store/store.h"
#include "tests/unit/scheduler_fixture.h"
#include "tests/unit/test.h"

struct fixture {
    char folder[64];
    char path[96];
    struct store *store;
    struct cluster *cluster; /* with a job that was planned and not committed */
    const struct effect *effects;
    size_t n_effects;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->folder, sizeof f->folder, "/tmp/edl-test-store-XXXXXX");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    (void)snprintf(f->path, sizeof f->path, "%s/edl.db", f->folder);
    if (store_open(f->path, &f->store, NULL) < 0)
        return -1;
    f->cluster = new_cluster();
    (void)run_job(f->cluster);
    f->effects = cluster_effects(f->cluster, &f->n_effects);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    (void)cluster_free(f->cluster);
    (void)store_free(f->store);
    (void)unlink(f->path);
    (void)rmdir(f->folder);
    free(f);
    return 0;
}

TEST_EACH(set_up, tear_down);

static struct store_figures figures_of(const struct fixture *f)
{
    struct store_figures figures;

    store_figures(f->store, &figures);
    return figures;
}

static int commit_effects(const struct fixture *f)
{
    const struct turn_records records = { .effects = f->effects, .n_effects = f->n_effects };

    return store_commit(f->store, &records, NULL);
}

TEST(test_commits_are_measured)
{
    struct fixture *f = *state;
    uint64_t empty_bytes = figures_of(f).wal_bytes;
    struct store_figures figures;

    assert_int_equal(commit_effects(f), 0);
    assert_int_equal(store_commit(f->store, &(struct turn_records){ .n_effects = 0 }, NULL),
                     0); /* wrote nothing */
    figures = figures_of(f);
    assert_int_equal(histogram_count(figures.commits), 1);
    assert_true(figures.commits->sum_us > 0);
    assert_int_equal(figures.commit_failures, 0);
    assert_true(figures.database_bytes > 0);
    assert_true(figures.wal_bytes > empty_bytes);
    assert_true(figures.disk_free_bytes > 0);
}

TEST(test_a_failed_commit_is_remembered_until_one_succeeds)
{
    struct fixture *f = *state;
    struct rlimit old, small = { .rlim_cur = 4096 };
    int r;

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(store_check(f->store, NULL), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0); /* the disk is full */
    r = commit_effects(f);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_true(r == -EIO || r == -ENOSPC);
    assert_int_equal(store_check(f->store, NULL), r);
    assert_int_equal(figures_of(f).commit_failures, 1);
    assert_int_equal(histogram_count(figures_of(f).commits), 0);
    assert_int_equal(commit_effects(f), 0);
    assert_int_equal(store_check(f->store, NULL), 0);
}

TEST(test_check_notices_that_the_file_is_gone)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    char aside[128];

    (void)snprintf(aside, sizeof aside, "%s.aside", f->path);
    assert_int_equal(store_check(f->store, &error), 0);
    assert_int_equal(rename(f->path, aside), 0);
    assert_int_equal(store_check(f->store, &error), -ENOENT);
    assert_true(error.remedy[0] != '\0');
    assert_int_equal(rename(aside, f->path), 0);
    assert_int_equal(store_check(f->store, &error), 0);
}
