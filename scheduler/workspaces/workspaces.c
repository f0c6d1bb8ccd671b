/* SPDX-License-Identifier: Apache-2.0 */
/* workspaces.c - archives of workspaces in the state directory, each under its SHA-256 */
#include "scheduler/workspaces/workspace_rows.h"
#include "scheduler/workspaces/workspaces_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define RESERVE_LEAST_BYTES ((uint64_t)1 << 30)
#define CLOSING_MAX 64 /* descriptors */

/* A file without a name, whose blocks are freed when it is closed: of a large one that takes. */
struct closing {
    struct worker_job job; /* first */
    struct workspaces *workspaces;
    int fd;
};

struct workspace *workspaces_find(const struct workspaces *workspaces, const char *sha256)
{
    struct workspace *found;

    HASH_FIND_STR(workspaces->all, sha256, found);
    return found;
}

struct workspace *workspaces_insert(struct workspaces *workspaces, const char *sha256,
                                    uint64_t bytes, uint64_t wall_us)
{
    struct workspace *workspace = xcalloc(1, sizeof *workspace);

    (void)snprintf(workspace->sha256, sizeof workspace->sha256, "%s", sha256);
    workspace->bytes = bytes;
    workspace->used_wall_us = wall_us;
    HASH_ADD_STR(workspaces->all, sha256, workspace);
    return workspace;
}

bool workspace_is_of(const struct workspace *workspace, const char *user)
{
    size_t size = strlen(user);
    const char *name = workspace->owners != NULL ? workspace->owners : "";

    while (*name != '\0') {
        size_t length = strcspn(name, "\n");

        if (length == size && size > 0 && memcmp(name, user, size) == 0)
            return true;
        name += length + (name[length] == '\n');
    }
    return false;
}

void workspace_give(struct workspace *workspace, const char *user)
{
    const char *before = workspace->owners != NULL ? workspace->owners : "";
    size_t more = strlen(user), kept;
    char *owners;

    if (more == 0 || workspace_is_of(workspace, user))
        return;
    while (strlen(before) + more + 1 > WORKSPACE_OWNERS_BYTES_MAX)
        before += strcspn(before, "\n") + 1;
    kept = strlen(before);
    owners = xcalloc(kept + more + 2, 1);
    memcpy(owners, before, kept);
    memcpy(owners + kept, user, more);
    owners[kept + more] = '\n';
    free(workspace->owners);
    workspace->owners = owners;
}

/* An earlier scheduler wrote the sender alone. */
static void read_people(const struct workspaces *workspaces, struct workspace *workspace)
{
    _cleanup_close_ int fd =
        openat(workspaces->dir_fd, workspace->sha256, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char owners[WORKSPACE_OWNERS_BYTES_MAX + 1];
    ssize_t n =
        fgetxattr(fd, WORKSPACE_SENDER_ATTRIBUTE, workspace->sender, sizeof workspace->sender - 1);

    workspace->sender[n > 0 ? n : 0] = '\0';
    n = fgetxattr(fd, WORKSPACE_OWNERS_ATTRIBUTE, owners, sizeof owners - 1);
    owners[n > 0 ? n : 0] = '\0';
    if (n > 0)
        workspace->owners = xstrdup(owners);
    else
        workspace_give(workspace, workspace->sender);
}

static void forget(struct workspaces *workspaces, struct workspace *workspace)
{
    HASH_DEL(workspaces->all, workspace);
    workspaces->bytes -= workspace->bytes;
    free(workspace->owners);
    free(workspace);
}

/* An upload that was cut off has another name. */
static void load_one(struct workspaces *workspaces, const char *name)
{
    struct stat st;

    if (fstatat(workspaces->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return;
    if (!workspace_hex_valid(name) || !S_ISREG(st.st_mode)) {
        (void)unlinkat(workspaces->dir_fd, name, 0);
        return;
    }
    read_people(workspaces, workspaces_insert(workspaces, name, (uint64_t)st.st_size,
                                              (uint64_t)st.st_mtim.tv_sec * USEC_PER_SEC));
    workspaces->bytes += (uint64_t)st.st_size;
}

int workspaces_open(sd_event *event, const char *path, const struct workspace_limits *limits,
                    struct workspaces *ret, struct edl_error *error)
{
    struct workspaces workspaces = { .limits = *limits };
    _cleanup_closedir_ DIR *folder = NULL;
    const struct dirent *entry;
    int r;

    if (mkdir(path, 0700) == -1 && errno != EEXIST && errno != EROFS && errno != ENOSPC)
        return edl_error_errno(error, -errno, "making %s", path);
    workspaces.dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    folder = workspaces.dir_fd != -1 ? opendir(path) : NULL;
    if (folder == NULL && errno != ENOENT) { /* there is no room for a folder: none is in it */
        (void)safe_close(workspaces.dir_fd);
        return edl_error_errno(error, -errno, "opening %s", path);
    }
    workspaces.path = xstrdup(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (!streq(entry->d_name, ".") && !streq(entry->d_name, ".."))
            load_one(&workspaces, entry->d_name);
    r = worker_new(event, "edl-disk", &workspaces.worker, error);
    *ret = workspaces;
    if (r < 0)
        workspaces_close(ret);
    return r;
}

int workspaces_make_folder(struct workspaces *workspaces, struct edl_error *error)
{
    if (workspaces->dir_fd != -1)
        return 0;
    if (mkdir(workspaces->path, 0700) == 0 || errno == EEXIST)
        workspaces->dir_fd = open(workspaces->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return workspaces->dir_fd != -1 ? 0
                                    : edl_error_errno(error, -errno, "making %s", workspaces->path);
}

void workspaces_close(struct workspaces *workspaces)
{
    workspaces->rows = workspace_rows_free(workspaces->rows);
    workspaces->worker = worker_free(workspaces->worker);
    while (workspaces->all != NULL)
        forget(workspaces, workspaces->all);
    workspaces->dir_fd = safe_close(workspaces->dir_fd);
    free(workspaces->path);
    workspaces->path = NULL;
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

static void run_close(struct worker_job *job)
{
    struct closing *closing = (struct closing *)job;

    closing->fd = safe_close(closing->fd);
}

static void on_closed(struct worker_job *job)
{
    struct closing *closing = (struct closing *)job;

    closing->workspaces->n_closing--;
    free(closing);
}

int workspaces_unlink(struct workspaces *workspaces, const char *name)
{
    struct closing *closing;
    int fd = -1;

    if (workspaces->n_closing < CLOSING_MAX)
        fd = openat(workspaces->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (unlinkat(workspaces->dir_fd, name, 0) == -1) {
        int r = -errno;

        (void)safe_close(fd);
        return r;
    }
    if (fd == -1)
        return 0;
    closing = xcalloc(1, sizeof *closing);
    *closing = (struct closing){ { .run = run_close, .done = on_closed }, workspaces, fd };
    workspaces->n_closing++;
    worker_start(workspaces->worker, &closing->job);
    return 0;
}

void workspaces_forget(struct workspaces *workspaces, struct workspace *workspace)
{
    if (!workspace->far)
        (void)workspaces_unlink(workspaces, workspace->sha256);
    forget(workspaces, workspace);
}

size_t workspaces_sweep(struct workspaces *workspaces, const char *sender, uint64_t before_wall_us)
{
    struct workspace *workspace, *next;
    size_t n = 0;
    int r;

    HASH_ITER(hh, workspaces->all, workspace, next)
    {
        if (workspace->needed || workspace->used_wall_us >= before_wall_us ||
            (sender != NULL && !streq(workspace->sender, sender)) ||
            workspaces_is_stored_now(workspaces, workspace->sha256))
            continue;
        r = workspaces_unlink(workspaces, workspace->sha256);
        if (r < 0 && r != -ENOENT)
            continue;
        if (workspaces->rows != NULL)
            workspace_rows_remove(workspaces->rows, workspace->sha256);
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
        return edl_error_remedy(
            error, "send less; an archive that no job needs goes after ten minutes, and"
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

/* Uploads on their way count, too: many at once are no way round the quota. */
static uint64_t idle_bytes(const struct workspaces *workspaces, const char *sender)
{
    const struct workspace *workspace;
    uint64_t bytes = workspaces_coming_bytes(workspaces, sender);

    for (workspace = workspaces->all; workspace != NULL; workspace = workspace->hh.next)
        if (!workspace->needed && streq(workspace->sender, sender))
            bytes += MAX_OF(workspace->bytes, (uint64_t)WORKSPACE_COST_LEAST_BYTES);
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
    return edl_error_remedy(error, "submit the jobs that need them; one that no job needs goes ten "
                                   "minutes after it was sent, and edl-scheduler "
                                   "--max-user-workspaces sets the room");
}
