/* SPDX-License-Identifier: Apache-2.0 */
/* workspaces.c - archives of workspaces in the state directory, each under its SHA-256 */
#include "scheduler/workspaces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utlist.h>

#include "shared/cleanup.h"
#include "shared/content_hash.h"
#include "shared/error.h"
#include "shared/macro.h"

#define SYNC_BYTES ((uint64_t)1 << 20)
#define SENDER_ATTRIBUTE "user.edl.sender"
#define RESERVE_LEAST_BYTES ((uint64_t)1 << 30)
#define COST_LEAST_BYTES 65536 /* of a quota: what a file costs however little is in it */

struct workspace_upload {
    struct workspaces *workspaces; /* borrowed */
    char sha256[WORKSPACE_HEX + 1];
    char sender[WORKSPACE_SENDER_MAX + 1];
    char name[40]; /* while it is not whole; "" afterwards */
    struct content_hash *hash;
    uint64_t bytes;
    uint64_t unsynced_bytes;
    int fd;
    struct workspace_upload *prev, *next; /* workspaces->uploads */
};

struct workspace *workspaces_find(const struct workspaces *workspaces, const char *sha256)
{
    struct workspace *found;

    HASH_FIND_STR(workspaces->all, sha256, found);
    return found;
}

static struct workspace *insert(struct workspaces *workspaces, const char *sha256, uint64_t bytes,
                                uint64_t wall_us)
{
    struct workspace *workspace = xcalloc(1, sizeof *workspace);

    (void)snprintf(workspace->sha256, sizeof workspace->sha256, "%s", sha256);
    workspace->bytes = bytes;
    workspace->used_wall_us = wall_us;
    HASH_ADD_STR(workspaces->all, sha256, workspace);
    return workspace;
}

static void read_sender(const struct workspaces *workspaces, struct workspace *workspace)
{
    _cleanup_close_ int fd =
        openat(workspaces->dir_fd, workspace->sha256, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fgetxattr(fd, SENDER_ATTRIBUTE, workspace->sender, sizeof workspace->sender - 1);

    workspace->sender[n > 0 ? n : 0] = '\0';
}

static void forget(struct workspaces *workspaces, struct workspace *workspace)
{
    HASH_DEL(workspaces->all, workspace);
    workspaces->bytes -= workspace->bytes;
    free(workspace);
}

/* An upload that was cut off has another name, whatever it is. */
static void load_one(struct workspaces *workspaces, const char *name)
{
    struct stat st;

    if (fstatat(workspaces->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return;
    if (!workspace_hex_valid(name) || !S_ISREG(st.st_mode)) {
        (void)unlinkat(workspaces->dir_fd, name, 0);
        return;
    }
    read_sender(workspaces, insert(workspaces, name, (uint64_t)st.st_size,
                                   (uint64_t)st.st_mtim.tv_sec * USEC_PER_SEC));
    workspaces->bytes += (uint64_t)st.st_size;
}

int workspaces_open(const char *path, const struct workspace_limits *limits, struct workspaces *ret,
                    struct edl_error *error)
{
    struct workspaces workspaces = { .limits = *limits };
    _cleanup_closedir_ DIR *folder = NULL;
    const struct dirent *entry;

    if (mkdir(path, 0700) == -1 && errno != EEXIST && errno != EROFS && errno != ENOSPC)
        return edl_error_errno(error, -errno, "making %s", path);
    workspaces.dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    folder = workspaces.dir_fd != -1 ? opendir(path) : NULL;
    if (folder == NULL && errno != ENOENT) { /* there is no room for a folder: none is in it */
        (void)safe_close(workspaces.dir_fd);
        return edl_error_errno(error, -errno, "opening %s", path);
    }
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (!streq(entry->d_name, ".") && !streq(entry->d_name, ".."))
            load_one(&workspaces, entry->d_name);
    *ret = workspaces;
    return 0;
}

void workspaces_close(struct workspaces *workspaces)
{
    while (workspaces->all != NULL)
        forget(workspaces, workspaces->all);
    workspaces->dir_fd = safe_close(workspaces->dir_fd);
}

void workspaces_use(struct workspaces *workspaces, struct workspace *workspace, uint64_t wall_us)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
                                       { .tv_sec = (time_t)(wall_us / USEC_PER_SEC) } };

    workspace->used_wall_us = wall_us;
    /* when it cannot be written it goes a little early, after a restart */
    (void)utimensat(workspaces->dir_fd, workspace->sha256, times, AT_SYMLINK_NOFOLLOW);
}

int workspaces_file(const struct workspaces *workspaces, const struct workspace *workspace,
                    struct edl_error *error)
{
    int fd = openat(workspaces->dir_fd, workspace->sha256, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    return fd != -1 ? fd : edl_error_errno(error, -errno, "the archive %s", workspace->sha256);
}

size_t workspaces_sweep(struct workspaces *workspaces, const char *sender, uint64_t before_wall_us)
{
    struct workspace *workspace, *next;
    size_t n = 0;

    HASH_ITER(hh, workspaces->all, workspace, next)
    {
        if (workspace->needed || workspace->used_wall_us >= before_wall_us ||
            (sender != NULL && !streq(workspace->sender, sender)))
            continue;
        if (unlinkat(workspaces->dir_fd, workspace->sha256, 0) == -1 && errno != ENOENT)
            continue;
        forget(workspaces, workspace);
        n++;
    }
    return n;
}

/* ---- room ---- */

int workspaces_check_disk(const struct workspaces *workspaces, uint64_t bytes,
                          struct edl_error *error)
{
    const struct workspace_limits *limits = &workspaces->limits;
    uint64_t reserve_bytes = limits->reserve_bytes;
    uint64_t free_bytes, all_bytes;
    struct statvfs disk;

    if (workspaces->bytes > limits->max_bytes || bytes > limits->max_bytes - workspaces->bytes) {
        (void)edl_error_set(error, -ENOSPC,
                            "there is no room for the archive: workspaces may take %llu bytes",
                            (unsigned long long)limits->max_bytes);
        return edl_error_remedy(error, "send less; what no job needs goes after ten minutes, and"
                                       " edl-scheduler --max-workspaces sets the room");
    }
    if (fstatvfs(workspaces->dir_fd, &disk) == -1)
        return edl_error_errno(error, -errno, "asking for the room for archives");
    free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    all_bytes = (uint64_t)disk.f_blocks * disk.f_frsize;
    if (reserve_bytes == WORKSPACE_RESERVE_AUTO)
        reserve_bytes = MIN_OF(MAX_OF(all_bytes / 20, RESERVE_LEAST_BYTES), all_bytes / 4);
    if (free_bytes >= reserve_bytes && bytes <= free_bytes - reserve_bytes)
        return 0;
    (void)edl_error_set(error, -ENOSPC,
                        "there is no room for the archive: %llu bytes are free on the scheduler's "
                        "disk, and %llu of them are kept for its database",
                        (unsigned long long)free_bytes, (unsigned long long)reserve_bytes);
    return edl_error_remedy(error, "send less, or make room there; edl-scheduler --keep-free sets "
                                   "how much is kept");
}

/* What is on its way counts, too: many uploads at once are no way round the quota. */
static uint64_t idle_bytes(const struct workspaces *workspaces, const char *sender)
{
    const struct workspace *workspace;
    const struct workspace_upload *upload;
    uint64_t bytes = 0;

    for (workspace = workspaces->all; workspace != NULL; workspace = workspace->hh.next)
        if (!workspace->needed && streq(workspace->sender, sender))
            bytes += MAX_OF(workspace->bytes, (uint64_t)COST_LEAST_BYTES);
    DL_FOREACH(workspaces->uploads, upload)
    if (streq(upload->sender, sender))
        bytes += MAX_OF(upload->bytes, (uint64_t)COST_LEAST_BYTES);
    return bytes;
}

int workspaces_check_sender(const struct workspaces *workspaces, const char *sender, uint64_t bytes,
                            struct edl_error *error)
{
    uint64_t max_bytes = workspaces->limits.sender_bytes;
    uint64_t held_bytes;

    if (sender[0] == '\0' || max_bytes == 0)
        return 0;
    held_bytes = idle_bytes(workspaces, sender);
    if (held_bytes <= max_bytes && bytes <= max_bytes - held_bytes)
        return 0;
    (void)edl_error_set(error, -EDQUOT,
                        "workspaces that %s has sent and no job needs take %llu bytes of %llu",
                        sender, (unsigned long long)held_bytes, (unsigned long long)max_bytes);
    return edl_error_remedy(error, "submit the jobs that need them; what no job needs goes ten "
                                   "minutes after it was sent, and edl-scheduler "
                                   "--max-user-workspaces sets the room");
}

/* ---- uploads ---- */

int workspace_upload_new(struct workspaces *workspaces, const char *sha256, const char *sender,
                         uint64_t bytes, struct workspace_upload **ret, struct edl_error *error)
{
    struct workspace_upload *upload = xcalloc(1, sizeof *upload);
    int r = content_hash_new(&upload->hash, error);

    if (r == 0)
        r = workspaces_check_disk(workspaces, bytes, error);
    if (r == 0)
        r = workspaces_check_sender(workspaces, sender, MAX_OF(bytes, (uint64_t)COST_LEAST_BYTES),
                                    error);
    upload->workspaces = workspaces;
    upload->fd = -1;
    (void)snprintf(upload->sha256, sizeof upload->sha256, "%s", sha256);
    (void)snprintf(upload->sender, sizeof upload->sender, "%s", sender);
    DL_APPEND(workspaces->uploads, upload);
    if (r == 0) {
        (void)snprintf(upload->name, sizeof upload->name, ".new.%llu",
                       (unsigned long long)workspaces->n_uploads++);
        upload->fd = openat(workspaces->dir_fd, upload->name,
                            O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (upload->fd == -1)
            r = edl_error_errno(error, -errno, "making a file for the archive");
    }
    if (r < 0) {
        (void)workspace_upload_free(upload);
        return r;
    }
    *ret = upload;
    return 0;
}

static int write_all(int fd, const char *data, size_t size, struct edl_error *error)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return edl_error_errno(error, -errno, "writing the archive");
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

int workspace_upload_add(struct workspace_upload *upload, const void *data, size_t size,
                         struct edl_error *error)
{
    struct workspaces *workspaces = upload->workspaces;

    if (workspaces_check_disk(workspaces, size, error) < 0)
        return error->code;
    workspaces->bytes += size;
    upload->bytes += size;
    upload->unsynced_bytes += size;
    content_hash_add(upload->hash, data, size);
    if (write_all(upload->fd, data, size, error) < 0)
        return error->code;
    if (upload->unsynced_bytes < SYNC_BYTES)
        return 0;
    upload->unsynced_bytes = 0;
    if (workspaces_check_sender(workspaces, upload->sender, 0, error) < 0)
        return error->code;
    return fdatasync(upload->fd) == 0 ? 0 : edl_error_errno(error, -errno, "writing the archive");
}

static int put(struct workspace_upload *upload, struct edl_error *error)
{
    int dir_fd = upload->workspaces->dir_fd;

    /* why: where there are no attributes it is known until the next start only */
    if (upload->sender[0] != '\0')
        (void)fsetxattr(upload->fd, SENDER_ATTRIBUTE, upload->sender, strlen(upload->sender), 0);
    if (fsync(upload->fd) == -1 || renameat(dir_fd, upload->name, dir_fd, upload->sha256) == -1)
        return edl_error_errno(error, -errno, "storing the archive");
    upload->name[0] = '\0';
    return fsync(dir_fd) == 0 ? 0 : edl_error_errno(error, -errno, "storing the archive");
}

int workspace_upload_finish(struct workspace_upload *upload, uint64_t wall_us,
                            struct workspace **ret, struct edl_error *error)
{
    struct workspaces *workspaces = upload->workspaces;
    struct workspace *workspace;
    char hex[WORKSPACE_HEX + 1];

    content_hash_end(upload->hash, hex);
    if (!streq(hex, upload->sha256)) {
        (void)edl_error_set(error, -EINVAL, "the SHA-256 of what was sent is %s", hex);
        return edl_error_remedy(error, "send it to the path with its own SHA-256");
    }
    if (put(upload, error) < 0)
        return error->code;
    workspace = workspaces_find(workspaces, hex); /* another upload of the same was faster */
    if (workspace == NULL) {
        workspace = insert(workspaces, hex, upload->bytes, wall_us);
        memcpy(workspace->sender, upload->sender, sizeof workspace->sender);
        upload->bytes = 0; /* they count for the workspace now */
    }
    workspaces_use(workspaces, workspace, wall_us);
    *ret = workspace;
    return 0;
}

struct workspace_upload *workspace_upload_free(struct workspace_upload *upload)
{
    if (upload == NULL)
        return NULL;
    DL_DELETE(upload->workspaces->uploads, upload);
    upload->workspaces->bytes -= upload->bytes;
    if (upload->name[0] != '\0')
        (void)unlinkat(upload->workspaces->dir_fd, upload->name, 0);
    (void)safe_close(upload->fd);
    (void)content_hash_free(upload->hash);
    free(upload);
    return NULL;
}
