/* SPDX-License-Identifier: Apache-2.0 */
/* test_file_walk.c - files below a folder: which are listed, and which are passed over */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/file_walk.h"
#include "agent/layout.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/workspace_limits.h"
#include "tests/unit/test.h"

static char root[64], lines[65536];

static void take(const char *text, size_t size, void *userdata)
{
    (void)userdata;
    assert_true(size > 0 && size < 65535 && text[size - 1] == '\n');
    assert_true(strlen(lines) + size < sizeof lines);
    (void)strncat(lines, text, size);
}

static void make(const char *name, const char *text, long mtime_s)
{
    _cleanup_free_ char *path = text_format("%s/%s", root, name);
    struct timespec times[] = { { .tv_sec = mtime_s }, { .tv_sec = mtime_s } };
    FILE *file;

    *strrchr(path, '/') = '\0';
    assert_int_equal(folder_make(path, 0700, NULL), 0);
    path[strlen(path)] = '/';
    file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int setup(void **state)
{
    (void)state;
    lines[0] = '\0';
    (void)umask(022);
    (void)snprintf(root, sizeof root, "/tmp/edl-test-walk-XXXXXX");
    return mkdtemp(root) != NULL ? 0 : -1;
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
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TEST_EACH(setup, teardown);

static struct file_sums walk(const char *pattern, uint64_t since_us, bool by_mtime)
{
    struct file_walk walk = { .pattern = pattern,
                              .since_us = since_us,
                              .sums_bytes = 100,
                              .by_mtime = by_mtime,
                              .send = take };
    _cleanup_close_ int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct edl_error error = { 0 };

    lines[0] = '\0';
    if (file_walk(&walk, fd, &error) < 0)
        fail_msg("%s", error.text);
    return walk.sums;
}

/* lists - the paths in their order, a blank between */
static void lists(const char *paths)
{
    char found[1024] = "";

    for (const char *at = lines; (at = strstr(at, "{\"path\":\"")) != NULL;) {
        at += strlen("{\"path\":\"");
        (void)snprintf(found + strlen(found), sizeof found - strlen(found), "%s%.*s",
                       found[0] != '\0' ? " " : "", (int)strcspn(at, "\""), at);
    }
    assert_string_equal(found, paths);
    assert_non_null(strstr(lines, "{\"end\":true"));
}

TEST(a_pattern_means_files_and_folders)
{
    make("output/pass-1/w", "abc", 5);
    make("output/pass-2/sub/w", "", 5);
    make("output/log", "x", 5);
    make("top", "x", 5);
    assert_int_equal(walk("", 0, false).files, 4);
    lists("output/log output/pass-1/w output/pass-2/sub/w top");
    assert_non_null(strstr(lines,
                           "\"bytes\":3,\"mtime_us\":5000000,\"mode\":420,\"sha256\":"
                           "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\""));
    (void)walk("output/pass-*", 0, false);
    lists("output/pass-1/w output/pass-2/sub/w");
    (void)walk("./output", 0, false);
    lists("output/log output/pass-1/w output/pass-2/sub/w");
    (void)walk("*/log", 0, false);
    lists("output/log");
    (void)walk("w", 0, false);
    lists("");
    (void)walk("output/pass-?/w", 0, false);
    lists("output/pass-1/w");
    (void)walk("output/", 0, false); /* as a shell completes it */
    lists("output/log output/pass-1/w output/pass-2/sub/w");
    (void)walk("./output/pass-1//", 0, false);
    lists("output/pass-1/w");
}

/* Letters that mean something in a pattern stand in names as well. */
TEST(a_name_is_a_pattern_for_itself)
{
    make("model[1].pt", "x", 5);
    make("model1.pt", "x", 5);
    make("run [a]/w", "x", 5);
    make("what?", "x", 5);
    (void)walk("model[1].pt", 0, false);
    lists("model1.pt model[1].pt");
    (void)walk("model\\[1].pt", 0, false);
    lists("model[1].pt");
    (void)walk("run [a]", 0, false);
    lists("run [a]/w");
    (void)walk("run [a]/", 0, false);
    lists("run [a]/w");
    (void)walk("run [a]/w", 0, false);
    lists("run [a]/w");
    (void)walk("run", 0, false);
    lists("");
    (void)walk("what?", 0, false);
    lists("what?");
}

TEST(what_was_not_changed_is_left_out)
{
    make("given", "x", 5);
    make("written", "x", 100);
    (void)walk("", 100 * USEC_PER_SEC, true);
    lists("written");
    (void)walk("", 5 * USEC_PER_SEC, true);
    lists("given written");
    (void)walk("", 100 * USEC_PER_SEC, false); /* both were made now, whatever their time says */
    lists("given written");
}

TEST(what_is_no_file_is_counted)
{
    _cleanup_free_ char *link = text_format("%s/link", root);
    _cleanup_free_ char *folder = text_format("%s/folder", root);
    _cleanup_free_ char *pipe_path = text_format("%s/pipe", root);
    struct file_sums sums;

    make("bad\033name", "x", 5);
    make("bad\xff/below", "x", 5);
    make("good", "x", 5);
    assert_int_equal(symlink("/etc/hostname", link), 0);
    assert_int_equal(symlink("/etc", folder), 0);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    sums = walk("", 0, false);
    lists("good folder link"); /* where they lead is told behind the files */
    assert_non_null(strstr(lines, "\"link_list\":[{\"path\":\"folder\",\"target\":\"/etc\"},"
                                  "{\"path\":\"link\",\"target\":\"/etc/hostname\"}]"));
    assert_int_equal(sums.files, 1);
    assert_int_equal(sums.links, 2);
    assert_int_equal(sums.unnamed, 2);
    assert_int_equal(sums.unreadable, 0);
}

/* As deep as a workspace may be; what lies deeper does not keep the rest back. */
TEST(folders_that_are_too_deep_are_counted)
{
    const size_t deep = WORKSPACE_DEPTH_MAX;
    char path[2 * WORKSPACE_DEPTH_MAX + 8] = "";
    struct file_sums sums;

    for (size_t i = 0; i <= deep; i++)
        memcpy(path + 2 * i, "d/", 2);
    path[2 * deep] = 'f';
    path[2 * deep + 1] = '\0';
    make(path, "x", 5);
    make("top", "x", 5);
    sums = walk("", 0, false);
    assert_int_equal(sums.files, 2);
    assert_int_equal(sums.unreadable, 0);
    memcpy(path + 2 * deep, "d/f", 4);
    make(path, "x", 5);
    sums = walk("", 0, false);
    assert_int_equal(sums.files, 2);
    assert_int_equal(sums.unreadable, 1);
    sums = walk("top", 0, false);
    lists("top");
    assert_int_equal(sums.unreadable, 0);
}

/* What the beginning of the pattern excludes is not opened: its depth is not told. */
TEST(other_folders_are_not_entered)
{
    _cleanup_free_ char *deep = xcalloc(1, 2 * WORKSPACE_DEPTH_MAX + 8);

    for (size_t i = 0; i <= WORKSPACE_DEPTH_MAX; i++)
        memcpy(deep + 2 * i, "d/", 2);
    deep[2 * WORKSPACE_DEPTH_MAX + 2] = 'f';
    make(deep, "x", 5);
    make("output/pass-1/w", "x", 5);
    make("outputs/w", "x", 5);
    assert_int_equal(walk("", 0, false).unreadable, 1);
    assert_int_equal(walk("*/pass-1", 0, false).unreadable, 1);
    lists("output/pass-1/w");
    assert_int_equal(walk("./output", 0, false).unreadable, 0);
    lists("output/pass-1/w");
    assert_int_equal(walk("out*/w", 0, false).unreadable, 0);
    lists("outputs/w");
    assert_int_equal(walk("output/pass-1/w", 0, false).unreadable, 0);
    lists("output/pass-1/w");
    assert_int_equal(walk("[d]/d", 0, false).unreadable, 1);
}

/* grow - each time something is told, as a process that writes on */
static void grow(const char *text, size_t size, void *userdata)
{
    const char *path = userdata;
    _cleanup_fclose_ FILE *file = fopen(path, "ae");

    assert_non_null(file);
    assert_true(fputs("more", file) >= 0);
    take(text, size, NULL);
}

/* A large file is a sign of life each so many bytes, and is listed as long as it was. */
TEST(a_file_larger_than_that_is_not_read)
{
    _cleanup_free_ char *path = text_format("%s/large", root);

    make("large", "", 5);
    make("small", "abc", 5);
    assert_int_equal(truncate(path, (off_t)1 << 42), 0); /* reading it would take an hour */
    assert_int_equal(walk("", 0, false).files, 2);
    lists("large small");
    assert_non_null(strstr(lines, "{\"path\":\"large\",\"bytes\":4398046511104,"
                                  "\"mtime_us\":"));
    assert_null(strstr(strstr(lines, "sha256") + 1, "sha256"));
}

TEST(a_large_file_is_told_of_meanwhile)
{
    _cleanup_free_ char *path = text_format("%s/large", root);
    struct file_walk walk = {
        .pattern = "", .sums_bytes = UINT64_MAX, .send = grow, .userdata = path
    };
    _cleanup_close_ int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *wanted =
        text_format("\n\n{\"path\":\"large\",\"bytes\":%d,", 2 * (int)FILE_WALK_BEAT_BYTES);
    struct edl_error error = { 0 };

    make("large", "", 5);
    assert_int_equal(truncate(path, 2 * (off_t)FILE_WALK_BEAT_BYTES), 0);
    assert_int_equal(file_walk(&walk, fd, &error), 0);
    if (strncmp(lines, wanted, strlen(wanted)) != 0)
        fail_msg("%s", lines);
}

/* The line has its bound, whatever a job makes; readers of the version before take it. */
TEST(many_links_are_counted)
{
    struct file_sums sums;
    struct file_entry entry;
    const char *last;
    json_t *links;

    for (int i = 0; i < 400; i++) {
        _cleanup_free_ char *path = text_format("%s/l%03d", root, i);

        assert_int_equal(symlink("target-of-some-length\xc3\xa4\"\\", path), 0);
    }
    sums = walk("", 0, false);
    assert_int_equal(sums.links, 400);
    last = strstr(lines, "{\"end\"");
    assert_non_null(last);
    assert_int_equal(file_listing_parse(last, strcspn(last, "\n"), &entry, &sums, NULL), 1);
    links = file_listing_links(last, strcspn(last, "\n"));
    assert_in_range(json_array_size(links), 100, 399);
    json_decref(links);
    (void)walk("l00?", 0, false);
    last = strstr(lines, "{\"end\"");
    links = file_listing_links(last, strcspn(last, "\n"));
    assert_int_equal(json_array_size(links), 10);
    json_decref(links);
}
