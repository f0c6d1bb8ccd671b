/* SPDX-License-Identifier: Apache-2.0 */
/* caller.c - SO_PEERCRED and a walk up the ancestors to a supervisor
 *
 * The peer's pid is that of the process that connected. If it is gone, its number may be another's:
 * it has to live after the walk. A supervisor on the way up makes it one of
 * ours, if it runs as the same account. A daemonised process is found as well, because supervisors
 * are subreapers. */
#include "agent/link/caller.h"

#include <errno.h>
#include <poll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/machine/procfs.h"
#include "shared/cleanup.h"
#include "shared/error.h"

#define DEPTH_MAX 64

static bool walk(pid_t pid, uid_t uid, caller_lookup_fn lookup, void *userdata, void **ret)
{
    for (int depth = 0; depth < DEPTH_MAX && pid > 1; depth++) {
        if (lookup(pid, uid, userdata, ret))
            return true;
        pid = procfs_parent(pid);
    }
    return false;
}

static bool lives(int pidfd)
{
    struct pollfd end = { .fd = pidfd, .events = POLLIN };

    return poll(&end, 1, 0) == 0;
}

int caller_identify(int fd, caller_lookup_fn lookup, caller_group_fn by_group, void *userdata,
                    void **ret, struct edl_error *error)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    _cleanup_close_ int pidfd = -1;
    void *found = NULL;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == -1)
        return edl_error_errno(error, -EACCES, "cannot tell who is calling");
    pidfd = pidfd_open(peer.pid, 0);
    if (pidfd == -1 ||
        (!walk(peer.pid, peer.uid, lookup, userdata, &found) &&
         !by_group(peer.pid, peer.uid, userdata, &found)) ||
        !lives(pidfd)) {
        (void)edl_error_set(error, -EACCES, "process %d is not part of a job on this node",
                            (int)peer.pid);
        return edl_error_remedy(error, "this socket serves processes that the agent started");
    }
    *ret = found;
    return 0;
}
