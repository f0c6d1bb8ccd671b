/* SPDX-License-Identifier: Apache-2.0 */
/* spawn_server.c - the loop of edl-supervisor --serve
 *
 * It keeps no state: its request stands in the process folder. The lock on that folder decides when
 * the agent, this server or a supervisor is killed half way. */
#include "agent/processes/spawn_server.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/machine/account.h"
#include "agent/supervisor/supervise.h"
#include "shared/cleanup.h"
#include "shared/log.h"

/* answer - why nothing is done about a failure: the agent is gone then, and the next one finds the
 * process by its folder */
static void answer(int fd, const struct spawn_reply *reply, int pidfd)
{
    struct iovec data = { .iov_base = (void *)reply, .iov_len = sizeof *reply };
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { 0 };
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };

    if (pidfd >= 0) {
        struct cmsghdr *header;

        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof pidfd);
        (void)memcpy(CMSG_DATA(header), &pidfd, sizeof pidfd);
    }
    while (sendmsg(fd, &message, MSG_NOSIGNAL) == -1 && errno == EINTR)
        ;
}

static int be_supervisor(int fd, const struct spawn_request *request)
{
    int pidfd = pidfd_open(getpid(), 0); /* -1: the agent finds us by our record */

    answer(fd, &(struct spawn_reply){ .number = request->number, .pid = getpid() }, pidfd);
    (void)safe_close(pidfd);
    (void)safe_close(fd); /* the end of the server is its end, not ours */
    return supervise_folder(request->path) < 0 ? 1 : 0;
}

static void serve(int fd, const struct spawn_request *request)
{
    sigset_t before;
    pid_t pid;

    (void)sigprocmask(SIG_BLOCK, NULL, &before);
    supervise_block_signals();
    pid = fork();
    if (pid == 0)
        _exit(be_supervisor(fd, request));
    if (pid == -1)
        answer(fd, &(struct spawn_reply){ .number = request->number, .error_number = errno }, -1);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

int spawn_server_run(int fd)
{
    static struct spawn_request request;

    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == -1) {
        log_error("there is no agent to serve: %s", strerror(errno));
        return -errno;
    }
    /* the agent's own, where it is a service: a supervisor that finds one is in a unit of its own
     */
    (void)unsetenv("NOTIFY_SOCKET");
    account_prepare();
    json_object_seed(0);
    (void)signal(SIGCHLD, SIG_IGN); /* supervisors need no reaping: their ends are on record */
    for (;;) {
        ssize_t n = recv(fd, &request, sizeof request, 0);

        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 ? 0 : -errno;
        if ((size_t)n > offsetof(struct spawn_request, path) && ((char *)&request)[n - 1] == '\0')
            serve(fd, &request);
    }
}
