/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_pump.c - what is written to a pipe is in the log, in its order, whatever becomes of the
 * disk
 *
 * The disk is a tmpfs of 256 KiB, which only root can mount. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/machine/account.h"
#include "agent/supervisor/log_pump.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define DISK_BYTES (256 * 1024)
#define DEADLINE_MS 120000
#define LINE "line %06u of a program that prints more than a disk takes\n"
#define LINE_BYTES (sizeof LINE - 1 + 2) /* of six digits */

struct fixture {
    char root[40], log[80], ballast[80];
    bool mounted;
    struct log_pump *pump;
    int out; /* the program's end of the pipe */
};

static uid_t moved_as; /* who moved bytes last */

/* In place of libc's. geteuid(2) of this thread: libc gives all threads the same one. */
ssize_t splice(int from, off64_t *from_at, int to, off64_t *to_at, size_t size, unsigned flags)
{
    moved_as = (uid_t)syscall(SYS_geteuid);
    return syscall(SYS_splice, from, from_at, to, to_at, size, flags);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->root, sizeof f->root, "/tmp/edl-test-log-pump-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    f->mounted = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
                 mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                 mount("none", f->root, "tmpfs", 0, "size=256k") == 0;
    (void)snprintf(f->log, sizeof f->log, "%s/log", f->root);
    (void)snprintf(f->ballast, sizeof f->ballast, "%s/ballast", f->root);
    f->out = -1;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    (void)log_pump_free(f->pump);
    (void)safe_close(f->out);
    (void)unlink(f->log);
    (void)unlink(f->ballast);
    if (f->mounted)
        assert_int_equal(umount2(f->root, MNT_DETACH), 0);
    (void)rmdir(f->root);
    free(f);
    return 0;
}

TEST_EACH(setup, teardown);

static void begin(struct fixture *f, const struct account *account, uint64_t most_bytes)
{
    int fd = open(f->log, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct edl_error error = { 0 };

    assert_true(fd >= 0);
    f->pump = log_pump_new(fd, -1, most_bytes);
    assert_int_equal(log_pump_open(f->pump, account, &f->out, &error), 0);
}

static void print(const struct fixture *f, const char *text)
{
    assert_int_equal(write(f->out, text, strlen(text)), strlen(text));
}

static void run(const struct fixture *f)
{
    struct pollfd p = { .fd = log_pump_fd(f->pump), .events = POLLIN };

    assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
    log_pump_run(f->pump);
}

/* read_log - new string */
static char *read_log(const struct fixture *f)
{
    _cleanup_close_ int fd = open(f->log, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *text;

    assert_int_equal(fstat(fd, &st), 0);
    text = xcalloc(1, (size_t)st.st_size + 1);
    assert_int_equal(read(fd, text, (size_t)st.st_size), st.st_size);
    return text;
}

static void assert_log(const struct fixture *f, const char *expected)
{
    _cleanup_free_ char *text = read_log(f);

    assert_string_equal(text, expected);
}

TEST(its_words_and_ours_are_in_their_order)
{
    struct fixture *f = *state;
    int fd = open(f->log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_int_equal(write(fd, "before\n", 7), 7); /* it goes on behind what is there */
    (void)safe_close(fd);
    begin(f, NULL, 0);
    log_pump_say(f->pump, "ours\n");
    print(f, "its first\n");
    run(f);
    assert_int_equal(log_pump_fd(f->pump), -1);
    print(f, "its last"); /* and it is killed: somebody else still has the pipe */
    log_pump_end(f->pump);
    log_pump_say(f->pump, "\nours again\n");
    assert_log(f, "before\nours\nits first\nits last\nours again\n");
}

TEST(what_was_never_looked_at_is_there_as_well)
{
    struct fixture *f = *state;

    begin(f, NULL, 0);
    print(f, "short\n");
    f->out = safe_close(f->out);
    log_pump_end(f->pump);
    assert_log(f, "short\n");
}

TEST(an_end_without_a_word_needs_nothing)
{
    struct fixture *f = *state;

    begin(f, NULL, 0);
    f->out = safe_close(f->out);
    run(f); /* nobody can write any more */
    assert_int_equal(log_pump_fd(f->pump), -1);
    log_pump_end(f->pump);
    assert_log(f, "");
}

/* Its program can read its own output. What made the pipe readable may be gone, and that is no end.
 */
TEST(an_empty_pipe_with_a_writer_goes_on)
{
    struct fixture *f = *state;
    char path[40], taken[16];
    int again;

    begin(f, NULL, 0);
    print(f, "taken\n");
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", f->out);
    again = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(again >= 0);
    assert_int_equal(read(again, taken, sizeof taken), strlen("taken\n"));
    (void)safe_close(again);
    log_pump_run(f->pump);
    assert_true(log_pump_fd(f->pump) >= 0);
    print(f, "logged\n");
    run(f);
    log_pump_end(f->pump);
    assert_log(f, "logged\n");
}

/* An open by name is one more end of the same pipe: it cuts nothing off. */
TEST(its_output_can_be_opened_by_its_name)
{
    struct fixture *f = *state;
    char path[40];
    int again;

    begin(f, NULL, 0);
    print(f, "first\n");
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", f->out);
    again = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(again >= 0);
    assert_int_equal(write(again, "second\n", 7), 7);
    (void)safe_close(again);
    print(f, "third\n");
    log_pump_end(f->pump);
    assert_log(f, "first\nsecond\nthird\n");
}

TEST(the_pipe_is_the_accounts)
{
    struct account account = { .is_other = true, .uid = 65533, .gid = 65532 };
    struct fixture *f = *state;
    struct stat st;

    if (geteuid() != 0)
        skip(); /* nobody else can give anything away */
    begin(f, &account, 0);
    assert_int_equal(fstat(f->out, &st), 0);
    assert_int_equal(st.st_uid, 65533);
    assert_int_equal(st.st_gid, 65532);
    assert_int_equal(st.st_mode & 0777, 0600);
    print(f, "it writes to a log that it may not open\n");
    log_pump_end(f->pump);
    assert_int_equal(geteuid(), 0); /* the thread alone took its rights */
    assert_int_equal(moved_as, 65533);
    assert_log(f, "it writes to a log that it may not open\n");
}

static void grow_disk(const struct fixture *f)
{
    assert_int_equal(mount("none", f->root, NULL, MS_REMOUNT, "size=8m"), 0);
}

TEST(a_log_keeps_its_newest_part)
{
    struct fixture *f = *state;
    char piece[65536];
    struct stat st;

    memset(piece, 'x', sizeof piece);
    begin(f, NULL, 512 * 1024);
    if (f->mounted)
        grow_disk(f);
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(write(f->out, piece, sizeof piece), sizeof piece);
        if (i == 0)
            run(f);
    }
    log_pump_end(f->pump);
    assert_int_equal(stat(f->log, &st), 0);
    assert_int_equal(st.st_size, 64 * sizeof piece);
    assert_true(st.st_blocks * 512 <= (512 + 64) * 1024);
}

/* ---- a full disk ---- */

static void fill_disk(const struct fixture *f)
{
    char block[4096];
    int fd;

    memset(block, 'b', sizeof block);
    fd = open(f->ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(fd, block, sizeof block) > 0)
        ;
    assert_int_equal(errno, ENOSPC);
    (void)safe_close(fd);
}

static void print_lines(const struct fixture *f, unsigned from, unsigned to)
{
    char line[100];

    for (unsigned i = from; i < to; i++) {
        (void)snprintf(line, sizeof line, LINE, i);
        print(f, line);
    }
}

/* count_log - the lines and bytes that the log tells to be missing, and the whole lines in it, none
 * of them twice */
static void count_log(const struct fixture *f, unsigned *ret_missing, unsigned *ret_bytes,
                      unsigned *ret_whole)
{
    _cleanup_free_ char *text = read_log(f);
    char *rest = text, *line;
    unsigned last = 0;

    *ret_missing = *ret_bytes = *ret_whole = 0;
    while ((line = strsep(&rest, "\n")) != NULL && rest != NULL) {
        unsigned lines, bytes, number;

        if (sscanf(line, "[edl: output is missing here, %u line%*[s] of %u", &lines, &bytes) == 2) {
            assert_non_null(strstr(line, ": No space left on device]"));
            *ret_missing += lines;
            *ret_bytes += bytes;
        } else if (sscanf(line, "line %u of", &number) == 1 && strlen(line) == LINE_BYTES - 1) {
            assert_true(*ret_whole == 0 || number > last);
            last = number;
            ++*ret_whole;
        }
    }
}

/* await_log - until this is in it */
static bool await_log(const struct fixture *f, const char *words)
{
    _cleanup_close_ int fd = inotify_init1(IN_CLOEXEC);

    assert_true(inotify_add_watch(fd, f->log, IN_MODIFY) >= 0);
    for (;;) {
        _cleanup_free_ char *text = read_log(f);
        struct pollfd p = { .fd = fd, .events = POLLIN };
        char events[4096];

        if (strstr(text, words) != NULL)
            return true;
        if (poll(&p, 1, DEADLINE_MS) != 1)
            return false;
        (void)!read(fd, events, sizeof events);
    }
}

TEST(a_full_disk_drops_lines_and_tells_how_many)
{
    const unsigned n = 20000; /* 1.1 MiB, which fits neither the disk nor the pipe */
    struct fixture *f = *state;
    unsigned missing, bytes, whole;

    if (!f->mounted)
        skip();
    begin(f, NULL, 0);
    fill_disk(f);
    print(f, "begin\n");
    run(f);
    print_lines(f, 0, n); /* none of it waits for the disk, or fails */
    /* it takes all that the pipe may still hold */
    grow_disk(f);
    assert_true(await_log(f, ": No space left on device]\n")); /* without another word of it */
    print(f, "and on\n");
    log_pump_end(f->pump);
    count_log(f, &missing, &bytes, &whole);
    assert_true(missing > 0);
    assert_int_equal(missing + whole, n + 1);
    assert_int_equal(bytes, (n - whole) * LINE_BYTES + strlen("begin\n"));
    assert_true(await_log(f, "\nand on\n"));
}

TEST(a_disk_that_fills_up_halves_one_line_at_most)
{
    const unsigned n = 20000;
    struct fixture *f = *state;
    unsigned missing, bytes, whole;
    char what[256];

    if (!f->mounted)
        skip();
    begin(f, NULL, 0);
    print_lines(f, 0, 1);
    run(f);
    print_lines(f, 1, n);
    log_pump_end(f->pump);
    count_log(f, &missing, &bytes, &whole);
    assert_true(whole > DISK_BYTES / LINE_BYTES - 200);
    assert_int_equal(missing, 0); /* there is no room for the word */
    assert_true(log_pump_lost(f->pump, what, sizeof what));
    assert_int_equal(sscanf(what, "its log misses the end of its output, %u lines of", &missing),
                     1);
    assert_int_equal(missing + whole, n);
}
