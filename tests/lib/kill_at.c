/* SPDX-License-Identifier: Apache-2.0 */
/* kill_at.c - for tests: kill -9 of a program at the nth call that changes its database
 *
 * Preloaded into a program that was built for use (LD_PRELOAD). EDL_TEST_KILL_AT is n: counted are
 * writes, syncs and truncations of files called edl.db*, their removal and renaming, and the
 * removal of the mark of a restore. The call itself is not made, and of a write the first half is.
 * Without the variable nothing happens. More of them say otherwise:
 *   EDL_TEST_KILL_COUNT=FILE   calls of every file and of each socket count. FILE gets their number
 *   EDL_TEST_KILL_PID=PID      that process is killed, and this one goes on
 *   EDL_TEST_KILL_FULL=yes     nobody is killed: from there on each disk is full */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

static long left; /* calls to go; 0: not asked for */
static long counted;
static const char *count_file; /* NULL: only calls of the database count */
static bool is_full;

static bool is_database(const char *path)
{
    const char *slash = strrchr(path, '/');

    return count_file != NULL || (slash != NULL && (strncmp(slash, "/edl.db", 7) == 0 ||
                                                    strcmp(slash, "/restoring") == 0));
}

static bool is_database_fd(int fd)
{
    char name[40], path[4096];
    ssize_t n;

    if (count_file != NULL)
        return true;
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    n = readlink(name, path, sizeof path - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    return is_database(path);
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("EDL_TEST_KILL_AT");

    count_file = getenv("EDL_TEST_KILL_COUNT");
    left = text != NULL ? strtol(text, NULL, 10) : 0;
}

/* true: this is the call */
static bool is_due(bool counts)
{
    counted += counts;
    return counts && left > 0 && --left == 0;
}

__attribute__((destructor)) static void tell_count(void)
{
    FILE *file = count_file != NULL ? fopen(count_file, "we") : NULL;

    if (file == NULL)
        return;
    (void)fprintf(file, "%ld\n", counted);
    (void)fclose(file);
}

/* die - returns where another process was killed, or a disk is full */
static void die(void)
{
    const char *other = getenv("EDL_TEST_KILL_PID");

    if (getenv("EDL_TEST_KILL_FULL") != NULL) {
        is_full = true;
        return;
    }
    if (other != NULL) {
        (void)kill((pid_t)strtol(other, NULL, 10), SIGKILL);
        return;
    }
    (void)kill(getpid(), SIGKILL);
    for (;;)
        (void)pause();
}

static bool kills_itself(void)
{
    return getenv("EDL_TEST_KILL_PID") == NULL && getenv("EDL_TEST_KILL_FULL") == NULL;
}

/* lacks_room - a disk, and not a terminal or a pipe, which never is full */
static bool lacks_room(int fd)
{
    struct stat st;

    if (!is_full || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
        return false;
    errno = ENOSPC;
    return true;
}

/* The function that the program meant. */
#define NEXT(name) ((__typeof__(&name))(intptr_t)dlsym(RTLD_NEXT, #name))

/* Of a write the first half is made by a program that dies in it. */
#define WRITE(name, parameters, half, ...)                                                         \
    ssize_t name parameters                                                                        \
    {                                                                                              \
        if (is_due(is_database_fd(fd))) {                                                          \
            if (kills_itself())                                                                    \
                (void)!NEXT(name) half;                                                            \
            die();                                                                                 \
        }                                                                                          \
        return lacks_room(fd) ? -1 : NEXT(name)(__VA_ARGS__);                                      \
    }
WRITE(pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n / 2, at), fd, data, n,
      at)
WRITE(pwrite64, (int fd, const void *data, size_t n, off64_t at), (fd, data, n / 2, at), fd, data,
      n, at)
WRITE(write, (int fd, const void *data, size_t n), (fd, data, n / 2), fd, data, n)
WRITE(send, (int fd, const void *data, size_t n, int flags), (fd, data, n / 2, flags), fd, data, n,
      flags)

#define CALL(counts, name, parameters, ...)                                                        \
    int name parameters                                                                            \
    {                                                                                              \
        if (is_due(counts))                                                                        \
            die();                                                                                 \
        return NEXT(name)(__VA_ARGS__);                                                            \
    }
CALL(is_database_fd(fd), fsync, (int fd), fd)
CALL(is_database_fd(fd), fdatasync, (int fd), fd)
CALL(is_database_fd(fd), ftruncate, (int fd, off_t size), fd, size)
CALL(is_database_fd(fd), ftruncate64, (int fd, off64_t size), fd, size)
CALL(is_database(path), unlink, (const char *path), path)
CALL(is_database(from) || is_database(to), rename, (const char *from, const char *to), from, to)
CALL(count_file != NULL, mkdir, (const char *path, mode_t mode), path, mode)
CALL(count_file != NULL, unlinkat, (int fd, const char *path, int flags), fd, path, flags)
CALL(count_file != NULL, renameat, (int fd, const char *from, int to_fd, const char *to), fd, from,
     to_fd, to)
CALL(count_file != NULL, fsetxattr,
     (int fd, const char *name, const void *value, size_t size, int flags), fd, name, value, size,
     flags)
