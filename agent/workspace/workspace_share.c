/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_share.c - see workspace_share.h
 *
 * Two that come at the same time both unpack, each under a name of its own. The name of the folder
 * can be given once: the other one removes its own and uses what is there. The data is on the disk
 * before the folder has its name, so that a loss of power leaves a whole one or none.
 *
 * The folder holds the hash of its archive in a file. So the next job that names the folder does
 * not start in the program of another one. */
#include "agent/workspace/workspace_share.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/workspace/workspace_sweep.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/shared_folder.h"
#include "shared/workspace_unpack.h"

#define MARK_NAME ".edl-archive"
#define HASH_DIGITS 64

struct share {
    const char *sha256; /* borrowed; of the archive */
    const char *folder; /* borrowed; its last name: */
    const char *name;
    char *parent; /* owned */
    int parent_fd;
    char aside[NAME_MAX + 1]; /* where it is unpacked */
};

static int no_place(const struct share *share, int code, struct edl_error *error)
{
    if (code == -ENOENT || code == -ENOTDIR) {
        (void)edl_error_set(error, -ENOTDIR, "%s, where it belongs, is not there", share->parent);
        (void)edl_error_remedy(error, "make it on this node for that account, as edl deploy does");
        return -ENOTDIR;
    }
    (void)edl_error_set(error, -ENOTDIR, "%s, where it belongs, is closed to this account: %s",
                        share->parent, strerror(-code));
    (void)edl_error_remedy(error, "open it on this node to that account, as edl deploy does");
    return -ENOTDIR;
}

/* read_mark - the hash of the archive that was unpacked there; "": it does not tell one. The
 * account may have written anything there. */
static void read_mark(int folder_fd, char ret[HASH_DIGITS + 1])
{
    _cleanup_close_ int fd =
        openat(folder_fd, MARK_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n = fd != -1 ? read(fd, ret, HASH_DIGITS) : -1;

    ret[n > 0 ? n : 0] = '\0';
    if (strlen(ret) != HASH_DIGITS || strspn(ret, "0123456789abcdef") != HASH_DIGITS)
        ret[0] = '\0';
}

/* write_mark - with the time 0, as a file that no process of the job has written */
static int write_mark(int folder_fd, const char *sha256, struct edl_error *error)
{
    const struct timespec times[2] = { { 0 } };
    _cleanup_close_ int fd = -1;

    if (unlinkat(folder_fd, MARK_NAME, 0) == -1 && errno != ENOENT) /* one of the archive */
        return edl_error_errno(error, -errno, "cannot replace %s of the archive", MARK_NAME);
    fd = openat(folder_fd, MARK_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd == -1 || dprintf(fd, "%s\n", sha256) != HASH_DIGITS + 1 || futimens(fd, times) == -1)
        return edl_error_errno(error, -errno, "cannot write %s", MARK_NAME);
    return 0;
}

/* check_mark - a folder without a mark is of an agent of before, or its job removed the mark */
static int check_mark(const struct share *share, struct edl_error *error)
{
    _cleanup_close_ int fd =
        openat(share->parent_fd, share->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    char mark[HASH_DIGITS + 1];

    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot open %s", share->folder);
    read_mark(fd, mark);
    if (mark[0] == '\0' || streq(mark, share->sha256))
        return 0;
    (void)edl_error_set(error, -ENOTDIR, "%s is there and holds another archive, sha256:%.12s",
                        share->folder, mark);
    (void)edl_error_remedy(error, "name another workspace-folder, or remove it on this node");
    return -ENOTDIR;
}

/* What another made, and maybe who else: it is a folder of ours, or none to work in.
 * 1: it is there; 0: it is not */
static int look(const struct share *share, struct edl_error *error)
{
    struct stat st;

    if (fstatat(share->parent_fd, share->name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return errno == ENOENT ? 0 : no_place(share, -errno, error);
    if (S_ISDIR(st.st_mode) && st.st_uid == geteuid()) {
        int r = check_mark(share, error);

        return r < 0 ? r : 1;
    }
    (void)edl_error_set(error, -ENOTDIR, "%s is there and %s", share->folder,
                        S_ISDIR(st.st_mode) ? "belongs to another account" : "is no folder");
    (void)edl_error_remedy(error, "remove it on this node, or name another workspace-folder");
    return -ENOTDIR;
}

static int open_parent(struct share *share, struct edl_error *error)
{
    share->parent_fd = open(share->parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return share->parent_fd != -1 ? 0 : no_place(share, -errno, error);
}

static int unpack(const struct share *share, int archive_fd, struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    int r;

    if (mkdirat(share->parent_fd, share->aside, 0777) == -1)
        return errno == ENOSPC || errno == EDQUOT
                   ? edl_error_errno(error, -errno, "cannot make %s", share->folder)
                   : no_place(share, -errno, error);
    fd = openat(share->parent_fd, share->aside, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot open %s", share->aside);
    r = workspace_unpack(archive_fd, fd, share->sha256, &unpack_limits_default, error);
    if (r == 0)
        r = write_mark(fd, share->sha256, error);
    if (r == 0 && syncfs(fd) == -1)
        r = edl_error_errno(error, -errno, "cannot write %s to the disk", share->folder);
    return r;
}

/* 0: it has its name; -EEXIST: another was first */
static int give_name(const struct share *share, struct edl_error *error)
{
    int r =
        renameat2(share->parent_fd, share->aside, share->parent_fd, share->name, RENAME_NOREPLACE);

    if (r == -1 && (errno == EINVAL || errno == ENOSYS)) /* a file system that cannot */
        r = renameat(share->parent_fd, share->aside, share->parent_fd, share->name);
    if (r == 0)
        return 0;
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
        return -EEXIST;
    return edl_error_errno(error, -errno, "cannot give %s its name", share->folder);
}

static int make(const struct share *share, int archive_fd, struct edl_error *error)
{
    struct edl_error ignored;
    int r = workspace_remove(share->parent_fd, share->aside, error);

    if (r == 0)
        r = unpack(share, archive_fd, error);
    if (r == 0)
        r = give_name(share, error);
    if (r == 0)
        return 0;
    (void)workspace_remove(share->parent_fd, share->aside, &ignored);
    return r == -EEXIST ? look(share, error) : r;
}

int workspace_share(int archive_fd, const char *folder, const char *slot, const char *sha256,
                    struct edl_error *error)
{
    const char *wrong = shared_folder_wrong(folder);
    struct share share = { .sha256 = sha256, .folder = folder, .parent_fd = -1 };
    int n, r;

    if (wrong != NULL)
        return edl_error_set(error, -EINVAL, "%s: %s", folder, wrong);
    share.name = strrchr(folder, '/') + 1;
    n = snprintf(share.aside, sizeof share.aside, ".%s.edl-%s", share.name, slot);
    if (n < 0 || (size_t)n >= sizeof share.aside || strchr(slot, '/') != NULL)
        return edl_error_set(error, -EINVAL, "%.80s is no slot", slot);
    share.parent = text_format("%.*s", (int)MAX_OF(share.name - folder - 1, 1), folder);
    r = open_parent(&share, error);
    if (r == 0)
        r = look(&share, error);
    if (r == 0)
        r = make(&share, archive_fd, error);
    else if (r > 0) /* a restart of what was killed while another was first */
        (void)workspace_remove(share.parent_fd, share.aside, error);
    (void)safe_close(share.parent_fd);
    free(share.parent);
    return MIN_OF(r, 0);
}
