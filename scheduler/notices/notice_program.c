/* SPDX-License-Identifier: Apache-2.0 */
/* notice_program.c - see notice_program.h */
#include "scheduler/notices/notice_program.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define BODY_FD 3
#define BY_SIGNAL 256

static const char *const environment[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C",
    "HOME=/nonexistent", NULL
};

/* file_of - a file in memory with that text, read from its beginning; -1 */
static int file_of(const char *text)
{
    _cleanup_close_ int fd = memfd_create("notice", MFD_CLOEXEC);
    size_t n = strlen(text), at = 0;

    while (fd != -1 && at < n) {
        ssize_t written = pwrite(fd, text + at, n - at, (off_t)at);

        if (written <= 0 && errno != EINTR)
            return -1;
        at += written > 0 ? (size_t)written : 0;
    }
    return TAKE_FD(fd);
}

static void read_start(int fd, char *ret, size_t size)
{
    ssize_t n = pread(fd, ret, size - 1, 0);

    ret[n > 0 ? n : 0] = '\0';
}

static int start(const struct program_run *run, const int fds[4], pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    int r;

    (void)sigemptyset(&none);
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGPIPE);
    (void)sigaddset(&defaults, SIGXFSZ);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
    (void)posix_spawn_file_actions_init(&actions);
    for (int i = 0; i <= BODY_FD; i++)
        if (fds[i] != -1)
            (void)posix_spawn_file_actions_adddup2(&actions, fds[i], i);
    (void)posix_spawn_file_actions_addclosefrom_np(&actions, BODY_FD + (fds[BODY_FD] != -1));
    r = posix_spawn(ret_pid, run->argv[0], &actions, &attributes,
                    (char *const *)(uintptr_t)run->argv, (char *const *)(uintptr_t)environment);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return r;
}

/* wait_for - 0: it has ended */
static int wait_for(const struct program_run *run, int pidfd, uint64_t until_us)
{
    struct pollfd fds[] = { { .fd = pidfd, .events = POLLIN },
                            { .fd = run->stop_fd, .events = POLLIN } };

    for (;;) {
        uint64_t now_us = clock_read_us(CLOCK_MONOTONIC);
        uint64_t left_us = until_us - MIN_OF(now_us, until_us);
        int n = poll(fds, ELEMENTS(fds), (int)(left_us / USEC_PER_MSEC) + (left_us > 0));

        if (n == -1 && errno == EINTR)
            continue;
        if (fds[0].revents != 0)
            return 0;
        if (fds[1].revents != 0)
            return PROGRAM_STOPPED;
        if (n <= 0 && left_us == 0)
            return PROGRAM_LATE;
    }
}

/* settle - it is waited for, ended before where that has to be; its children with it */
static int settle(const struct program_run *run, pid_t pid)
{
    _cleanup_close_ int pidfd = pidfd_open(pid, 0);
    uint64_t until_us = clock_read_us(CLOCK_MONOTONIC) + run->timeout_us;
    int r = pidfd == -1 ? PROGRAM_LATE : wait_for(run, pidfd, until_us);
    siginfo_t info = { 0 };

    (void)kill(-pid, SIGKILL); /* it was not waited for: the number is its own */
    while (waitid(P_PID, (id_t)pid, &info, WEXITED) == -1 && errno == EINTR)
        continue;
    if (r < 0)
        return r;
    return info.si_code == CLD_EXITED ? info.si_status : BY_SIGNAL;
}

int program_run(struct program_run *run)
{
    _cleanup_close_ int input = file_of(run->input);
    _cleanup_close_ int output = file_of("");
    _cleanup_close_ int complaints = file_of("");
    _cleanup_close_ int body = run->body != NULL ? file_of(run->body) : -1;
    const int fds[] = { input, output, complaints, body };
    bool missing =
        input == -1 || output == -1 || complaints == -1 || (run->body != NULL && body == -1);
    pid_t pid = -1;
    int r = missing ? ENOMEM : start(run, fds, &pid);

    run->output[0] = run->complaint[0] = '\0';
    if (r != 0) {
        (void)snprintf(run->complaint, sizeof run->complaint, "%s cannot be started: %s",
                       run->argv[0], strerror(r));
        return PROGRAM_NOT_STARTED;
    }
    r = settle(run, pid);
    read_start(output, run->output, sizeof run->output);
    read_start(complaints, run->complaint, sizeof run->complaint);
    run->complaint[strcspn(run->complaint, "\r\n")] = '\0';
    printable_mask(run->complaint, strlen(run->complaint), "");
    return r;
}
