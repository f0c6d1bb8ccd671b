/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_record.c - see fetch_record.h
 *
 *     f MTIME_NS SIZE<TAB>PATH      a file
 *     p<TAB>PATH                    its part, while it comes
 *     l TARGET<TAB>PATH             a symbolic link
 *
 * No path and no target has a control character (file_path_allowed). Each line is one write(2) at
 * the end, so two that fetch into one folder do not mix theirs. A line that a crash or a full disk
 * has cut, or filled with zeros, says nothing, and the next one begins behind it. */
#include "client/fetch_record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define PIECE_BYTES 65536

struct put {
    char *line; /* owned */
    UT_hash_handle hh;
};

struct fetch_record {
    struct put *all; /* owned */
    int fd;          /* owned */
    off_t read;      /* so far, whole lines */
    bool torn;       /* its end is no whole line */
};

static bool has_line(const struct fetch_record *record, const char *line, size_t size)
{
    struct put *put;

    HASH_FIND(hh, record->all, line, size, put);
    return put != NULL;
}

static void note(struct fetch_record *record, const char *line, size_t size)
{
    struct put *put;

    if (has_line(record, line, size))
        return;
    put = xcalloc(1, sizeof *put);
    put->line = xcalloc(1, size + 1);
    memcpy(put->line, line, size);
    HASH_ADD_KEYPTR(hh, record->all, put->line, size, put);
}

/* take_lines - returns how many bytes those are; without the end of one there are none, but of a
 * piece that is full: so long is no line of ours */
static size_t take_lines(struct fetch_record *record, const char *text, size_t size)
{
    const char *line = text, *end;

    for (; (end = memchr(line, '\n', size - (size_t)(line - text))) != NULL; line = end + 1)
        note(record, line, (size_t)(end - line));
    return line == text && size == PIECE_BYTES ? size : (size_t)(line - text);
}

/* read_on - what was added since */
static void read_on(struct fetch_record *record)
{
    _cleanup_free_ char *piece = xcalloc(1, PIECE_BYTES);
    ssize_t n;

    while ((n = pread(record->fd, piece, PIECE_BYTES, record->read)) > 0) {
        const size_t taken = take_lines(record, piece, (size_t)n);

        if (taken == 0)
            return;
        record->read += (off_t)taken;
    }
}

int fetch_record_open(int root_fd, struct fetch_record **ret, struct edl_error *error)
{
    int fd =
        openat(root_fd, FETCH_MARK,
               O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
    struct stat st;

    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot open %s in the folder", FETCH_MARK);
    if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode)) {
        (void)safe_close(fd);
        (void)edl_error_set(error, -EPERM, "%s in the folder is no file", FETCH_MARK);
        return edl_error_remedy(error, "remove it, or name another folder with -o");
    }
    *ret = xcalloc(1, sizeof **ret);
    (*ret)->fd = fd;
    read_on(*ret);
    (*ret)->torn = st.st_size > (*ret)->read;
    return 0;
}

struct fetch_record *fetch_record_close(struct fetch_record *record)
{
    struct put *put, *next;

    if (record == NULL)
        return NULL;
    HASH_ITER(hh, record->all, put, next)
    {
        HASH_DEL(record->all, put);
        free(put->line);
        free(put);
    }
    (void)safe_close(record->fd);
    free(record);
    return NULL;
}

static bool has(struct fetch_record *record, const char *path, const char *as)
{
    _cleanup_free_ char *line = text_format("%s\t%s", as, path);

    if (record == NULL)
        return false;
    if (!has_line(record, line, strlen(line)))
        read_on(record); /* another one fetches into the folder */
    return has_line(record, line, strlen(line));
}

static int add(struct fetch_record *record, const char *path, const char *as,
               struct edl_error *error)
{
    _cleanup_free_ char *line = NULL;
    size_t size;
    ssize_t n;

    if (record == NULL)
        return 0;
    line = text_format("%s%s\t%s\n", record->torn ? "\n" : "", as, path);
    size = strlen(line);
    n = write(record->fd, line, size);
    if (n != (ssize_t)size) {
        const int code = n == -1 ? -errno : -ENOSPC;

        record->torn = record->torn || n > 0;
        return edl_error_errno(error, code, "cannot write to %s", FETCH_MARK);
    }
    note(record, line + record->torn, size - record->torn - 1);
    record->torn = false;
    return 0;
}

static char *as_file(const struct stat *st)
{
    return text_format("f %" PRId64 "%09ld %" PRId64, (int64_t)st->st_mtim.tv_sec,
                       st->st_mtim.tv_nsec, (int64_t)st->st_size);
}

bool fetch_record_has_file(struct fetch_record *record, const char *path, const struct stat *st)
{
    _cleanup_free_ char *as = as_file(st);

    return has(record, path, as);
}

bool fetch_record_has_part(struct fetch_record *record, const char *path)
{
    return has(record, path, "p");
}

bool fetch_record_has_link(struct fetch_record *record, const char *path, const char *target)
{
    _cleanup_free_ char *as = text_format("l %s", target);

    return has(record, path, as);
}

int fetch_record_file(struct fetch_record *record, const char *path, const struct stat *st,
                      struct edl_error *error)
{
    _cleanup_free_ char *as = as_file(st);
    int r = add(record, path, as, error);

    if (r == 0 && record != NULL && fdatasync(record->fd) == -1)
        r = edl_error_errno(error, -errno, "cannot write %s", FETCH_MARK);
    return r;
}

int fetch_record_part(struct fetch_record *record, const char *path, struct edl_error *error)
{
    return add(record, path, "p", error);
}

int fetch_record_link(struct fetch_record *record, const char *path, const char *target,
                      struct edl_error *error)
{
    _cleanup_free_ char *as = text_format("l %s", target);

    return add(record, path, as, error);
}
