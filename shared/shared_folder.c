/* SPDX-License-Identifier: Apache-2.0 */
/* shared_folder.c - which paths can be the `workspace-folder` of a job */
#include "shared/shared_folder.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "shared/macro.h"
#include "shared/printable.h"

/* A name of a folder: not empty, neither "." nor "..", and no longer than file systems take, with
 * what a temporary folder's name has beside it. */
static bool name_is_plain(const char *name, size_t length)
{
    return length > 0 && length <= NAME_MAX - 64 && !(length == 1 && name[0] == '.') &&
           !(length == 2 && name[0] == '.' && name[1] == '.');
}

const char *shared_folder_wrong(const char *path)
{
    if (path[0] != '/')
        return "this is not an absolute path";
    if (strlen(path) > SHARED_FOLDER_MAX)
        return "this path has more than 1024 bytes";
    if (!printable_is(path))
        return "this path has a control character";
    for (const char *name = path + 1;; name++) {
        size_t length = strcspn(name, "/");

        if (!name_is_plain(name, length))
            return "this path has a name in it that is empty, too long, \".\" or \"..\"";
        name += length;
        if (*name == '\0')
            return NULL;
    }
}

const char *shared_folder_of(const char *workspace)
{
    size_t length = sizeof SHARED_FOLDER_PREFIX - 1;

    return workspace != NULL && strncmp(workspace, SHARED_FOLDER_PREFIX, length) == 0
               ? workspace + length
               : NULL;
}
