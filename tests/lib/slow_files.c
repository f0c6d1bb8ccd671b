/* SPDX-License-Identifier: Apache-2.0 */
/* slow_files.c - for tests: a machine on which some files take their time
 *
 * Preloaded into edl-agent (LD_PRELOAD), and with it into all that it starts. To remove a file of a
 * process folder takes EDL_TEST_SLOW_MS in each program, as on a disk. In the agent itself, to open
 * /proc/PID/stat or a control group of a process takes as long, as in a storm of starts. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The function that the program meant. */
#define NEXT(name) ((__typeof__(&name))(intptr_t)dlsym(RTLD_NEXT, #name))

static void take_time(void)
{
    const char *ms = getenv("EDL_TEST_SLOW_MS");

    (void)poll(NULL, 0, ms != NULL ? (int)strtol(ms, NULL, 10) : 0);
}

static void remove_slowly(const char *path)
{
    if (strstr(path, ".json") != NULL)
        take_time();
}

static bool is_of_a_process(const char *path)
{
    size_t n = strlen(path);

    return (strncmp(path, "/sys/fs/cgroup/", 15) == 0 && strstr(path, "/edl-") != NULL) ||
           (strncmp(path, "/proc/", 6) == 0 && path[6] >= '0' && path[6] <= '9' && n > 5 &&
            strcmp(path + n - 5, "/stat") == 0);
}

static void open_slowly(const char *path)
{
    if (strcmp(program_invocation_short_name, "edl-agent") == 0 && is_of_a_process(path))
        take_time();
}

int unlink(const char *path)
{
    remove_slowly(path);
    return NEXT(unlink)(path);
}

int unlinkat(int fd, const char *path, int flags)
{
    remove_slowly(path);
    return NEXT(unlinkat)(fd, path, flags);
}

static mode_t mode_of(int flags, va_list more)
{
    return (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list more;
    mode_t mode;

    va_start(more, flags);
    mode = mode_of(flags, more);
    va_end(more);
    open_slowly(path);
    return NEXT(open)(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    open_slowly(path);
    return NEXT(fopen)(path, mode);
}
