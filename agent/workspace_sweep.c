/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_sweep.c - removes the copies of workspaces that no process needs any more
 *
 * Level-triggered: what is there is compared with what is needed, so that nothing is lost track of
 * when an agent or a sweep dies half way. A folder that is too deep is moved to the top under a
 * name that belongs to nobody, and is removed by the next pass. */
#include "agent/workspace_sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/process_id.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define ARCHIVE_SUFFIX ".archive"
#define DEPTH_MAX 64 /* descriptors and stack frames */
#define NAME_BYTES 256

struct sweep {
    int copies_fd, processes_fd;
    uint64_t n_deep;
    size_t removed;
    struct edl_error *error; /* the last failure */
};

/* A folder that is one: no link, and on the same mount. */
static int open_folder(int parent_fd, const char *name)
{
    struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
                            .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV };
    int fd = (int)syscall(SYS_openat2, parent_fd, name, &how, sizeof how);

    if (fd != -1 || errno != EACCES || geteuid() == 0)
        return fd != -1 ? fd : -errno;
    /* its process, which was ours, took our rights away */
    if (fchmodat(parent_fd, name, 0700, 0) == -1)
        return -errno;
    fd = (int)syscall(SYS_openat2, parent_fd, name, &how, sizeof how);
    return fd != -1 ? fd : -errno;
}

static int remove_below(struct sweep *s, int fd, int depth);

static int remove_one(struct sweep *s, int parent_fd, const char *name, int depth)
{
    int fd, r;

    if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return edl_error_errno(s->error, -errno, "cannot remove %s", name);
    if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0)
        return 0;
    if (depth == DEPTH_MAX) {
        char aside[40];

        (void)snprintf(aside, sizeof aside, ".deep.%ld.%llu", (long)getpid(),
                       (unsigned long long)s->n_deep++);
        if (renameat(parent_fd, name, s->copies_fd, aside) == -1)
            return edl_error_errno(s->error, -errno, "cannot move %s", name);
        return 0;
    }
    fd = open_folder(parent_fd, name);
    if (fd == -ENOENT) /* another sweep was faster */
        return 0;
    if (fd < 0)
        return edl_error_errno(s->error, fd, "cannot open %s", name);
    r = remove_below(s, fd, depth + 1);
    if (r == 0 && unlinkat(parent_fd, name, AT_REMOVEDIR) == -1 && errno != ENOENT)
        r = edl_error_errno(s->error, -errno, "cannot remove %s", name);
    return r;
}

/* Takes fd. */
static int remove_below(struct sweep *s, int fd, int depth)
{
    _cleanup_closedir_ DIR *folder = fdopendir(fd);
    const struct dirent *entry;
    int result = 0;

    if (folder == NULL) {
        (void)safe_close(fd);
        return edl_error_errno(s->error, -errno, "cannot read a folder");
    }
    if (fchmod(fd, 0700) == -1)
        return edl_error_errno(s->error, -errno, "cannot change a folder");
    while ((entry = readdir(folder)) != NULL) {
        int r;

        if (streq(entry->d_name, ".") || streq(entry->d_name, ".."))
            continue;
        r = remove_one(s, fd, entry->d_name, depth);
        result = r < 0 ? r : result;
    }
    return result;
}

static bool is_needed(const struct sweep *s, const char *name)
{
    char key[NAME_BYTES];
    struct process_id id;
    size_t n = strlen(name), suffix = sizeof ARCHIVE_SUFFIX - 1;

    if (n >= sizeof key)
        return false;
    (void)snprintf(key, sizeof key, "%s", name);
    if (n > suffix && streq(key + n - suffix, ARCHIVE_SUFFIX))
        key[n - suffix] = '\0';
    return process_id_parse(key, &id) == 0 && faccessat(s->processes_fd, key, F_OK, 0) == 0;
}

/* One look at all there is; true when something was moved to the top meanwhile. */
static bool pass(struct sweep *s, int *ret_result)
{
    _cleanup_closedir_ DIR *folder = NULL;
    const struct dirent *entry;
    uint64_t n_deep = s->n_deep;
    int fd = openat(s->copies_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    folder = fd != -1 ? fdopendir(fd) : NULL;
    if (folder == NULL) {
        *ret_result = edl_error_errno(s->error, -errno, "cannot read the copies of workspaces");
        (void)safe_close(fd);
        return false;
    }
    while ((entry = readdir(folder)) != NULL) {
        int r;

        if (streq(entry->d_name, ".") || streq(entry->d_name, "..") || is_needed(s, entry->d_name))
            continue;
        r = remove_one(s, s->copies_fd, entry->d_name, 0);
        *ret_result = r < 0 ? r : *ret_result;
        s->removed += r == 0;
    }
    return s->n_deep > n_deep;
}

int workspace_sweep(const char *copies_dir, const char *processes_dir, size_t *ret_removed,
                    struct edl_error *error)
{
    _cleanup_close_ int copies_fd = open(copies_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int processes_fd = open(processes_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct sweep s = { .copies_fd = copies_fd, .processes_fd = processes_fd, .error = error };
    int result = 0;

    if (copies_fd == -1 || processes_fd == -1)
        return edl_error_errno(error, -errno, "cannot open %s",
                               copies_fd == -1 ? copies_dir : processes_dir);
    while (pass(&s, &result))
        ;
    *ret_removed = s.removed;
    return result;
}
