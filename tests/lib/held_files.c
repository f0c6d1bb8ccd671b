/* SPDX-License-Identifier: Apache-2.0 */
/* held_files.c - for tests: a training that goes on until the test has done what it wants to do
 *
 * Preloaded into trainers (LD_PRELOAD). EDL_TEST_HOLD names a file with a number. All of them
 * together open files of samples so many times. The next one waits until the number is larger, or
 * the file is gone. A signal ends the waiting, so that a trainer is told to
 * stop meanwhile. They count by the size of a file beside it (".opened"), to which each adds a
 * byte. */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/cleanup.h"

#define POLL_MS 20

typedef int (*open_fn)(const char *path, int flags, ...);

static open_fn next_open(void)
{
    return (open_fn)(intptr_t)dlsym(RTLD_NEXT, "open");
}

/* count_this - which one this is, from 1; 0 if that cannot be told */
static long count_this(const char *hold)
{
    char path[4096];
    long nth = 0;
    int fd;

    (void)snprintf(path, sizeof path, "%s.opened", hold);
    fd = next_open()(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0)
        return 0;
    if (write(fd, "", 1) == 1)
        nth = (long)lseek(fd, 0, SEEK_CUR);
    (void)safe_close(fd);
    return nth;
}

static bool is_held(const char *hold, long nth)
{
    char text[32] = "";
    int fd = next_open()(hold, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    (void)safe_close(fd);
    return n > 0 && nth > strtol(text, NULL, 10);
}

static void wait_for_turn(const char *hold)
{
    long nth = count_this(hold);

    while (is_held(hold, nth))
        if (poll(NULL, 0, POLL_MS) < 0)
            return;
}

int open(const char *path, int flags, ...)
{
    const char *hold = getenv("EDL_TEST_HOLD");
    mode_t mode = 0;
    va_list more;

    va_start(more, flags);
    if ((flags & O_CREAT) != 0)
        mode = va_arg(more, mode_t);
    va_end(more);
    if (hold != NULL && strstr(path, "/train-") != NULL)
        wait_for_turn(hold);
    return next_open()(path, flags, mode);
}
