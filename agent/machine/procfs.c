/* SPDX-License-Identifier: Apache-2.0 */
/* procfs.c - reads /proc/PID/stat and the boot id (proc(5)) */
#include "agent/machine/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/parse.h"

static int read_small(const char *path, char *buffer, size_t size)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd == -1)
        return -errno;
    n = read(fd, buffer, size - 1);
    if (n == -1)
        return -errno;
    buffer[n] = '\0';
    return 0;
}

int procfs_stat(pid_t pid, struct procfs_stat *ret)
{
    char path[64];
    char text[1024];
    const char *fields;
    unsigned long long start;
    unsigned long user, system, user_waited, system_waited;
    long resident, threads;
    int ppid, pgrp;
    char state;
    int r;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    r = read_small(path, text, sizeof text);
    if (r < 0)
        return r;
    fields = strrchr(text, ')'); /* the name in front may hold blanks and parentheses */
    if (fields == NULL)
        return -EINVAL;
    if (sscanf(fields + 1,
               " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu %*d %*d %ld %*d %llu "
               "%*u %ld",
               &state, &ppid, &pgrp, &user, &system, &user_waited, &system_waited, &threads, &start,
               &resident) != 10)
        return -EINVAL;
    *ret = (struct procfs_stat){
        .pid = pid,
        .ppid = ppid,
        .pgrp = pgrp,
        .state = state,
        .start_ticks = start,
        .cpu_ticks = (uint64_t)user + system + user_waited + system_waited,
        .resident_bytes = resident > 0 ? (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0,
        .threads = threads > 0 ? (uint64_t)threads : 0,
    };
    return 0;
}

pid_t procfs_parent(pid_t pid)
{
    char path[64], text[512]; /* it stands near the beginning */
    const char *line;
    int parent, r;

    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    r = read_small(path, text, sizeof text);
    if (r < 0)
        return r;
    line = strstr(text, "\nPPid:"); /* a newline in the name is written as \n */
    return line != NULL && sscanf(line, " PPid: %d", &parent) == 1 ? parent : -EINVAL;
}

uint64_t procfs_started_us(pid_t pid)
{
    long ticks_per_s = sysconf(_SC_CLK_TCK);
    struct procfs_stat stat;

    if (ticks_per_s <= 0 || procfs_stat(pid, &stat) < 0)
        return 0;
    return stat.start_ticks * USEC_PER_SEC / (uint64_t)ticks_per_s;
}

int procfs_list(struct procfs_stat **ret, size_t *ret_n)
{
    _cleanup_closedir_ DIR *dir = opendir("/proc");
    _cleanup_free_ struct procfs_stat *list = NULL;
    size_t n = 0;
    size_t room = 0;
    const struct dirent *entry;

    if (dir == NULL)
        return -errno;
    while ((entry = readdir(dir)) != NULL) {
        uint64_t pid;

        if (parse_u64(entry->d_name, &pid) < 0 || pid > INT32_MAX)
            continue;
        if (n == room) {
            room = room ? room * 2 : 256;
            list = xreallocarray(list, room, sizeof *list);
        }
        if (procfs_stat((pid_t)pid, &list[n]) == 0)
            n++;
    }
    *ret = TAKE_PTR(list);
    *ret_n = n;
    return 0;
}

int procfs_open_verified(pid_t pid, uint64_t start_ticks)
{
    _cleanup_close_ int fd = -1;
    struct procfs_stat stat;

    if (pid <= 1)
        return -ESRCH;
    fd = pidfd_open(pid, 0);
    if (fd == -1)
        return -errno;
    if (procfs_stat(pid, &stat) < 0 || stat.start_ticks != start_ticks)
        return -ESRCH;
    return TAKE_FD(fd);
}
