/* SPDX-License-Identifier: Apache-2.0 */
/* test_program_input.c - the standard input of programs whose job says stdin: true, under a real
 * edl-supervisor */
#include "agent/supervisor/program_input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/text_format.h"
#include "tests/unit/supervisor_fixture.h"
#include "tests/unit/test.h"

TEST_EACH(setup, teardown);

/* open_input - as a session does */
static int open_input(struct fixture *f)
{
    _cleanup_free_ char *path = text_format("%s/" PROGRAM_INPUT_FIFO, f->dir);
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

    return fd == -1 ? -errno : fd;
}

static void type(struct fixture *f, const char *text)
{
    _cleanup_close_ int fd = open_input(f);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* A writer that leaves is no end of input: the second one is read as well. */
TEST(test_program_reads_what_one_writer_after_another_types)
{
    struct fixture *f = *state;
    struct exit_record record;

    f->takes_input = true;
    start_script(f,
                 "exec 3> $FIFO; echo up >&3; while read line; do echo \"got $line\" >&3; "
                 "[ \"$line\" != end ] || exit 7; done; exit 1",
                 1000000);
    wait_for_text(f, "up\n");
    type(f, "first\n");
    wait_for_text(f, "got first\n");
    type(f, "half ");
    type(f, "a line\n");
    wait_for_text(f, "got half a line\n");
    type(f, "end\n");
    wait_for_text(f, "got end\n");
    (void)wait_end(f, &record);
    assert_int_equal(record.exit_code, 7);
}

TEST(test_input_is_a_fifo_of_its_account_alone)
{
    struct fixture *f = *state;
    _cleanup_free_ char *path = text_format("%s/" PROGRAM_INPUT_FIFO, f->dir);
    struct exit_record record;
    struct stat st;

    f->takes_input = true;
    start_script(f, "echo up > $FIFO; read line < /dev/stdin; [ \"$line\" = x ]", 1000000);
    wait_for_text(f, "up\n");
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_uid, geteuid());
    type(f, "x\n");
    (void)wait_end(f, &record);
    assert_int_equal(record.exit_code, 0);
    assert_int_equal(process_dir_remove(f->dir, NULL), 0);
    assert_int_equal(lstat(path, &st), -1); /* it goes with the folder */
}

/* What was typed goes nowhere: whoever types is told so. */
TEST(test_program_that_closes_its_input_takes_no_more)
{
    struct fixture *f = *state;
    uint64_t by_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_MS * USEC_PER_MSEC;
    struct exit_record record;
    int fd;

    f->takes_input = true;
    start_script(f, "exec < /dev/null; echo up > $FIFO; read line < $GATE", 1000000);
    wait_for_text(f, "up\n");
    while ((fd = open_input(f)) >= 0) { /* its supervisor has not let go of its own end yet */
        (void)safe_close(fd);
        assert_true(clock_read_us(CLOCK_BOOTTIME) < by_us);
        (void)poll(NULL, 0, 1);
    }
    assert_int_equal(fd, -ENXIO);
    assert_int_equal(write(f->gate_fd, "go\n", 3), 3);
    (void)wait_end(f, &record);
}

/* A person's Ctrl-D: what was typed before it is read, and another writer that is there holds it
 * up. */
TEST(test_input_ends_when_a_session_says_so)
{
    struct fixture *f = *state;
    struct exit_record record;
    int other;

    f->takes_input = true;
    start_script(f,
                 "exec 3> $FIFO; echo up >&3; while read line; do echo \"got $line\" >&3; done; "
                 "echo end >&3; read line < $GATE; exit 4",
                 1000000);
    wait_for_text(f, "up\n");
    other = open_input(f);
    assert_true(other >= 0);
    type(f, "first\n");
    assert_int_equal(kill(f->pid, SIGUSR2), 0);
    wait_for_text(f, "got first\n");
    assert_int_equal(write(other, "second\n", 7), 7);
    wait_for_text(f, "got second\n");
    (void)safe_close(other);
    wait_for_text(f, "end\n");
    assert_int_equal(kill(f->pid, SIGUSR2), 0); /* there is nothing to end any more */
    assert_int_equal(write(f->gate_fd, "go\n", 3), 3);
    (void)wait_end(f, &record);
    assert_int_equal(record.exit_code, 4);
}

TEST(test_without_the_word_there_is_no_input)
{
    struct fixture *f = *state;
    struct exit_record record;

    start_script(f, "readlink /proc/$$/fd/0 > $FIFO; ! read line", 1000000);
    wait_for_text(f, "/dev/null\n");
    assert_int_equal(open_input(f), -ENOENT);
    (void)wait_end(f, &record);
    assert_int_equal(record.exit_code, 0);
}

/* Nothing of the supervisor's ends comes to the program but the one for reading. */
TEST(test_program_has_no_other_end_of_it)
{
    struct fixture *f = *state;
    struct exit_record record;

    f->takes_input = true;
    start_script(f,
                 "n=0; for i in 3 4 5 6 7 8 9 10 11 12; do [ ! -e /proc/$$/fd/$i ] || n=$i; done; "
                 "echo $n > $FIFO",
                 1000000);
    wait_for_text(f, "0\n");
    (void)wait_end(f, &record);
    assert_int_equal(record.exit_code, 0);
}
