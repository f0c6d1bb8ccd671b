/* SPDX-License-Identifier: Apache-2.0 */
/* test_cgroup_watch.c - the end of the rest in a control group is told, however fast the group
 * goes */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/groups/cgroup.h"
#include "agent/groups/cgroup_watch.h"
#include "agent/layout.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define PATIENCE_US (120 * USEC_PER_SEC)
#define ROUNDS 10

static char path[CGROUP_PATH_SIZE];

/* start_in_group - a child, in the group when this returns, which ends when the socket is closed */
static pid_t start_in_group(int *ret_socket)
{
    int ends[2];
    char byte = 1;
    pid_t pid;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)safe_close(ends[0]);
        _exit(cgroup_enter(path) < 0 || write(ends[1], &byte, 1) != 1 ||
              read(ends[1], &byte, 1) != 0);
    }
    (void)safe_close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    *ret_socket = ends[0];
    return pid;
}

static void count(void *userdata)
{
    (*(unsigned *)userdata)++;
}

static int setup(void **state)
{
    char own[CGROUP_PATH_SIZE];
    int r = cgroup_of_self(own);

    (void)state;
    if (r == 0)
        (void)snprintf(path, sizeof path, "%.400s/edl-test-%d", streq(own, "/") ? "" : own,
                       (int)getpid());
    if (r == 0)
        r = cgroup_make(path);
    if (r < 0) {
        (void)fprintf(stderr, "no control group can be made here: %s\n", strerror(-r));
        path[0] = '\0';
    }
    return 0;
}

static int teardown(void **state)
{
    _cleanup_free_ char *folder = text_format("%s%s", cgroup_unified_root(), path);

    (void)state;
    if (path[0] != '\0')
        (void)rmdir(folder); /* is there still if a test failed */
    return 0;
}

static void remove_path(void)
{
    _cleanup_free_ char *folder = text_format("%s%s", cgroup_unified_root(), path);

    assert_int_equal(rmdir(folder), 0);
}

TEST(test_end_of_a_group_that_was_just_filled)
{
    sd_event *event = NULL;

    if (path[0] == '\0')
        skip();
    assert_true(sd_event_new(&event) >= 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t deadline_us = clock_read_us(CLOCK_MONOTONIC) + PATIENCE_US;
        struct cgroup_watch *watch = NULL;
        unsigned told = 0;
        int status, lifeline;
        pid_t pid;

        if (i > 0)
            assert_int_equal(cgroup_make(path), 0);
        pid = start_in_group(&lifeline);
        assert_int_equal(cgroup_watch_new(event, path, count, &told, &watch), 0);
        assert_true(cgroup_watch_is_populated(watch));
        while (sd_event_run(event, 0) > 0) /* the kernel may tell late that it was filled */
            assert_true(clock_read_us(CLOCK_MONOTONIC) < deadline_us); /* but it is not busy */
        assert_true(cgroup_watch_is_populated(watch));
        (void)safe_close(lifeline);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        remove_path();
        while (told == 0 || cgroup_watch_is_populated(watch)) {
            assert_true(clock_read_us(CLOCK_MONOTONIC) < deadline_us);
            assert_true(sd_event_run(event, USEC_PER_SEC) >= 0);
        }
        assert_null(cgroup_watch_free(watch));
    }
    sd_event_unref(event);
}

TEST(test_group_that_is_gone)
{
    struct cgroup_watch *watch = NULL;
    sd_event *event = NULL;

    assert_true(sd_event_new(&event) >= 0);
    assert_int_equal(cgroup_watch_new(event, "", count, NULL, &watch), -EINVAL);
    if (path[0] != '\0')
        assert_int_equal(cgroup_watch_new(event, path, count, NULL, &watch), -ENOENT);
    assert_null(watch);
    sd_event_unref(event);
}

TEST_ALL(setup, teardown);
