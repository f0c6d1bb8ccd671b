/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_times.c - when the bytes of a log were written: bounded, and never later than is said */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/logs/log_line.h"
#include "agent/logs/log_times.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define BEGIN_US (UINT64_C(1700000000) * USEC_PER_SEC)

static int make_file(void)
{
    char path[] = "/tmp/edl-test-log-times-XXXXXX";
    int fd = mkstemp(path);

    assert_int_not_equal(fd, -1);
    assert_int_equal(unlink(path), 0);
    return fd;
}

TEST_PLAIN(a_line_has_the_time_of_its_mark)
{
    struct log_times times = { 0 };
    uint64_t end;

    assert_int_equal(log_times_note(&times, 0, 5, BEGIN_US), 1);
    assert_int_equal(log_times_note(&times, 10, 6, BEGIN_US + 1), 0); /* too soon */
    assert_int_equal(log_times_note(&times, 20, USEC_PER_SEC, BEGIN_US + USEC_PER_SEC), 1);
    assert_int_equal(log_times_note(&times, 20, 9 * USEC_PER_SEC, BEGIN_US), 0); /* nothing new */
    /* the wall clock was set back: times do not fall */
    assert_int_equal(log_times_note(&times, 30, 9 * USEC_PER_SEC, 7), 1);
    assert_int_equal(log_times_at(&times, 0, &end), BEGIN_US);
    assert_int_equal(end, 20);
    assert_int_equal(log_times_at(&times, 29, &end), BEGIN_US + USEC_PER_SEC);
    assert_int_equal(log_times_at(&times, 30, &end), BEGIN_US + USEC_PER_SEC);
    assert_int_equal(end, UINT64_MAX);
    assert_int_equal(log_times_since(&times, 1), 0);
    assert_int_equal(log_times_since(&times, BEGIN_US + LOG_TIMES_EVERY_US), 0);
    assert_int_equal(log_times_since(&times, BEGIN_US + LOG_TIMES_EVERY_US + 1), 20);
    assert_int_equal(log_times_since(&times, BEGIN_US + 2 * USEC_PER_SEC), UINT64_MAX);
    log_times_clear(&times);
    assert_int_equal(log_times_since(&times, BEGIN_US), 0); /* nothing is known */
}

/* A line each second for a month. */
TEST_PLAIN(a_month_is_known_to_a_part_of_its_age)
{
    struct log_times times = { 0 };
    const uint64_t seconds = 30 * 86400;
    uint64_t end, now_us = BEGIN_US + seconds * USEC_PER_SEC;

    for (uint64_t i = 0; i < seconds; i++)
        (void)log_times_note(&times, 60 * i, i * USEC_PER_SEC, BEGIN_US + i * USEC_PER_SEC);
    assert_true(times.n <= LOG_TIMES_MAX);
    for (uint64_t i = 0; i < seconds; i += 997) {
        uint64_t wall_us = BEGIN_US + i * USEC_PER_SEC, age_us = now_us - wall_us;
        uint64_t said_us = log_times_at(&times, 60 * i, &end);

        if (said_us > wall_us || wall_us - said_us > age_us / 50 + USEC_PER_SEC)
            fail_msg("second %d: said to be %d s earlier", (int)i,
                     (int)((wall_us - said_us) / USEC_PER_SEC));
        /* none is lost that was written since */
        assert_true(log_times_since(&times, wall_us) <= 60 * i);
    }
    log_times_clear(&times);
}

TEST_PLAIN(a_busy_program_fills_no_disk)
{
    struct log_times times = { 0 }, read;
    int fd = make_file();

    for (uint64_t i = 0; i < 30000; i++)
        log_times_write(&times,
                        log_times_note(&times, 1 + i, i * LOG_TIMES_EVERY_US,
                                       BEGIN_US + i * LOG_TIMES_EVERY_US),
                        fd);
    assert_true(lseek(fd, 0, SEEK_END) <= (off_t)(LOG_TIMES_MAX * sizeof *times.marks));
    log_times_read(fd, &read);
    assert_int_equal(read.n, times.n);
    assert_memory_equal(read.marks, times.marks, times.n * sizeof *times.marks);
    assert_int_equal(read.marks[read.n - 1].offset, 30000);
    log_times_clear(&read);
    log_times_clear(&times);
    (void)safe_close(fd);
}

TEST_PLAIN(what_an_account_put_there_is_not_believed)
{
    const struct log_time marks[] = { { 0, BEGIN_US, BEGIN_US },
                                      { 5, BEGIN_US, BEGIN_US },
                                      { 5, BEGIN_US, BEGIN_US } };
    const struct log_time wrong[] = { { 0, 0, 0 } };
    struct log_times read;
    int fd = make_file();

    assert_int_equal(pwrite(fd, marks, sizeof marks, 0), sizeof marks);
    log_times_read(fd, &read);
    assert_int_equal(read.n, 2);
    log_times_clear(&read);
    assert_int_equal(pwrite(fd, wrong, sizeof wrong, 0), sizeof wrong);
    log_times_read(fd, &read);
    assert_int_equal(read.n, 0);
    log_times_clear(&read);
    log_times_read(-1, &read);
    assert_int_equal(read.n, 0);
    log_times_clear(&read);
    (void)safe_close(fd);
}

/* put_line - so many bytes, and a line end where there is one */
static void put_line(int fd, size_t n, bool ends)
{
    char *line = xcalloc(n + 1, 1);

    memset(line, 'x', n);
    line[n] = '\n';
    assert_int_equal(write(fd, line, n + ends), n + ends);
    free(line);
}

TEST_PLAIN(a_long_line_is_found_by_its_beginning)
{
    _cleanup_close_ int fd = make_file();
    uint64_t longest = 3 + LOG_LINE_BYTES + 2;

    put_line(fd, 2, true);                  /* 0 to 2 */
    put_line(fd, LOG_LINE_BYTES + 1, true); /* 3 to longest - 1 */
    put_line(fd, 10, true);                 /* longest to longest + 10 */
    put_line(fd, 2 * LOG_LINE_BYTES, false);
    assert_int_equal(log_line_begin(fd, 0), 0);
    assert_int_equal(log_line_begin(fd, 2), 0);
    assert_int_equal(log_line_begin(fd, 3), 3);
    assert_int_equal(log_line_begin(fd, 40000), 3);
    assert_int_equal(log_line_begin(fd, 1 + LOG_LINE_BYTES), 3);
    assert_int_equal(log_line_begin(fd, 4 + LOG_LINE_BYTES), longest); /* too far before */
    assert_int_equal(log_line_begin(fd, longest + 10), longest);
    assert_int_equal(log_line_begin(fd, longest + 30000), longest + 11);
    assert_int_equal(log_line_begin(fd, longest + 100 + LOG_LINE_BYTES),
                     longest + 100 + LOG_LINE_BYTES); /* nor does it end soon */
}
