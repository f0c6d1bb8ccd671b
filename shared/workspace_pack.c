/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_pack.c - a folder as an archive, the same bytes each time */
#include "shared/workspace_pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/content_hash.h"
#include "shared/error.h"
#include "shared/macro.h"

#define PIECE_BYTES WORKSPACE_PIECE_BYTES

struct pack {
    const struct unpack_limits *limits;
    const struct pack_watch *watch; /* may be NULL */
    struct archive *out;
    struct content_hash *hash;
    int fd;
    uint64_t unpacked_bytes;
    struct packed result;
    char piece[PIECE_BYTES];
};

static la_ssize_t on_write(struct archive *out, void *userdata, const void *data, size_t size)
{
    struct pack *p = userdata;
    ssize_t n;

    do
        n = write(p->fd, data, size);
    while (n == -1 && errno == EINTR);
    if (n == -1) {
        archive_set_error(out, errno, "cannot write the archive");
        return -1;
    }
    content_hash_add(p->hash, data, (size_t)n);
    p->result.bytes += (uint64_t)n;
    return n;
}

static int fail_archive(struct pack *p, const char *path, struct edl_error *error)
{
    const char *text = archive_error_string(p->out);
    int code = archive_errno(p->out);

    return edl_error_set(error, code > 0 ? -code : -EIO, "packing %.200s: %.160s", path,
                         text != NULL ? text : "unknown");
}

/* check_archive - whether the scheduler takes so much, and a node that has read so much of it
 * unpacks so much. What the compressor still holds back is less than a node reads at once. */
static int check_archive(struct pack *p, const char *path, struct edl_error *error)
{
    const struct scan_part *most = &p->result.scan.most_bytes;
    uint64_t read_bytes = (p->result.bytes + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;

    if (p->result.bytes > WORKSPACE_ARCHIVE_BYTES_MAX) {
        (void)edl_error_set(error, -E2BIG,
                            "packed, the folder is larger than %llu bytes, which no scheduler "
                            "takes; %llu bytes of it, unpacked, are in %.100s",
                            (unsigned long long)WORKSPACE_ARCHIVE_BYTES_MAX,
                            (unsigned long long)most->bytes, most->name);
        return walk_remedy_leave_out(error, most->name, most->folder);
    }
    if (workspace_is_bomb(p->limits, p->unpacked_bytes, read_bytes)) {
        (void)edl_error_set(error, -E2BIG,
                            "%.200s: up to here the folder packs to less than 1/%llu of its size, "
                            "which nodes refuse to unpack",
                            path, (unsigned long long)p->limits->ratio);
        return walk_remedy_leave_out(error, path, false);
    }
    return 0;
}

static int write_piece(struct pack *p, const char *path, size_t size, struct edl_error *error)
{
    if (archive_write_data(p->out, p->piece, size) < 0)
        return fail_archive(p, path, error);
    p->unpacked_bytes += size;
    if (p->watch != NULL && p->watch->on_bytes != NULL)
        p->watch->on_bytes(p->watch->userdata, p->unpacked_bytes, p->result.scan.bytes);
    return check_archive(p, path, error);
}

static int write_file(struct pack *p, const struct walk_entry *file, struct edl_error *error)
{
    _cleanup_close_ int fd =
        openat(file->dir_fd, file->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    uint64_t size = (uint64_t)file->st->st_size;
    int r = 0;

    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot read %.300s", file->path);
    while (size > 0 && r == 0) {
        ssize_t n = read(fd, p->piece, MIN_OF(size, sizeof p->piece));

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return edl_error_errno(error, -errno, "cannot read %.300s", file->path);
        if (n == 0)
            return edl_error_set(error, -EAGAIN, "%.300s became shorter while it was packed",
                                 file->path);
        r = write_piece(p, file->path, (size_t)n, error);
        size -= (uint64_t)n;
    }
    return r;
}

static int write_entry(void *userdata, const struct walk_entry *file, struct edl_error *error)
{
    struct pack *p = userdata;
    struct archive_entry *entry = archive_entry_new();
    uint64_t size = S_ISREG(file->st->st_mode) ? (uint64_t)file->st->st_size : 0;
    char target[WORKSPACE_PATH_BYTES_MAX + 1];
    int r = 0;

    if (entry == NULL)
        abort();
    archive_entry_set_pathname(entry, file->path);
    archive_entry_set_mode(entry, file->st->st_mode & (S_IFMT | 0777));
    archive_entry_set_mtime(entry, file->st->st_mtime, 0);
    archive_entry_set_size(entry, (la_int64_t)size);
    if (S_ISLNK(file->st->st_mode)) {
        r = workspace_read_link(file, target, sizeof target, error);
        if (r == 0)
            archive_entry_set_symlink(entry, target);
    }
    if (r == 0 && archive_write_header(p->out, entry) < ARCHIVE_WARN)
        r = fail_archive(p, file->path, error);
    archive_entry_free(entry);
    return r == 0 && size > 0 ? write_file(p, file, error) : r;
}

static int tell_left(void *userdata, const struct walk_entry *entry,
                     const struct walk_reason *reason, struct edl_error *error)
{
    const struct pack *p = userdata;

    (void)error;
    if (p->watch != NULL && p->watch->on_left != NULL)
        p->watch->on_left(p->watch->userdata, entry, reason);
    return 0;
}

static int open_archive(struct pack *p, struct edl_error *error)
{
    p->out = archive_write_new();
    if (p->out == NULL)
        abort();
    if (archive_write_set_format_pax_restricted(p->out) < ARCHIVE_WARN ||
        archive_write_add_filter_zstd(p->out) < ARCHIVE_WARN ||
        archive_write_set_bytes_in_last_block(p->out, 1) < ARCHIVE_WARN || /* no padding */
        archive_write_open(p->out, p, NULL, on_write, NULL) < ARCHIVE_WARN)
        return fail_archive(p, "the folder", error);
    return 0;
}

int workspace_pack(const char *path, int archive_fd, const struct unpack_limits *limits,
                   const struct pack_watch *watch, struct packed *ret, struct edl_error *error)
{
    struct pack *p = xcalloc(1, sizeof *p);
    const struct walk_visitor visitor = { .take = write_entry, .userdata = p };
    const struct walk_visitor left = { .leave = tell_left, .userdata = p };
    int r;

    p->fd = archive_fd;
    p->limits = limits;
    p->watch = watch;
    r = workspace_scan(path, limits, &left, &p->result.scan, error);
    if (r == 0)
        r = content_hash_new(&p->hash, error);
    if (r == 0)
        r = open_archive(p, error);
    if (r == 0)
        r = workspace_walk(path, &visitor, error);
    if (r == 0 && archive_write_close(p->out) < ARCHIVE_WARN)
        r = fail_archive(p, "the end of the folder", error);
    if (r == 0)
        r = check_archive(p, "the end of the folder", error);
    if (r == 0) {
        content_hash_end(p->hash, p->result.sha256);
        *ret = p->result;
    }
    (void)archive_write_free(p->out);
    (void)content_hash_free(p->hash);
    free(p);
    return r;
}
