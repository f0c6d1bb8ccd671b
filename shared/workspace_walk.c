/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_walk.c - what of a folder belongs to its workspace, entry by entry */
#include "shared/workspace_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/ignore_rules.h"
#include "shared/macro.h"
#include "shared/workspace_limits.h"

#define FILE_KINDS 2 /* of rules: WALK_EDLIGNORE, WALK_GITIGNORE */

/* One of the folders on the way to where the walk is. */
struct level {
    size_t length; /* of its path, with "/" behind if there is one */
    struct ignore_rules *rules[FILE_KINDS];
};

struct walk {
    const struct walk_visitor *visitor;
    size_t depth;
    struct level levels[WORKSPACE_DEPTH_MAX + 1];
    char path[WORKSPACE_PATH_BYTES_MAX + 2];
};

static const char *const rule_names[WALK_RULES] = {
    [WALK_EDLIGNORE] = ".edlignore",
    [WALK_GITIGNORE] = ".gitignore",
    [WALK_GIT] = ".git",
    [WALK_SPECIAL] = "neither file nor folder nor link",
};

const char *walk_rule_name(enum walk_rule rule)
{
    return rule_names[rule];
}

int walk_remedy_leave_out(struct edl_error *error, const char *path, int folder)
{
    char line[160];

    return edl_error_remedy(error, "leave it out, by this line in the folder's .edlignore: %s",
                            ignore_rules_line(path, folder, line, sizeof line));
}

/* ---- rules ---- */

/* read_rules - a file of rules that is a link is none, as for git; so is one that has gone */
static int read_rules(const struct walk *walk, int dir_fd, enum walk_rule kind,
                      struct ignore_rules **ret, struct edl_error *error)
{
    const char *name = rule_names[kind];
    const char *slash = walk->levels[walk->depth].length > 0 ? "/" : "";
    _cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    _cleanup_free_ char *text = NULL;
    struct stat st;
    size_t size = 0;
    ssize_t n;

    if (fd == -1 && (errno == ELOOP || errno == ENOENT))
        return 0;
    if (fd == -1 || fstat(fd, &st) == -1)
        return edl_error_errno(error, -errno, "cannot read %.300s%s%s", walk->path, slash, name);
    if (!S_ISREG(st.st_mode))
        return 0;
    if ((uint64_t)st.st_size > IGNORE_FILE_BYTES_MAX)
        return edl_error_set(error, -EINVAL, "%.300s%s%s is larger than %zu bytes", walk->path,
                             slash, name, IGNORE_FILE_BYTES_MAX);
    text = xcalloc(1, (size_t)st.st_size + 1);
    while (size < (size_t)st.st_size &&
           (n = read(fd, text + size, (size_t)st.st_size - size)) != 0) {
        if (n == -1 && errno != EINTR)
            return edl_error_errno(error, -errno, "cannot read %.300s%s%s", walk->path, slash,
                                   name);
        size += n > 0 ? (size_t)n : 0;
    }
    if (ignore_rules_parse(text, size, ret, error) < 0) {
        edl_error_prefix(error, "%.200s%s%s: ", walk->path, slash, name);
        return error != NULL ? error->code : -EINVAL;
    }
    return 0;
}

/* judge_files - what the files of one kind say, the deepest first */
static enum ignore_verdict judge_files(const struct walk *walk, enum walk_rule kind, bool folder,
                                       size_t *ret_level, size_t *ret_line)
{
    for (size_t i = walk->depth + 1; i-- > 0;) {
        const struct level *level = &walk->levels[i];
        enum ignore_verdict verdict =
            ignore_rules_judge(level->rules[kind], walk->path + level->length, folder, ret_line);

        *ret_level = i;
        if (verdict != IGNORE_SILENT)
            return verdict;
    }
    return IGNORE_SILENT;
}

/* is_out - whether the entry at walk->path is; folder: room for the name of that of the file */
static bool is_out(const struct walk *walk, const char *name, mode_t mode, char *folder,
                   struct walk_reason *ret)
{
    for (enum walk_rule kind = WALK_EDLIGNORE; kind <= WALK_GITIGNORE; kind++) {
        size_t level = 0;
        enum ignore_verdict verdict = judge_files(walk, kind, S_ISDIR(mode), &level, &ret->line);

        memcpy(folder, walk->path, walk->levels[level].length);
        folder[walk->levels[level].length] = '\0';
        *ret = (struct walk_reason){ .rule = kind, .folder = folder, .line = ret->line };
        /* .gitignore may not bring back ".git", which git does not take either */
        if (verdict == IGNORE_OUT || (verdict == IGNORE_IN && kind == WALK_EDLIGNORE))
            return verdict == IGNORE_OUT;
    }
    *ret = (struct walk_reason){ .rule = WALK_GIT, .folder = "" };
    return streq(name, ".git");
}

/* ---- the walk ---- */

static int walk_folder(struct walk *walk, int take_fd, struct edl_error *error);

static int enter(struct walk *walk, const struct walk_entry *entry, struct edl_error *error)
{
    int fd, r;

    if (walk->depth == WORKSPACE_DEPTH_MAX) {
        (void)edl_error_set(error, -ELOOP, "%.300s is more than %d folders deep", walk->path,
                            WORKSPACE_DEPTH_MAX);
        return walk_remedy_leave_out(error, walk->path, true);
    }
    fd = openat(entry->dir_fd, entry->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd == -1 && errno == ENOENT)
        return 0;
    if (fd == -1) {
        (void)edl_error_errno(error, -errno, "cannot open the folder %.300s", walk->path);
        return walk_remedy_leave_out(error, walk->path, true);
    }
    walk->depth++;
    r = walk_folder(walk, fd, error);
    walk->depth--;
    return r;
}

/* visit - what went away since its folder was read was never there */
static int visit(struct walk *walk, int dir_fd, const char *name, struct edl_error *error)
{
    const struct walk_visitor *visitor = walk->visitor;
    char folder[sizeof walk->path];
    struct walk_reason reason = { .rule = WALK_SPECIAL, .folder = "" };
    struct stat st;
    struct walk_entry entry = { .dir_fd = dir_fd, .name = name, .path = walk->path, .st = &st };
    bool plain, out;
    int r = 0;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return errno == ENOENT
                   ? 0
                   : edl_error_errno(error, -errno, "cannot look at %.300s", walk->path);
    plain = S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode);
    out = is_out(walk, name, st.st_mode, folder, &reason);
    if (!out && !plain)
        reason = (struct walk_reason){ .rule = WALK_SPECIAL, .folder = "" };
    if (out || !plain)
        return visitor->leave != NULL ? visitor->leave(visitor->userdata, &entry, &reason, error)
                                      : 0;
    if (visitor->take != NULL)
        r = visitor->take(visitor->userdata, &entry, error);
    return r == 0 && S_ISDIR(st.st_mode) ? enter(walk, &entry, error) : r;
}

/* visit_named - with its name behind the path of the folder, which is as long as length */
static int visit_named(struct walk *walk, int dir_fd, const char *name, struct edl_error *error)
{
    size_t length = walk->levels[walk->depth].length, n = strlen(name);
    size_t before = strlen(walk->path); /* without "/" */
    int r;

    if (length + n > WORKSPACE_PATH_BYTES_MAX) {
        char longer[200];

        (void)snprintf(longer, sizeof longer, "%.199s", walk->path);
        (void)edl_error_set(error, -ENAMETOOLONG,
                            "the path of %.100s in %.150s is longer than %d bytes", name, longer,
                            WORKSPACE_PATH_BYTES_MAX);
        return walk_remedy_leave_out(error, walk->path, true);
    }
    if (length > 0)
        walk->path[length - 1] = '/';
    memcpy(walk->path + length, name, n + 1);
    r = visit(walk, dir_fd, name, error);
    walk->path[before] = '\0';
    return r;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* whatever the locale */
}

/* begin_level - for the folder at walk->path: the rules that the list says it has */
static int begin_level(struct walk *walk, int fd, struct dirent **list, int n,
                       struct edl_error *error)
{
    struct level *level = &walk->levels[walk->depth];
    int r = 0;

    *level = (struct level){ .length = strlen(walk->path) + (walk->path[0] != '\0') };
    for (int i = 0; i < n && r == 0; i++)
        for (enum walk_rule kind = WALK_EDLIGNORE; kind <= WALK_GITIGNORE && r == 0; kind++)
            if (streq(list[i]->d_name, rule_names[kind]))
                r = read_rules(walk, fd, kind, &level->rules[kind], error);
    return r;
}

static int walk_folder(struct walk *walk, int take_fd, struct edl_error *error)
{
    _cleanup_close_ int fd = take_fd;
    struct dirent **list = NULL;
    int n = scandirat(fd, ".", &list, NULL, by_name);
    int r =
        n == -1 ? edl_error_errno(error, -errno, "cannot read the folder %.300s", walk->path) : 0;

    if (r == 0)
        r = begin_level(walk, fd, list, n, error);
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;

        if (r == 0 && !streq(name, ".") && !streq(name, ".."))
            r = visit_named(walk, fd, name, error);
        free(list[i]);
    }
    free(list);
    for (size_t i = 0; n != -1 && i < FILE_KINDS; i++)
        walk->levels[walk->depth].rules[i] = ignore_rules_free(walk->levels[walk->depth].rules[i]);
    return r;
}

int workspace_walk(const char *path, const struct walk_visitor *visitor, struct edl_error *error)
{
    _cleanup_free_ struct walk *walk = xcalloc(1, sizeof *walk);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot open the folder %s", path);
    walk->visitor = visitor;
    return walk_folder(walk, fd, error);
}
