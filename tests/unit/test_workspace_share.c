/* SPDX-License-Identifier: Apache-2.0 */
/* test_workspace_share.c - one folder for the workspace of a job: whole, or not there */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/workspace/workspace_share.h"
#include "agent/workspace/workspace_sweep.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/workspace_pack.h"
#include "tests/unit/test.h"

#define AT_ONCE 6
#define NOBODY 65534
#define FILES 200
#define MARK 1 /* .edl-archive */

struct fixture {
    char root[64];
    char *parent, *folder, *from;
    int fd; /* of the archive */
    struct packed packed;
    struct edl_error error;
};

static void put(const char *folder, const char *name, const char *text)
{
    _cleanup_free_ char *path = text_format("%s/%s", folder, name);
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
}

static bool is_there(const char *folder, const char *name)
{
    _cleanup_free_ char *path = text_format("%s/%s", folder, name);
    struct stat st;

    return lstat(path, &st) == 0;
}

static size_t count(const char *folder)
{
    _cleanup_closedir_ DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t n = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        n += !streq(entry->d_name, ".") && !streq(entry->d_name, "..");
    return n;
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->root, sizeof f->root, "/tmp/edl-test-share-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    assert_int_equal(chmod(f->root, 0755), 0);
    f->parent = text_format("%s/parent", f->root);
    f->folder = text_format("%s/JOB1", f->parent);
    f->from = text_format("%s/from", f->root);
    assert_int_equal(mkdir(f->parent, 0755), 0);
    assert_int_equal(mkdir(f->from, 0755), 0);
    for (int i = 0; i < FILES; i++) {
        char name[24];

        (void)snprintf(name, sizeof name, "file-%d", i);
        put(f->from, name, name);
    }
    f->fd = memfd_create("archive", MFD_CLOEXEC);
    assert_int_equal(workspace_pack(f->from, f->fd, &unpack_limits_default, NULL, &f->packed, NULL),
                     0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    _cleanup_close_ int tmp = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(workspace_remove(tmp, f->root + strlen("/tmp/"), NULL), 0);
    (void)safe_close(f->fd);
    free(f->parent);
    free(f->folder);
    free(f->from);
    free(f);
    return 0;
}

TEST_EACH(setup, teardown);

static int share(struct fixture *f, const char *slot)
{
    _cleanup_free_ char *path = text_format("/proc/self/fd/%d", f->fd);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC); /* from its beginning */

    assert_true(fd >= 0);
    return workspace_share(fd, f->folder, slot, f->packed.sha256, &f->error);
}

TEST(the_first_one_unpacks)
{
    struct fixture *f = *state;
    _cleanup_close_ int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_int_equal(share(f, "1-trainer-0"), 0);
    assert_int_equal(count(f->folder), FILES + MARK);
    assert_int_equal(count(f->parent), 1);
    put(f->folder, "output", "of the first"); /* what is there is not touched */
    assert_int_equal(workspace_share(nothing, f->folder, "1-pserver-0", f->packed.sha256, NULL), 0);
    assert_int_equal(count(f->folder), FILES + MARK + 1);
    assert_int_equal(count(f->parent), 1);
}

/* All begin when none has: one gives the name, the others use it. */
TEST(several_at_once)
{
    struct fixture *f = *state;
    pid_t pids[AT_ONCE];
    int start[2];
    char go;

    assert_int_equal(pipe(start), 0);
    for (int i = 0; i < AT_ONCE; i++) {
        char slot[24];

        (void)snprintf(slot, sizeof slot, "1-trainer-%d", i);
        pids[i] = fork();
        if (pids[i] == 0) {
            (void)safe_close(start[1]);
            _exit(read(start[0], &go, 1) == 0 && share(f, slot) == 0 &&
                          count(f->folder) == FILES + MARK
                      ? 0
                      : 1);
        }
        assert_true(pids[i] > 0);
    }
    (void)safe_close(start[0]);
    (void)safe_close(start[1]);
    for (int i = 0; i < AT_ONCE; i++) {
        int status;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count(f->folder), FILES + MARK);
    assert_int_equal(count(f->parent), 1);
}

static void assert_no_place(struct fixture *f, const char *text, const char *remedy)
{
    assert_int_equal(share(f, "1-trainer-0"), -ENOTDIR);
    if (strstr(f->error.text, text) == NULL || strstr(f->error.remedy, remedy) == NULL)
        fail_msg("%s; %s", f->error.text, f->error.remedy);
}

TEST(the_folder_above_is_not_made)
{
    struct fixture *f = *state;

    assert_int_equal(rmdir(f->parent), 0);
    assert_no_place(f, "/parent, where it belongs, is not there", "edl deploy");
    assert_false(is_there(f->root, "parent"));
    put(f->root, "parent", "a file");
    assert_no_place(f, "/parent, where it belongs, is not there", "edl deploy");
}

TEST(a_closed_folder_is_no_place)
{
    struct fixture *f = *state;

    if (geteuid() != 0)
        skip();
    assert_int_equal(seteuid(NOBODY), 0);
    assert_no_place(f, "/parent, where it belongs, is closed to this account: Permission denied",
                    "open it on this node");
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(count(f->parent), 0);
}

TEST(what_is_there_must_be_a_folder_of_ones_own)
{
    struct fixture *f = *state;

    assert_int_equal(symlink("/tmp", f->folder), 0);
    assert_no_place(f, "JOB1 is there and is no folder", "another workspace-folder");
    assert_int_equal(unlink(f->folder), 0);
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(f->folder, 0777), 0);
    assert_int_equal(chown(f->folder, NOBODY, NOBODY), 0);
    assert_no_place(f, "JOB1 is there and belongs to another account", "remove it");
}

/* Another archive is not taken for this one, also when the folder came while it was unpacked. */
TEST(a_folder_of_another_archive_is_refused)
{
    struct fixture *f = *state;
    _cleanup_free_ char *mark = text_format("%s/.edl-archive", f->folder);
    struct stat st;

    put(f->from, ".edl-archive", "of a folder that was fetched");
    assert_int_equal(ftruncate(f->fd, 0), 0);
    assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
    assert_int_equal(workspace_pack(f->from, f->fd, &unpack_limits_default, NULL, &f->packed, NULL),
                     0);
    assert_int_equal(share(f, "1-trainer-0"), 0);
    assert_int_equal(stat(mark, &st), 0);
    assert_int_equal(st.st_size, 65);
    assert_int_equal(st.st_mtime, 0); /* no file that the job wrote */
    assert_int_equal(share(f, "1-trainer-1"), 0);
    f->packed.sha256[0] = f->packed.sha256[0] == '0' ? '1' : '0';
    assert_no_place(f, "JOB1 is there and holds another archive, sha256:",
                    "name another workspace-folder");
    assert_int_equal(unlink(mark), 0); /* as of an agent of before */
    assert_int_equal(share(f, "2-trainer-0"), 0);
}

TEST(nothing_stays_of_a_bad_archive)
{
    struct fixture *f = *state;
    char other[sizeof f->packed.sha256];

    memcpy(other, f->packed.sha256, sizeof other);
    f->packed.sha256[0] = f->packed.sha256[0] == '0' ? '1' : '0';
    assert_int_equal(share(f, "1-trainer-0"), EDL_ECORRUPT);
    assert_int_equal(count(f->parent), 0);
    memcpy(f->packed.sha256, other, sizeof other);
    assert_int_equal(share(f, "1-trainer-0"), 0);
}

/* However deep it is. Another slot may be at it at this moment. */
TEST(what_the_same_slot_left_goes)
{
    struct fixture *f = *state;
    _cleanup_free_ char *left = text_format("%s/.JOB1.edl-1-trainer-0", f->parent);
    _cleanup_free_ char *deep = text_format("%s", left);

    for (int i = 0; i < 150; i++) {
        char *deeper = text_format("%s/d", deep);

        free(deep);
        deep = deeper;
    }
    assert_int_equal(folder_make(deep, 0700, NULL), 0);
    put(deep, "half", "of a file");
    put(f->parent, ".JOB1.edl-1-trainer-1", "another's");
    assert_int_equal(share(f, "1-trainer-0"), 0);
    assert_int_equal(count(f->folder), FILES + MARK);
    assert_int_equal(count(f->parent), 2);
    assert_int_equal(folder_make(deep, 0700, NULL), 0); /* killed while another was first */
    assert_int_equal(share(f, "1-trainer-0"), 0);
    assert_int_equal(count(f->parent), 2);
    assert_true(is_there(f->parent, ".JOB1.edl-1-trainer-1"));
}

TEST(paths_and_slots_are_checked)
{
    struct fixture *f = *state;

    assert_int_equal(share(f, "../1"), -EINVAL);
    free(f->folder);
    f->folder = text_format("%s/../x", f->parent);
    assert_int_equal(share(f, "1-trainer-0"), -EINVAL);
    assert_non_null(strstr(f->error.text, "\"..\""));
}
