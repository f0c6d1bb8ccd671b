/* SPDX-License-Identifier: Apache-2.0 */
/* hidden.c - see hidden.h */
#include "agent/hidden.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>

#include "shared/macro.h"

#define NOTHING_IN_IT (MS_NOSUID | MS_NODEV | MS_NOEXEC)

static const char *const hidden[HIDDEN_MAX] = { "/run/user", "/run/dbus" };

static bool is_in(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

void hidden_paths(const char *const *in_use, const char *ret[HIDDEN_MAX + 1])
{
    size_t n = 0;

    for (size_t i = 0; i < ELEMENTS(hidden); i++) {
        const char *const *path = in_use;

        while (*path != NULL && !is_in(*path, hidden[i]))
            path++;
        if (*path == NULL)
            ret[n++] = hidden[i];
    }
    ret[n] = NULL;
}

/* cannot - we may not here, there is no such folder, or the kernel is older than 5.8 (hidepid= by a
 * word: of one /proc, where it was of all of them) */
static bool cannot(int error_number)
{
    return error_number == EPERM || error_number == EACCES || error_number == ENOENT ||
           error_number == EINVAL;
}

int hidden_begin(const char *const *paths)
{
    /* what is mounted later on the machine is still seen, and nothing of ours out there */
    if (unshare(CLONE_NEWNS) == -1 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == -1)
        return cannot(errno) ? 0 : -errno;
    for (; *paths != NULL; paths++)
        if (mount("edl-hidden", *paths, "tmpfs", MS_RDONLY | NOTHING_IN_IT,
                  "mode=0000,size=4k,nr_inodes=2") == -1 &&
            !cannot(errno))
            return -errno;
    if (mount("proc", "/proc", "proc", NOTHING_IN_IT, "hidepid=invisible") == -1 && !cannot(errno))
        return -errno;
    return 0;
}
