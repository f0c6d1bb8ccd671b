/* SPDX-License-Identifier: Apache-2.0 */
/* test_snapshot.c - a copy of the process computes: its answer, its memory, and how it is ended */
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/snapshot.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define LONG_US (120 * USEC_PER_SEC)
#define LARGE (3U << 20) /* more than a pipe holds */

struct told {
    sd_event *event;
    unsigned n;
    size_t size;
    char answer[64];
    struct edl_error error;
};

static int number; /* what the child sees is as it was */

static void done(const char *answer, size_t size, const struct edl_error *error, void *userdata)
{
    struct told *told = userdata;

    told->n++;
    told->size = size;
    if (answer != NULL)
        (void)snprintf(told->answer, sizeof told->answer, "%s", answer);
    else
        told->error = *error;
}

static void run_until_told(struct told *told)
{
    while (told->n == 0)
        assert_true(sd_event_run(told->event, LONG_US) > 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
    assert_int_equal(errno, ECHILD);
}

static struct snapshot *start(struct told *told, snapshot_compute_fn compute, uint64_t limit_us)
{
    struct snapshot *snapshot = NULL;
    struct edl_error error = { 0 };

    *told = (struct told){ .event = told->event };
    assert_int_equal(snapshot_start(told->event, limit_us, compute, &number, done, told, &snapshot,
                                    &error),
                     0);
    return snapshot;
}

static int set_up(void **state)
{
    struct told *told = xcalloc(1, sizeof *told);

    assert_true(sd_event_new(&told->event) >= 0);
    *state = told;
    return 0;
}

static int tear_down(void **state)
{
    struct told *told = *state;

    (void)sd_event_unref(told->event);
    free(told);
    return 0;
}

TEST_EACH(set_up, tear_down);

static void tell_number(FILE *out, void *question)
{
    (void)fprintf(out, "%d", *(int *)question);
    *(int *)question = -1;
}

TEST(test_it_sees_what_was_and_changes_nothing)
{
    struct told *told = *state;

    number = 7;
    (void)start(told, tell_number, LONG_US);
    number = 8;
    run_until_told(told);
    assert_string_equal(told->answer, "7");
    assert_int_equal(told->size, 1);
    assert_int_equal(number, 8);
}

static void tell_much(FILE *out, void *question)
{
    (void)question;
    for (unsigned i = 0; i < LARGE; i++)
        (void)fputc('x', out);
}

TEST(test_a_large_answer_comes_whole)
{
    struct told *told = *state;

    (void)start(told, tell_much, LONG_US);
    run_until_told(told);
    assert_int_equal(told->size, LARGE);
}

static void look_for_descriptors(FILE *out, void *question)
{
    (void)question;
    for (int fd = 4; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) != -1)
            (void)fprintf(out, "%d ", fd);
    (void)fputs("none", out);
}

TEST(test_it_holds_nothing_of_ours_open)
{
    struct told *told = *state;
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    (void)start(told, look_for_descriptors, LONG_US);
    run_until_told(told);
    assert_string_equal(told->answer, "none");
    (void)safe_close(fds[0]);
    (void)safe_close(fds[1]);
}

static void never_end(FILE *out, void *question)
{
    (void)out;
    (void)question;
    for (;;)
        (void)pause();
}

TEST(test_one_that_takes_too_long_is_ended)
{
    struct told *told = *state;

    (void)start(told, never_end, USEC_PER_MSEC);
    run_until_told(told);
    assert_int_equal(told->error.code, -EAGAIN);
    assert_string_equal(told->error.text, "it took too long to compute");
}

TEST(test_one_that_nobody_wants_is_ended)
{
    struct told *told = *state;

    snapshot_end(start(told, never_end, LONG_US));
    run_until_told(told);
    assert_int_equal(told->error.code, -EAGAIN);
}

static void die(FILE *out, void *question)
{
    (void)question;
    (void)fputs("half an ", out);
    (void)fflush(out);
    (void)raise(SIGKILL);
}

TEST(test_half_an_answer_is_none)
{
    struct told *told = *state;

    (void)start(told, die, LONG_US);
    run_until_told(told);
    assert_string_equal(told->answer, "");
    assert_string_equal(told->error.text, "the child that computed it ended");
}

TEST(test_freed_it_is_gone_and_tells_nothing)
{
    struct told *told = *state;

    assert_null(snapshot_free(start(told, never_end, LONG_US)));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(told->n, 0);
    assert_null(snapshot_free(NULL));
}
