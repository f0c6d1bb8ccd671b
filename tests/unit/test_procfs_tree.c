/* SPDX-License-Identifier: Apache-2.0 */
/* test_procfs_tree.c - the processes below one */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/machine/procfs_tree.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define FOREIGN 150
#define LOOKS 10

static bool has(const struct procfs_stat *list, size_t n, pid_t pid)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        count += list[i].pid == pid;
        assert_true(i == 0 || list[i - 1].pid < list[i].pid);
    }
    assert_true(count <= 1);
    return count == 1;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void say(int fd, pid_t pid)
{
    if (write(fd, &pid, sizeof pid) != sizeof pid)
        _exit(1);
}

static pid_t hear(int fd)
{
    pid_t pid = 0;

    assert_int_equal(read(fd, &pid, sizeof pid), sizeof pid);
    return pid;
}

static pid_t fork_waiting(void)
{
    pid_t pid = fork();

    if (pid == 0)
        for (;;)
            (void)pause();
    return pid;
}

TEST(test_all_generations_are_found_and_nobody_else)
{
    _cleanup_free_ struct procfs_stat *list = NULL;
    pid_t beside = fork_waiting(), child, grandchild;
    int ends[2];
    size_t n;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        say(ends[1], fork_waiting());
        for (;;)
            (void)pause();
    }
    grandchild = hear(ends[0]);
    assert_int_equal(procfs_tree(getpid(), &list, &n), 0);
    assert_true(has(list, n, child) && has(list, n, grandchild) && has(list, n, beside));
    assert_false(has(list, n, getpid()) || has(list, n, getppid()));
    free(TAKE_PTR(list));
    assert_int_equal(procfs_tree(child, &list, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(list[0].pid, grandchild);
    assert_int_equal(list[0].ppid, child);
    end(child);
    (void)kill(grandchild, SIGKILL);
    end(beside);
    (void)safe_close(ends[0]);
    (void)safe_close(ends[1]);
}

TEST(test_orphans_are_their_subreapers)
{
    _cleanup_free_ struct procfs_stat *list = NULL;
    _cleanup_free_ pid_t *children = NULL;
    pid_t child, orphan;
    int ends[2];
    size_t n;

    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        say(ends[1], fork_waiting());
        _exit(0);
    }
    orphan = hear(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(procfs_tree(getpid(), &list, &n), 0);
    assert_true(has(list, n, orphan));
    assert_int_equal(procfs_children(&children, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(children[0], orphan);
    end(orphan);
    (void)safe_close(ends[0]);
    (void)safe_close(ends[1]);
}

static void *fork_in_thread(void *fd)
{
    say(*(int *)fd, fork_waiting());
    (void)pause();
    return NULL;
}

TEST(test_children_of_threads_are_found)
{
    _cleanup_free_ struct procfs_stat *list = NULL;
    pid_t child, grandchild;
    int ends[2];
    size_t n;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, fork_in_thread, &ends[1]) != 0)
            _exit(1);
        for (;;)
            (void)pause();
    }
    grandchild = hear(ends[0]);
    assert_int_equal(procfs_tree(getpid(), &list, &n), 0);
    assert_true(has(list, n, child) && has(list, n, grandchild));
    (void)kill(grandchild, SIGKILL);
    end(child);
    (void)safe_close(ends[0]);
    (void)safe_close(ends[1]);
}

TEST(test_of_one_that_is_gone_there_is_nothing)
{
    _cleanup_free_ struct procfs_stat *list = NULL;
    pid_t child = fork_waiting();
    size_t n = 0;

    end(child);
    assert_true(procfs_tree(child, &list, &n) < 0);
    assert_int_equal(n, 0);
}

static uint64_t cpu_us(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t cost_of_a_look(pid_t root)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < LOOKS; i++) {
        _cleanup_free_ struct procfs_stat *list = NULL;
        uint64_t before = cpu_us();
        size_t n;

        assert_int_equal(procfs_tree(root, &list, &n), 0);
        least = MIN_OF(least, cpu_us() - before);
    }
    return least;
}

/* Of one without children, beside as many others as a small node has. */
TEST(test_a_look_costs_nothing_for_others)
{
    pid_t foreign[FOREIGN], alone = fork_waiting();
    uint64_t one, all;

    for (size_t i = 0; i < FOREIGN; i++)
        foreign[i] = fork_waiting();
    one = cost_of_a_look(alone);
    all = cost_of_a_look(getpid());
    for (size_t i = 0; i < FOREIGN; i++)
        end(foreign[i]);
    end(alone);
    assert_true(one * 10 < all);
}
