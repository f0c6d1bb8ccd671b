/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_trim.c - logs within their bounds, beneath programs that write to them */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/logs/log_trim.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define KIB UINT64_C(1024)
#define EACH (256 * KIB)

struct fixture {
    char root[64], logs[96], processes[96], job[128];
};

static char *path_of(const char *folder, const char *name, char text[256])
{
    (void)snprintf(text, 256, "%s/%s", folder, name);
    return text;
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->root, sizeof f->root, "/tmp/edl-test-log-trim-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    (void)snprintf(f->logs, sizeof f->logs, "%s/logs", f->root);
    (void)snprintf(f->processes, sizeof f->processes, "%s/processes", f->root);
    (void)snprintf(f->job, sizeof f->job, "%s/12", f->logs);
    assert_int_equal(mkdir(f->logs, 0700), 0);
    assert_int_equal(mkdir(f->processes, 0700), 0);
    assert_int_equal(mkdir(f->job, 0700), 0);
    *state = f;
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(nftw(f->root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(f);
    return 0;
}

/* open_log - as a program has it */
static int open_log(const struct fixture *f, const char *name)
{
    char path[256];
    int fd = open(path_of(f->job, name, path), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    return fd;
}

/* write_kib - each KiB begins with its number */
static void write_kib(int fd, uint64_t first, uint64_t n)
{
    for (uint64_t i = first; i < first + n; i++) {
        char block[1024];

        memset(block, 'x', sizeof block);
        (void)snprintf(block, sizeof block, "%llu", (unsigned long long)i);
        assert_int_equal(write(fd, block, sizeof block), sizeof block);
    }
}

static uint64_t blocks_of(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

static struct log_trimmed run(const struct fixture *f, uint64_t old_bytes)
{
    struct log_bounds bounds = { EACH, old_bytes };
    struct log_trimmed trimmed;
    struct edl_error error = { 0 };

    assert_int_equal(log_trim(f->logs, f->processes, &bounds, &trimmed, &error), 0);
    if (trimmed.refused > 0)
        skip(); /* this file system has no holes */
    return trimmed;
}

static void make_process(const struct fixture *f, const char *key)
{
    char path[256];

    assert_int_equal(mkdir(path_of(f->processes, key, path), 0700), 0);
}

static bool exists(const char *folder, const char *name)
{
    char path[256];
    struct stat st;

    return lstat(path_of(folder, name, path), &st) == 0;
}

TEST(test_what_goes_is_whole_pieces_from_the_front)
{
    assert_int_equal(log_drop_before(EACH, EACH, 0), 0);
    assert_int_equal(log_drop_before(EACH, EACH + 1, 0), 64 * KIB);
    assert_int_equal(log_drop_before(EACH, 100 * EACH, 99 * EACH), 0);
    assert_int_equal(log_drop_before(EACH, 100 * EACH + 64 * KIB, 99 * EACH),
                     99 * EACH + 128 * KIB);
    assert_int_equal(log_drop_before(EACH, 0, 64 * KIB), 0); /* its program emptied it */
    assert_int_equal(log_drop_before(1024 * 1024 * KIB, 1024 * 1024 * KIB + 1, 0),
                     128 * 1024 * KIB + 64 * KIB);
    /* what is kept is never less than what is sent at the end */
    for (uint64_t size = EACH + 1; size < 3 * EACH; size += 4093)
        assert_true(size - log_drop_before(EACH, size, 0) >= 64 * KIB);
}

TEST_EACH(setup, teardown);

TEST(test_the_oldest_is_given_back_and_offsets_stay)
{
    struct fixture *f = *state;
    _cleanup_close_ int fd = open_log(f, "trainer-0.1.log");
    _cleanup_close_ int reader = -1;
    char path[256], text[8] = "";
    uint64_t from;

    make_process(f, "12.trainer.0.1");
    write_kib(fd, 0, 200);
    assert_int_equal(run(f, 0).shortened, 0);
    write_kib(fd, 200, 800);
    assert_int_equal(run(f, 0).shortened, 1);
    assert_int_equal(lseek(fd, 0, SEEK_END), 1000 * KIB);
    assert_true(blocks_of(fd) <= EACH + 8 * KIB);
    reader = open(path_of(f->job, "trainer-0.1.log", path), O_RDONLY | O_CLOEXEC);
    from = log_held_from(reader, 1000 * KIB);
    assert_true(from >= 1000 * KIB - EACH && from <= 1000 * KIB - 64 * KIB);
    assert_int_equal(from % 1024, 0);
    assert_int_equal(pread(reader, text, 3, (off_t)from), 3);
    assert_int_equal(strtoull(text, NULL, 10), from / 1024); /* it is what stood there before */
    /* the program goes on behind its last line */
    write_kib(fd, 1000, 1);
    assert_int_equal(pread(reader, text, 4, 1000 * 1024), 4);
    assert_string_equal(text, "1000");
    assert_int_equal(run(f, 0).shortened, 0);
}

/* change_after - changed at a later moment, as the kernel tells times, than what changed before it;
 * its date is another matter */
static void change_after(int fd, struct timespec *before, time_t date)
{
    const struct timespec times[2] = { { .tv_sec = date }, { .tv_sec = date } };
    struct stat st;

    do {
        assert_int_equal(futimens(fd, times), 0);
        assert_int_equal(fstat(fd, &st), 0);
    } while (st.st_ctim.tv_sec == before->tv_sec && st.st_ctim.tv_nsec == before->tv_nsec);
    *before = st.st_ctim;
}

TEST(test_old_logs_go_oldest_first)
{
    struct fixture *f = *state;
    static const char *const names[] = { "trainer-0.1.log", "trainer-0.2.log", "a-b-7.3.log",
                                         "trainer-1.4.log" };
    struct timespec changed = { 0 };
    char path[256];

    for (size_t i = 0; i < ELEMENTS(names); i++) {
        _cleanup_close_ int fd = open_log(f, names[i]);

        write_kib(fd, 0, 100);
        change_after(fd, &changed, 2000 - (time_t)i); /* dates that say the opposite */
    }
    for (size_t i = 0; i < 2; i++) /* when they grew, in a file beside each */
        (void)safe_close(open_log(f, i == 0 ? "trainer-0.1.times" : "trainer-0.2.times"));
    make_process(f, "12.trainer.0.1"); /* the oldest of all is written to */
    assert_int_equal(run(f, 1000 * KIB).removed, 0);
    assert_int_equal(run(f, 200 * KIB).removed, 1);
    assert_false(exists(f->job, names[1]));
    assert_false(exists(f->job, "trainer-0.2.times"));
    assert_true(exists(f->job, "trainer-0.1.times"));
    assert_int_equal(symlink("a-b-7.3.log", path_of(f->job, "train.log", path)), 0);
    assert_int_equal(run(f, 0).removed, 2);
    assert_true(exists(f->job, names[0]));
    assert_false(exists(f->job, "train.log")); /* it led nowhere */
    (void)rmdir(path_of(f->processes, "12.trainer.0.1", path));
    assert_int_equal(run(f, 0).removed, 1);
    assert_false(exists(f->logs, "12"));
}

/* What a log says of itself, its account may set: length and date. */
TEST(test_no_log_lies)
{
    const time_t year_2096 = 3976214400;
    struct fixture *f = *state;
    struct timespec changed = { 0 };
    _cleanup_close_ int first = open_log(f, "honest-0.1.log");

    write_kib(first, 0, 100);
    change_after(first, &changed, 1000);
    for (unsigned i = 0; i < 10; i++) {
        char name[32];
        _cleanup_close_ int fd = -1;

        (void)snprintf(name, sizeof name, "liar-%u.1.log", i);
        fd = open_log(f, name);
        write_kib(fd, 0, 1);
        assert_int_equal(ftruncate(fd, EACH), 0); /* no longer than any may be */
        change_after(fd, &changed, year_2096);
    }
    assert_int_equal(run(f, 200 * KIB).removed, 0);
    assert_true(exists(f->job, "honest-0.1.log"));
}

/* ann has three of 100 KiB and a small one, bob the oldest of all */
TEST(test_each_account_has_its_share)
{
    static const struct {
        const char *name;
        uid_t uid;
        uint64_t kib;
    } logs[] = { { "bob-0.1.log", 60002, 100 },
                 { "ann-0.1.log", 60001, 4 },
                 { "ann-1.1.log", 60001, 100 },
                 { "ann-2.1.log", 60001, 100 },
                 { "ann-3.1.log", 60001, 100 } };
    struct fixture *f = *state;
    struct timespec changed = { 0 };

    if (geteuid() != 0)
        skip();
    for (size_t i = 0; i < ELEMENTS(logs); i++) {
        _cleanup_close_ int fd = open_log(f, logs[i].name);

        write_kib(fd, 0, logs[i].kib);
        assert_int_equal(fchown(fd, logs[i].uid, (gid_t)-1), 0);
        change_after(fd, &changed, 1000);
    }
    assert_int_equal(run(f, 320 * KIB).removed, 2); /* hers, by age: 4 and 100 KiB */
    assert_true(exists(f->job, "bob-0.1.log"));
    assert_false(exists(f->job, "ann-0.1.log"));
    assert_false(exists(f->job, "ann-1.1.log"));
    assert_int_equal(run(f, 220 * KIB).removed, 1);
    assert_true(exists(f->job, "bob-0.1.log"));
    assert_true(exists(f->job, "ann-3.1.log"));
    assert_int_equal(run(f, 110 * KIB).removed, 1);
}

TEST(test_what_is_no_log_of_ours_stays)
{
    struct fixture *f = *state;
    char path[256], outside[256];
    _cleanup_close_ int fd = -1, other = -1;

    /* a link to something that is long, and a file with another name */
    other = open(path_of(f->root, "outside", outside), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    write_kib(other, 0, 500);
    assert_int_equal(symlink(outside, path_of(f->job, "trainer-0.1.log", path)), 0);
    fd = open_log(f, "notes.txt");
    write_kib(fd, 0, 500);
    assert_int_equal(run(f, 0).shortened, 0);
    assert_true(blocks_of(other) >= 500 * KIB);
    assert_true(exists(f->job, "notes.txt"));
}
