/* SPDX-License-Identifier: Apache-2.0 */
/* errand.c - see errand.h */
#include "agent/processes/errand.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "agent/machine/open_files.h"
#include "shared/cleanup.h"
#include "shared/log.h"

static int spawn(const char *const *argv, pid_t *ret)
{
    posix_spawnattr_t attributes;
    sigset_t none;
    int r;

    (void)sigemptyset(&none);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    open_files_lend();
    /* why the cast: it writes to none of them */
    r = posix_spawn(ret, argv[0], NULL, &attributes, (char *const *)(uintptr_t)argv, environ);
    open_files_resume();
    (void)posix_spawnattr_destroy(&attributes);
    return -r;
}

sd_event_source *errand_start(sd_event *event, const char *const *argv, sd_event_io_handler_t ended,
                              void *userdata, int *ret_pidfd)
{
    sd_event_source *source = NULL;
    pid_t pid;
    int r = spawn(argv, &pid);

    if (r < 0) {
        log_error("cannot start %s %s: %s", argv[0], argv[1], strerror(-r));
        return NULL;
    }
    *ret_pidfd = pidfd_open(pid, 0);
    r = *ret_pidfd != -1 ? sd_event_add_io(event, &source, *ret_pidfd, EPOLLIN, ended, userdata)
                         : -errno;
    if (r < 0) {
        log_error("cannot watch %s: %s", argv[0], strerror(-r));
        *ret_pidfd = safe_close(*ret_pidfd);
        return NULL;
    }
    return source;
}
