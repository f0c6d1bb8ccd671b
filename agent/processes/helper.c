/* SPDX-License-Identifier: Apache-2.0 */
/* helper.c - see helper.h */
#include "agent/processes/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/machine/open_files.h"
#include "shared/cleanup.h"
#include "shared/error.h"

static int execute(const char *const *argv, const int *numbers, size_t n_numbers, int fd,
                   pid_t *ret)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t none, reset;
    int r;

    (void)sigemptyset(&none);
    (void)sigemptyset(&reset);
    (void)sigaddset(&reset, SIGPIPE);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &reset);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    for (size_t i = 0; i < n_numbers; i++)
        (void)posix_spawn_file_actions_adddup2(&actions, fd, numbers[i]);
    open_files_lend();
    /* why the cast: it writes to none of them */
    r = posix_spawn(ret, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv, environ);
    open_files_resume();
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return -r;
}

int helper_start(const char *const *argv, const int *numbers, size_t n_numbers, struct helper *ret,
                 struct edl_error *error)
{
    int ends[2], pidfd = -1;
    pid_t pid;
    int r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1)
        return edl_error_errno(error, -errno, "cannot make a socket for %s", argv[0]);
    r = execute(argv, numbers, n_numbers, ends[1], &pid);
    (void)safe_close(ends[1]);
    if (r == 0) {
        pidfd = pidfd_open(pid, 0); /* our unreaped child: the number is still its own */
        r = pidfd >= 0 ? 0 : -errno;
    }
    if (r < 0) {
        (void)safe_close(ends[0]);
        return edl_error_errno(error, r, "cannot start %s", argv[0]);
    }
    *ret = (struct helper){ .fd = ends[0], .pidfd = pidfd };
    return 0;
}
