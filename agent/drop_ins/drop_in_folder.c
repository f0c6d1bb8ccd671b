/* SPDX-License-Identifier: Apache-2.0 */
/* drop_in_folder.c - see drop_in_folder.h */
#include "agent/drop_ins/drop_in_folder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/drop_in.h"
#include "agent/options.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define LINKS_MAX 40 /* as the kernel has it */

const char *drop_in_folder_path(const struct agent_options *options, enum drop_in_kind kind)
{
    static const char *const defaults[] = {
        [DROP_IN_PROLOG] = "/etc/edl/prolog.d", [DROP_IN_EPILOG] = "/etc/edl/epilog.d"
    };
    const char *given = kind == DROP_IN_PROLOG ? options->prolog_dir : options->epilog_dir;

    return given != NULL ? given : geteuid() == 0 ? defaults[kind] : "";
}

bool drop_in_is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add(char ***list, size_t *n, const char *name)
{
    *list = xreallocarray(*list, *n + 1, sizeof **list);
    (*list)[(*n)++] = xstrdup(name);
}

int drop_in_folder_read(const char *path, struct drop_in_folder *ret, struct edl_error *error)
{
    _cleanup_closedir_ DIR *folder = path[0] != '\0' ? opendir(path) : NULL;
    const struct dirent *entry;

    *ret = (struct drop_in_folder){ .n = 0 };
    if (folder == NULL)
        return path[0] == '\0' || errno == ENOENT ? 0 : edl_error_errno(error, -errno, "%s", path);
    while ((entry = readdir(folder)) != NULL) {
        if (streq(entry->d_name, ".") || streq(entry->d_name, ".."))
            continue;
        if (ret->n + ret->n_ignored == DROP_INS_MAX)
            return edl_error_set(error, -E2BIG, "%s has more than %d entries", path, DROP_INS_MAX);
        if (drop_in_name_valid(entry->d_name))
            add(&ret->names, &ret->n, entry->d_name);
        else
            add(&ret->ignored, &ret->n_ignored, entry->d_name);
    }
    if (ret->n > 0)
        qsort(ret->names, ret->n, sizeof *ret->names, compare);
    if (ret->n_ignored > 0)
        qsort(ret->ignored, ret->n_ignored, sizeof *ret->ignored, compare);
    return 0;
}

static void free_list(char **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i]);
    free(list);
}

void drop_in_folder_done(struct drop_in_folder *folder)
{
    free_list(folder->names, folder->n);
    free_list(folder->ignored, folder->n_ignored);
    *folder = (struct drop_in_folder){ .n = 0 };
}

static int check_one(const char *path, struct edl_error *error)
{
    struct stat st;

    if (lstat(path, &st) == -1)
        return edl_error_errno(error, -errno, "%s", path);
    if (drop_in_trusted(st.st_uid, st.st_mode, S_ISDIR(st.st_mode)))
        return 0;
    (void)edl_error_set(error, -EPERM, "%.120s is not root's alone", path);
    return edl_error_remedy(error, "chown root %s && chmod go-w %s", path, path);
}

/* A path on its way from the root: no link is left in what was passed. */
struct walk {
    char *at;   /* owned; "": the root */
    char *rest; /* owned */
    int links;
};

static void set_rest(struct walk *walk, char *take_rest)
{
    free(walk->rest);
    walk->rest = take_rest;
}

/* follow - the link at that place. A stranger's link is refused: its owner may change it */
static int follow(struct walk *walk, const char *place, uid_t owner, struct edl_error *error)
{
    char target[PATH_MAX];
    ssize_t n = readlink(place, target, sizeof target - 1);

    if (n == -1)
        return edl_error_errno(error, -errno, "%s", place);
    if (++walk->links > LINKS_MAX)
        return edl_error_errno(error, -ELOOP, "%s", place);
    if (owner != 0) {
        (void)edl_error_set(error, -EPERM, "%.120s is not root's alone", place);
        return edl_error_remedy(error, "chown -h root %s", place);
    }
    target[n] = '\0';
    set_rest(walk, text_format("%s/%s", target, walk->rest));
    if (target[0] == '/')
        walk->at[0] = '\0';
    return 0;
}

static int enter(struct walk *walk, const char *name, struct edl_error *error)
{
    _cleanup_free_ char *place = text_format("%s/%s", walk->at, name);
    char *slash = strrchr(walk->at, '/');
    struct stat st;
    int r;

    if (name[0] == '\0' || streq(name, "."))
        return 0;
    if (streq(name, "..")) {
        if (slash != NULL)
            *slash = '\0';
        return 0;
    }
    if (lstat(place, &st) == -1)
        return edl_error_errno(error, -errno, "%s", place);
    if (S_ISLNK(st.st_mode))
        return follow(walk, place, st.st_uid, error);
    r = check_one(place, error);
    free(walk->at);
    walk->at = TAKE_PTR(place);
    return r;
}

/* Step by step, as the kernel goes: a stranger with a right to change a folder on the way, or a
 * link, would choose the program. */
int drop_in_check_trust(const char *path, struct edl_error *error)
{
    _cleanup_free_ char *here = path[0] == '/' ? xstrdup("") : getcwd(NULL, 0);
    struct walk walk = { .at = xstrdup(""),
                         .rest = text_format("%s/%s", here != NULL ? here : "", path) };
    int r = check_one("/", error);

    while (r == 0 && walk.rest[0] != '\0') {
        size_t n = strcspn(walk.rest, "/");
        _cleanup_free_ char *name = text_format("%.*s", (int)n, walk.rest);

        set_rest(&walk, xstrdup(walk.rest + n + (walk.rest[n] == '/')));
        r = enter(&walk, name, error);
    }
    free(walk.at);
    free(walk.rest);
    return r;
}
