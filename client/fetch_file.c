/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_file.c - see fetch_file.h */
#include "client/fetch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/fetch_record.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/content_hash.h"
#include "shared/error.h"
#include "shared/macro.h"

#define PART_SUFFIX ".part"
#define PIECE_BYTES 65536

/* ---- folders ---- */

static int open_below(int fd, const char *name, uint64_t flags, uint64_t mode)
{
    struct open_how how = { .flags = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
                            .mode = mode,
                            .resolve =
                                RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    int r = (int)syscall(SYS_openat2, fd, name, &how, sizeof how);

    return r == -1 ? -errno : r;
}

static bool is_empty(int folder_fd)
{
    int fd = open_below(folder_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    _cleanup_closedir_ DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (folder == NULL) {
        (void)safe_close(fd);
        return false;
    }
    while ((entry = readdir(folder)) != NULL)
        if (!streq(entry->d_name, ".") && !streq(entry->d_name, ".."))
            return false;
    return true;
}

/* mark - an empty folder is as good as a new one */
static int mark(int folder_fd, const char *path, struct edl_error *error)
{
    _cleanup_close_ int fd = -1;

    if (faccessat(folder_fd, FETCH_MARK, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    if (!is_empty(folder_fd)) {
        (void)edl_error_set(error, -EEXIST,
                            "the folder %.200s is there, and edl fetch did not make it", path);
        return edl_error_remedy(error, "name another folder with -o, or give --replace: files in "
                                       "it may then be replaced");
    }
    fd = open_below(folder_fd, FETCH_MARK, O_WRONLY | O_CREAT | O_EXCL, 0666);
    return fd < 0 ? edl_error_errno(error, fd, "cannot write to the folder %.200s", path) : 0;
}

int fetch_folder_open(const char *path, bool any, struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    int r;

    if (mkdir(path, 0777) == -1 && errno != EEXIST)
        return edl_error_errno(error, -errno, "cannot make the folder %.200s", path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot open the folder %.200s", path);
    r = any ? 0 : mark(fd, path, error);
    return r < 0 ? r : TAKE_FD(fd);
}

/* open_folder - makes what is missing of it; path ends with '/', or is "" */
static int open_folder(int root_fd, const char *path, int *ret, struct edl_error *error)
{
    _cleanup_close_ int fd = open_below(root_fd, ".", O_RDONLY | O_DIRECTORY, 0);

    for (const char *part = path; fd >= 0 && *part != '\0';) {
        size_t n = strcspn(part, "/");
        char name[256];
        int below;

        (void)snprintf(name, sizeof name, "%.*s", (int)MIN_OF(n, sizeof name - 1), part);
        if (mkdirat(fd, name, 0777) == -1 && errno != EEXIST)
            return edl_error_errno(error, -errno, "cannot make the folder %.300s", path);
        below = open_below(fd, name, O_RDONLY | O_DIRECTORY, 0);
        (void)safe_close(fd);
        fd = below;
        part += n + (part[n] == '/');
    }
    if (fd == -ENOTDIR || fd == -ELOOP) {
        (void)edl_error_set(error, -EPERM, "%.300s is or lies behind something that is no folder",
                            path);
        return edl_error_remedy(error, "move it away, or name another folder with -o");
    }
    if (fd < 0)
        return edl_error_errno(error, fd, "cannot open the folder %.300s", path);
    *ret = TAKE_FD(fd);
    return 0;
}

/* ---- what is there ---- */

/* hash_all - from the beginning of fd */
static int hash_all(int fd, struct content_hash *hash, uint64_t *ret_bytes, struct edl_error *error)
{
    char piece[PIECE_BYTES];
    uint64_t bytes = 0;
    ssize_t n;

    while ((n = pread(fd, piece, sizeof piece, (off_t)bytes)) != 0) {
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return edl_error_errno(error, -errno, "cannot read what is there already");
        content_hash_add(hash, piece, (size_t)n);
        bytes += (uint64_t)n;
    }
    *ret_bytes = bytes;
    return 0;
}

/* refuse_foreign - what its owner made, or changed since, is no earlier state of this file */
static int refuse_foreign(const char *name, struct edl_error *error)
{
    (void)edl_error_set(error, -EEXIST, "%s is there, and edl fetch did not put it there", name);
    return edl_error_remedy(error, "name another folder with -o, or replace it with --replace");
}

/* mode_of - what its owner on the node lets others do, and no more than ours lets them */
static mode_t mode_of(const struct file_entry *entry)
{
    mode_t mask = umask(0);

    (void)umask(mask);
    return entry->mode & 0777 & ~mask;
}

static int look_at_name(struct fetch_file *file, bool replace, struct edl_error *error)
{
    _cleanup_close_ int fd = open_below(file->folder_fd, file->name, O_RDONLY, 0);
    char sha256[WORKSPACE_HEX + 1];
    struct stat st;
    uint64_t bytes;
    bool ours;
    int r;

    if (fd == -ENOENT)
        return 0;
    if (fd == -ELOOP || (fd >= 0 && (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode)))) {
        (void)edl_error_set(error, -EPERM, "%s is there already, and is no file", file->name);
        return edl_error_remedy(error, "move it away, or name another folder with -o");
    }
    if (fd < 0 && faccessat(file->folder_fd, file->name, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
        return 0;
    if (fd >= 0 && (uint64_t)st.st_size == file->entry.bytes) {
        r = hash_all(fd, file->hash, &bytes, error);
        content_hash_end(file->hash, sha256);
        file->there = r == 0 && bytes == file->entry.bytes && streq(sha256, file->entry.sha256);
        if (r < 0)
            return r;
    }
    ours = fd >= 0 && fetch_record_has_file(file->record, file->path, &st);
    if (file->there && ours && (st.st_mode & 0777) != mode_of(&file->entry))
        (void)fchmod(fd, mode_of(&file->entry));
    return file->there || ours || replace ? 0 : refuse_foreign(file->name, error);
}

/* lock_part - for as long as it is open. The other may have given it its name, or begun a new one.
 * A file system without locks does without. */
static int lock_part(const struct fetch_file *file, const struct stat *st, struct edl_error *error)
{
    bool locked = flock(file->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    struct stat now;

    if (locked && fstatat(file->folder_fd, file->part, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
        now.st_ino == st->st_ino && now.st_dev == st->st_dev)
        return 0;
    (void)edl_error_set(error, -EBUSY, "another edl fetch writes %s", file->part);
    return edl_error_remedy(error, "wait until it has ended, or name another folder with -o");
}

/* open_part - one that others have names for, too, would be written to under theirs */
static int open_part(struct fetch_file *file, bool replace, struct edl_error *error)
{
    struct stat st;
    int r;

    if (!replace && fstatat(file->folder_fd, file->part, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(st.st_mode) && st.st_nlink == 1 &&
        !fetch_record_has_part(file->record, file->part_path))
        return refuse_foreign(file->part, error);
    r = fetch_record_part(file->record, file->part_path, error);
    if (r < 0)
        return r;
    file->fd = open_below(file->folder_fd, file->part, O_RDWR | O_CREAT, 0600);
    if (file->fd < 0 && file->fd != -ELOOP)
        return edl_error_errno(error, file->fd, "cannot make %s", file->part);
    if (file->fd < 0 || fstat(file->fd, &st) == -1 || !S_ISREG(st.st_mode) || st.st_nlink != 1) {
        (void)edl_error_set(error, -EPERM, "%s is there, and is no file of its own", file->part);
        return edl_error_remedy(error, "remove it");
    }
    r = lock_part(file, &st, error);
    if (r < 0)
        return r;
    if (fstat(file->fd, &st) == -1)
        return edl_error_errno(error, -errno, "cannot look at %s", file->part);
    if ((uint64_t)st.st_size > file->entry.bytes)
        return fetch_file_restart(file, error);
    return hash_all(file->fd, file->hash, &file->bytes, error);
}

bool fetch_file_is_alike(int root_fd, const char *folder, const struct file_entry *entry)
{
    _cleanup_free_ char *path = text_format("%s%s", folder, entry->path);
    _cleanup_close_ int fd = open_below(root_fd, path, O_RDONLY, 0);
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           (uint64_t)st.st_size == entry->bytes;
}

int fetch_folder_below(int root_fd, const char *path, struct edl_error *error)
{
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *folder =
        text_format("%.*s", slash != NULL ? (int)(slash + 1 - path) : 0, path);
    int fd = -1;
    int r = open_folder(root_fd, folder, &fd, error);

    return r < 0 ? r : fd;
}

int fetch_file_open(const struct fetch_target *target, const char *folder,
                    const struct file_entry *entry, struct fetch_file *ret, struct edl_error *error)
{
    const char *slash = strrchr(entry->path, '/');
    const char *name = slash != NULL ? slash + 1 : entry->path;
    int r;

    *ret =
        (struct fetch_file){ .entry = *entry, .record = target->record, .folder_fd = -1, .fd = -1 };
    if (streq(name, FETCH_MARK))
        return edl_error_set(error, -EPERM, "it has the name of what edl fetch keeps there");
    if (strlen(name) + sizeof PART_SUFFIX > sizeof ret->part)
        return edl_error_set(error, -ENAMETOOLONG, "its name is too long for %s behind it",
                             PART_SUFFIX);
    (void)snprintf(ret->name, sizeof ret->name, "%.255s", name);
    (void)snprintf(ret->part, sizeof ret->part, "%.249s%s", name, PART_SUFFIX);
    ret->path = text_format("%s%s", folder, entry->path);
    ret->part_path = text_format("%s%s", ret->path, PART_SUFFIX);
    r = content_hash_new(&ret->hash, error);
    if (r == 0)
        ret->folder_fd = fetch_folder_below(target->root_fd, ret->path, error);
    if (r == 0)
        r = MIN_OF(ret->folder_fd, 0);
    if (r == 0)
        r = look_at_name(ret, target->replace, error);
    if (r == 0 && !ret->there)
        r = open_part(ret, target->replace, error);
    if (r < 0)
        fetch_file_close(ret);
    return r;
}

/* ---- what comes ---- */

static ssize_t on_write(void *userdata, const char *data, size_t size)
{
    struct fetch_file *file = userdata;
    size_t done = 0;

    if (size > file->entry.bytes - file->bytes) { /* more than was asked for */
        file->failure = -EFBIG;
        return 0;
    }
    while (done < size) {
        ssize_t n = pwrite(file->fd, data + done, size - done, (off_t)file->bytes);

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1) {
            file->failure = -errno;
            return 0;
        }
        content_hash_add(file->hash, data + done, (size_t)n);
        done += (size_t)n;
        file->bytes += (uint64_t)n;
    }
    if (file->on_bytes != NULL)
        file->on_bytes(size, file->userdata);
    return (ssize_t)size;
}

FILE *fetch_file_stream(struct fetch_file *file)
{
    FILE *stream = fopencookie(file, "w", (cookie_io_functions_t){ .write = on_write });

    if (stream == NULL)
        abort();
    return stream;
}

int fetch_file_restart(struct fetch_file *file, struct edl_error *error)
{
    char sha256[WORKSPACE_HEX + 1];

    content_hash_end(file->hash, sha256); /* begins anew */
    file->bytes = 0;
    file->failure = 0;
    return ftruncate(file->fd, 0) == -1
               ? edl_error_errno(error, -errno, "cannot begin %s anew", file->part)
               : 0;
}

static void take_times(const struct fetch_file *file)
{
    const struct timespec mtime = { .tv_sec = (time_t)(file->entry.mtime_us / USEC_PER_SEC),
                                    .tv_nsec = (long)(file->entry.mtime_us % USEC_PER_SEC) * 1000 };
    const struct timespec times[] = { mtime, mtime };

    (void)fchmod(file->fd, mode_of(&file->entry));
    (void)futimens(file->fd, times);
}

static int refuse_part(const struct fetch_file *file, struct edl_error *error)
{
    (void)edl_error_set(error, -EAGAIN, "it broke off behind %llu of %llu bytes",
                        (unsigned long long)file->bytes, (unsigned long long)file->entry.bytes);
    return edl_error_remedy(error, "%s is kept; the same command goes on", file->part);
}

bool fetch_file_is_whole(const struct fetch_file *file)
{
    return file->bytes >= file->entry.bytes;
}

int fetch_file_finish(struct fetch_file *file, struct edl_error *error)
{
    char sha256[WORKSPACE_HEX + 1];
    struct stat st;
    int r;

    if (!fetch_file_is_whole(file))
        return refuse_part(file, error);
    content_hash_end(file->hash, sha256);
    if (!streq(sha256, file->entry.sha256))
        return edl_error_set(error, -EBADMSG, "its checksum is not the one that was listed");
    take_times(file);
    if (fsync(file->fd) == -1)
        return edl_error_errno(error, -errno, "cannot write %s", file->part);
    if (fstat(file->fd, &st) == -1)
        return edl_error_errno(error, -errno, "cannot look at %s", file->part);
    r = fetch_record_file(file->record, file->path, &st, error);
    if (r < 0)
        return r;
    if (renameat(file->folder_fd, file->part, file->folder_fd, file->name) == -1)
        return edl_error_errno(error, -errno, "cannot give %s its name", file->name);
    return 0;
}

void fetch_file_close(struct fetch_file *file)
{
    file->fd = safe_close(file->fd);
    file->folder_fd = safe_close(file->folder_fd);
    file->hash = content_hash_free(file->hash);
    free(file->path);
    free(file->part_path);
    file->path = file->part_path = NULL;
}
