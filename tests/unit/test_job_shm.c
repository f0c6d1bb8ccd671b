/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_shm.c - /dev/shm of a job's own: the processes that share it, and that it goes with the
 * last one */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/processes/job_shm.h"
#include "agent/layout.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

struct fixture {
    char base[64];
    char processes[96], others[96];
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->base, sizeof f->base, "/tmp/edl-test-shm-XXXXXX");
    assert_non_null(mkdtemp(f->base));
    (void)snprintf(f->processes, sizeof f->processes, "%s/processes", f->base);
    (void)snprintf(f->others, sizeof f->others, "%s/others", f->base);
    assert_int_equal(mkdir(f->processes, 0700), 0);
    assert_int_equal(mkdir(f->others, 0700), 0);
    *state = f;
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    (void)nftw(f->base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(f);
    return 0;
}

TEST_EACH(set_up, tear_down);

static void enter(const struct fixture *f, const char *processes, uint64_t job_id,
                  struct job_shm *ret)
{
    struct edl_error error = { 0 };

    if (job_shm_enter(f->base, processes, job_id, geteuid(), getegid(), ret, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(access(ret->path, R_OK | W_OK | X_OK), 0);
}

static void leave_memory(const struct job_shm *shm, const char *name)
{
    _cleanup_free_ char *path = text_format("%s/%s", shm->path, name);
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
}

/* Two processes of a job see the same files; they go with the second one, however deep they lie. */
TEST(test_goes_with_the_last_process)
{
    const struct fixture *f = *state;
    struct job_shm one, two, other;
    char path[JOB_SHM_PATH_SIZE];
    _cleanup_free_ char *deep = NULL;

    enter(f, f->processes, 7, &one);
    enter(f, f->processes, 7, &two);
    enter(f, f->processes, 8, &other);
    assert_string_equal(one.path, two.path);
    assert_string_not_equal(one.path, other.path);
    (void)snprintf(path, sizeof path, "%s", one.path);
    leave_memory(&one, "psm_1");
    deep = text_format("%s/a/b/c", one.path);
    assert_int_equal(folder_make(deep, 0700, NULL), 0);
    job_shm_leave(&one);
    assert_string_equal(one.path, "");
    assert_int_equal(access(path, F_OK), 0);
    job_shm_leave(&two);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(other.path, F_OK), 0);
    job_shm_leave(&other);
    job_shm_leave(&other); /* nothing is left of it */
}

/* A job that comes back after its last process finds nothing of what was. */
TEST(test_begins_empty)
{
    const struct fixture *f = *state;
    struct job_shm one;
    _cleanup_free_ char *file = NULL;

    enter(f, f->processes, 7, &one);
    leave_memory(&one, "psm_1");
    job_shm_leave(&one);
    enter(f, f->processes, 7, &one);
    file = text_format("%s/psm_1", one.path);
    assert_int_equal(access(file, F_OK), -1);
    job_shm_leave(&one);
}

/* What a supervisor that was killed left is not the next life's, nor another account's. */
TEST(test_a_folder_that_nobody_holds)
{
    const struct fixture *f = *state;
    struct job_shm killed, next;
    _cleanup_free_ char *file = NULL;
    struct stat st;

    enter(f, f->processes, 7, &killed);
    leave_memory(&killed, "psm_1");
    file = text_format("%s/psm_1", killed.path);
    if (geteuid() == 0)
        assert_int_equal(chown(killed.path, 1, 1), 0);
    killed.fd = safe_close(killed.fd);
    killed.root_fd = safe_close(killed.root_fd);
    enter(f, f->processes, 7, &next);
    assert_int_equal(access(file, F_OK), -1);
    assert_int_equal(stat(next.path, &st), 0);
    assert_int_equal(st.st_uid, geteuid());
    job_shm_leave(&next);
}

/* Two agents of one machine have jobs of the same number. */
TEST(test_agents_do_not_share)
{
    const struct fixture *f = *state;
    struct job_shm one, other;

    enter(f, f->processes, 7, &one);
    enter(f, f->others, 7, &other);
    assert_string_not_equal(one.path, other.path);
    job_shm_leave(&one);
    assert_int_equal(access(other.path, F_OK), 0);
    job_shm_leave(&other);
}

/* A supervisor that was killed lets go of its locks and removes nothing: the next one does. */
TEST(test_killed_supervisors_leave_nothing)
{
    const struct fixture *f = *state;
    struct job_shm killed, next;
    char path[JOB_SHM_PATH_SIZE];
    _cleanup_free_ char *looked = NULL;

    enter(f, f->processes, 7, &killed);
    leave_memory(&killed, "psm_1");
    (void)snprintf(path, sizeof path, "%s", killed.path);
    killed.fd = safe_close(killed.fd);
    killed.root_fd = safe_close(killed.root_fd);
    looked = text_format("%s/edl/.looked", f->base);
    assert_int_equal(unlink(looked), 0); /* it was looked long ago */
    enter(f, f->processes, 8, &next);
    assert_int_equal(access(path, F_OK), -1);
    job_shm_leave(&next);
}

static bool is_link(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Anybody may write to /dev/shm: a link in our place is put aside, and not followed. */
TEST(test_a_link_in_our_place)
{
    const struct fixture *f = *state;
    _cleanup_free_ char *root = text_format("%s/edl", f->base);
    _cleanup_free_ char *leaked = text_format("%s/7", f->others);
    struct job_shm one;

    assert_int_equal(symlink(f->others, root), 0);
    enter(f, f->processes, 7, &one);
    assert_false(is_link(root));
    assert_int_equal(access(leaked, F_OK), -1);
    job_shm_leave(&one);
}

/* Nor is a folder of another account's taken. */
TEST(test_a_folder_of_anothers_in_our_place)
{
    const struct fixture *f = *state;
    _cleanup_free_ char *root = text_format("%s/edl", f->base);
    struct job_shm one;
    struct stat st;

    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(root, 0777), 0);
    assert_int_equal(chown(root, 1, 1), 0);
    enter(f, f->processes, 7, &one);
    assert_int_equal(stat(root, &st), 0);
    assert_int_equal(st.st_uid, 0);
    assert_int_equal(st.st_mode & 07777, 0711);
    assert_int_equal(stat(one.path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    job_shm_leave(&one);
}

TEST(test_no_base)
{
    const struct fixture *f = *state;
    struct job_shm one;
    struct edl_error error = { 0 };

    assert_int_equal(job_shm_enter("/nowhere", f->processes, 7, geteuid(), getegid(), &one, &error),
                     -ENOENT);
    assert_string_equal(one.path, "");
    job_shm_leave(&one);
}
