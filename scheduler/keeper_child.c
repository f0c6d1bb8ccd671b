/* SPDX-License-Identifier: Apache-2.0 */
/* keeper_child.c - an edl-lease-keeper of the scheduler's own (see keeper_child.h) */
#include "scheduler/keeper_child.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/keeper_table.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define PROGRAM "edl-lease-keeper"
#define BACKLOG 8

/* --- its socket --- */

typedef int (*address_fn)(int fd, const struct sockaddr *address, socklen_t size);

/* at - bind or connect; by the folder's descriptor, for paths that are longer than an address */
static int at(address_fn what, int fd, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    _cleanup_close_ int dir_fd = -1;
    char dir[PATH_MAX], name[PATH_MAX];
    int n;

    (void)snprintf(dir, sizeof dir, "%s", path);
    (void)snprintf(name, sizeof name, "%s", path);
    dir_fd = open(dirname(dir), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd == -1)
        return -errno;
    n = snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", dir_fd,
                 basename(name));
    if (n >= (int)sizeof address.sun_path)
        return -ENAMETOOLONG;
    return what(fd, (const struct sockaddr *)&address, sizeof address) == 0 ? 0 : -errno;
}

static int call_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

int keeper_child_call(const char *path)
{
    _cleanup_close_ int fd = call_socket();
    int r = fd >= 0 ? fcntl(fd, F_SETFL, O_NONBLOCK) : -1;

    if (r == -1)
        return -errno;
    r = at(connect, fd, path); /* at once, or not: its queue may be full */
    return r < 0 ? r : TAKE_FD(fd);
}

static int make_socket(const char *path, struct edl_error *error)
{
    _cleanup_close_ int fd = call_socket();
    int r;

    if (fd == -1)
        return edl_error_errno(error, -errno, "a socket");
    if (unlink(path) == -1 && errno != ENOENT)
        return edl_error_errno(error, -errno, "removing %.200s", path);
    r = fchmod(fd, 0600) == -1 ? -errno : at(bind, fd, path);
    if (r == 0 && listen(fd, BACKLOG) == -1)
        r = -errno;
    return r < 0 ? edl_error_errno(error, r, "the socket %.200s", path) : TAKE_FD(fd);
}

/* --- the process --- */

/* The program beside this one. */
static int program_path(char ret[PATH_MAX], struct edl_error *error)
{
    char own[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);

    if (n < 0)
        return edl_error_errno(error, -errno, "/proc/self/exe");
    own[n] = '\0';
    if (snprintf(ret, PATH_MAX, "%s/" PROGRAM, dirname(own)) >= PATH_MAX)
        return edl_error_set(error, -ENAMETOOLONG, "the folder of edl-scheduler");
    return 0;
}

static int spawn(const char *path, int listen_fd, pid_t *ret)
{
    _cleanup_close_ int high = fcntl(listen_fd, F_DUPFD_CLOEXEC, KEEPER_FD_LISTEN + 1);
    char name[] = PROGRAM;
    char *argv[] = { name, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int r;

    if (high == -1)
        return -errno;
    (void)sigemptyset(&none);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    /* what a terminal sends to the scheduler is not for it */
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, high, KEEPER_FD_LISTEN);
    r = posix_spawn(ret, path, &actions, &attributes, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return -r;
}

static void end_process(struct keeper_child *child)
{
    if (child->pidfd < 0)
        return;
    (void)pidfd_send_signal(child->pidfd, SIGKILL, NULL, 0); /* it has nothing to finish */
    (void)waitid(P_PIDFD, (id_t)child->pidfd, NULL, WEXITED);
    child->pidfd = safe_close(child->pidfd);
}

int keeper_child_start(struct keeper_child *child, const char *path, struct edl_error *error)
{
    char program[PATH_MAX];
    pid_t pid;
    int r = program_path(program, error);

    end_process(child);
    if (r == 0 && child->listen_fd < 0) {
        r = make_socket(path, error);
        if (r >= 0)
            child->listen_fd = r;
    }
    if (r < 0)
        return r;
    r = spawn(program, child->listen_fd, &pid);
    if (r < 0)
        return edl_error_errno(error, r, "cannot start %s", program);
    child->pidfd = pidfd_open(pid, 0); /* our unreaped child: the number is still its own */
    return child->pidfd >= 0 ? 0 : edl_error_errno(error, -errno, "a descriptor of %s", program);
}

void keeper_child_end(struct keeper_child *child)
{
    end_process(child);
    child->listen_fd = safe_close(child->listen_fd);
}
