/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_link.c - see fetch_link.h */
#include "client/fetch_link.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/fetch_file.h"
#include "client/fetch_record.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/file_listing.h"
#include "shared/macro.h"

static unsigned folders_of(const char *path)
{
    unsigned n = 0;

    for (; *path != '\0'; path++)
        n += *path == '/';
    return n;
}

bool fetch_link_stays(const char *path, const char *target)
{
    unsigned up = 0;

    while (strncmp(target, "./", 2) == 0 || strncmp(target, "../", 3) == 0) {
        up += target[1] == '.';
        target += target[1] == '.' ? 3 : 2;
        while (*target == '/')
            target++;
    }
    if (streq(target, "..") || streq(target, ".") || *target == '\0') {
        up += target[0] == '.' && target[1] == '.';
        return up <= folders_of(path);
    }
    if (up > folders_of(path) || *target == '/')
        return false;
    for (const char *part = target; *part != '\0';) {
        size_t n = strcspn(part, "/");

        if (n == 2 && part[0] == '.' && part[1] == '.')
            return false;
        part += n + strspn(part + n, "/");
    }
    return true;
}

/* clear_way - 1: it is the very link; 0: nothing is in its way any more */
static int clear_way(const struct fetch_target *target, int folder_fd, const char *name,
                     const char *path, const char *leads_to, struct edl_error *error)
{
    char found[FILE_LINK_TARGET_MAX + 2];
    ssize_t n = readlinkat(folder_fd, name, found, sizeof found - 1);

    if (n == -1 && errno == ENOENT)
        return 0;
    if (n == -1 && errno == EINVAL) {
        (void)edl_error_set(error, -EEXIST, "%.200s is there, and is no link", name);
        return edl_error_remedy(error, "move it away, or name another folder with -o");
    }
    if (n == -1)
        return edl_error_errno(error, -errno, "cannot look at %.200s", name);
    found[n] = '\0';
    if (streq(found, leads_to))
        return 1;
    if (!target->replace && !fetch_record_has_link(target->record, path, found)) {
        (void)edl_error_set(error, -EEXIST, "%.200s is there, and edl fetch did not put it there",
                            name);
        return edl_error_remedy(error, "name another folder with -o, or replace it with --replace");
    }
    return unlinkat(folder_fd, name, 0) == -1
               ? edl_error_errno(error, -errno, "cannot replace %.200s", name)
               : 0;
}

int fetch_link_make(const struct fetch_target *target, const char *folder, const char *path,
                    const char *leads_to, struct edl_error *error)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    _cleanup_free_ char *whole = text_format("%s%s", folder, path);
    _cleanup_close_ int fd = -1;
    int r;

    if (streq(name, FETCH_MARK))
        return edl_error_set(error, -EPERM, "it has the name of what edl fetch keeps there");
    fd = fetch_folder_below(target->root_fd, whole, error);
    if (fd < 0)
        return fd;
    r = clear_way(target, fd, name, whole, leads_to, error);
    if (r != 0)
        return r;
    r = fetch_record_link(target->record, whole, leads_to, error);
    if (r < 0)
        return r;
    return symlinkat(leads_to, fd, name) == -1
               ? edl_error_errno(error, -errno, "cannot make the link %.200s", name)
               : 0;
}
