/* SPDX-License-Identifier: Apache-2.0 */
/* kill_at.c - for tests: kill -9 of a program at the nth call that changes its database
 *
 * Preloaded into a program that was built for use (LD_PRELOAD). EDL_TEST_KILL_AT is n: counted are
 * writes, syncs and truncations of files called edl.db*, their removal and renaming, and the
 * removal of the mark of a restore. The call itself is not made, and of a write the first half is.
 * Without the variable nothing happens. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long left = -1; /* calls to go; 0: not asked for */

static bool is_database(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && (strncmp(slash, "/edl.db", 7) == 0 || strcmp(slash, "/restoring") == 0);
}

static bool is_database_fd(int fd)
{
    char name[40], path[4096];
    ssize_t n;

    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    n = readlink(name, path, sizeof path - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    return is_database(path);
}

/* true: this is the call */
static bool is_due(bool counts)
{
    if (left < 0) {
        const char *text = getenv("EDL_TEST_KILL_AT");

        left = text != NULL ? strtol(text, NULL, 10) : 0;
    }
    return counts && left > 0 && --left == 0;
}

static void die(void)
{
    (void)kill(getpid(), SIGKILL);
    for (;;)
        (void)pause();
}

/* The function that the program meant. */
#define NEXT(name) ((__typeof__(&name))(intptr_t)dlsym(RTLD_NEXT, #name))

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    if (is_due(is_database_fd(fd))) {
        (void)!NEXT(pwrite)(fd, data, n / 2, at);
        die();
    }
    return NEXT(pwrite)(fd, data, n, at);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
    if (is_due(is_database_fd(fd))) {
        (void)!NEXT(pwrite64)(fd, data, n / 2, at);
        die();
    }
    return NEXT(pwrite64)(fd, data, n, at);
}

ssize_t write(int fd, const void *data, size_t n)
{
    if (is_due(is_database_fd(fd))) {
        (void)!NEXT(write)(fd, data, n / 2);
        die();
    }
    return NEXT(write)(fd, data, n);
}

#define ONE_FD(name, parameters, ...)                                                              \
    int name parameters                                                                            \
    {                                                                                              \
        if (is_due(is_database_fd(fd)))                                                            \
            die();                                                                                 \
        return NEXT(name)(__VA_ARGS__);                                                            \
    }
ONE_FD(fsync, (int fd), fd)
ONE_FD(fdatasync, (int fd), fd)
ONE_FD(ftruncate, (int fd, off_t size), fd, size)
ONE_FD(ftruncate64, (int fd, off64_t size), fd, size)

int unlink(const char *path)
{
    if (is_due(is_database(path)))
        die();
    return NEXT(unlink)(path);
}

int rename(const char *from, const char *to)
{
    if (is_due(is_database(from) || is_database(to)))
        die();
    return NEXT(rename)(from, to);
}
