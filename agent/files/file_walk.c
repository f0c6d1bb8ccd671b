/* SPDX-License-Identifier: Apache-2.0 */
/* file_walk.c - see file_walk.h */
#include "agent/files/file_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/content_hash.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/workspace_limits.h"

#define PIECE_BYTES 65536
#define LINES_BYTES 60000                    /* of a message, and one for a beat */
#define LINES_LATE_BYTES (UINT64_C(1) << 20) /* hashed since the last message */

struct walk {
    struct file_walk *walk;
    struct content_hash *hash;
    json_t *links; /* owned: as many as there is room for */
    size_t links_bytes;
    char *lines;
    size_t used;
    uint64_t hashed; /* since lines were sent */
    char path[FILE_PATH_MAX + 1];
};

/* bare - without "./" before it */
static const char *bare(const char *pattern)
{
    while (strncmp(pattern, "./", 2) == 0)
        pattern += 2;
    return pattern;
}

/* may_hold - whether the beginning of the pattern, up to what stands for several names, leaves room
 * for something in the folder; this ends with "/" */
static bool may_hold(const char *pattern, const char *folder)
{
    const char *fixed = bare(pattern);
    size_t n = MIN_OF(strcspn(fixed, "*?[\\"), strlen(folder));

    return strncmp(fixed, folder, n) == 0;
}

/* is_or_holds - a name of the very letters of the pattern, "model[1]" for instance, or a folder of
 * that name */
static bool is_or_holds(const char *name, const char *path)
{
    size_t n = strlen(name);

    return strncmp(name, path, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

bool file_walk_matches(const char *pattern, const char *path)
{
    _cleanup_free_ char *name = xstrdup(bare(pattern));
    size_t n = strlen(name);

    while (n > 1 && name[n - 1] == '/') /* a folder, and all in it */
        name[--n] = '\0';
    return name[0] == '\0' || is_or_holds(name, path) ||
           fnmatch(name, path, FNM_PATHNAME | FNM_LEADING_DIR) == 0;
}

static uint64_t us_of(const struct timespec *at)
{
    return at->tv_sec < 0 ? 0 : (uint64_t)at->tv_sec * USEC_PER_SEC + (uint64_t)at->tv_nsec / 1000;
}

static bool is_wanted(const struct walk *w, const struct stat *st)
{
    uint64_t at_us = us_of(&st->st_mtim);

    if (!w->walk->by_mtime)
        at_us = MAX_OF(at_us, us_of(&st->st_ctim));
    return at_us >= w->walk->since_us && file_walk_matches(w->walk->pattern, w->path);
}

/* ---- lines ---- */

static void flush(struct walk *w)
{
    if (w->used > 0)
        w->walk->send(w->lines, w->used, w->walk->userdata);
    w->used = 0;
    w->hashed = 0;
}

/* add_line - takes object; a file of some size is told at once, so that its reader sees something
 */
static void add_line(struct walk *w, json_t *object)
{
    _cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);
    size_t size = text != NULL ? strlen(text) : 0;

    json_decref(object);
    if (size == 0)
        return;
    if (w->used + size + 1 > LINES_BYTES)
        flush(w);
    memcpy(w->lines + w->used, text, size);
    w->lines[w->used + size] = '\n';
    w->used += size + 1;
    if (w->hashed >= LINES_LATE_BYTES)
        flush(w);
}

/* ---- files ---- */

/* beat - whoever waits for the list hears that it goes on */
static void beat(struct walk *w)
{
    w->lines[w->used++] = '\n';
    flush(w);
}

/* hash_file - not more than bytes_max, as one that grows would have no end */
static int hash_file(struct walk *w, int fd, uint64_t bytes_max, struct file_entry *entry)
{
    char piece[PIECE_BYTES];
    uint64_t bytes = 0;

    while (bytes < bytes_max) {
        ssize_t n = read(fd, piece, MIN_OF(sizeof piece, bytes_max - bytes));

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1) {
            content_hash_end(w->hash, entry->sha256); /* begins anew */
            return -errno;
        }
        if (n == 0)
            break;
        content_hash_add(w->hash, piece, (size_t)n);
        bytes += (uint64_t)n;
        w->hashed += (uint64_t)n;
        if (bytes / FILE_WALK_BEAT_BYTES > (bytes - (uint64_t)n) / FILE_WALK_BEAT_BYTES)
            beat(w);
    }
    content_hash_end(w->hash, entry->sha256);
    entry->bytes = bytes;
    return 0;
}

static int open_below(int fd, const char *name, uint64_t flags)
{
    struct open_how how = { .flags =
                                flags | O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
                            .resolve =
                                RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    int r = (int)syscall(SYS_openat2, fd, name, &how, sizeof how);

    return r == -1 ? -errno : r;
}

/* A file that went away or changed its kind meanwhile was never there. */
static void list_file(struct walk *w, int folder_fd, const char *name)
{
    struct file_entry entry = { 0 };
    _cleanup_close_ int fd = open_below(folder_fd, name, 0);
    struct stat st;

    if (fd == -ENOENT || (fd >= 0 && (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))))
        return;
    entry.bytes = fd >= 0 ? (uint64_t)st.st_size : 0;
    if (fd < 0 ||
        (entry.bytes <= w->walk->sums_bytes && hash_file(w, fd, entry.bytes, &entry) < 0)) {
        w->walk->sums.unreadable++;
        return;
    }
    memcpy(entry.path, w->path, sizeof entry.path);
    entry.mtime_us = us_of(&st.st_mtim);
    entry.mode = st.st_mode & 0777;
    w->walk->sums.files++;
    w->walk->sums.bytes += entry.bytes;
    add_line(w, file_entry_json(&entry));
}

/* list_link - where it leads, for a reader who makes it anew; what does not fit is counted */
static void list_link(struct walk *w, int folder_fd, const char *name)
{
    char target[FILE_LINK_TARGET_MAX + 2];
    ssize_t n = readlinkat(folder_fd, name, target, sizeof target - 1);
    size_t bytes;
    json_t *link;

    w->walk->sums.links++;
    if (n <= 0 || n > FILE_LINK_TARGET_MAX)
        return;
    target[n] = '\0';
    link = file_link_json(w->path, target);
    bytes = json_dumpb(link, NULL, 0, JSON_COMPACT) + 1;
    if (link == NULL || w->links_bytes + bytes > FILE_LINKS_BYTES) {
        json_decref(link);
        return;
    }
    w->links_bytes += bytes;
    (void)json_array_append_new(w->links, link);
}

static void add_sums(struct walk *w)
{
    json_t *sums = file_sums_json(&w->walk->sums);

    if (json_array_size(w->links) > 0)
        (void)json_object_set(sums, "link_list", w->links);
    add_line(w, sums);
}

/* ---- folders ---- */

static void list_folder(struct walk *w, int take_fd, size_t prefix, int depth);

static void enter(struct walk *w, int folder_fd, const char *name, int depth)
{
    size_t n = strlen(w->path);
    int fd;

    w->path[n] = '/';
    w->path[n + 1] = '\0';
    if (!may_hold(w->walk->pattern, w->path))
        return;
    if (depth == WORKSPACE_DEPTH_MAX) {
        w->walk->sums.unreadable++;
        return;
    }
    fd = open_below(folder_fd, name, O_DIRECTORY);
    if (fd < 0) {
        w->walk->sums.unreadable += fd != -ENOENT;
        return;
    }
    list_folder(w, fd, n + 1, depth + 1);
}

/* list_entry - w->path holds the way to it, and its name from prefix on afterwards */
static void list_entry(struct walk *w, int folder_fd, size_t prefix, const char *name, int depth)
{
    struct stat st;

    if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return;
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
        return;
    if (prefix + strlen(name) + 1 > FILE_PATH_MAX) {
        w->walk->sums.unnamed++;
        return;
    }
    (void)snprintf(w->path + prefix, sizeof w->path - prefix, "%s", name);
    if (!file_path_allowed(w->path)) {
        w->walk->sums.unnamed++;
        return;
    }
    if (S_ISDIR(st.st_mode))
        enter(w, folder_fd, name, depth);
    else if (!is_wanted(w, &st))
        return;
    else if (S_ISLNK(st.st_mode))
        list_link(w, folder_fd, name);
    else
        list_file(w, folder_fd, name);
}

static int is_entry(const struct dirent *entry)
{
    return !streq(entry->d_name, ".") && !streq(entry->d_name, "..");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void list_folder(struct walk *w, int take_fd, size_t prefix, int depth)
{
    _cleanup_close_ int fd = take_fd;
    struct dirent **entries = NULL;
    int n = scandirat(fd, ".", &entries, is_entry, by_name);

    if (n == -1) {
        w->walk->sums.unreadable++;
        return;
    }
    for (int i = 0; i < n; i++) {
        list_entry(w, fd, prefix, entries[i]->d_name, depth);
        free(entries[i]);
    }
    free(entries);
}

int file_walk(struct file_walk *walk, int root_fd, struct edl_error *error)
{
    struct walk w = { .walk = walk };
    int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
    int r;

    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot open the folder");
    r = content_hash_new(&w.hash, error);
    if (r < 0) {
        (void)safe_close(fd);
        return r;
    }
    w.lines = xcalloc(1, LINES_BYTES + 1);
    w.links = json_array();
    walk->sums = (struct file_sums){ 0 };
    list_folder(&w, fd, 0, 0);
    add_sums(&w);
    flush(&w);
    (void)content_hash_free(w.hash);
    json_decref(w.links);
    free(w.lines);
    return 0;
}
