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
#include "shared/workspace_path.h"

#define PIECE_BYTES ((size_t)128 * 1024)
#define PATH_BYTES 4096
#define DEPTH_MAX 200 /* a folder is held open for each */

struct pack {
    struct archive *out;
    struct content_hash *hash;
    int fd;
    struct packed result;
    char path[PATH_BYTES]; /* of the entry, from the folder on */
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

static int fail_archive(struct pack *p, struct edl_error *error)
{
    const char *text = archive_error_string(p->out);
    int code = archive_errno(p->out);

    return edl_error_set(error, code > 0 ? -code : -EIO, "packing %.200s: %.160s", p->path,
                         text != NULL ? text : "unknown");
}

static int write_file(struct pack *p, int dir_fd, const char *name, uint64_t size,
                      struct edl_error *error)
{
    _cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot read %.300s", p->path);
    while (size > 0) {
        ssize_t n = read(fd, p->piece, MIN_OF(size, sizeof p->piece));

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return edl_error_errno(error, -errno, "cannot read %.300s", p->path);
        if (n == 0)
            return edl_error_set(error, -EAGAIN, "%.300s became shorter while it was packed",
                                 p->path);
        if (archive_write_data(p->out, p->piece, (size_t)n) < 0)
            return fail_archive(p, error);
        size -= (uint64_t)n;
    }
    return 0;
}

static int set_target(struct pack *p, int dir_fd, const char *name, struct archive_entry *entry,
                      struct edl_error *error)
{
    char target[PATH_BYTES];
    ssize_t n = readlinkat(dir_fd, name, target, sizeof target - 1);

    if (n == -1)
        return edl_error_errno(error, -errno, "cannot read %.300s", p->path);
    target[n] = '\0';
    if (!workspace_link_stays(p->path, target)) {
        (void)edl_error_set(error, -EPERM, "%.180s is a link to %.180s, which is outside", p->path,
                            target);
        return edl_error_remedy(error, "remove the link, or give the folder to all nodes and name"
                                       " it with --workspace");
    }
    archive_entry_set_symlink(entry, target);
    return 0;
}

static int write_entry(struct pack *p, int dir_fd, const char *name, const struct stat *st,
                       struct edl_error *error)
{
    struct archive_entry *entry = archive_entry_new();
    uint64_t size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
    int r = 0;

    if (entry == NULL)
        abort();
    archive_entry_set_pathname(entry, p->path);
    archive_entry_set_mode(entry, st->st_mode & (S_IFMT | 0777));
    archive_entry_set_mtime(entry, st->st_mtime, 0);
    archive_entry_set_size(entry, (la_int64_t)size);
    if (S_ISLNK(st->st_mode))
        r = set_target(p, dir_fd, name, entry, error);
    if (r == 0 && archive_write_header(p->out, entry) < ARCHIVE_WARN)
        r = fail_archive(p, error);
    archive_entry_free(entry);
    p->result.entries++;
    return r == 0 && size > 0 ? write_file(p, dir_fd, name, size, error) : r;
}

static int pack_folder(struct pack *p, int take_fd, int depth, struct edl_error *error);

static int pack_one(struct pack *p, int dir_fd, const char *name, int depth,
                    struct edl_error *error)
{
    struct stat st;
    int r, fd;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return edl_error_errno(error, -errno, "cannot look at %.300s", p->path);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode)) {
        if (p->result.left_out++ == 0)
            (void)snprintf(p->result.left_path, sizeof p->result.left_path, "%.199s", p->path);
        return 0;
    }
    r = write_entry(p, dir_fd, name, &st, error);
    if (r < 0 || !S_ISDIR(st.st_mode))
        return r;
    if (depth == DEPTH_MAX)
        return edl_error_set(error, -ELOOP, "%.300s is too deep", p->path);
    fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot open %.300s", p->path);
    return pack_folder(p, fd, depth + 1, error);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* whatever the locale */
}

static int pack_folder(struct pack *p, int take_fd, int depth, struct edl_error *error)
{
    _cleanup_close_ int fd = take_fd;
    struct dirent **list = NULL;
    size_t length = strlen(p->path);
    int n = scandirat(fd, ".", &list, NULL, by_name);
    int r = n == -1 ? edl_error_errno(error, -errno, "cannot read %.300s", p->path) : 0;

    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;

        if (r == 0 && !streq(name, ".") && !streq(name, "..")) {
            if (length + strlen(name) + 2 > sizeof p->path)
                r = edl_error_set(error, -ENAMETOOLONG, "%.300s is too deep", p->path);
            else
                (void)snprintf(p->path + length, sizeof p->path - length, "%s%s",
                               length > 0 ? "/" : "", name);
            if (r == 0)
                r = pack_one(p, fd, name, depth, error);
            p->path[r == 0 ? length : strlen(p->path)] = '\0';
        }
        free(list[i]);
    }
    free(list);
    return r;
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
        return fail_archive(p, error);
    return 0;
}

int workspace_pack(const char *path, int archive_fd, struct packed *ret, struct edl_error *error)
{
    struct pack *p = xcalloc(1, sizeof *p);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = fd != -1 ? 0 : edl_error_errno(error, -errno, "cannot open the folder %s", path);

    p->fd = archive_fd;
    if (r == 0)
        r = content_hash_new(&p->hash, error);
    if (r == 0)
        r = open_archive(p, error);
    if (r == 0)
        r = pack_folder(p, TAKE_FD(fd), 0, error);
    if (r == 0 && archive_write_close(p->out) < ARCHIVE_WARN)
        r = fail_archive(p, error);
    if (r == 0) {
        content_hash_end(p->hash, p->result.sha256);
        *ret = p->result;
    }
    (void)safe_close(fd);
    (void)archive_write_free(p->out);
    (void)content_hash_free(p->hash);
    free(p);
    return r;
}
