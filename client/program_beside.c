/* SPDX-License-Identifier: Apache-2.0 */
/* program_beside.c - another program of the project, in the folder of this one */
#include "client/program_beside.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"

int program_path(const char *name, char **ret, struct edl_error *error)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n == -1)
        return edl_error_errno(error, -errno, "finding the folder of this program");
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    *ret = text_format("%s/%s", self, name);
    return 0;
}

int program_become(const char *const argv[], const char *package, struct edl_error *error)
{
    _cleanup_free_ char *program = NULL;
    int r = program_path(argv[0], &program, error);

    if (r < 0)
        return r;
    (void)fflush(stdout);
    (void)execv(program, (char *const *)(uintptr_t)argv); /* why: it writes to none of them */
    r = edl_error_errno(error, -errno, "cannot start %s", program);
    (void)edl_error_remedy(error, "it comes with %s: apt-get install %s", package, package);
    return r;
}
