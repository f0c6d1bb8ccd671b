/* SPDX-License-Identifier: Apache-2.0 */
/* dev_reap.c - no process is left when `edl dev` ends
 *
 * A child that is not reaped keeps its number, and only we reap: between listing the children and
 * signalling them no number can have passed to somebody else. Killing a child makes its children
 * ours, hence the rounds. */
#include "client/dev_reap.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define ROUND_NS 100000000 /* look again after 100 ms although no SIGCHLD came */

/* Parent of a process, 0 when it is gone. The name in stat may hold anything, also ") ". */
static pid_t parent_of(const char *pid)
{
    char path[64];
    char text[512];
    int parent = 0;

    (void)snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    size_t n = file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0;

    text[n] = '\0';
    const char *end = strrchr(text, ')');

    if (end == NULL || sscanf(end + 1, " %*c %d", &parent) != 1)
        return 0;
    return parent;
}

/* Calls fn for each child that is alive or not yet reaped; -errno or the sum of fn's results. */
static int each_child(int (*fn)(struct dev_reaper *, pid_t), struct dev_reaper *reaper)
{
    _cleanup_closedir_ DIR *proc = opendir("/proc");
    const struct dirent *entry;
    int sum = 0;

    if (proc == NULL)
        return -errno;
    while ((entry = readdir(proc)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]) && parent_of(entry->d_name) == getpid())
            sum += fn(reaper, (pid_t)strtol(entry->d_name, NULL, 10));
    return sum;
}

static int spare(struct dev_reaper *reaper, pid_t pid)
{
    if (reaper->n_spared < DEV_SPARED_MAX)
        reaper->spared[reaper->n_spared] = pid;
    reaper->n_spared++;
    return 1;
}

static bool is_spared(const struct dev_reaper *reaper, pid_t pid)
{
    for (size_t i = 0; i < reaper->n_spared; i++)
        if (reaper->spared[i] == pid)
            return true;
    return false;
}

/* 1: it was running and has been told to end. */
static int kill_child(struct dev_reaper *reaper, pid_t pid)
{
    siginfo_t info = { 0 };

    if (is_spared(reaper, pid))
        return 0;
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == -1 || info.si_pid != 0)
        return 0; /* not ours after all, or dead already */

    _cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    return fd >= 0 && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
}

int dev_reaper_init(struct dev_reaper *reaper)
{
    *reaper = (struct dev_reaper){ 0 };
    int n = each_child(spare, reaper);

    if (n < 0)
        return n;
    if (reaper->n_spared > DEV_SPARED_MAX)
        return -E2BIG;
    return prctl(PR_SET_CHILD_SUBREAPER, 1) == -1 ? -errno : 0;
}

void dev_reaper_forget(struct dev_reaper *reaper, pid_t pid)
{
    for (size_t i = 0; i < reaper->n_spared; i++)
        if (reaper->spared[i] == pid)
            reaper->spared[i] = reaper->spared[--reaper->n_spared];
}

/* Reaps what is dead. True when somebody is left who is not spared. */
static bool reap(struct dev_reaper *reaper)
{
    for (;;) {
        siginfo_t info = { 0 };

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == -1)
            return false; /* ECHILD */
        if (info.si_pid == 0)
            return true;
        dev_reaper_forget(reaper, info.si_pid);
    }
}

static int count_child(struct dev_reaper *reaper, pid_t pid)
{
    return !is_spared(reaper, pid);
}

int dev_reaper_kill_all(struct dev_reaper *reaper, uint64_t timeout_us)
{
    static const struct timespec round = { .tv_nsec = ROUND_NS };
    uint64_t start_us = clock_read_us(CLOCK_BOOTTIME);
    int killed = 0;
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    while (reap(reaper) && each_child(count_child, reaper) != 0) {
        if (clock_read_us(CLOCK_BOOTTIME) - start_us > timeout_us)
            return -ETIMEDOUT;
        int n = each_child(kill_child, reaper);

        /* the same one again in the next round is not another one, but the number is for people
         * only */
        killed += MAX_OF(n, 0);
        (void)sigtimedwait(&set, NULL, &round);
    }
    return killed;
}
