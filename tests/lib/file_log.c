/* SPDX-License-Identifier: Apache-2.0 */
/* file_log.c - for tests: a program's calls on the files below a folder, written down one by one
 *
 * Preloaded into a program that was built for use (LD_PRELOAD): our code, SQLite and the other
 * libraries call the C library directly, and all of them pass here. EDL_TEST_FILE_ROOT is the
 * folder, by its real path; EDL_TEST_FILE_LOG the log, which power.py reads. A call is in the log
 * when it returns, and in the order in which calls were carried out. Writes of streams (stdio) and
 * maps do not pass here: a sync is logged with all that the file then holds.
 *
 * A record is a line of fields with '/' between them, and the bytes whose number is its last one.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shared/cleanup.h"

#define PATH_SIZE 4096

/* The function that the program meant. */
#define NEXT(name) ((__typeof__(&name))(intptr_t)dlsym(RTLD_NEXT, #name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* from a call until it is written down */

struct place {
    uint64_t folder; /* inode; 0: it is not below the root */
    char name[256];
};

/* --- where --- */

static bool is_below(const char *path)
{
    const char *root = getenv("EDL_TEST_FILE_ROOT");
    size_t n = root != NULL ? strlen(root) : 0;

    return n > 0 && strncmp(path, root, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* The inode of a file that is open; 0: it is not below the root. */
static uint64_t inode_of(int fd)
{
    char link[40], path[PATH_SIZE];
    struct stat st;
    ssize_t n;

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    if (n <= 0)
        return 0;
    path[n] = '\0';
    return is_below(path) && fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static struct place place_of(int dir_fd, const char *path)
{
    struct place place = { 0 };
    char folder[PATH_SIZE], last[PATH_SIZE];
    int fd;

    (void)snprintf(folder, sizeof folder, "%s", path);
    (void)snprintf(last, sizeof last, "%s", path);
    (void)snprintf(place.name, sizeof place.name, "%s", basename(last));
    fd = NEXT(openat)(dir_fd, dirname(folder), O_PATH | O_DIRECTORY | O_CLOEXEC);
    place.folder = fd != -1 ? inode_of(fd) : 0;
    if (fd != -1)
        (void)safe_close(fd);
    return place;
}

static bool is_there(int dir_fd, const char *path, struct stat *ret)
{
    return fstatat(dir_fd, path, ret, AT_SYMLINK_NOFOLLOW) == 0;
}

/* --- the log --- */

__attribute__((format(printf, 3, 4))) static void note(const void *data, size_t size,
                                                       const char *format, ...)
{
    char line[2 * PATH_SIZE];
    struct iovec parts[2] = { { .iov_base = line }, { .iov_base = (void *)data, .iov_len = size } };
    const char *path = getenv("EDL_TEST_FILE_LOG");
    int error = errno, fd, n;
    va_list arguments;

    va_start(arguments, format);
    n = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    n += snprintf(line + n, sizeof line - (size_t)n, "/%zu\n", size);
    parts[0].iov_len = (size_t)n;
    fd = path != NULL ? NEXT(open)(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd == -1 || NEXT(writev)(fd, parts, 2) != (ssize_t)((size_t)n + size))
        abort();
    (void)safe_close(fd);
    errno = error;
}

static void note_new(const struct place *place, int dir_fd, const char *path)
{
    char target[PATH_SIZE];
    struct stat st;
    ssize_t n;

    if (place->folder == 0 || !is_there(dir_fd, path, &st))
        return;
    n = S_ISLNK(st.st_mode) ? readlinkat(dir_fd, path, target, sizeof target) : 0;
    note(target, n > 0 ? (size_t)n : 0, "%s/%" PRIu64 "/%s/%" PRIu64 "/%o",
         S_ISREG(st.st_mode) && st.st_nlink > 1 ? "link" : "new", place->folder, place->name,
         (uint64_t)st.st_ino, st.st_mode);
}

static void note_write(int fd, const void *data, ssize_t n, off_t at)
{
    uint64_t inode = n > 0 ? inode_of(fd) : 0;

    if (inode != 0)
        note(data, (size_t)n, "write/%" PRIu64 "/%lld", inode, (long long)at);
}

static void note_size(int fd)
{
    uint64_t inode = inode_of(fd);
    struct stat st;

    if (inode != 0 && fstat(fd, &st) == 0)
        note(NULL, 0, "size/%" PRIu64 "/%lld", inode, (long long)st.st_size);
}

static void note_sync(int fd)
{
    uint64_t inode = inode_of(fd);
    char path[40], *data;
    struct stat st;
    ssize_t n = 0;
    int in;

    if (inode == 0 || fstat(fd, &st) == -1)
        return;
    data = malloc((size_t)st.st_size + 1);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd); /* it may be open for writing only */
    in = S_ISREG(st.st_mode) ? NEXT(open)(path, O_RDONLY | O_CLOEXEC) : -1;
    if (in != -1)
        n = pread(in, data, (size_t)st.st_size, 0);
    if (in != -1)
        (void)safe_close(in);
    note(data, n > 0 ? (size_t)n : 0, "sync/%" PRIu64, inode);
    free(data);
}

/* --- calls with a file that is open --- */

/* A call by its real name, and what is noted when it succeeded. */
#define LOGGED(type, name, parameters, arguments, noted)                                           \
    type name parameters                                                                           \
    {                                                                                              \
        type r;                                                                                    \
        (void)pthread_mutex_lock(&lock);                                                           \
        r = NEXT(name) arguments;                                                                  \
        if (r >= 0)                                                                                \
            noted;                                                                                 \
        (void)pthread_mutex_unlock(&lock);                                                         \
        return r;                                                                                  \
    }

LOGGED(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at),
       note_write(fd, data, r, at))
LOGGED(ssize_t, pwrite64, (int fd, const void *data, size_t n, off64_t at), (fd, data, n, at),
       note_write(fd, data, r, at))
LOGGED(ssize_t, write, (int fd, const void *data, size_t n), (fd, data, n),
       note_write(fd, data, r, lseek(fd, 0, SEEK_CUR) - r))
LOGGED(int, ftruncate, (int fd, off_t size), (fd, size), note_size(fd))
LOGGED(int, ftruncate64, (int fd, off64_t size), (fd, size), note_size(fd))
LOGGED(int, fsync, (int fd), (fd), note_sync(fd))
LOGGED(int, fdatasync, (int fd), (fd), note_sync(fd))

/* --- calls with names --- */

static int opened(int fd, int dir_fd, const char *path, int flags, bool was_there)
{
    const struct place place = place_of(dir_fd, path);

    if (fd == -1 || (flags & (O_CREAT | O_TRUNC)) == 0)
        return fd;
    if (!was_there)
        note_new(&place, dir_fd, path);
    else if ((flags & O_TRUNC) != 0)
        note_size(fd);
    return fd;
}

#define OPEN(name, parameters, dir_fd, ...)                                                        \
    int name parameters                                                                            \
    {                                                                                              \
        struct stat st;                                                                            \
        va_list more;                                                                              \
        mode_t mode;                                                                               \
        bool was_there;                                                                            \
        int fd;                                                                                    \
        va_start(more, flags);                                                                     \
        mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;                    \
        va_end(more);                                                                              \
        (void)pthread_mutex_lock(&lock);                                                           \
        was_there = (flags & O_CREAT) == 0 || is_there(dir_fd, path, &st);                         \
        fd = opened(NEXT(name)(__VA_ARGS__, mode), dir_fd, path, flags, was_there);                \
        (void)pthread_mutex_unlock(&lock);                                                         \
        return fd;                                                                                 \
    }
OPEN(open, (const char *path, int flags, ...), AT_FDCWD, path, flags)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, path, flags)
OPEN(openat, (int fd_of, const char *path, int flags, ...), fd_of, fd_of, path, flags)
OPEN(openat64, (int fd_of, const char *path, int flags, ...), fd_of, fd_of, path, flags)

/* It fills in the name, and makes what is not there. */
#define MKOSTEMP(name)                                                                             \
    int name(char *path, int flags)                                                                \
    {                                                                                              \
        int fd;                                                                                    \
        (void)pthread_mutex_lock(&lock);                                                           \
        fd = opened(NEXT(name)(path, flags), AT_FDCWD, path, O_CREAT, false);                      \
        (void)pthread_mutex_unlock(&lock);                                                         \
        return fd;                                                                                 \
    }
MKOSTEMP(mkostemp)
MKOSTEMP(mkostemp64)

#define FOPEN(name)                                                                                \
    FILE *name(const char *path, const char *mode)                                                 \
    {                                                                                              \
        const int flags = mode[0] == 'w' ? O_CREAT | O_TRUNC : mode[0] == 'a' ? O_CREAT : 0;       \
        struct stat st;                                                                            \
        bool was_there;                                                                            \
        FILE *file;                                                                                \
        (void)pthread_mutex_lock(&lock);                                                           \
        was_there = is_there(AT_FDCWD, path, &st);                                                 \
        file = NEXT(name)(path, mode);                                                             \
        if (file != NULL)                                                                          \
            (void)opened(fileno(file), AT_FDCWD, path, flags, was_there);                          \
        (void)pthread_mutex_unlock(&lock);                                                         \
        return file;                                                                               \
    }
FOPEN(fopen)
FOPEN(fopen64)

#define NEW(name, parameters, arguments, dir_fd, path)                                             \
    int name parameters                                                                            \
    {                                                                                              \
        const struct place place = place_of(dir_fd, path);                                         \
        int r;                                                                                     \
        (void)pthread_mutex_lock(&lock);                                                           \
        r = NEXT(name) arguments;                                                                  \
        if (r == 0)                                                                                \
            note_new(&place, dir_fd, path);                                                        \
        (void)pthread_mutex_unlock(&lock);                                                         \
        return r;                                                                                  \
    }
NEW(mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)
NEW(mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode), fd, path)
NEW(symlink, (const char *target, const char *path), (target, path), AT_FDCWD, path)
NEW(symlinkat, (const char *target, int fd, const char *path), (target, fd, path), fd, path)
NEW(link, (const char *from, const char *path), (from, path), AT_FDCWD, path)
NEW(linkat, (int from_fd, const char *from, int fd, const char *path, int flags),
    (from_fd, from, fd, path, flags), fd, path)

#define REMOVE(call, parameters, arguments, dir_fd)                                                \
    int call parameters                                                                            \
    {                                                                                              \
        const struct place place = place_of(dir_fd, path);                                         \
        int r;                                                                                     \
        (void)pthread_mutex_lock(&lock);                                                           \
        r = NEXT(call) arguments;                                                                  \
        if (r == 0 && place.folder != 0)                                                           \
            note(NULL, 0, "gone/%" PRIu64 "/%s", place.folder, place.name);                        \
        (void)pthread_mutex_unlock(&lock);                                                         \
        return r;                                                                                  \
    }
REMOVE(unlink, (const char *path), (path), AT_FDCWD)
REMOVE(remove, (const char *path), (path), AT_FDCWD)
REMOVE(rmdir, (const char *path), (path), AT_FDCWD)
REMOVE(unlinkat, (int fd, const char *path, int flags), (fd, path, flags), fd)

static int moved(int r, const struct place *from, const struct place *to, bool exchanged)
{
    if (r == 0 && (from->folder != 0 || to->folder != 0))
        note(NULL, 0, "%s/%" PRIu64 "/%s/%" PRIu64 "/%s", exchanged ? "swap" : "move", from->folder,
             from->name, to->folder, to->name);
    return r;
}

#define MOVE(name, parameters, arguments, from_fd, to_fd, exchanged)                               \
    int name parameters                                                                            \
    {                                                                                              \
        const struct place a = place_of(from_fd, from), b = place_of(to_fd, to);                   \
        int r;                                                                                     \
        (void)pthread_mutex_lock(&lock);                                                           \
        r = moved(NEXT(name) arguments, &a, &b, exchanged);                                        \
        (void)pthread_mutex_unlock(&lock);                                                         \
        return r;                                                                                  \
    }
MOVE(rename, (const char *from, const char *to), (from, to), AT_FDCWD, AT_FDCWD, false)
MOVE(renameat, (int from_fd, const char *from, int to_fd, const char *to),
     (from_fd, from, to_fd, to), from_fd, to_fd, false)
MOVE(renameat2, (int from_fd, const char *from, int to_fd, const char *to, unsigned flags),
     (from_fd, from, to_fd, to, flags), from_fd, to_fd, (flags & RENAME_EXCHANGE) != 0)
