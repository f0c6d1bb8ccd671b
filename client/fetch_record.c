/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_record.c - see fetch_record.h
 *
 *     f MTIME_NS SIZE<TAB>PATH      a file
 *     p<TAB>PATH                    its part, while it comes
 *     l TARGET<TAB>PATH             a symbolic link
 *
 * No path and no target has a control character (file_path_allowed). Each line is one write(2) at
 * the end, so two that fetch into one folder do not mix theirs. */
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
    char *path, *as; /* owned */
    UT_hash_handle hh;
};

struct fetch_record {
    struct put *all; /* owned */
    int fd;          /* owned */
    off_t read;      /* so far, whole lines */
};

static void note(struct fetch_record *record, const char *path, const char *as)
{
    struct put *put = NULL;

    HASH_FIND_STR(record->all, path, put);
    if (put == NULL) {
        put = xcalloc(1, sizeof *put);
        put->path = xstrdup(path);
        HASH_ADD_KEYPTR(hh, record->all, put->path, strlen(put->path), put);
    }
    free(put->as);
    put->as = xstrdup(as);
}

/* take_lines - returns how many bytes those are; what is no line of ours says nothing */
static size_t take_lines(struct fetch_record *record, char *text)
{
    char *line = text, *end;

    for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        char *tab = strchr(line, '\t');

        *end = '\0';
        if (tab == NULL || tab > end)
            continue;
        *tab = '\0';
        note(record, tab + 1, line);
    }
    return (size_t)(line - text);
}

/* read_on - what was added since */
static void read_on(struct fetch_record *record)
{
    _cleanup_free_ char *piece = xcalloc(1, PIECE_BYTES + 1);
    ssize_t n;

    while ((n = pread(record->fd, piece, PIECE_BYTES, record->read)) > 0) {
        size_t taken;

        piece[n] = '\0';
        taken = strlen(piece) == (size_t)n ? take_lines(record, piece) : 0;
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
        free(put->path);
        free(put->as);
        free(put);
    }
    (void)safe_close(record->fd);
    free(record);
    return NULL;
}

static bool has(struct fetch_record *record, const char *path, const char *as)
{
    struct put *put = NULL;

    if (record == NULL)
        return false;
    HASH_FIND_STR(record->all, path, put);
    if (put != NULL && streq(put->as, as))
        return true;
    read_on(record); /* another one fetches into the folder */
    HASH_FIND_STR(record->all, path, put);
    return put != NULL && streq(put->as, as);
}

static int add(struct fetch_record *record, const char *path, const char *as,
               struct edl_error *error)
{
    _cleanup_free_ char *line = text_format("%s\t%s\n", as, path);
    size_t size = strlen(line);

    if (record == NULL)
        return 0;
    if (write(record->fd, line, size) != (ssize_t)size)
        return edl_error_errno(error, errno != 0 ? -errno : -ENOSPC, "cannot write to %s",
                               FETCH_MARK);
    note(record, path, as);
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

    return add(record, path, as, error);
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
