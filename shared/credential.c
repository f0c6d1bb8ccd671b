/* SPDX-License-Identifier: Apache-2.0 */
/* credential.c - see credential.h */
#include "shared/credential.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/macro.h"

char *credential_path(const char *name)
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");
    char path[4096];

    if (folder == NULL || folder[0] != '/' ||
        snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path ||
        access(path, F_OK) == -1)
        return NULL;
    return xstrdup(path);
}
