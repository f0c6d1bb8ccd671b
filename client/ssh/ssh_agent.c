/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_agent.c - one question after another to ssh-agent, on a loop that it cannot hold up */
#include "client/ssh/ssh_agent.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "client/ssh/ssh_agent_frame.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

struct ssh_agent {
    int fd;
    sd_event_source *io;
    ssh_agent_answered *answered;
    void *userdata;
    uint8_t *question;
    size_t question_size, sent;
    uint8_t *answer; /* as much room as its length says, once that is known */
    size_t got, wanted;
};

static void answer(struct ssh_agent *agent, const uint8_t *message, size_t size)
{
    (void)sd_event_source_set_enabled(agent->io, SD_EVENT_OFF);
    agent->answered(agent->userdata, message, size);
}

/* send_more - true: all of the question is on its way */
static bool send_more(struct ssh_agent *agent, int *ret_error)
{
    while (agent->sent < agent->question_size) {
        ssize_t n = send(agent->fd, agent->question + agent->sent,
                         agent->question_size - agent->sent, MSG_NOSIGNAL);

        if (n == -1) {
            *ret_error = errno == EAGAIN || errno == EINTR ? 0 : -errno;
            return false;
        }
        agent->sent += (size_t)n;
    }
    return true;
}

/* receive_more - 1: the answer is whole; 0: not yet; < 0: there will be none */
static int receive_more(struct ssh_agent *agent)
{
    while (agent->got < agent->wanted) {
        ssize_t n = recv(agent->fd, agent->answer + agent->got, agent->wanted - agent->got, 0);
        size_t size;

        if (n == -1)
            return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        if (n == 0)
            return -ECONNRESET;
        agent->got += (size_t)n;
        if (agent->got != 4 || agent->wanted != 4)
            continue;
        size = ssh_agent_frame_size(agent->answer, 4);
        if (size == SIZE_MAX)
            return -EBADMSG;
        agent->answer = xreallocarray(agent->answer, size, 1);
        agent->wanted = size;
    }
    return 1;
}

static int on_socket(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct ssh_agent *agent = userdata;
    int r = 0;

    (void)fd;
    (void)revents;
    if (send_more(agent, &r)) {
        (void)sd_event_source_set_io_events(source, EPOLLIN);
        r = receive_more(agent);
    }
    if (r < 0)
        answer(agent, NULL, 0);
    else if (r > 0)
        answer(agent, agent->answer, agent->got);
    return 0;
}

int ssh_agent_open(sd_event *event, const char *path, ssh_agent_answered *answered, void *userdata,
                   struct ssh_agent **ret)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct ssh_agent *agent;

    if (fd == -1)
        return -errno;
    if (snprintf(address.sun_path, sizeof address.sun_path, "%s", path) >=
        (int)sizeof address.sun_path)
        return -ENAMETOOLONG;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == -1)
        return -errno;
    agent = xcalloc(1, sizeof *agent);
    agent->answered = answered;
    agent->userdata = userdata;
    if (sd_event_add_io(event, &agent->io, fd, EPOLLOUT, on_socket, agent) < 0 ||
        sd_event_source_set_enabled(agent->io, SD_EVENT_OFF) < 0)
        abort(); /* of memory only */
    agent->fd = TAKE_FD(fd);
    *ret = agent;
    return 0;
}

void ssh_agent_ask(struct ssh_agent *agent, uint8_t *message, size_t size)
{
    free(agent->question);
    agent->question = message;
    agent->question_size = size;
    agent->sent = 0;
    agent->answer = xreallocarray(agent->answer, 4, 1);
    agent->got = 0;
    agent->wanted = 4;
    if (sd_event_source_set_io_events(agent->io, EPOLLOUT) < 0 ||
        sd_event_source_set_enabled(agent->io, SD_EVENT_ON) < 0)
        abort();
}

struct ssh_agent *ssh_agent_free(struct ssh_agent *agent)
{
    if (agent == NULL)
        return NULL;
    (void)sd_event_source_disable_unref(agent->io);
    (void)safe_close(agent->fd);
    free(agent->question);
    free(agent->answer);
    free(agent);
    return NULL;
}
