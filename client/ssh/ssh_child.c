/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_child.c - a program with a pipe for each of its streams */
#include "client/ssh/ssh_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"

/* Both ends of a stream; the child's one becomes its descriptor `number`. */
struct stream {
    int ours, theirs;
};

static int open_stream(struct stream *stream, int number)
{
    int ends[2];

    if (number == STDIN_FILENO) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == -1)
            return -errno;
        *stream = (struct stream){ .ours = ends[1], .theirs = ends[0] };
    } else {
        if (pipe2(ends, O_CLOEXEC) == -1)
            return -errno;
        *stream = (struct stream){ .ours = ends[0], .theirs = ends[1] };
    }
    return fcntl(stream->ours, F_SETFL, O_NONBLOCK) == -1 ? -errno : 0;
}

/* spawn - in a process group of its own: Ctrl-C at the terminal is ours alone */
static int spawn(const char *const *argv, char *const *env, const struct stream streams[3],
                 pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    int r;

    (void)sigemptyset(&none);
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGPIPE);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
    (void)posix_spawn_file_actions_init(&actions);
    if (streams[STDIN_FILENO].theirs == -1)
        (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    for (int i = 0; i < 3; i++)
        if (streams[i].theirs != -1)
            (void)posix_spawn_file_actions_adddup2(&actions, streams[i].theirs, i);
    /* why the cast: it writes to none of them */
    r = posix_spawnp(ret, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv,
                     env != NULL ? env : environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return -r;
}

int ssh_child_start(const char *const *argv, char *const *env, bool with_input,
                    struct ssh_child *ret, struct edl_error *error)
{
    struct stream streams[3] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
    int r = 0, pidfd = -1;
    pid_t pid;

    for (int i = with_input ? 0 : 1; i < 3 && r == 0; i++)
        r = open_stream(&streams[i], i);
    if (r == 0)
        r = spawn(argv, env, streams, &pid);
    if (r == 0) {
        /* not reaped yet, so the number is still this child's */
        pidfd = pidfd_open(pid, 0);
        r = pidfd == -1 ? -errno : 0;
    }
    for (int i = 0; i < 3; i++) {
        (void)safe_close(streams[i].theirs);
        if (r < 0)
            (void)safe_close(streams[i].ours);
    }
    if (r < 0) {
        (void)edl_error_errno(error, r, "starting %s", argv[0]);
        return r;
    }
    *ret = (struct ssh_child){
        .pidfd = pidfd, .in = streams[0].ours, .out = streams[1].ours, .err = streams[2].ours
    };
    return 0;
}

int ssh_child_reap(struct ssh_child *child)
{
    siginfo_t info = { 0 };
    int r = waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG);

    child->pidfd = safe_close(child->pidfd);
    if (r == -1)
        return 255;
    return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

/* What is left of a child that nobody waits for. */
static int on_abandoned_end(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    siginfo_t info;

    (void)revents;
    (void)userdata;
    (void)waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG);
    (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
    (void)sd_event_source_set_floating(source, 0); /* which drops the last reference */
    return 0;
}

void ssh_child_abandon(struct ssh_child *child, sd_event *event)
{
    sd_event_source *source = NULL;

    child->in = safe_close(child->in);
    child->out = safe_close(child->out);
    child->err = safe_close(child->err);
    if (child->pidfd == -1)
        return;
    (void)pidfd_send_signal(child->pidfd, SIGTERM, NULL, 0);
    if (sd_event_add_io(event, &source, child->pidfd, EPOLLIN, on_abandoned_end, NULL) >= 0) {
        (void)sd_event_source_set_io_fd_own(source, 1);
        (void)sd_event_source_set_floating(source, 1);
        (void)sd_event_source_unref(source);
        child->pidfd = -1;
    }
    child->pidfd = safe_close(child->pidfd);
}
