/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c - lines that are held are written together, in order, and none is lost */
#define TEST_OWN_MAIN

#include <stdint.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/log.h"
#include "tests/unit/test.h"

#define LINES 200 /* more than are held at once */

/* A pipe that keeps writes apart in the place of stderr. */
struct captured {
    int before;
    int read_fd;
};

static struct captured capture(void)
{
    struct captured captured;
    int both[2];

    assert_int_equal(pipe2(both, O_DIRECT | O_NONBLOCK | O_CLOEXEC), 0);
    captured.before = dup(STDERR_FILENO);
    captured.read_fd = both[0];
    assert_int_equal(dup2(both[1], STDERR_FILENO), STDERR_FILENO);
    (void)safe_close(both[1]);
    return captured;
}

/* release - all that was written, in how many writes */
static size_t release(struct captured *captured, char *text, size_t size)
{
    size_t writes = 0, used = 0;
    ssize_t n;

    (void)dup2(captured->before, STDERR_FILENO);
    (void)safe_close(captured->before);
    while ((n = read(captured->read_fd, text + used, size - 1 - used)) > 0) {
        used += (size_t)n;
        writes++;
    }
    (void)safe_close(captured->read_fd);
    text[used] = '\0';
    return writes;
}

TEST(test_a_line_is_written_at_once)
{
    struct captured captured = capture();
    char text[400];

    log_info("one");
    log_warning("two");
    assert_int_equal(release(&captured, text, sizeof text), 2);
    assert_non_null(strstr(text, "info test_log: one\n"));
    assert_non_null(strstr(text, "warning test_log: two\n"));
}

TEST(test_held_lines_are_one_write)
{
    struct captured captured = capture();
    char text[400];

    log_hold();
    log_info("one");
    log_info("two");
    log_release();
    assert_int_equal(release(&captured, text, sizeof text), 1);
    assert_true(strstr(text, ": one\n") < strstr(text, ": two\n"));
    captured = capture();
    log_info("three");
    assert_int_equal(release(&captured, text, sizeof text), 1);
}

TEST(test_many_held_lines_are_all_there)
{
    static char text[LINES * 256];
    char filler[150], line[40];
    struct captured captured = capture();
    const char *at = text;
    size_t writes;

    memset(filler, 'x', sizeof filler - 1);
    filler[sizeof filler - 1] = '\0';
    log_hold();
    for (int i = 0; i < LINES; i++)
        log_info("%d %s", i, filler);
    log_release();
    writes = release(&captured, text, sizeof text);
    assert_in_range(writes, 2, LINES / 10);
    for (int i = 0; i < LINES; i++) {
        (void)snprintf(line, sizeof line, ": %d x", i);
        at = strstr(at, line);
        assert_non_null(at);
    }
}

TEST(test_a_line_stays_one_line)
{
    struct captured captured = capture();
    char text[400];

    log_info("%s", "\033[31mred\n18:00:00.000 warning test_log: forged\r\t\177 \302\233 \303\274");
    assert_int_equal(release(&captured, text, sizeof text), 1);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    assert_non_null(strstr(text, "info test_log: \\x1b[31mred\\n18:00:00.000 warning test_log: "
                                 "forged\\r\\t\\x7f \\u009b \303\274\n"));
}

int main(int argc, char **argv)
{
    (void)unsetenv("JOURNAL_STREAM");
    log_init("test_log");
    return tests_main(argc, argv);
}
