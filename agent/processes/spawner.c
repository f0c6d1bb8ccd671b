/* SPDX-License-Identifier: Apache-2.0 */
/* spawner.c - the agent's end of the spawn server
 *
 * Answers come before other events of the loop (priority): a supervisor announces itself before its
 * program runs, so that a call of the program finds it known. */
#include "agent/processes/spawner.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/processes/helper.h"
#include "agent/processes/spawn_server.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define TRIES 2 /* servers that a launch may outlive */

struct launch {
    struct spawner *spawner; /* borrowed */
    uint64_t number;
    char *path; /* owned */
    bool sent;
    unsigned tries;
    launched_fn launched;
    void *userdata;
    struct launch *prev, *next; /* utlist */
};

struct spawner {
    struct launcher base; /* first */
    sd_event *event;      /* ref */
    char *program;        /* owned */
    int fd;               /* -1: no server */
    int pidfd;            /* of the server */
    sd_event_source *answers;
    sd_event_source *gone;
    struct launch *launches; /* owned; in the order they came, those not sent yet at the end */
    uint64_t numbers;
};

static void launch_free(struct launch *launch)
{
    DL_DELETE(launch->spawner->launches, launch);
    free(launch->path);
    free(launch);
}

static void finish(struct launch *launch, pid_t pid, int take_pidfd, const struct edl_error *why)
{
    launched_fn launched = launch->launched;
    void *userdata = launch->userdata;

    launch_free(launch);
    launched(pid, take_pidfd, why, userdata);
}

/* ---- talking to the server ---- */

/* take_pidfd_of - what came along with an answer; -1: nothing */
static int take_pidfd_of(struct msghdr *message)
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);
    int fd = -1;

    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof fd))
        (void)memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

static void answered(struct spawner *s, const struct spawn_reply *reply, int take_pidfd)
{
    struct edl_error why = { 0 };
    struct launch *launch;

    DL_FOREACH(s->launches, launch)
    if (launch->number == reply->number)
        break;
    if (launch == NULL || !launch->sent) { /* cancelled, or another server was asked as well */
        (void)safe_close(take_pidfd);
        return;
    }
    if (reply->pid <= 0)
        (void)edl_error_errno(&why, -reply->error_number, "cannot make a supervisor");
    finish(launch, MAX_OF(reply->pid, 0), take_pidfd, &why);
}

/* take_answers - false when the server has closed its end */
static bool take_answers(struct spawner *s)
{
    for (;;) {
        struct spawn_reply reply;
        struct iovec data = { .iov_base = &reply, .iov_len = sizeof reply };
        union {
            struct cmsghdr align;
            char bytes[CMSG_SPACE(sizeof(int))];
        } control;
        struct msghdr message = { .msg_iov = &data,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = sizeof control };
        ssize_t n = recvmsg(s->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == -1 && errno == EAGAIN;
        if (n == (ssize_t)sizeof reply)
            answered(s, &reply, take_pidfd_of(&message));
        else
            (void)safe_close(take_pidfd_of(&message));
    }
}

/* send_some - what the socket takes; the rest when there is room again. A server that is gone is
 * noticed by its pidfd. */
static void send_some(struct spawner *s)
{
    struct spawn_request request;
    struct launch *launch;

    DL_FOREACH(s->launches, launch)
    {
        size_t size = offsetof(struct spawn_request, path) + strlen(launch->path) + 1;

        if (launch->sent)
            continue;
        request.number = launch->number;
        (void)memcpy(request.path, launch->path, strlen(launch->path) + 1);
        if (send(s->fd, &request, size, MSG_DONTWAIT | MSG_NOSIGNAL) == -1)
            break;
        launch->sent = true;
    }
    (void)sd_event_source_set_io_events(s->answers, launch != NULL ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* ---- the server itself ---- */

static void drop_server(struct spawner *s)
{
    s->answers = sd_event_source_disable_unref(s->answers);
    s->gone = sd_event_source_disable_unref(s->gone);
    s->fd = safe_close(s->fd);
    s->pidfd = safe_close(s->pidfd);
}

static int start_server(struct spawner *s, struct edl_error *error);

/* server_lost - its last answers count; the rest is asked of the next server */
static void server_lost(struct spawner *s)
{
    struct edl_error why = { 0 };
    struct launch *launch, *next;
    siginfo_t info;

    (void)waitid(P_PIDFD, (id_t)s->pidfd, &info, WEXITED | WNOHANG);
    (void)take_answers(s);
    drop_server(s);
    log_warning("the spawn server is gone; processes are not touched by that");
    if (s->launches == NULL)
        return; /* the next start brings the next one */
    (void)edl_error_set(&why, -EPIPE, "edl-supervisor --serve ended in all of %d tries", TRIES);
    if (start_server(s, &why) < 0)
        s->fd = -1;
    DL_FOREACH_SAFE(s->launches, launch, next)
    {
        launch->sent = false;
        if (s->fd == -1 || ++launch->tries >= TRIES)
            finish(launch, 0, -1, &why);
    }
    if (s->fd >= 0)
        send_some(s);
}

static int on_gone(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)source;
    (void)fd;
    (void)revents;
    server_lost(userdata);
    return 0;
}

static int on_answers(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct spawner *s = userdata;

    (void)fd;
    if (!take_answers(s))
        (void)sd_event_source_set_enabled(source, SD_EVENT_OFF); /* its pidfd says the rest */
    else if ((revents & EPOLLOUT) != 0)
        send_some(s);
    return 0;
}

static int watch(struct spawner *s)
{
    int r = sd_event_add_io(s->event, &s->answers, s->fd, EPOLLIN, on_answers, s);

    if (r >= 0)
        r = sd_event_source_set_priority(s->answers, SD_EVENT_PRIORITY_IMPORTANT);
    if (r >= 0)
        r = sd_event_add_io(s->event, &s->gone, s->pidfd, EPOLLIN, on_gone, s);
    return r;
}

static int start_server(struct spawner *s, struct edl_error *error)
{
    static const int numbers[] = { SPAWN_SERVER_FD };
    const char *const argv[] = { s->program, "--serve", NULL };
    struct helper server;
    int r;

    /* ld.so(8): or each supervisor looks up the functions of libraries again, for itself */
    (void)setenv("LD_BIND_NOW", "1", true);
    r = helper_start(argv, numbers, ELEMENTS(numbers), &server, error);
    if (r < 0)
        return r;
    s->fd = server.fd;
    s->pidfd = server.pidfd;
    r = watch(s);
    if (r < 0) {
        drop_server(s);
        return edl_error_errno(error, r, "cannot watch %s", s->program);
    }
    return 0;
}

/* ---- what the runtime calls ---- */

static void spawner_cancel(struct launch *launch)
{
    launch_free(launch);
}

static void spawner_free(struct launcher *launcher)
{
    struct spawner *s = (struct spawner *)launcher;

    drop_server(s);
    while (s->launches != NULL)
        launch_free(s->launches);
    sd_event_unref(s->event);
    free(s->program);
    free(s);
}

static int spawner_start(struct launcher *launcher, const char *path, launched_fn launched,
                         void *userdata, struct launch **ret, struct edl_error *error)
{
    struct spawner *s = (struct spawner *)launcher;
    struct launch *launch;
    int r = s->fd >= 0 ? 0 : start_server(s, error);

    if (r < 0)
        return r;
    if (path[0] != '/' || strlen(path) >= PATH_MAX)
        return edl_error_set(error, -ENAMETOOLONG, "the process folder %s cannot be passed on",
                             path);
    launch = xcalloc(1, sizeof *launch);
    launch->spawner = s;
    launch->number = ++s->numbers;
    launch->path = xstrdup(path);
    launch->launched = launched;
    launch->userdata = userdata;
    DL_APPEND(s->launches, launch);
    send_some(s);
    *ret = launch;
    return 0;
}

struct launcher *spawner_new(sd_event *event, const char *program)
{
    static const struct launcher_ops ops = { .start = spawner_start,
                                             .cancel = spawner_cancel,
                                             .free = spawner_free };
    struct spawner *s = xcalloc(1, sizeof *s);

    s->base.ops = &ops;
    s->event = sd_event_ref(event);
    s->program = xstrdup(program);
    s->fd = -1;
    s->pidfd = -1;
    return &s->base;
}
