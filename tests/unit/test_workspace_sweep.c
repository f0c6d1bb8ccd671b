/* SPDX-License-Identifier: Apache-2.0 */
/* test_workspace_sweep.c - copies of workspaces that nobody needs, whatever was left in them */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/layout.h"
#include "agent/workspace_sweep.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

struct fixture {
    char root[64];
    char copies[96], processes[96];
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

static bool is_there(const char *folder, const char *name)
{
    _cleanup_free_ char *path = text_format("%s/%s", folder, name);
    struct stat st;

    return lstat(path, &st) == 0;
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
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    _cleanup_free_ char *kept = text_format("%s/1.trainer.0.2", f->processes);
    static const char *const parts[] = { "processes", "copies", "outside/file", "outside", "" };
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

static size_t sweep(const struct fixture *f)
{
    size_t removed = 0;

    assert_int_equal(workspace_sweep(f->copies, f->processes, &removed, NULL), 0);
    return removed;
}

static void only_what_a_process_needs_stays(void **state)
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

static void links_are_removed_and_not_followed(void **state)
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

static void depth_is_no_obstacle(void **state)
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

static void folders_that_were_shut_are_removed(void **state)
{
    struct fixture *f = *state;
    _cleanup_free_ char *shut = text_format("%s/1.trainer.0.1/shut", f->copies);

    make(f->copies, "1.trainer.0.1/shut/below");
    assert_int_equal(chmod(shut, 0), 0);
    assert_int_equal(sweep(f), 1);
    assert_false(is_there(f->copies, "1.trainer.0.1"));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(only_what_a_process_needs_stays),
        TEST(links_are_removed_and_not_followed),
        TEST(depth_is_no_obstacle),
        TEST(folders_that_were_shut_are_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
