/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_sweep.c - removes the copies of workspaces that no process needs any more
 *
 * Level-triggered: the folders that exist are compared with those that are needed. So nothing is
 * lost track of when an agent or a sweep dies half way. A folder that is too deep is moved to the
 * top under a name that belongs to nobody, and is removed by the next pass. */
#include "agent/workspace/workspace_sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/process_id.h"
#include "agent/files/kept_outputs.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define ARCHIVE_SUFFIX ".archive"
#define ENDED_SUFFIX ".ended"
#define BLOCK_BYTES 512 /* stat(2) */
#define DEPTH_MAX 64    /* descriptors and stack frames */
#define NAME_BYTES 256

struct sweep {
    int copies_fd, processes_fd, work_fd; /* work_fd -1: none */
    const struct sweep_work *work;        /* borrowed */
    const struct kept_bounds *bounds;     /* borrowed */
    uint64_t n_deep;
    struct kept_output *kept; /* owned; copies without a process */
    size_t n_kept;
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

/* belongs_to - the process that an entry is of, and what of it: "", ".archive", ".ended"; false: of
 * none */
static bool belongs_to(const char *name, char key[NAME_BYTES], const char **ret_suffix)
{
    static const char *const suffixes[] = { ARCHIVE_SUFFIX, ENDED_SUFFIX };
    size_t n = strlen(name);
    struct process_id id;

    if (n >= NAME_BYTES)
        return false;
    (void)snprintf(key, NAME_BYTES, "%s", name);
    *ret_suffix = "";
    for (size_t i = 0; i < ELEMENTS(suffixes); i++) {
        size_t suffix = strlen(suffixes[i]);

        if (n > suffix && streq(key + n - suffix, suffixes[i])) {
            key[n - suffix] = '\0';
            *ret_suffix = suffixes[i];
            break;
        }
    }
    return process_id_parse(key, &id) == 0;
}

/* may_be_kept - a copy, or what is known of one that is there */
static bool may_be_kept(const struct sweep *s, const char *key, const char *suffix)
{
    struct stat st;

    return s->bounds->keep_us > 0 && !streq(suffix, ARCHIVE_SUFFIX) &&
           fstatat(s->copies_fd, key, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static void note_kept(struct sweep *s, const char *key, bool work)
{
    struct kept_output *kept;

    s->kept = xreallocarray(s->kept, s->n_kept + 1, sizeof *s->kept);
    kept = &s->kept[s->n_kept++];
    *kept = (struct kept_output){ .work = work };
    (void)snprintf(kept->name, sizeof kept->name, "%.*s", (int)sizeof kept->name - 1, key);
}

static bool is_needed(struct sweep *s, const char *name)
{
    char key[NAME_BYTES];
    const char *suffix;

    if (!belongs_to(name, key, &suffix))
        return false;
    if (faccessat(s->processes_fd, key, F_OK, 0) == 0)
        return true;
    if (!may_be_kept(s, key, suffix))
        return false;
    if (suffix[0] == '\0')
        note_kept(s, key, false);
    return true;
}

/* A folder that lies too deep moves to the top of the folder itself, for the next pass. */
int workspace_remove(int parent_fd, const char *name, struct edl_error *error)
{
    struct sweep s = { .processes_fd = -1, .error = error };

    if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    for (;;) {
        uint64_t n_deep = s.n_deep;
        _cleanup_close_ int fd = open_folder(parent_fd, name);
        int copy, r;

        if (fd < 0)
            return fd == -ENOENT ? 0 : edl_error_errno(error, fd, "cannot open %s", name);
        s.copies_fd = fd;
        copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        r = copy != -1 ? remove_below(&s, copy, 0)
                       : edl_error_errno(error, -errno, "cannot read a folder");
        if (r < 0)
            return r;
        if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return 0;
        if (s.n_deep == n_deep)
            return edl_error_errno(error, -errno, "cannot remove %s", name);
    }
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

/* ---- copies that are kept ---- */

/* size_below - what it takes on the disk; takes fd. What cannot be looked at counts as nothing. */
static uint64_t size_below(int fd, int depth)
{
    _cleanup_closedir_ DIR *folder = fdopendir(fd);
    const struct dirent *entry;
    uint64_t bytes = 0;

    if (folder == NULL) {
        (void)safe_close(fd);
        return 0;
    }
    while ((entry = readdir(folder)) != NULL) {
        struct stat st;
        int below;

        if (streq(entry->d_name, ".") || streq(entry->d_name, "..") ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1)
            continue;
        bytes += (uint64_t)st.st_blocks * BLOCK_BYTES;
        below = S_ISDIR(st.st_mode) && depth < DEPTH_MAX ? open_folder(fd, entry->d_name) : -1;
        if (below >= 0)
            bytes += size_below(below, depth + 1);
    }
    return bytes;
}

static int folder_of(const struct sweep *s, const struct kept_output *kept)
{
    return kept->work ? s->work_fd : s->copies_fd;
}

/* note_end - its process has ended before this sweep; the size does not change any more */
static int note_end(const struct sweep *s, int in_fd, const char *name, uint64_t bytes)
{
    _cleanup_close_ int fd =
        openat(in_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd == -1 || dprintf(fd, "%llu %llu\n", (unsigned long long)bytes,
                            (unsigned long long)s->bounds->now_us) < 0)
        return edl_error_errno(s->error, -errno, "cannot note the end of a process");
    return 0;
}

/* look_at - when it ended and how large it is, as noted by an earlier sweep, or now; a sweep of an
 * earlier version noted the wall clock, as the time of the file */
static int look_at(const struct sweep *s, struct kept_output *kept)
{
    _cleanup_close_ int fd = -1;
    char name[NAME_BYTES], text[48] = "";
    unsigned long long bytes, ended_us;
    struct stat st;
    int folder_fd, in_fd = folder_of(s, kept);

    if (fstatat(in_fd, kept->name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return 0; /* another sweep was faster */
    kept->owner = st.st_uid;
    (void)snprintf(name, sizeof name, "%s%s", kept->name, ENDED_SUFFIX);
    fd = openat(in_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd != -1 && fstat(fd, &st) == 0 && read(fd, text, sizeof text - 1) > 0) {
        int n = sscanf(text, "%llu %llu", &bytes, &ended_us);

        kept->ended_us = n == 2 ? ended_us : (uint64_t)st.st_mtim.tv_sec * USEC_PER_SEC;
        kept->bytes = n >= 1 ? bytes : 0;
        return 0;
    }
    (void)unlinkat(in_fd, name, 0); /* a sweep died over it */
    folder_fd = open_folder(in_fd, kept->name);
    kept->bytes = folder_fd >= 0 ? size_below(folder_fd, 0) : 0;
    kept->ended_us = s->bounds->now_us;
    return note_end(s, in_fd, name, kept->bytes);
}

static int remove_kept(struct sweep *s, const struct kept_output *kept)
{
    char name[NAME_BYTES];
    int in_fd = folder_of(s, kept);
    int r = remove_one(s, in_fd, kept->name, 0);

    if (r < 0)
        return r;
    (void)snprintf(name, sizeof name, "%s%s", kept->name, ENDED_SUFFIX);
    (void)unlinkat(in_fd, name, 0);
    s->removed++;
    return 0;
}

/* bound_kept - one that cannot be looked at goes by its age alone, at the next sweep */
static int bound_kept(struct sweep *s)
{
    struct statvfs vfs = { 0 };
    int result = 0;

    for (size_t i = 0; i < s->n_kept; i++)
        result = look_at(s, &s->kept[i]) < 0 ? s->error->code : result;
    (void)fstatvfs(s->copies_fd, &vfs);
    kept_outputs_choose(s->kept, s->n_kept, s->bounds, s->bounds->now_us,
                        (uint64_t)vfs.f_bavail * vfs.f_frsize);
    for (size_t i = 0; i < s->n_kept; i++) {
        int r = s->kept[i].goes ? remove_kept(s, &s->kept[i]) : 0;

        result = r < 0 ? r : result;
    }
    return result;
}

/* ---- private workspaces ---- */

/* is_over - a workspace "7-trainer-0" whose job is over; *key: of its processes but for their
 * incarnation, "7.trainer.0." */
static bool is_over(const struct sweep *s, const char *name, char key[NAME_BYTES])
{
    const char *role = strchr(name, '-'), *index = strrchr(name, '-');
    struct process_id id;
    int n;

    if (role == NULL || index == role)
        return false;
    n = snprintf(key, NAME_BYTES, "%.*s.%.*s.%s.1", (int)(role - name), name,
                 (int)(index - role - 1), role + 1, index + 1);
    if (n < 0 || n >= NAME_BYTES || process_id_parse(key, &id) < 0)
        return false;
    key[n - 1] = '\0';
    for (size_t i = 0; i < s->work->n_jobs; i++)
        if (s->work->jobs[i] == id.job_id)
            return true;
    return false;
}

/* has_process - whatever is said of its job, one of its processes is here */
static bool has_process(const struct sweep *s, const char *key)
{
    _cleanup_closedir_ DIR *folder = NULL;
    const struct dirent *entry;
    int fd = openat(s->processes_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    folder = fd != -1 ? fdopendir(fd) : NULL;
    if (folder == NULL) {
        (void)safe_close(fd);
        return true;
    }
    while ((entry = readdir(folder)) != NULL)
        if (strncmp(entry->d_name, key, strlen(key)) == 0)
            return true;
    return false;
}

/* note_work - private workspaces whose jobs are over are kept as copies are */
static int note_work(struct sweep *s)
{
    _cleanup_closedir_ DIR *folder = NULL;
    const struct dirent *entry;
    int fd = openat(s->work_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    folder = fd != -1 ? fdopendir(fd) : NULL;
    if (folder == NULL) {
        (void)safe_close(fd);
        return edl_error_errno(s->error, -errno, "cannot read the private workspaces");
    }
    while ((entry = readdir(folder)) != NULL) {
        char key[NAME_BYTES];

        if (is_over(s, entry->d_name, key) && !has_process(s, key))
            note_kept(s, entry->d_name, true);
    }
    return 0;
}

static size_t count_going(const struct sweep *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_kept; i++)
        n += s->kept[i].goes;
    return n;
}

/* sweep_all - passes, until nothing is moved to the top any more */
static void sweep_all(struct sweep *s, int *ret_result)
{
    do
        s->n_kept = 0;
    while (pass(s, ret_result));
}

int workspace_sweep_kept(const char *copies_dir, const char *processes_dir,
                         const struct sweep_work *work, const struct kept_bounds *bounds,
                         size_t *ret_removed, size_t *ret_kept, struct edl_error *error)
{
    _cleanup_close_ int work_fd =
        work->dir != NULL ? open(work->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    _cleanup_close_ int copies_fd = open(copies_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int processes_fd = open(processes_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct edl_error none = { 0 };
    struct sweep s = { .copies_fd = copies_fd,
                       .processes_fd = processes_fd,
                       .work_fd = work_fd,
                       .work = work,
                       .bounds = bounds,
                       .error = error != NULL ? error : &none };
    int result = 0, r;

    if (copies_fd == -1 || processes_fd == -1)
        return edl_error_errno(error, -errno, "cannot open %s",
                               copies_fd == -1 ? copies_dir : processes_dir);
    sweep_all(&s, &result);
    r = work_fd != -1 ? note_work(&s) : 0;
    result = r < 0 ? r : result;
    r = bound_kept(&s);
    result = r < 0 ? r : result;
    *ret_kept = s.n_kept - count_going(&s);
    if (count_going(&s) > 0) /* some of them may have been deep */
        sweep_all(&s, &result);
    free(s.kept);
    *ret_removed = s.removed;
    return result;
}

int workspace_sweep(const char *copies_dir, const char *processes_dir, size_t *ret_removed,
                    struct edl_error *error)
{
    const struct kept_bounds none = { .keep_us = 0 };
    const struct sweep_work no_work = { .dir = NULL };
    size_t kept;

    return workspace_sweep_kept(copies_dir, processes_dir, &no_work, &none, ret_removed, &kept,
                                error);
}
