/* SPDX-License-Identifier: Apache-2.0 */
/* hidden.c - see hidden.h */
#include "agent/processes/hidden.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>

#include "agent/processes/job_shm.h"
#include "shared/macro.h"

#define NOTHING_IN_IT (MS_NOSUID | MS_NODEV | MS_NOEXEC)

/* /run/edl: where the packaged scheduler listens */
static const char *const hidden[] = { "/run/user", "/run/dbus", "/run/edl" };
_Static_assert(ELEMENTS(hidden) < HIDDEN_MAX, "and the scheduler's socket");

static bool is_in(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool is_used(const char *const *in_use, const char *folder)
{
    while (*in_use != NULL && !is_in(*in_use, folder))
        in_use++;
    return *in_use != NULL;
}

void hidden_paths(const char *const *in_use, const char *scheduler, const char *ret[HIDDEN_MAX + 1])
{
    bool scheduler_is_in = scheduler[0] == '\0';
    size_t n = 0;

    for (size_t i = 0; i < ELEMENTS(hidden); i++)
        if (!is_used(in_use, hidden[i])) {
            scheduler_is_in = scheduler_is_in || is_in(scheduler, hidden[i]);
            ret[n++] = hidden[i];
        }
    if (!scheduler_is_in)
        ret[n++] = scheduler;
    ret[n] = NULL;
}

/* cannot - we may not here, there is no such folder, or the kernel is older than 5.8 (hidepid= by a
 * word: of one /proc, where it was of all of them) */
static bool cannot(int error_number)
{
    return error_number == EPERM || error_number == EACCES || error_number == ENOENT ||
           error_number == EINVAL;
}

/* cover - a folder by an empty one that nobody may enter, a socket by a file that is none */
static int cover(const char *path)
{
    int r = mount("edl-hidden", path, "tmpfs", MS_RDONLY | NOTHING_IN_IT,
                  "mode=0000,size=4k,nr_inodes=2");

    return r == -1 && errno == ENOTDIR ? mount("/dev/null", path, NULL, MS_BIND, NULL) : r;
}

int hidden_begin(const char *const *paths, const char *shm)
{
    /* what is mounted later on the machine is still seen, and nothing of ours out there */
    if (unshare(CLONE_NEWNS) == -1 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == -1)
        return cannot(errno) ? 0 : -errno;
    if (shm != NULL && mount(shm, JOB_SHM_BASE, NULL, MS_BIND, NULL) == -1 && !cannot(errno))
        return -errno;
    if (paths == NULL)
        return 0;
    for (; *paths != NULL; paths++)
        if (cover(*paths) == -1 && !cannot(errno))
            return -errno;
    if (mount("proc", "/proc", "proc", NOTHING_IN_IT, "hidepid=invisible") == -1 && !cannot(errno))
        return -errno;
    return 0;
}
