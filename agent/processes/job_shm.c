/* SPDX-License-Identifier: Apache-2.0 */
/* job_shm.c - see job_shm.h
 *
 * The lock of BASE/edl is held while a folder is made or taken out of use, never while files are
 * removed: a folder that nobody may enter any more gets another name first. */
#include "agent/processes/job_shm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/workspace/workspace_sweep.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define ROOT_NAME "edl"
#define TRIES 8
#define GONE "gone-"
#define LOOK_AFTER_S 10 /* between looks for what killed supervisors left */
#define LOOKED ".looked"
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static void gone_name(char ret[static 32])
{
    uint64_t number = 0;

    (void)!getrandom(&number, sizeof number, 0);
    (void)snprintf(ret, 32, GONE "%016" PRIx64, number);
}

/* is_ours - anybody may make a folder in BASE, of any name */
static bool is_ours(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_uid == geteuid();
}

/* open_root - BASE/edl, locked; what another account put there gets another name */
static int open_root(const char *base, int *ret, struct edl_error *error)
{
    _cleanup_close_ int base_fd = open(base, FOLDER_FLAGS), fd = -1;
    char name[32];

    if (base_fd == -1)
        return edl_error_errno(error, -errno, "cannot open %s", base);
    for (int i = 0; i < TRIES; i++) {
        if (mkdirat(base_fd, ROOT_NAME, 0711) == -1 && errno != EEXIST)
            return edl_error_errno(error, -errno, "cannot make %s/" ROOT_NAME, base);
        fd = openat(base_fd, ROOT_NAME, FOLDER_FLAGS);
        if (fd >= 0 && is_ours(fd)) {
            if (fchmod(fd, 0711) == -1 || flock(fd, LOCK_EX) == -1)
                return edl_error_errno(error, -errno, "cannot lock %s/" ROOT_NAME, base);
            *ret = TAKE_FD(fd);
            return 0;
        }
        fd = safe_close(fd);
        gone_name(name);
        (void)renameat(base_fd, ROOT_NAME, base_fd, name);
    }
    return edl_error_set(error, -EBUSY, "%s/" ROOT_NAME " is somebody else's, again and again",
                         base);
}

/* take_out - gives the folder another name, so that no supervisor enters it any more; remove_gone
 * removes its files. The root is locked. */
static bool take_out(int root_fd, const char *name, int fd)
{
    char gone[32];

    gone_name(gone);
    return flock(fd, LOCK_EX | LOCK_NB) == 0 && renameat(root_fd, name, root_fd, gone) == 0;
}

/* is_due - whether nobody has looked lately for what killed supervisors left; notes that we do */
static bool is_due(int root_fd)
{
    struct stat st;
    _cleanup_close_ int fd = -1;
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (fstatat(root_fd, LOOKED, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime <= now.tv_sec &&
        now.tv_sec - st.st_mtime < LOOK_AFTER_S)
        return false;
    fd = openat(root_fd, LOOKED, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    (void)futimens(fd, NULL);
    return true;
}

/* each_folder - calls one for each folder of the root, of which the name begins so or does not */
static void each_folder(int root_fd, bool gone, void (*one)(int root_fd, const char *name))
{
    _cleanup_closedir_ DIR *folders = NULL;
    const struct dirent *entry;
    int fd = openat(root_fd, ".", FOLDER_FLAGS);

    folders = fd >= 0 ? fdopendir(fd) : NULL;
    if (folders == NULL)
        (void)safe_close(fd);
    while (folders != NULL && (entry = readdir(folders)) != NULL)
        if (entry->d_name[0] != '.' && (strncmp(entry->d_name, GONE, strlen(GONE)) == 0) == gone)
            one(root_fd, entry->d_name);
}

static void remove_gone(int root_fd, const char *name)
{
    struct edl_error error = { 0 };

    if (workspace_remove(root_fd, name, &error) < 0)
        (void)log_failure(&error, "shared memory of a job that is over");
}

/* take_out_unused - a folder of this name that no supervisor holds: one that was killed left it, or
 * a job of another cluster had the same number. The root is locked. */
static void take_out_unused(int root_fd, const char *name)
{
    _cleanup_close_ int fd = openat(root_fd, name, FOLDER_FLAGS);

    if (fd >= 0)
        (void)take_out(root_fd, name, fd);
}

static int open_job(struct job_shm *shm, const char *name, uid_t uid, gid_t gid,
                    struct edl_error *error)
{
    struct stat st;
    bool made;

    take_out_unused(shm->root_fd, name);
    made = mkdirat(shm->root_fd, name, 0700) == 0;
    if (!made && errno != EEXIST)
        return edl_error_errno(error, -errno, "cannot make %s", shm->path);
    shm->fd = openat(shm->root_fd, name, FOLDER_FLAGS);
    if (shm->fd == -1 || (made && fchown(shm->fd, uid, gid) == -1) ||
        flock(shm->fd, LOCK_SH | LOCK_NB) == -1 || fstat(shm->fd, &st) == -1)
        return edl_error_errno(error, -errno, "cannot take %s", shm->path);
    if (st.st_uid != uid)
        return edl_error_set(error, -EEXIST, "%s is another account's", shm->path);
    return 0;
}

static void close_all(struct job_shm *shm)
{
    shm->fd = safe_close(shm->fd);
    shm->root_fd = safe_close(shm->root_fd); /* and with it the lock */
    shm->path[0] = '\0';
}

int job_shm_enter(const char *base, const char *processes_dir, uint64_t job_id, uid_t uid,
                  gid_t gid, struct job_shm *ret, struct edl_error *error)
{
    struct stat st;
    const char *name;
    bool due;
    int r;

    *ret = (struct job_shm){ .root_fd = -1, .fd = -1 };
    if (stat(processes_dir, &st) == -1)
        return edl_error_errno(error, -errno, "cannot look at %s", processes_dir);
    r = open_root(base, &ret->root_fd, error);
    if (r < 0)
        return r;
    (void)snprintf(ret->base, sizeof ret->base, "%s", base);
    (void)snprintf(ret->path, sizeof ret->path, "%s/" ROOT_NAME "/%" PRIu64 ".%jx.%jx", base,
                   job_id, (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    name = strrchr(ret->path, '/') + 1;
    due = is_due(ret->root_fd);
    if (due)
        each_folder(ret->root_fd, false, take_out_unused);
    r = open_job(ret, name, uid, gid, error);
    (void)flock(ret->root_fd, LOCK_UN);
    if (due)
        each_folder(ret->root_fd, true, remove_gone);
    if (r < 0)
        close_all(ret);
    return r;
}

void job_shm_leave(struct job_shm *shm)
{
    bool last, due;

    if (shm->path[0] == '\0')
        return;
    if (flock(shm->root_fd, LOCK_EX) == 0) {
        last = take_out(shm->root_fd, strrchr(shm->path, '/') + 1, shm->fd);
        due = last && is_due(shm->root_fd);
        if (due)
            each_folder(shm->root_fd, false, take_out_unused);
        (void)flock(shm->root_fd, LOCK_UN);
        if (last)
            each_folder(shm->root_fd, true, remove_gone);
    }
    close_all(shm);
}
