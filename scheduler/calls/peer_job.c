/* SPDX-License-Identifier: Apache-2.0 */
/* peer_job.c - see peer_job.h
 *
 * The number is that of the process that connected. Should it end and another get its number before
 * we look, we take the other for it. Agents hide the socket from jobs as well
 * (agent/processes/hidden.h). */
#include "scheduler/calls/peer_job.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

#define DEPTH_MAX                                                                                  \
    128 /* ancestors; a job may have made many, and still has the supervisor above them */

/* above processes of jobs, and above programs that people run inside them (agent/session) */
static const char *const supervisors[] = { "(edl-supervisor)", "(edl-session)" };

static bool is_one(const char *name, size_t size)
{
    for (size_t i = 0; i < ELEMENTS(supervisors); i++)
        if (size == strlen(supervisors[i]) && strncmp(name, supervisors[i], size) == 0)
            return true;
    return false;
}

/* read_parent - the parent of a process, and whether it is called like a supervisor; -1: it is not
 * seen (proc_pid_stat(5)) */
static pid_t read_parent(pid_t pid, bool *ret_supervisor)
{
    char path[64], text[512];
    _cleanup_close_ int fd = -1;
    const char *begin, *end;
    ssize_t n;
    int parent;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd == -1 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    begin = strchr(text, '(');
    end = strrchr(text, ')'); /* the name may hold blanks and parentheses */
    if (begin == NULL || end == NULL || sscanf(end + 1, " %*c %d", &parent) != 1)
        return -1;
    *ret_supervisor = is_one(begin, (size_t)(end + 1 - begin));
    return parent;
}

static bool is_above_us(pid_t supervisor)
{
    bool is_supervisor;
    pid_t pid = getpid();

    for (int depth = 0; depth < DEPTH_MAX && pid > 1; depth++) {
        pid = read_parent(pid, &is_supervisor);
        if (pid == supervisor)
            return true;
    }
    return false;
}

/* sees_others - where /proc is mounted with hidepid, process 1 is not there for us */
static bool sees_others(void)
{
    return access("/proc/1/stat", F_OK) == 0;
}

bool peer_is_of_job(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    int domain = AF_UNSPEC;
    socklen_t domain_size = sizeof domain;
    bool is_supervisor = false;
    pid_t pid, parent;

    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) == -1 || domain != AF_UNIX ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == -1 || peer.pid <= 0)
        return false;
    pid = peer.pid;
    for (int depth = 0; pid > 1; depth++) {
        parent = read_parent(pid, &is_supervisor);
        if (parent == -1) /* the one that connected, or one on the way up, is gone */
            return sees_others();
        if (is_supervisor && !is_above_us(pid))
            return true;
        if (depth == DEPTH_MAX)
            return true;
        pid = parent;
    }
    return false;
}
