/* SPDX-License-Identifier: Apache-2.0 */
/* process_guard.c - see process_guard.h */
#include "agent/supervisor/process_guard.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

#define TASKS_LEAST 1024

uint64_t process_guard_tasks(uint64_t pid_max, uint64_t threads_max)
{
    return MAX_OF(MIN_OF(pid_max, threads_max) / 2, (uint64_t)TASKS_LEAST);
}

static uint64_t read_number(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t number = UINT64_MAX;
    char text[32];
    ssize_t n = fd != -1 ? read(fd, text, sizeof text - 1) : -1;

    if (n <= 0)
        return number;
    text[n] = '\0';
    (void)sscanf(text, "%" SCNu64, &number);
    return number;
}

static void guard_tasks(void)
{
    rlim_t most = process_guard_tasks(read_number("/proc/sys/kernel/pid_max"),
                                      read_number("/proc/sys/kernel/threads-max"));
    struct rlimit limit;

    if (getrlimit(RLIMIT_NPROC, &limit) == -1)
        return;
    limit.rlim_max = MIN_OF(limit.rlim_max, most);
    limit.rlim_cur = MIN_OF(limit.rlim_cur, limit.rlim_max);
    (void)setrlimit(RLIMIT_NPROC, &limit);
}

/* Of a program that cannot take the machine's memory only an exemption is taken back, which was its
 * agent's. */
static void guard_memory(bool held)
{
    _cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    const char *score = held ? "0" : OOM_SCORE_ADJ_FIRST;
    char inherited = '-';

    if (fd == -1 || (held && (pread(fd, &inherited, 1, 0) != 1 || inherited != '-')))
        return;
    (void)!pwrite(fd, score, strlen(score), 0);
}

void process_guard_self(bool memory_held, bool tasks_held)
{
    if (!tasks_held)
        guard_tasks();
    guard_memory(memory_held);
}
