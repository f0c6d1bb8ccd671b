/* SPDX-License-Identifier: Apache-2.0 */
/* test_fetch_file.c - a file that comes: whole or not at all, and nowhere else */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/fetch_file.h"
#include "client/fetch_link.h"
#include "client/fetch_record.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define SHA "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" /* of "abc" */

static char root[64];
static int root_fd;
static struct fetch_record *record;
static bool replace;

static int setup(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/edl-test-fetch-XXXXXX");
    if (mkdtemp(root) == NULL)
        return -1;
    root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    replace = false;
    return root_fd >= 0 ? fetch_record_open(root_fd, &record, NULL) : -1;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st;
    (void)flag;
    (void)at;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    record = fetch_record_close(record);
    root_fd = safe_close(root_fd);
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TEST_EACH(setup, teardown);

static struct file_entry entry_of(const char *path)
{
    struct file_entry entry = {
        .bytes = 3, .mtime_us = 5 * USEC_PER_SEC, .mode = 0700, .sha256 = SHA
    };

    (void)snprintf(entry.path, sizeof entry.path, "%s", path);
    return entry;
}

static int open_file(const char *path, struct fetch_file *file)
{
    struct file_entry entry = entry_of(path);
    struct edl_error error = { 0 };
    const struct fetch_target target = { root_fd, record, replace };
    int r = fetch_file_open(&target, "trainer-0/", &entry, file, &error);

    assert_true(r == 0 || error.text[0] != '\0');
    return r;
}

static void receive(struct fetch_file *file, const char *text)
{
    FILE *stream = fetch_file_stream(file);

    (void)fputs(text, stream);
    (void)fclose(stream);
}

static void write_file(const char *name, const char *text)
{
    int fd = openat(root_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)safe_close(fd);
}

static void has(const char *name, const char *text)
{
    int fd = openat(root_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char found[16] = "";

    assert_true(fd >= 0);
    assert_true(read(fd, found, sizeof found - 1) >= 0);
    assert_string_equal(found, text);
    (void)safe_close(fd);
}

TEST(it_is_there_when_it_is_right)
{
    struct edl_error error = { 0 };
    struct fetch_file file;
    struct stat st;

    assert_int_equal(open_file("a/b", &file), 0);
    assert_true(!file.there && file.bytes == 0);
    receive(&file, "ab");
    has("trainer-0/a/b.part", "ab");
    assert_int_equal(fetch_file_finish(&file, &error), -EAGAIN);
    assert_string_equal(error.remedy, "b.part is kept; the same command goes on");
    fetch_file_close(&file);
    assert_int_equal(open_file("a/b", &file), 0);
    assert_int_equal(file.bytes, 2);
    receive(&file, "c");
    assert_int_equal(fetch_file_finish(&file, NULL), 0);
    fetch_file_close(&file);
    has("trainer-0/a/b", "abc");
    assert_int_equal(faccessat(root_fd, "trainer-0/a/b.part", F_OK, 0), -1);
    assert_int_equal(fstatat(root_fd, "trainer-0/a/b", &st, 0), 0);
    assert_true(st.st_mtim.tv_sec == 5 && (st.st_mode & 0100) != 0);
    assert_int_equal(open_file("a/b", &file), 0);
    assert_true(file.there);
    fetch_file_close(&file);
}

TEST(what_is_wrong_gets_no_name)
{
    struct fetch_file file;

    assert_int_equal(open_file("b", &file), 0);
    receive(&file, "xyz");
    assert_int_equal(fetch_file_finish(&file, NULL), -EBADMSG);
    assert_int_equal(fetch_file_restart(&file, NULL), 0);
    receive(&file, "abcd"); /* more than was listed */
    assert_int_equal(file.failure, -EFBIG);
    assert_int_equal(fetch_file_restart(&file, NULL), 0);
    receive(&file, "abc");
    assert_int_equal(fetch_file_finish(&file, NULL), 0);
    fetch_file_close(&file);
    write_file("trainer-0/b", "old one");
    replace = true;
    assert_int_equal(open_file("b", &file), 0);
    assert_false(file.there);
    receive(&file, "abc");
    has("trainer-0/b", "old one");
    assert_int_equal(fetch_file_finish(&file, NULL), 0);
    fetch_file_close(&file);
    has("trainer-0/b", "abc");
}

TEST(a_part_that_is_too_long_is_none)
{
    struct fetch_file file;

    replace = true;
    assert_int_equal(mkdirat(root_fd, "trainer-0", 0700), 0);
    write_file("trainer-0/b.part", "abcdef");
    assert_int_equal(open_file("b", &file), 0);
    assert_int_equal(file.bytes, 0);
    fetch_file_close(&file);
    has("trainer-0/b.part", "");
}

TEST(nothing_is_written_through_a_link)
{
    struct fetch_file file;

    replace = true;
    assert_int_equal(mkdirat(root_fd, "outside", 0700), 0);
    assert_int_equal(mkdirat(root_fd, "trainer-0", 0700), 0);
    assert_int_equal(symlinkat("../outside", root_fd, "trainer-0/a"), 0);
    assert_int_equal(open_file("a/b", &file), -EPERM);
    write_file("target", "kept");
    assert_int_equal(symlinkat("../target", root_fd, "trainer-0/b"), 0);
    assert_int_equal(open_file("b", &file), -EPERM);
    assert_int_equal(symlinkat("../target", root_fd, "trainer-0/c.part"), 0);
    assert_int_equal(open_file("c", &file), -EPERM);
    assert_int_equal(linkat(root_fd, "target", root_fd, "trainer-0/d.part", 0), 0);
    assert_int_equal(open_file("d", &file), -EPERM);
    assert_int_equal(mkfifoat(root_fd, "trainer-0/e.part", 0600), 0);
    assert_int_equal(open_file("e", &file), -EPERM);
    assert_int_equal(mkdirat(root_fd, "trainer-0/f", 0700), 0);
    assert_int_equal(open_file("f", &file), -EPERM);
    write_file("trainer-0/g", "x");
    assert_int_equal(open_file("g/h", &file), -EPERM);
    has("target", "kept");
    assert_int_equal(unlinkat(root_fd, "outside", AT_REMOVEDIR), 0); /* it is empty */
}

TEST(two_do_not_write_one_part)
{
    struct fetch_file file, other;

    assert_int_equal(open_file("a", &file), 0);
    assert_int_equal(open_file("a", &other), -EBUSY);
    assert_int_equal(open_file("b", &other), 0);
    fetch_file_close(&other);
    fetch_file_close(&file);
    assert_int_equal(open_file("a", &file), 0);
    fetch_file_close(&file);
}

TEST(a_folder_of_others_is_left_alone)
{
    _cleanup_free_ char *made = text_format("%s/made", root);
    struct edl_error error = { 0 };

    write_file("script.py", "mine");
    assert_int_equal(unlinkat(root_fd, FETCH_MARK, 0), 0);
    assert_int_equal(fetch_folder_open(root, false, &error), -EEXIST);
    assert_non_null(strstr(error.remedy, "--replace"));
    assert_int_equal(faccessat(root_fd, FETCH_MARK, F_OK, 0), -1);
    for (int i = 0; i < 2; i++) { /* then it is there, and goes on */
        _cleanup_close_ int fd = fetch_folder_open(made, false, &error);

        assert_true(fd >= 0);
        write_file("made/a", "b");
    }
    assert_int_equal(faccessat(root_fd, "made/" FETCH_MARK, F_OK, 0), 0);
    assert_int_equal(safe_close(fetch_folder_open(root, true, &error)), -1);
    assert_int_equal(faccessat(root_fd, FETCH_MARK, F_OK, 0), -1);
}

static int fetch(const char *path)
{
    struct fetch_file file;
    int r = open_file(path, &file);

    if (r < 0)
        return r;
    if (!file.there) {
        receive(&file, "abc");
        r = fetch_file_finish(&file, NULL);
    }
    fetch_file_close(&file);
    return r;
}

/* As far as the umask lets them; and nobody else looks into a part of what is private. */
TEST(permissions_are_kept)
{
    static const struct {
        mode_t on_node, mask, here;
    } cases[] = { { 0600, 022, 0600 }, { 0700, 022, 0700 }, { 0644, 022, 0644 },
                  { 0755, 022, 0755 }, { 0640, 022, 0640 }, { 0666, 022, 0644 },
                  { 0444, 022, 0444 }, { 0644, 077, 0600 } };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        const struct fetch_target target = { root_fd, record, false };
        struct file_entry entry = entry_of("a");
        struct fetch_file file;
        struct stat st;
        mode_t before;

        (void)snprintf(entry.path, sizeof entry.path, "mode-%zu", i);
        entry.mode = cases[i].on_node;
        before = umask(cases[i].mask);
        assert_int_equal(fetch_file_open(&target, "", &entry, &file, NULL), 0);
        assert_int_equal(fstat(file.fd, &st), 0);
        assert_int_equal(st.st_mode & 0077, 0);
        receive(&file, "abc");
        assert_int_equal(fetch_file_finish(&file, NULL), 0);
        fetch_file_close(&file);
        assert_int_equal(fstatat(root_fd, entry.path, &st, 0), 0);
        assert_int_equal(st.st_mode & 0777, cases[i].here);
        /* of one that has come already its owner changes them */
        entry.mode = 0640;
        assert_int_equal(fetch_file_open(&target, "", &entry, &file, NULL), 0);
        assert_true(file.there);
        fetch_file_close(&file);
        assert_int_equal(fstatat(root_fd, entry.path, &st, 0), 0);
        assert_int_equal(st.st_mode & 0777, 0640 & ~cases[i].mask);
        (void)umask(before);
    }
}

/* A file that edl fetch did not put there, or that was changed since, is its owner's. */
TEST(a_file_of_ones_own_is_kept)
{
    struct edl_error error = { 0 };
    struct fetch_file file;

    assert_int_equal(mkdirat(root_fd, "trainer-0", 0700), 0);
    write_file("trainer-0/a", "mine");
    assert_int_equal(fetch("a"), -EEXIST);
    has("trainer-0/a", "mine");
    write_file("trainer-0/b.part", "mi");
    assert_int_equal(fetch("b"), -EEXIST);
    has("trainer-0/b.part", "mi");
    /* the very same needs no permission */
    write_file("trainer-0/c", "abc");
    assert_int_equal(open_file("c", &file), 0);
    assert_true(file.there);
    fetch_file_close(&file);
    /* a part of our own is gone on with, and what came is replaced by what it is by now */
    assert_int_equal(open_file("d", &file), 0);
    receive(&file, "a");
    fetch_file_close(&file);
    assert_int_equal(open_file("d", &file), 0);
    assert_int_equal(file.bytes, 1);
    fetch_file_close(&file);
    assert_int_equal(fetch("e"), 0);
    record = fetch_record_close(record); /* another call */
    assert_int_equal(fetch_record_open(root_fd, &record, NULL), 0);
    {
        const struct fetch_target target = { root_fd, record, false };
        struct file_entry newer = entry_of("e");

        memset(newer.sha256, 'a', sizeof newer.sha256 - 1);
        assert_int_equal(fetch_file_open(&target, "trainer-0/", &newer, &file, NULL), 0);
        assert_false(file.there);
        fetch_file_close(&file);
        write_file("trainer-0/e", "me!");
        assert_int_equal(fetch_file_open(&target, "trainer-0/", &newer, &file, &error), -EEXIST);
        has("trainer-0/e", "me!");
    }
    replace = true;
    assert_int_equal(fetch("a"), 0);
    has("trainer-0/a", "abc");
    /* a job writes no record of what is ours */
    assert_int_equal(fetch(FETCH_MARK), -EPERM);
}

static void read_again(void)
{
    record = fetch_record_close(record);
    assert_int_equal(fetch_record_open(root_fd, &record, NULL), 0);
}

/* is_ours - another state of it may take its place */
static bool is_ours(const char *path)
{
    const struct fetch_target target = { root_fd, record, false };
    struct file_entry newer = entry_of(path);
    struct fetch_file file;
    int r;

    memset(newer.sha256, 'a', sizeof newer.sha256 - 1);
    r = fetch_file_open(&target, "trainer-0/", &newer, &file, NULL);
    if (r == 0)
        fetch_file_close(&file);
    return r == 0;
}

static void damage_record(const char *text, size_t size)
{
    int fd = openat(root_fd, FETCH_MARK, O_WRONLY | O_APPEND | O_CLOEXEC);

    assert_int_equal(write(fd, text, size), size);
    (void)safe_close(fd);
}

/* After a loss of power, or on a full disk, whole lines count, before the torn one and behind it.
 */
TEST(a_record_that_was_cut_off)
{
    static const char zeros[70000];
    struct fetch_file file;

    assert_int_equal(fetch("a"), 0);
    damage_record(zeros, 100);
    damage_record("\nf 12", 5);
    read_again();
    assert_int_equal(open_file("b", &file), 0); /* its part is the next line */
    fetch_file_close(&file);
    read_again();
    assert_int_equal(fetch("b"), 0);
    read_again();
    assert_true(is_ours("a") && is_ours("b"));
    damage_record(zeros, sizeof zeros); /* more than is read at a time */
    read_again();
    assert_int_equal(fetch("c"), 0);
    read_again();
    assert_true(is_ours("a") && is_ours("b") && is_ours("c"));
}

/* A call that is killed leaves nothing that the next one takes for its owner's. */
TEST(it_is_recorded_before_it_has_its_name)
{
    struct fetch_file file;
    char found[4096] = "";
    int fd;

    assert_int_equal(fetch("a"), 0);
    assert_int_equal(open_file("b", &file), 0);
    receive(&file, "abc");
    assert_int_equal(mkdirat(root_fd, "trainer-0/b", 0700), 0); /* it breaks off at the name */
    assert_true(fetch_file_finish(&file, NULL) < 0);
    fetch_file_close(&file);
    fd = openat(root_fd, FETCH_MARK, O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, found, sizeof found - 1) > 0);
    (void)safe_close(fd);
    assert_non_null(strstr(found, "f 5000000000 3\ttrainer-0/b\n"));
    /* files of before are still known */
    damage_record("f 6000000000 9\ttrainer-0/a\n", 27);
    read_again();
    assert_true(is_ours("a"));
}

TEST(links_that_stay_within)
{
    static const struct {
        const char *path, *target;
        bool stays;
    } cases[] = {
        { "LATEST", "step-3", true },
        { "ck/LATEST", "step-3/model", true },
        { "ck/LATEST", "./step-3", true },
        { "ck/LATEST", "../other", true },
        { "ck/LATEST", "..", true },
        { "ck/LATEST", ".", true },
        { "ck/LATEST", "..//a/", true },
        { "a/b/c", "../../d", true },
        { "a/b/c", "...", true },
        { "LATEST", "/etc/passwd", false },
        { "LATEST", "..", false },
        { "LATEST", "../x", false },
        { "ck/LATEST", "../../x", false },
        { "ck/LATEST", "../..", false },
        { "ck/LATEST", ".//../../x", false },
        { "a/b/c", "d/../../x", false }, /* d may be a link to somewhere above */
        { "a/b/c", "d/..", false },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++)
        if (fetch_link_stays(cases[i].path, cases[i].target) != cases[i].stays)
            fail_msg("%s -> %s", cases[i].path, cases[i].target);
}

static void leads(const char *name, const char *target)
{
    char found[64] = "";

    assert_true(readlinkat(root_fd, name, found, sizeof found - 1) > 0);
    assert_string_equal(found, target);
}

TEST(links_are_made)
{
    struct fetch_target target = { root_fd, record, false };
    struct edl_error error = { 0 };

    assert_int_equal(fetch_link_make(&target, "trainer-0/", "ck/LATEST", "step-1", NULL), 0);
    leads("trainer-0/ck/LATEST", "step-1");
    assert_int_equal(fetch_link_make(&target, "trainer-0/", "ck/LATEST", "step-1", NULL), 1);
    assert_int_equal(fetch_link_make(&target, "trainer-0/", "ck/LATEST", "step-2", NULL), 0);
    leads("trainer-0/ck/LATEST", "step-2");
    /* of one's own */
    assert_int_equal(unlinkat(root_fd, "trainer-0/ck/LATEST", 0), 0);
    assert_int_equal(symlinkat("mine", root_fd, "trainer-0/ck/LATEST"), 0);
    assert_int_equal(fetch_link_make(&target, "trainer-0/", "ck/LATEST", "step-3", &error),
                     -EEXIST);
    leads("trainer-0/ck/LATEST", "mine");
    write_file("trainer-0/file", "mine");
    target.replace = true;
    assert_int_equal(fetch_link_make(&target, "trainer-0/", "file", "step-3", &error), -EEXIST);
    has("trainer-0/file", "mine");
    assert_int_equal(fetch_link_make(&target, "trainer-0/", "ck/LATEST", "step-3", NULL), 0);
    leads("trainer-0/ck/LATEST", "step-3");
    /* none is made behind another one */
    assert_int_equal(fetch_link_make(&target, "trainer-0/", "ck/LATEST/x", "y", &error), -EPERM);
}
