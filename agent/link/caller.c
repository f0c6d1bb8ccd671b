/* SPDX-License-Identifier: Apache-2.0 */
/* caller.c - SO_PEERCRED and a walk up the ancestors to a supervisor
 *
 * The peer's pid is that of the process that connected. If it is gone, its number may be another's:
 * the start time is compared before and after the walk. A supervisor on the way up makes it one of
 * ours, if it runs as the same account. A daemonised process is found as well, because supervisors
 * are subreapers. */
#include "agent/link/caller.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/machine/procfs.h"
#include "shared/error.h"

#define DEPTH_MAX 64

static bool walk(pid_t pid, uid_t uid, caller_lookup_fn lookup, void *userdata, void **ret)
{
    for (int depth = 0; depth < DEPTH_MAX && pid > 1; depth++) {
        struct procfs_stat stat;

        if (lookup(pid, uid, userdata, ret))
            return true;
        if (procfs_stat(pid, &stat) < 0)
            return false;
        pid = stat.ppid;
    }
    return false;
}

int caller_identify(int fd, caller_lookup_fn lookup, void *userdata, void **ret,
                    struct edl_error *error)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    struct procfs_stat before, after;
    void *found = NULL;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == -1)
        return edl_error_errno(error, -EACCES, "cannot tell who is calling");
    if (procfs_stat(peer.pid, &before) < 0 || !walk(peer.pid, peer.uid, lookup, userdata, &found) ||
        procfs_stat(peer.pid, &after) < 0 || before.start_ticks != after.start_ticks) {
        (void)edl_error_set(error, -EACCES, "process %d is not part of a job on this node",
                            (int)peer.pid);
        return edl_error_remedy(error, "this socket serves processes that the agent started");
    }
    *ret = found;
    return 0;
}
