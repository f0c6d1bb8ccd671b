/* SPDX-License-Identifier: Apache-2.0 */
/* test_workspace_sweep.c - copies of workspaces that nobody needs, with anything left in them */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/files/kept_outputs.h"
#include "agent/layout.h"
#include "agent/workspace/workspace_sweep.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define HOUR_US (3600 * USEC_PER_SEC)

struct fixture {
    char root[64];
    char copies[96], processes[96], private[96];
    struct sweep_work work;
    uint64_t now_us; /* elapsed time of the node */
};

static void make(const char *folder, const char *name)
{
    _cleanup_free_ char *path = text_format("%s/%s", folder, name);

    assert_int_equal(folder_make(path, 0700, NULL), 0);
}

static void touch(const char *folder, const char *name)
{
    _cleanup_free_ char *path = text_format("%s/%s", folder, name);
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
}

static void fill(const char *folder, const char *name, size_t size)
{
    _cleanup_free_ char *path = text_format("%s/%s", folder, name);
    _cleanup_free_ char *data = xcalloc(1, size);
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    memset(data, 'x', size);
    assert_int_equal(fwrite(data, 1, size, file), size);
}

static bool is_there(const char *folder, const char *name)
{
    _cleanup_free_ char *path = text_format("%s/%s", folder, name);
    struct stat st;

    return lstat(path, &st) == 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st;
    (void)flag;
    (void)at;
    return remove(path);
}

static void remove_all(const char *path)
{
    assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->root, sizeof f->root, "/tmp/edl-test-sweep-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    (void)snprintf(f->copies, sizeof f->copies, "%s/copies", f->root);
    (void)snprintf(f->processes, sizeof f->processes, "%s/processes", f->root);
    make(f->root, "copies");
    make(f->root, "processes/1.trainer.0.2");
    (void)snprintf(f->private, sizeof f->private, "%s/private", f->root);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    _cleanup_free_ char *kept = text_format("%s/1.trainer.0.2", f->processes);
    static const char *const parts[] = { "processes",    "copies",  "private",
                                         "outside/file", "outside", "" };
    size_t removed;

    (void)rmdir(kept);
    assert_int_equal(workspace_sweep(f->copies, f->processes, &removed, NULL), 0);
    for (size_t i = 0; i < ELEMENTS(parts); i++) {
        _cleanup_free_ char *path = text_format("%s/%s", f->root, parts[i]);

        (void)remove(path);
    }
    assert_int_equal(access(f->root, F_OK), -1);
    free(f);
    return 0;
}

TEST_EACH(setup, teardown);

static size_t sweep(const struct fixture *f)
{
    size_t removed = 0;

    assert_int_equal(workspace_sweep(f->copies, f->processes, &removed, NULL), 0);
    return removed;
}

TEST(only_what_a_process_needs_stays)
{
    struct fixture *f = *state;

    make(f->copies, "1.trainer.0.2/sub");
    touch(f->copies, "1.trainer.0.2/sub/file");
    touch(f->copies, "1.trainer.0.2.archive");
    make(f->copies, "1.trainer.0.1/sub");
    touch(f->copies, "1.trainer.0.1/sub/file");
    touch(f->copies, "1.trainer.0.1.archive");
    touch(f->copies, ".new-of-a-crash");
    assert_int_equal(sweep(f), 3);
    assert_true(is_there(f->copies, "1.trainer.0.2/sub/file"));
    assert_true(is_there(f->copies, "1.trainer.0.2.archive"));
    assert_false(is_there(f->copies, "1.trainer.0.1"));
    assert_false(is_there(f->copies, "1.trainer.0.1.archive"));
    assert_false(is_there(f->copies, ".new-of-a-crash"));
    assert_int_equal(sweep(f), 0);
}

TEST(links_are_removed_and_not_followed)
{
    struct fixture *f = *state;
    _cleanup_free_ char *link = text_format("%s/1.trainer.0.1/link", f->copies);
    _cleanup_free_ char *whole = text_format("%s/1.trainer.1.1", f->copies);

    make(f->root, "outside");
    touch(f->root, "outside/file");
    make(f->copies, "1.trainer.0.1");
    assert_int_equal(symlink("../../outside", link), 0);
    assert_int_equal(symlink("../outside", whole), 0);
    assert_int_equal(sweep(f), 2);
    assert_true(is_there(f->root, "outside/file"));
    assert_false(is_there(f->copies, "1.trainer.1.1"));
}

TEST(depth_is_no_obstacle)
{
    struct fixture *f = *state;
    _cleanup_close_ int fd = open(f->copies, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *name = "1.trainer.0.1";

    for (int i = 0; i < 3000; i++) {
        int below;

        assert_int_equal(mkdirat(fd, name, 0500), 0);
        below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(below >= 0);
        assert_int_equal(fchmod(below, i < 2999 ? 0700 : 0000), 0);
        (void)safe_close(fd);
        fd = below;
        name = "a-folder";
    }
    assert_true(sweep(f) > 1);
    assert_false(is_there(f->copies, "1.trainer.0.1"));
    assert_int_equal(sweep(f), 0);
}

TEST(folders_that_were_shut_are_removed)
{
    struct fixture *f = *state;
    _cleanup_free_ char *shut = text_format("%s/1.trainer.0.1/shut", f->copies);

    make(f->copies, "1.trainer.0.1/shut/below");
    assert_int_equal(chmod(shut, 0), 0);
    assert_int_equal(sweep(f), 1);
    assert_false(is_there(f->copies, "1.trainer.0.1"));
}

static size_t sweep_kept(const struct fixture *f, uint64_t keep_us, uint64_t max_bytes,
                         size_t *ret_kept)
{
    const struct kept_bounds bounds = { .keep_us = keep_us,
                                        .max_bytes = max_bytes,
                                        .now_us = f->now_us };
    size_t removed = 0;

    assert_int_equal(workspace_sweep_kept(f->copies, f->processes, &f->work, &bounds, &removed,
                                          ret_kept, NULL),
                     0);
    return removed;
}

/* wall_clock_said - when the file was made */
static void wall_clock_said(const struct fixture *f, const char *name, long mtime_s)
{
    _cleanup_free_ char *path = text_format("%s/%s", f->copies, name);
    const struct timespec times[] = { { .tv_sec = mtime_s }, { .tv_sec = mtime_s } };

    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

TEST(what_ended_stays_for_a_while)
{
    struct fixture *f = *state;
    size_t kept;

    make(f->copies, "1.trainer.0.2"); /* its process is there */
    make(f->copies, "1.trainer.0.1/sub");
    touch(f->copies, "1.trainer.0.1/sub/file");
    touch(f->copies, "1.trainer.0.1.archive");
    touch(f->copies, "1.trainer.7.1.ended"); /* of a copy that is gone */
    make(f->copies, "of-nobody");
    assert_int_equal(sweep_kept(f, HOUR_US, UINT64_MAX, &kept), 3);
    assert_int_equal(kept, 1);
    assert_true(is_there(f->copies, "1.trainer.0.1/sub/file"));
    assert_true(is_there(f->copies, "1.trainer.0.1.ended"));
    assert_false(is_there(f->copies, "1.trainer.0.2.ended"));
    assert_int_equal(sweep_kept(f, HOUR_US, UINT64_MAX, &kept), 0);
    f->now_us += HOUR_US - 1;
    assert_int_equal(sweep_kept(f, HOUR_US, UINT64_MAX, &kept), 0);
    f->now_us += 1;
    assert_int_equal(sweep_kept(f, HOUR_US, UINT64_MAX, &kept), 1);
    assert_int_equal(kept, 0);
    assert_false(is_there(f->copies, "1.trainer.0.1"));
    assert_false(is_there(f->copies, "1.trainer.0.1.ended"));
    assert_true(is_there(f->copies, "1.trainer.0.2"));
}

/* The wall clock was 8 days behind when it ended, or is 8 days ahead now: the same. */
TEST(what_the_wall_clock_says_of_the_end_does_not_matter)
{
    struct fixture *f = *state;
    size_t kept;

    make(f->copies, "1.trainer.0.1");
    assert_int_equal(sweep_kept(f, HOUR_US, UINT64_MAX, &kept), 0);
    wall_clock_said(f, "1.trainer.0.1.ended", time(NULL) - 8 * 24 * 3600);
    f->now_us += 3 * USEC_PER_SEC;
    assert_int_equal(sweep_kept(f, HOUR_US, UINT64_MAX, &kept), 0);
    assert_int_equal(kept, 1);
    assert_true(is_there(f->copies, "1.trainer.0.1"));
}

TEST(an_end_that_an_earlier_version_noted_is_the_time_of_its_file)
{
    struct fixture *f = *state;
    _cleanup_free_ char *path = text_format("%s/1.trainer.0.1.ended", f->copies);
    FILE *file = fopen(path, "we");
    size_t kept;

    assert_non_null(file);
    assert_true(fputs("1234\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    make(f->copies, "1.trainer.0.1");
    f->now_us = 10 * HOUR_US;
    wall_clock_said(f, "1.trainer.0.1.ended", 9 * 3600 + 1);
    assert_int_equal(sweep_kept(f, HOUR_US, UINT64_MAX, &kept), 0);
    assert_int_equal(kept, 1);
    f->now_us += USEC_PER_SEC;
    assert_int_equal(sweep_kept(f, HOUR_US, UINT64_MAX, &kept), 1);
}

TEST(what_holds_too_much_goes_oldest_first)
{
    struct fixture *f = *state;
    size_t kept;

    make(f->copies, "1.trainer.1.1");
    fill(f->copies, "1.trainer.1.1/file", 200000);
    assert_int_equal(sweep_kept(f, HOUR_US, UINT64_MAX, &kept), 0);
    f->now_us += USEC_PER_SEC;
    make(f->copies, "1.trainer.0.1");
    fill(f->copies, "1.trainer.0.1/file", 200000);
    assert_int_equal(sweep_kept(f, HOUR_US, UINT64_MAX, &kept), 0);
    assert_int_equal(kept, 2);
    assert_int_equal(sweep_kept(f, HOUR_US, 300000, &kept), 1);
    assert_int_equal(kept, 1);
    assert_true(is_there(f->copies, "1.trainer.0.1"));
    assert_false(is_there(f->copies, "1.trainer.1.1"));
}

TEST(private_workspaces_go_with_their_jobs)
{
    static const uint64_t over[] = { 1, 7 };
    struct fixture *f = *state;
    size_t kept;

    f->work = (struct sweep_work){ .dir = f->private, .jobs = over, .n_jobs = ELEMENTS(over) };
    make(f->private, "1-trainer-0/sub"); /* its process is there all the same */
    make(f->private, "1-trainer-1/sub");
    make(f->private, "7-my-role-12");
    make(f->private, "8-trainer-0"); /* its job waits */
    make(f->private, "7");
    make(f->private, "7-trainer-");
    assert_int_equal(sweep_kept(f, HOUR_US, UINT64_MAX, &kept), 0);
    assert_int_equal(kept, 2);
    assert_true(is_there(f->private, "1-trainer-1.ended"));
    assert_true(is_there(f->private, "7-my-role-12.ended"));
    assert_int_equal(sweep_kept(f, 0, UINT64_MAX, &kept), 2);
    assert_int_equal(kept, 0);
    assert_true(is_there(f->private, "1-trainer-0/sub"));
    assert_false(is_there(f->private, "1-trainer-1"));
    assert_false(is_there(f->private, "7-my-role-12"));
    assert_false(is_there(f->private, "7-my-role-12.ended"));
    assert_true(is_there(f->private, "8-trainer-0"));
    assert_true(is_there(f->private, "7"));
    assert_true(is_there(f->private, "7-trainer-"));
    f->work = (struct sweep_work){ .dir = NULL };
    remove_all(f->private);
}
