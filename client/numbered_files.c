/* SPDX-License-Identifier: Apache-2.0 */
/* numbered_files.c - files PREFIX-00000, PREFIX-00001 and so on, which are made together */
#include "client/numbered_files.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define DIGITS 5

char *numbered_path(const char *prefix, uint64_t i)
{
    return text_format("%s-%0*" PRIu64, prefix, DIGITS, i);
}

/* folder_of - new string; *ret_base: in prefix, the name behind it */
static char *folder_of(const char *prefix, const char **ret_base)
{
    const char *slash = strrchr(prefix, '/');

    *ret_base = slash != NULL ? slash + 1 : prefix;
    if (slash == NULL)
        return xstrdup(".");
    return text_format("%.*s", (int)MAX_OF(slash - prefix, 1), prefix);
}

static int make_folder(const char *folder, struct edl_error *error)
{
    _cleanup_free_ char *path = xstrdup(folder);

    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            return edl_error_errno(error, -errno, "cannot create %s", path);
        *slash = '/';
    }
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return edl_error_errno(error, -errno, "cannot create %s", path);
    return 0;
}

/* is_numbered - "BASE-" and digits, five at least */
static bool is_numbered(const char *name, const char *base)
{
    size_t length = strlen(base), digits = 0;

    if (strncmp(name, base, length) != 0 || name[length] != '-')
        return false;
    name += length + 1;
    while (isdigit((unsigned char)name[digits]))
        digits++;
    return digits >= DIGITS && name[digits] == '\0';
}

int numbered_begin(const char *prefix, struct edl_error *error)
{
    _cleanup_closedir_ DIR *dir = NULL;
    const struct dirent *entry;
    const char *base;
    _cleanup_free_ char *folder = folder_of(prefix, &base);
    int r = make_folder(folder, error);

    if (r < 0)
        return r;
    dir = opendir(folder);
    if (dir == NULL)
        return edl_error_errno(error, -errno, "cannot use %s", folder);
    while ((entry = readdir(dir)) != NULL)
        if (is_numbered(entry->d_name, base)) {
            (void)edl_error_set(error, -EEXIST, "%s/%s is there already", folder, entry->d_name);
            return edl_error_remedy(error, "rm %s-[0-9]*, or name other files with --out", prefix);
        }
    return 0;
}

void numbered_remove(const char *prefix, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        _cleanup_free_ char *path = numbered_path(prefix, i);

        (void)unlink(path);
    }
}
