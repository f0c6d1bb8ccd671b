/* SPDX-License-Identifier: Apache-2.0 */
/* test_stop.c - how edl-supervisor ends its program and all that this has started */
#define TEST_OWN_MAIN

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "shared/clock.h"
#include "tests/unit/supervisor_fixture.h"
#include "tests/unit/test.h"

#define GRACEFUL "--graceful"
#define STOPPED "--stopped"
#define COUNTING "--counting"
#define LEAVING "--leaving"

/* graceful_main - the program of the next tests: a shell may lose a signal between its check and
 * its wait */
static void end_gracefully(int signal_number)
{
    (void)signal_number;
    _exit(7);
}

static int graceful_main(bool stopped)
{
    struct sigaction action = { .sa_handler = end_gracefully };
    const char *fifo = getenv("FIFO");
    int fd = fifo != NULL ? open(fifo, O_WRONLY | O_CLOEXEC) : -1;

    if (sigaction(SIGTERM, &action, NULL) == -1 || fd == -1 || write(fd, "up\n", 3) != 3)
        return 1;
    if (stopped)
        (void)raise(SIGSTOP);
    for (;;)
        (void)pause();
}

static bool await_sigterm(const sigset_t *set)
{
    int number;

    return sigwait(set, &number) == 0 && number == SIGTERM;
}

/* counting_main - three processes of one group. The first ends when it is asked to, and starts the
 * third before. The third is asked after that: a process that is asked again has got that by then.
 * leaves: the second is in a session of its own by then, where it went when it was asked */
static int counting_main(bool leaves)
{
    const char *fifo = getenv("FIFO");
    int fd = fifo != NULL ? open(fifo, O_WRONLY | O_CLOEXEC) : -1;
    int third_asked[2], second_asked[2];
    sigset_t set, pending;
    char byte;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    if (fd == -1 || sigprocmask(SIG_BLOCK, &set, NULL) == -1 || pipe(third_asked) == -1 ||
        pipe(second_asked) == -1)
        return 1;
    if (fork() == 0) { /* the second */
        if (!await_sigterm(&set) || (leaves && setsid() == -1) ||
            write(second_asked[1], "", 1) != 1 || read(third_asked[0], &byte, 1) != 1 ||
            sigpending(&pending) == -1)
            return 1;
        return dprintf(fd, sigismember(&pending, SIGTERM) ? "twice\n" : "once\n") > 0 ? 0 : 1;
    }
    if (write(fd, "up\n", 3) != 3 || !await_sigterm(&set) || read(second_asked[0], &byte, 1) != 1)
        return 1;
    (void)poll(NULL, 0, 30); /* processes are told apart by their start, in ticks of 10 ms */
    if (fork() == 0)
        return await_sigterm(&set) && write(third_asked[1], "", 1) == 1 ? 0 : 1;
    return 0;
}

/* start_self - this program in another role */
static void start_self(struct fixture *f, const char *role, const char *script, uint64_t grace_us)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    assert_true(n > 0);
    self[n] = '\0';
    make_order(f,
               script == NULL ? json_pack("[s, s]", self, role)
                              : json_pack("[s, s, s, s, s]", "sh", "-c", script, self, role),
               grace_us, 0);
    start(f);
    wait_for_text(f, "up\n");
}

TEST_EACH(setup, teardown);

TEST(test_stop_is_graceful)
{
    struct fixture *f = *state;
    struct exit_record record;

    start_self(f, GRACEFUL, NULL, 60000000);
    assert_int_equal(kill(f->pid, SIGTERM), 0);
    (void)wait_end(f, &record);
    assert_int_equal(record.exit_code, 7);
    assert_int_equal(record.orphans_reaped, 0);
    assert_string_equal(record.reason, "stopped");
    assert_fifo_released(f);
}

/* The leader ends first, so that its supervisor gets the others: they were asked with it. */
static void assert_asked_once(struct fixture *f, const char *role)
{
    struct exit_record record;

    start_self(f, role, NULL, 60000000);
    assert_int_equal(kill(f->pid, SIGTERM), 0);
    wait_for_text(f, "once\n");
    (void)wait_end(f, &record); /* long before the grace is over: the third was asked as well */
    assert_int_equal(record.exit_code, 0);
    assert_fifo_released(f);
}

TEST(test_stop_asks_each_process_once)
{
    assert_asked_once(*state, COUNTING);
}

/* It is asked in a group, and is in none that is known when the others are listed again. */
TEST(test_stop_asks_once_what_leaves_its_group)
{
    assert_asked_once(*state, LEAVING);
}

/* Its leader ignores SIGTERM: what lives in another session is asked while it runs. */
TEST(test_stop_asks_other_sessions_at_once)
{
    struct fixture *f = *state;
    struct exit_record record;

    start_self(f, GRACEFUL,
               "trap '' TERM; exec 9>$FIFO; setsid \"$0\" \"$1\"; echo \"it ended with $?\" >&9; "
               "read x <$GATE",
               60000000);
    assert_int_equal(kill(f->pid, SIGTERM), 0);
    wait_for_text(f, "it ended with 7\n");
    assert_int_equal(write(f->gate_fd, "go\n", 3), 3);
    (void)wait_end(f, &record);
    assert_int_equal(record.exit_code, 0);
    assert_fifo_released(f);
}

TEST(test_stop_lets_stopped_processes_end_gracefully)
{
    struct fixture *f = *state;
    struct exit_record record;

    start_self(f, STOPPED, NULL, 60000000);
    assert_int_equal(kill(f->pid, SIGTERM), 0);
    (void)wait_end(f, &record);
    assert_int_equal(record.exit_code, 7);
    assert_fifo_released(f);
}

TEST(test_stop_kills_after_the_grace)
{
    struct fixture *f = *state;
    struct exit_record record;
    uint64_t before_us;

    start_script(f, "trap '' TERM; exec 9>$FIFO; echo up >&9; exec sleep 1000", 300000);
    wait_for_text(f, "up\n");
    before_us = clock_read_us(CLOCK_BOOTTIME);
    assert_int_equal(kill(f->pid, SIGTERM), 0);
    (void)wait_end(f, &record);
    assert_true(clock_read_us(CLOCK_BOOTTIME) - before_us >= 300000);
    assert_int_equal(record.exit_signal, SIGKILL);
    assert_string_equal(record.reason, "stopped");
    assert_fifo_released(f);
}

TEST(test_stop_tells_what_the_program_left_behind)
{
    struct fixture *f = *state;
    struct exit_record record;

    start_script(f, "setsid sh -c 'exec 9>$FIFO; echo up >&9; exec sleep 1000' & exec sleep 1000",
                 60000000);
    wait_for_text(f, "up\n");
    assert_int_equal(kill(f->pid, SIGTERM), 0);
    (void)wait_end(f, &record); /* long before the grace is over */
    assert_fifo_released(f);
}

TEST(test_supervisor_killed_takes_the_program_along)
{
    struct fixture *f = *state;
    int status;

    start_script(f, "exec 9>$FIFO; echo up >&9; exec sleep 1000", 0);
    wait_for_text(f, "up\n");
    assert_int_equal(kill(f->pid, SIGKILL), 0);
    assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
    assert_fifo_released(f);
}

int main(int argc, char **argv)
{
    if (argc == 2 && (streq(argv[1], COUNTING) || streq(argv[1], LEAVING)))
        return counting_main(streq(argv[1], LEAVING));
    if (argc == 2 && (streq(argv[1], GRACEFUL) || streq(argv[1], STOPPED)))
        return graceful_main(streq(argv[1], STOPPED));
    return tests_main(argc, argv);
}
