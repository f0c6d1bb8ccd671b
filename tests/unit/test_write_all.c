/* SPDX-License-Identifier: Apache-2.0 */
/* test_write_all.c - all bytes, however many writes that takes */
#include "shared/write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define ALL_BYTES ((size_t)4 << 20) /* many times what a pipe holds */

static int may_read; /* the reader waits for a byte */
static volatile sig_atomic_t n_alarms;

/* The first alarm cuts a write short that waits for the reader. The second one comes while nothing
 * of the next write is done, which fails with EINTR. */
static void on_alarm(int number)
{
    (void)number;
    if (++n_alarms == 3)
        (void)!write(may_read, "", 1);
}

static void alarm_often(uint64_t every_us)
{
    const suseconds_t us = (suseconds_t)every_us;
    const struct itimerval often = { { 0, us }, { 0, us } };

    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
}

/* read_all - in a child: 0 when what comes is data */
static int read_all(int fd, int begin_fd, const char *data)
{
    static char block[3000];
    size_t done = 0;
    ssize_t n;

    if (read(begin_fd, block, 1) != 1)
        return 3;
    while ((n = read(fd, block, MIN_OF(sizeof block, ALL_BYTES - done))) > 0) {
        if (memcmp(block, data + done, (size_t)n) != 0)
            return 1;
        done += (size_t)n;
    }
    return done == ALL_BYTES ? 0 : 2;
}

TEST(test_signals_lose_no_byte)
{
    const struct sigaction on = { .sa_handler = on_alarm }, off = { .sa_handler = SIG_DFL };
    _cleanup_free_ char *data = xcalloc(ALL_BYTES, 1);
    int ends[2], begin[2], status = -1, r;
    pid_t reader;

    for (size_t i = 0; i < ALL_BYTES; i++)
        data[i] = (char)((i * i) >> 11);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(begin), 0);
    reader = fork();
    assert_true(reader >= 0);
    if (reader == 0) {
        (void)safe_close(ends[1]);
        (void)safe_close(begin[1]);
        _exit(read_all(ends[0], begin[0], data));
    }
    may_read = begin[1];
    assert_int_equal(sigaction(SIGALRM, &on, NULL), 0);
    alarm_often(500);
    r = write_all(ends[1], data, ALL_BYTES);
    alarm_often(0);
    assert_int_equal(sigaction(SIGALRM, &off, NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        (void)safe_close(ends[1 - i]);
        (void)safe_close(begin[1 - i]);
    }
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(r, 0);
    assert_int_equal(status, 0);
}

TEST(test_what_cannot_be_written_is_told)
{
    static const struct {
        const char *path;
        int flags, r;
        size_t size;
    } rows[] = {
        { "/dev/null", O_WRONLY, 0, 9 },
        { "/dev/full", O_WRONLY, -ENOSPC, 9 },
        { "/dev/full", O_WRONLY, 0, 0 },
        { "/dev/null", O_RDONLY, -EBADF, 9 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        _cleanup_close_ int fd = open(rows[i].path, rows[i].flags | O_CLOEXEC);

        assert_true(fd >= 0);
        if (write_all(fd, "123456789", rows[i].size) != rows[i].r)
            fail_msg("case %zu", i);
    }
}

/* A descriptor that does not block is not waited for. */
TEST(test_a_full_pipe_that_does_not_block_is_told)
{
    _cleanup_free_ char *data = xcalloc(ALL_BYTES, 1);
    int ends[2];

    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    assert_int_equal(write_all(ends[1], data, ALL_BYTES), -EAGAIN);
    (void)safe_close(ends[0]);
    (void)safe_close(ends[1]);
}
