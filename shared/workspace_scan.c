/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_scan.c - a look through a folder before it is packed */
#include "shared/workspace_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/ignore_rules.h"
#include "shared/macro.h"
#include "shared/workspace_path.h"

#define ENTRIES_MAX UINT64_C(1000000) /* that are looked at to tell where most of them are */
#define OUT_ENTRIES_MAX 100000u       /* that are counted of what is left out */
#define OUT_DEPTH_MAX 100

struct scan {
    const struct unpack_limits *limits;
    const struct walk_visitor *visitor; /* may be NULL */
    struct workspace_scan result;
    struct scan_part part; /* where the walk is */
    unsigned counted;      /* of what is left out */
};

/* ---- what is too large ---- */

static void end_part(struct scan *scan)
{
    struct workspace_scan *result = &scan->result;

    if (scan->part.entries > result->most_entries.entries)
        result->most_entries = scan->part;
    if (scan->part.bytes > result->most_bytes.bytes)
        result->most_bytes = scan->part;
}

/* add_to_part - parts come one after the other: those in one part follow each other */
static void add_to_part(struct scan *scan, const struct walk_entry *entry, uint64_t bytes)
{
    size_t n = MIN_OF(strcspn(entry->path, "/"), (size_t)SCAN_NAME_BYTES - 1);
    struct scan_part *part = &scan->part;

    if (strlen(part->name) != n || strncmp(part->name, entry->path, n) != 0) {
        end_part(scan);
        *part = (struct scan_part){ .folder = S_ISDIR(entry->st->st_mode) };
        memcpy(part->name, entry->path, n);
    }
    part->entries++;
    part->bytes += bytes;
}

static int check_size(struct scan *scan, struct edl_error *error)
{
    struct workspace_scan *result = &scan->result;
    bool many = result->entries > scan->limits->entries;
    bool large = result->bytes > scan->limits->bytes;
    const struct scan_part *part = many ? &result->most_entries : &result->most_bytes;
    const char *excess =
        scan->limits->excess != NULL ? scan->limits->excess : "which no node would unpack";

    end_part(scan);
    if (!many && !large)
        return 0;
    if (many)
        (void)edl_error_set(error, -E2BIG,
                            "the folder holds more than %llu files and folders, %s; %llu of them "
                            "are in %.100s",
                            (unsigned long long)scan->limits->entries, excess,
                            (unsigned long long)part->entries, part->name);
    else
        (void)edl_error_set(error, -E2BIG,
                            "the folder holds more than %llu bytes, %s; %llu of them are in %.100s",
                            (unsigned long long)scan->limits->bytes, excess,
                            (unsigned long long)part->bytes, part->name);
    return walk_remedy_leave_out(error, part->name, part->folder);
}

/* ---- what belongs to it ---- */

static int fail_link(struct edl_error *error, const struct walk_entry *entry, const char *target)
{
    char line[120];

    (void)edl_error_set(error, -EPERM, "%.180s is a link to %.180s, which is outside", entry->path,
                        target);
    return edl_error_remedy(error,
                            "remove the link, or leave it out by this line in the folder's "
                            ".edlignore: %s; all nodes may have what it leads to by that name",
                            ignore_rules_line(entry->path, false, line, sizeof line));
}

int workspace_read_link(const struct walk_entry *entry, char *target, uint64_t size,
                        struct edl_error *error)
{
    ssize_t n = readlinkat(entry->dir_fd, entry->name, target, size - 1);

    if (n == -1)
        return edl_error_errno(error, -errno, "cannot read the link %.300s", entry->path);
    target[n] = '\0';
    if (!workspace_link_stays(entry->path, target) &&
        !workspace_link_is_interpreter(entry->path, target))
        return fail_link(error, entry, target);
    return 0;
}

static int look_at_link(struct scan *scan, const struct walk_entry *entry, struct edl_error *error)
{
    char target[WORKSPACE_PATH_BYTES_MAX + 1];
    int r = workspace_read_link(entry, target, sizeof target, error);

    if (r == 0 && target[0] == '/' && scan->result.interpreter[0] == '\0')
        (void)snprintf(scan->result.interpreter, sizeof scan->result.interpreter, "%.199s", target);
    return r;
}

static int look_at_file(struct scan *scan, const struct walk_entry *entry, struct edl_error *error)
{
    size_t length = strlen(entry->path);

    if (faccessat(entry->dir_fd, entry->name, R_OK, AT_EACCESS) == -1) {
        (void)edl_error_errno(error, -errno, "cannot read %.300s", entry->path);
        return walk_remedy_leave_out(error, entry->path, false);
    }
    scan->result.files++;
    if (streq(entry->name, "pyvenv.cfg") && scan->result.venv[0] == '\0')
        (void)snprintf(scan->result.venv, sizeof scan->result.venv, "%.*s",
                       (int)(length - strlen("pyvenv.cfg")), entry->path);
    return 0;
}

static int take(void *userdata, const struct walk_entry *entry, struct edl_error *error)
{
    struct scan *scan = userdata;
    uint64_t bytes = S_ISREG(entry->st->st_mode) ? (uint64_t)entry->st->st_size : 0;
    int r = 0;

    add_to_part(scan, entry, bytes);
    scan->result.entries++;
    scan->result.bytes += bytes;
    if (scan->result.entries > MAX_OF(ENTRIES_MAX, scan->limits->entries))
        return check_size(scan, error);
    if (S_ISLNK(entry->st->st_mode))
        r = look_at_link(scan, entry, error);
    else if (S_ISREG(entry->st->st_mode))
        r = look_at_file(scan, entry, error);
    if (r == 0 && scan->visitor != NULL && scan->visitor->take != NULL)
        r = scan->visitor->take(scan->visitor->userdata, entry, error);
    return r;
}

/* ---- what is left out ---- */

static void count_below(struct scan *scan, int dir_fd, const char *name, dev_t device, int depth);

static void count_one(struct scan *scan, int dir_fd, const char *name, dev_t device, int depth)
{
    struct stat st;

    if (scan->counted == OUT_ENTRIES_MAX || depth == OUT_DEPTH_MAX) {
        scan->result.out_more = true;
        return;
    }
    scan->counted++;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1 || st.st_dev != device)
        return;
    if (S_ISDIR(st.st_mode)) {
        count_below(scan, dir_fd, name, device, depth + 1);
        return;
    }
    scan->result.out_files++;
    scan->result.out_bytes += S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

/* count_below - what cannot be read is not counted: nobody needs it here */
static void count_below(struct scan *scan, int dir_fd, const char *name, dev_t device, int depth)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    _cleanup_closedir_ DIR *dir = fd != -1 ? fdopendir(fd) : NULL;
    const struct dirent *one;

    if (dir == NULL) {
        (void)safe_close(fd);
        return;
    }
    while ((one = readdir(dir)) != NULL)
        if (!streq(one->d_name, ".") && !streq(one->d_name, ".."))
            count_one(scan, fd, one->d_name, device, depth);
}

static int leave(void *userdata, const struct walk_entry *entry, const struct walk_reason *reason,
                 struct edl_error *error)
{
    struct scan *scan = userdata;
    struct workspace_scan *result = &scan->result;

    if (reason->rule == WALK_SPECIAL && result->special++ == 0)
        (void)snprintf(result->special_path, sizeof result->special_path, "%.199s", entry->path);
    if (reason->rule != WALK_SPECIAL) {
        result->out_by[reason->rule] = true;
        count_one(scan, entry->dir_fd, entry->name, entry->st->st_dev, 0);
    }
    if (scan->visitor != NULL && scan->visitor->leave != NULL)
        return scan->visitor->leave(scan->visitor->userdata, entry, reason, error);
    return 0;
}

int workspace_scan(const char *path, const struct unpack_limits *limits,
                   const struct walk_visitor *visitor, struct workspace_scan *ret,
                   struct edl_error *error)
{
    _cleanup_free_ struct scan *scan = xcalloc(1, sizeof *scan);
    const struct walk_visitor own = { .take = take, .leave = leave, .userdata = scan };
    int r;

    scan->limits = limits;
    scan->visitor = visitor;
    r = workspace_walk(path, &own, error);
    if (r == 0)
        r = check_size(scan, error);
    if (r == 0)
        *ret = scan->result;
    return r;
}
