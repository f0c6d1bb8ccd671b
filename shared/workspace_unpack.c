/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_unpack.c - an archive of a workspace into an empty folder, and nothing out of it
 *
 * libarchive's secure flags keep what is written below the working directory, and never follow a
 * symbolic link on the way. Beyond that each entry is checked before it is written, so that a
 * refused one has an error that names it. The hash is taken of the bytes as they come, to the end
 * of the file: nobody may use the folder before it is known to be right. */
#include "shared/workspace_unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/content_hash.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/workspace_path.h"

#define PIECE_BYTES WORKSPACE_PIECE_BYTES

struct unpack {
    const struct unpack_limits *limits;
    struct archive *in, *out;
    struct content_hash *hash; /* NULL: not asked for */
    int fd;
    uint64_t read_bytes, written_bytes, entries;
    struct edl_error failure; /* of reading; libarchive would say it in words of its own */
    char piece[PIECE_BYTES];
};

static la_ssize_t on_read(struct archive *in, void *userdata, const void **ret)
{
    struct unpack *u = userdata;
    ssize_t n;

    do
        n = read(u->fd, u->piece, sizeof u->piece);
    while (n == -1 && errno == EINTR);
    if (n == -1) {
        (void)edl_error_errno(&u->failure, -errno, "cannot read the archive");
        archive_set_error(in, EIO, "cannot read the archive");
        return ARCHIVE_FATAL;
    }
    if (u->hash != NULL)
        content_hash_add(u->hash, u->piece, (size_t)n);
    u->read_bytes += (uint64_t)n;
    *ret = u->piece;
    return n;
}

/* ---- what is taken ---- */

static int refuse(struct edl_error *error, const char *path, const char *what)
{
    return edl_error_set(error, -EPERM, "the archive holds \"%.200s\", %s", path, what);
}

static int check_path(const char *path, const char *which, struct edl_error *error)
{
    if (path == NULL || path[0] == '\0' || strlen(path) > WORKSPACE_PATH_BYTES_MAX)
        return edl_error_set(error, -EINVAL, "the archive holds %s without a usable name", which);
    if (!workspace_path_stays(path))
        return refuse(error, path, "a path that leads out of it");
    return 0;
}

static int check_symlink(const char *path, const char *target, struct edl_error *error)
{
    if (target == NULL ||
        (!workspace_link_stays(path, target) && !workspace_link_is_interpreter(path, target)))
        return refuse(error, path, "a symbolic link that leads out of it");
    return 0;
}

static int check_entry(struct unpack *u, struct archive_entry *entry, struct edl_error *error)
{
    const char *path = archive_entry_pathname(entry);
    const char *hard = archive_entry_hardlink(entry);
    int r = check_path(path, "an entry", error);

    if (r == 0 && ++u->entries > u->limits->entries)
        r = edl_error_set(error, -E2BIG, "the archive holds more than %llu entries",
                          (unsigned long long)u->limits->entries);
    if (r < 0)
        return r;
    if (hard != NULL)
        return check_path(hard, "a hard link", error);
    switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
    case AE_IFDIR:
        return 0;
    case AE_IFLNK:
        return check_symlink(path, archive_entry_symlink(entry), error);
    default:
        return refuse(error, path, "which is no file, folder or link");
    }
}

/* ---- writing ---- */

static int fail_archive(struct unpack *u, struct archive *archive, int code, const char *path,
                        struct edl_error *error)
{
    const char *text = archive_error_string(archive);

    if (u->failure.code != 0) {
        *error = u->failure;
        return error->code;
    }
    switch (archive_errno(archive)) { /* of the disk, and not of what the archive holds */
    case ENOSPC:
    case EDQUOT:
    case EROFS:
    case EIO:
        code = -archive_errno(archive);
        break;
    default:
        break;
    }
    return edl_error_set(error, code, "%.200s: %.160s", path, text != NULL ? text : "unknown");
}

static int count(struct unpack *u, uint64_t bytes, struct edl_error *error)
{
    if (bytes > u->limits->bytes - u->written_bytes)
        return edl_error_set(error, -E2BIG, "unpacked the archive is larger than %llu bytes",
                             (unsigned long long)u->limits->bytes);
    u->written_bytes += bytes;
    if (workspace_is_bomb(u->limits, u->written_bytes, u->read_bytes))
        return edl_error_set(error, -E2BIG,
                             "unpacked the archive grows to more than %llu times its size",
                             (unsigned long long)u->limits->ratio);
    return 0;
}

/* A hole counts as what it looks like: whoever reads the file reads it all. */
static int write_data(struct unpack *u, const char *path, struct edl_error *error)
{
    uint64_t end = 0;

    for (;;) {
        const void *data;
        size_t size;
        la_int64_t offset;
        int status = archive_read_data_block(u->in, &data, &size, &offset);
        uint64_t upto = (uint64_t)offset + size;

        if (status == ARCHIVE_EOF)
            return 0;
        if (status < ARCHIVE_WARN)
            return fail_archive(u, u->in, -EINVAL, path, error);
        if (offset < 0 || upto < end)
            return edl_error_set(error, -EINVAL, "%.200s: its pieces overlap", path);
        if (count(u, upto - end, error) < 0)
            return error->code;
        end = upto;
        if (archive_write_data_block(u->out, data, size, offset) < ARCHIVE_WARN)
            return fail_archive(u, u->out, -EIO, path, error);
    }
}

static int write_entry(struct unpack *u, struct archive_entry *entry, struct edl_error *error)
{
    const char *path = archive_entry_pathname(entry);
    bool folder = archive_entry_filetype(entry) == AE_IFDIR;
    int r;

    if (archive_entry_size_is_set(entry) && archive_entry_size(entry) > 0 &&
        (uint64_t)archive_entry_size(entry) > u->limits->bytes - u->written_bytes)
        return count(u, (uint64_t)archive_entry_size(entry), error);
    /* whoever owns it can always enter it, and remove it */
    archive_entry_set_perm(entry, (archive_entry_perm(entry) & 0777) | (folder ? 0700 : 0600));
    if (archive_write_header(u->out, entry) < ARCHIVE_OK)
        return fail_archive(u, u->out, -EPERM, path, error);
    r = write_data(u, path, error);
    if (r == 0 && archive_write_finish_entry(u->out) < ARCHIVE_WARN)
        r = fail_archive(u, u->out, -EIO, path, error);
    return r;
}

static int unpack_entries(struct unpack *u, struct edl_error *error)
{
    for (;;) {
        struct archive_entry *entry;
        int status = archive_read_next_header(u->in, &entry);
        int r;

        if (status == ARCHIVE_EOF)
            return 0;
        if (status < ARCHIVE_WARN)
            return fail_archive(u, u->in, -EINVAL, "the archive", error);
        r = check_entry(u, entry, error);
        if (r == 0)
            r = write_entry(u, entry, error);
        if (r < 0)
            return r;
    }
}

/* check_hash - what follows the last entry counts as well, and what could not be understood: that
 * it is damaged is the better reason */
static int check_hash(struct unpack *u, const char *sha256, struct edl_error *error)
{
    char hex[WORKSPACE_HEX + 1];
    const void *data;
    la_ssize_t n;

    while ((n = on_read(u->in, u, &data)) > 0)
        ;
    if (n < 0)
        return fail_archive(u, u->in, -EIO, "the archive", error);
    content_hash_end(u->hash, hex);
    if (!streq(hex, sha256))
        return edl_error_set(error, EDL_ECORRUPT,
                             "the archive is damaged: its SHA-256 is %s and should be %s", hex,
                             sha256);
    return 0;
}

static int open_archives(struct unpack *u, struct edl_error *error)
{
    int status = ARCHIVE_OK;

    u->in = archive_read_new();
    u->out = archive_write_disk_new();
    if (u->in == NULL || u->out == NULL)
        abort();
    (void)archive_read_support_filter_gzip(u->in);
    (void)archive_read_support_filter_xz(u->in);
    (void)archive_read_support_filter_zstd(u->in);
    (void)archive_read_support_format_tar(u->in);
    status = archive_write_disk_set_options(u->out, ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME |
                                                        ARCHIVE_EXTRACT_SECURE_SYMLINKS |
                                                        ARCHIVE_EXTRACT_SECURE_NODOTDOT |
                                                        ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS);
    if (status == ARCHIVE_OK)
        status = archive_read_open(u->in, u, NULL, on_read, NULL);
    return status < ARCHIVE_WARN ? fail_archive(u, u->in, -EINVAL, "the archive", error) : 0;
}

int workspace_unpack(int archive_fd, int dir_fd, const char *sha256,
                     const struct unpack_limits *limits, struct edl_error *error)
{
    struct unpack *u = xcalloc(1, sizeof *u);
    struct edl_error spare = { 0 };
    int r = 0;

    if (error == NULL)
        error = &spare;
    u->limits = limits;
    u->fd = archive_fd;
    if (fchdir(dir_fd) == -1)
        r = edl_error_errno(error, -errno, "cannot enter the workspace");
    if (r == 0 && sha256 != NULL)
        r = content_hash_new(&u->hash, error);
    if (r == 0)
        r = open_archives(u, error);
    if (r == 0)
        r = unpack_entries(u, error);
    /* times and modes of folders are set last, when nothing more is written into them */
    if (r == 0 && archive_write_close(u->out) < ARCHIVE_WARN)
        r = fail_archive(u, u->out, -EIO, "the workspace", error);
    if (u->hash != NULL) {
        struct edl_error why = { 0 };
        int hashed = check_hash(u, sha256, &why);

        if (hashed < 0 && (r == 0 || hashed == EDL_ECORRUPT)) {
            *error = why;
            r = hashed;
        }
    }
    (void)archive_read_free(u->in);
    (void)archive_write_free(u->out);
    (void)content_hash_free(u->hash);
    free(u);
    return r;
}
