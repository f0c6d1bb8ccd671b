/* SPDX-License-Identifier: Apache-2.0 */
/* log_trim.c - see log_trim.h
 *
 * Level-triggered: the files on the disk are compared with the bounds. So nothing is lost track of
 * when an agent or a trim dies half way. Folders of logs are the agent's alone; that no link is
 * followed costs nothing all the same.
 *
 * A log belongs to its process' account, which may give it any size and any time. So the size that
 * counts is the room that the file system holds for it. Its age counts from the last change that
 * the kernel saw: by its own clock, which no account can set. */
#include "agent/logs/log_trim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/process_id.h"
#include "agent/logs/log_times.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "agent/processes/start_mark.h"

#define DROP_PART 8                   /* of the bound, at a time */
#define PIECE_BYTES (UINT64_C(65536)) /* whole blocks of any file system */
#define FILE_LEAST_BYTES 4096         /* what a file costs, however short */
#define BLOCK_BYTES 512               /* stat(2) counts in them, whatever the file system does */
#define SUFFIX ".log"

struct old_log {
    char job[24], name[NAME_MAX + 1];
    uid_t uid;
    struct timespec changed;
    uint64_t bytes;
};

/* Old logs of one account, the oldest first. */
struct owner {
    const struct old_log *next, *end; /* those that are left */
    uint64_t bytes;
};

struct trim {
    const struct log_bounds *bounds;
    int logs_fd, processes_fd;
    struct old_log *old; /* owned */
    size_t n_old, cap_old;
    uint64_t old_bytes;
    struct owner *owners; /* owned */
    size_t n_owners;
    struct log_trimmed trimmed;
    struct edl_error *error; /* the last failure */
    int result;
};

uint64_t log_held_from(int fd, uint64_t size)
{
    off_t at = lseek(fd, 0, SEEK_DATA);

    if (at == -1)
        return errno == ENXIO ? size : 0; /* a file system without holes */
    return MIN_OF((uint64_t)at, size);
}

uint64_t log_cost(const struct stat *st)
{
    return MAX_OF((uint64_t)st->st_blocks * BLOCK_BYTES, (uint64_t)FILE_LEAST_BYTES);
}

uint64_t log_drop_before(uint64_t each_bytes, uint64_t size, uint64_t held_from)
{
    uint64_t keep = each_bytes - each_bytes / DROP_PART;

    if (size < held_from || size - held_from <= each_bytes)
        return 0;
    return (size - keep + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
}

int log_shorten(int fd, uint64_t each_bytes, uint64_t size)
{
    uint64_t drop = log_drop_before(each_bytes, size, log_held_from(fd, size));

    if (drop == 0)
        return 0;
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)drop) == 0 ? 1
                                                                                          : -errno;
}

static int open_folder(int parent_fd, const char *name)
{
    return openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* open_job - the folder of a job's logs, to be listed; NULL: there is none */
static DIR *open_job(const struct trim *t, const char *job)
{
    int fd = open_folder(t->logs_fd, job);
    DIR *folder = fd != -1 ? fdopendir(fd) : NULL;

    if (folder == NULL)
        (void)safe_close(fd);
    return folder;
}

static void failed(struct trim *t, const char *what, const char *job, const char *name)
{
    t->result = edl_error_errno(t->error, -errno, "cannot %s the log %s/%s", what, job, name);
}

static void shorten(struct trim *t, int folder_fd, const char *job, const char *name)
{
    _cleanup_close_ int fd =
        openat(folder_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    uint64_t size;
    struct stat st;
    int r;

    if (fd == -1 || fstat(fd, &st) == -1) {
        if (errno != ENOENT)
            failed(t, "open", job, name);
        return;
    }
    if (!S_ISREG(st.st_mode))
        return;
    size = (uint64_t)st.st_size;
    r = log_shorten(fd, t->bounds->each_bytes, size);
    errno = -r;
    if (r == 1)
        t->trimmed.shortened++;
    else if (r == -EOPNOTSUPP)
        t->trimmed.refused++;
    else if (r < 0)
        failed(t, "shorten", job, name);
}

/* is_alive - role-index.incarnation.log in the folder of its job: whether there is a process folder
 * of that key. What is no log of a process is nobody's to remove: alive. */
static bool is_alive(const struct trim *t, const char *job, const char *name)
{
    const char *dash = strrchr(name, '-');
    char key[NAME_MAX + 32];
    struct process_id id;

    if (dash == NULL)
        return true;
    (void)snprintf(key, sizeof key, "%s.%.*s.%.*s", job, (int)(dash - name), name,
                   (int)(strlen(dash + 1) - strlen(SUFFIX)), dash + 1);
    return process_id_parse(key, &id) < 0 || faccessat(t->processes_fd, key, F_OK, 0) == 0;
}

static void add_old(struct trim *t, int folder_fd, const char *job, const char *name)
{
    _cleanup_free_ char *times_name = log_times_name(name);
    struct old_log *old;
    struct stat st, times;
    uint64_t bytes;

    if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return;
    bytes = log_cost(&st);
    if (fstatat(folder_fd, times_name, &times, AT_SYMLINK_NOFOLLOW) == 0)
        bytes += log_cost(&times);
    if (t->n_old == t->cap_old) {
        t->cap_old = t->cap_old != 0 ? t->cap_old * 2 : 64;
        t->old = xreallocarray(t->old, t->cap_old, sizeof *t->old);
    }
    old = &t->old[t->n_old++];
    *old = (struct old_log){ .uid = st.st_uid, .changed = st.st_ctim, .bytes = bytes };
    (void)snprintf(old->job, sizeof old->job, "%.23s", job); /* is_job */
    (void)snprintf(old->name, sizeof old->name, "%s", name);
    t->old_bytes += old->bytes;
}

static bool is_log(const char *name)
{
    size_t n = strlen(name);

    return n > strlen(SUFFIX) && streq(name + n - strlen(SUFFIX), SUFFIX);
}

static bool is_job(const char *name)
{
    size_t n = strspn(name, "0123456789");

    return n > 0 && n < sizeof((struct old_log *)NULL)->job && name[n] == '\0';
}

static void look_at_job(struct trim *t, const char *job)
{
    _cleanup_closedir_ DIR *folder = open_job(t, job);
    const struct dirent *entry;

    if (folder == NULL)
        return;
    while ((entry = readdir(folder)) != NULL) {
        if (!is_log(entry->d_name) || entry->d_type == DT_LNK)
            continue;
        shorten(t, dirfd(folder), job, entry->d_name);
        if (!is_alive(t, job, entry->d_name))
            add_old(t, dirfd(folder), job, entry->d_name);
    }
}

/* Those of one account together, the oldest first. */
static int compare(const void *a, const void *b)
{
    const struct old_log *x = a, *y = b;

    if (x->uid != y->uid)
        return x->uid < y->uid ? -1 : 1;
    if (x->changed.tv_sec != y->changed.tv_sec)
        return x->changed.tv_sec < y->changed.tv_sec ? -1 : 1;
    return (x->changed.tv_nsec > y->changed.tv_nsec) - (x->changed.tv_nsec < y->changed.tv_nsec);
}

/* is_of_no_log - a link that leads nowhere any more; the mark of a start, or the times of a log,
 * whose log is gone */
static bool is_of_no_log(int folder_fd, const char *name)
{
    static const char *const suffixes[] = { START_MARK_SUFFIX, LOG_TIMES_SUFFIX };
    char log[NAME_MAX + sizeof SUFFIX];
    size_t n = strlen(name);

    (void)snprintf(log, sizeof log, "%s", name);
    for (size_t i = 0; i < ELEMENTS(suffixes); i++) {
        size_t suffix = strlen(suffixes[i]);

        if (n > suffix && streq(name + n - suffix, suffixes[i]))
            (void)snprintf(log, sizeof log, "%.*s%s", (int)(n - suffix), name, SUFFIX);
    }
    return faccessat(folder_fd, log, F_OK, 0) == -1;
}

static bool is_beside_log(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name), suffix = strlen(LOG_TIMES_SUFFIX);

    return entry->d_type == DT_LNK ||
           (n > suffix && streq(entry->d_name + n - suffix, LOG_TIMES_SUFFIX));
}

/* tidy - what stands beside logs that are gone, and the folder when it is empty; a supervisor that
 * wants it at this moment makes it again */
static void tidy(struct trim *t, const char *job)
{
    _cleanup_closedir_ DIR *folder = open_job(t, job);
    const struct dirent *entry;

    if (folder == NULL)
        return;
    while ((entry = readdir(folder)) != NULL)
        if (is_beside_log(entry) && is_of_no_log(dirfd(folder), entry->d_name))
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    (void)unlinkat(t->logs_fd, job, AT_REMOVEDIR);
}

static void find_owners(struct trim *t)
{
    struct owner *owner = NULL;

    if (t->n_old > 1)
        qsort(t->old, t->n_old, sizeof *t->old, compare);
    t->owners = xcalloc(t->n_old + 1, sizeof *t->owners);
    for (size_t i = 0; i < t->n_old; i++) {
        if (owner == NULL || t->old[i].uid != t->old[i - 1].uid) {
            owner = &t->owners[t->n_owners++];
            owner->next = &t->old[i];
        }
        owner->end = &t->old[i + 1];
        owner->bytes += t->old[i].bytes;
    }
}

/* fullest - whose logs hold most, of those who have any left to try; NULL: nobody has */
static struct owner *fullest(const struct trim *t)
{
    struct owner *most = NULL;

    for (struct owner *owner = t->owners; owner < t->owners + t->n_owners; owner++)
        if (owner->next < owner->end && (most == NULL || owner->bytes > most->bytes))
            most = owner;
    return most;
}

/* remove_oldest - of whoever holds most, until all hold no more than they may together: whose logs
 * hold less than an equal part loses none for others' */
static void remove_oldest(struct trim *t)
{
    struct owner *owner;

    find_owners(t);
    while (t->old_bytes > t->bounds->old_bytes && (owner = fullest(t)) != NULL) {
        const struct old_log *old = owner->next++;
        _cleanup_close_ int fd = open_folder(t->logs_fd, old->job);

        if (fd == -1 || (unlinkat(fd, old->name, 0) == -1 && errno != ENOENT)) {
            failed(t, "remove", old->job, old->name);
            continue;
        }
        owner->bytes -= old->bytes;
        t->old_bytes -= old->bytes;
        t->trimmed.removed++;
        tidy(t, old->job);
    }
}

int log_trim(const char *logs_dir, const char *processes_dir, const struct log_bounds *bounds,
             struct log_trimmed *ret, struct edl_error *error)
{
    _cleanup_close_ int logs_fd = open_folder(AT_FDCWD, logs_dir);
    _cleanup_close_ int processes_fd = open_folder(AT_FDCWD, processes_dir);
    struct trim t = {
        .bounds = bounds, .logs_fd = logs_fd, .processes_fd = processes_fd, .error = error
    };
    int list_fd = logs_fd != -1 ? open_folder(logs_fd, ".") : -1;
    _cleanup_closedir_ DIR *folder = list_fd != -1 ? fdopendir(list_fd) : NULL;
    const struct dirent *entry;

    *ret = (struct log_trimmed){ 0 };
    if (folder == NULL && errno == ENOENT)
        return 0; /* nothing was ever written */
    if (folder == NULL || processes_fd == -1) {
        (void)safe_close(folder == NULL ? list_fd : -1);
        return edl_error_errno(error, -errno, "cannot read %s",
                               folder == NULL ? logs_dir : processes_dir);
    }
    while ((entry = readdir(folder)) != NULL)
        if (is_job(entry->d_name))
            look_at_job(&t, entry->d_name);
    remove_oldest(&t);
    free(t.owners);
    free(t.old);
    *ret = t.trimmed;
    return t.result;
}
