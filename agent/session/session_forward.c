/* SPDX-License-Identifier: Apache-2.0 */
/* session_forward.c - a session that leads to ports of a process: a channel for each connection
 *
 * Whose socket would answer is looked at before each connection and again behind it, before a byte
 * is moved: a session is no way into the machine's own services, nor into another job. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/session/session.h"
#include "agent/session/session_listeners.h"
#include "agent/session/session_members.h"
#include "agent/session/session_stream.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/macro.h"

struct channel {
    struct forward *forward; /* borrowed */
    unsigned number;
    uint16_t port;
    struct in6_addr address;
    sd_event_source *connected; /* NULL: it is */
    struct session_inlet in;
    struct session_outlet out;
    bool ended; /* the person says no more */
    struct channel *prev, *next;
};

struct forward {
    struct session *session;  /* borrowed */
    struct channel *channels; /* owned */
    unsigned n;
};

static void channel_free(struct channel *channel)
{
    struct forward *forward = channel->forward;

    DL_DELETE(forward->channels, channel);
    forward->n--;
    (void)sd_event_source_disable_unref(channel->connected);
    session_inlet_close(&channel->in);
    session_outlet_close(&channel->out);
    free(channel);
}

/* settle - both directions are over; who sends on is told so */
static void settle(void *userdata)
{
    struct channel *channel = userdata;

    if (channel->in.fd >= 0 || channel->out.fd >= 0)
        return;
    if (!channel->ended)
        session_wire_send(channel->forward->session->wire, SESSION_CLOSE, channel->number, NULL, 0);
    channel_free(channel);
}

static void fail(const struct forward *forward, unsigned number, const struct edl_error *why)
{
    session_wire_error(forward->session->wire, number, why, 1);
}

/* ---- whose port it is ---- */

static int refuse(const struct session *session, uint16_t port, struct edl_error *error)
{
    char name[300];

    session_target_name(&session->config, name, sizeof name);
    (void)edl_error_set(error, -ECONNREFUSED, "nothing of %s listens on port %u of node %.60s",
                        name, (unsigned)port, session->config.node);
    return edl_error_remedy(error, "a session leads to ports of the process alone; start a program "
                                   "there that listens, or name its port");
}

/* is_its - a connection to address is answered by a process of the job */
static bool is_its(const struct session_listeners *all, const struct session_members *members,
                   const struct session_target *target, const struct in6_addr *address)
{
    struct session_listeners answering;

    session_listeners_at(all, address, &answering);
    return session_listeners_owned(&answering, members->pids, members->n, session_members_hold,
                                   target);
}

/* look - which address of the port is the process's: *address is tried alone where it is given */
static int look(const struct session *session, uint16_t port, bool given, struct in6_addr *address,
                struct edl_error *error)
{
    const json_t *env = json_object_get(session->target.order, "env");
    const char *own = json_text(env, "EDL_ADDRESS");
    char mapped[INET6_ADDRSTRLEN + 8] = "";
    const char *const texts[] = { "::ffff:127.0.0.1", "::1", mapped };
    struct session_members members = { 0 };
    struct session_listeners all;
    int r = session_listeners_read(session->target.record.child_pid, port, &all);

    if (r < 0)
        return edl_error_errno(error, r, "cannot see who listens on the node");
    if (strlen(own) < INET6_ADDRSTRLEN)
        (void)snprintf(mapped, sizeof mapped, "%s%s", strchr(own, ':') == NULL ? "::ffff:" : "",
                       own);
    session_members_find(&session->target, &members);
    r = given && is_its(&all, &members, &session->target, address) ? 0 : -ECONNREFUSED;
    for (size_t i = 0; !given && r < 0 && i < ELEMENTS(texts); i++)
        if (inet_pton(AF_INET6, texts[i], address) == 1 &&
            is_its(&all, &members, &session->target, address))
            r = 0;
    session_members_clear(&members);
    if (r == 0 && session_target_lives(&session->target))
        return 0;
    return refuse(session, port, error);
}

/* ---- connections ---- */

/* make_socket - in the network of the process */
static int make_socket(const struct session *session, int family)
{
    _cleanup_close_ int its = session_target_network(&session->target), ours = -1;
    int fd, saved;

    if (its < 0)
        return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ours = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (ours == -1 || setns(its, CLONE_NEWNET) == -1)
        return -1;
    fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    saved = errno;
    if (setns(ours, CLONE_NEWNET) == -1)
        abort();
    errno = saved;
    return fd;
}

static int begin_connect(int fd, const struct in6_addr *address, uint16_t port)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
    const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
                                     .sin6_port = htons(port),
                                     .sin6_addr = *address };
    int r;

    memcpy(&v4.sin_addr, &address->s6_addr[12], sizeof v4.sin_addr);
    r = IN6_IS_ADDR_V4MAPPED(address) ? connect(fd, (const struct sockaddr *)&v4, sizeof v4)
                                      : connect(fd, (const struct sockaddr *)&v6, sizeof v6);
    return r == 0 || errno == EINPROGRESS ? 0 : -errno;
}

static int begin_moving(struct channel *channel, struct edl_error *error)
{
    struct session *session = channel->forward->session;
    int fd = fcntl(channel->in.fd, F_DUPFD_CLOEXEC, 3), failure = 0;
    socklen_t size = sizeof failure;
    int r;

    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot connect");
    r = session_outlet_open(&channel->out, session->event, session->wire, channel->number, fd,
                            settle, channel);
    if (r < 0)
        return edl_error_errno(error, r, "the event loop");
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) == -1 || failure != 0)
        return edl_error_errno(error, -failure, "cannot connect to port %u", channel->port);
    return look(session, channel->port, true, &channel->address, error);
}

static int on_connected(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct channel *channel = userdata;
    struct edl_error error = { 0 };

    (void)source;
    (void)fd;
    (void)revents;
    channel->connected = sd_event_source_disable_unref(channel->connected);
    if (begin_moving(channel, &error) < 0) {
        fail(channel->forward, channel->number, &error);
        channel_free(channel);
    }
    return 0;
}

static int open_channel(struct channel *channel, struct edl_error *error)
{
    struct session *session = channel->forward->session;
    int r = look(session, channel->port, false, &channel->address, error);
    int fd;

    if (r < 0)
        return r;
    fd = make_socket(session, IN6_IS_ADDR_V4MAPPED(&channel->address) ? AF_INET : AF_INET6);
    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot make a socket");
    r = session_inlet_open(&channel->in, session->event, session->wire, channel->number, fd);
    channel->in.is_socket = true;
    channel->in.over = settle;
    channel->in.userdata = channel;
    if (r >= 0)
        r = begin_connect(fd, &channel->address, channel->port);
    if (r >= 0)
        r = sd_event_add_io(session->event, &channel->connected, fcntl(fd, F_DUPFD_CLOEXEC, 3),
                            EPOLLOUT, on_connected, channel);
    if (r >= 0) /* before anything is written, or read */
        r = sd_event_source_set_priority(channel->connected, SD_EVENT_PRIORITY_IMPORTANT);
    if (r >= 0)
        r = sd_event_source_set_io_fd_own(channel->connected, true);
    return r < 0 ? edl_error_errno(error, r, "cannot connect to port %u", channel->port) : 0;
}

static struct channel *find(const struct forward *forward, unsigned number)
{
    struct channel *channel;

    DL_FOREACH(forward->channels, channel)
    if (channel->number == number)
        return channel;
    return NULL;
}

static void open_one(struct forward *forward, const struct session_frame *frame)
{
    struct edl_error error = { 0 };
    struct channel *channel;
    uint16_t port;

    if (find(forward, frame->channel) != NULL || !session_frame_u16(frame, &port) || port == 0) {
        session_broken(forward->session);
        return;
    }
    if (forward->n == SESSION_CHANNELS_MAX) {
        (void)edl_error_set(&error, EDL_ETOOMANY, "connections at once: %d, and no more",
                            SESSION_CHANNELS_MAX);
        fail(forward, frame->channel, &error);
        return;
    }
    channel = xcalloc(1, sizeof *channel);
    channel->forward = forward;
    channel->number = frame->channel;
    channel->port = port;
    channel->in.fd = channel->out.fd = -1;
    DL_APPEND(forward->channels, channel);
    forward->n++;
    if (open_channel(channel, &error) < 0) {
        fail(forward, channel->number, &error);
        channel_free(channel);
    }
}

/* ---- the kind ---- */

static int start(struct session *session, struct edl_error *error)
{
    struct forward *forward = xcalloc(1, sizeof *forward);

    (void)error;
    session->part = forward;
    forward->session = session;
    session_wire_send(session->wire, SESSION_READY, 0, NULL, 0);
    return 0;
}

/* on_channel - one that is there; of another one frames may still be on their way */
static void on_channel(struct session *session, struct channel *channel,
                       const struct session_frame *frame)
{
    uint32_t size;

    switch (frame->type) {
    case SESSION_DATA:
        if (!session_inlet_take(&channel->in, frame->data, frame->size))
            session_broken(session);
        break;
    case SESSION_EOF:
        channel->ended = true;
        session_inlet_end(&channel->in);
        break;
    case SESSION_CLOSE:
        channel_free(channel);
        break;
    case SESSION_WINDOW:
        if (!session_frame_u32(frame, &size) || !session_outlet_granted(&channel->out, size))
            session_broken(session);
        break;
    default:
        break;
    }
}

static void on_frame(struct session *session, const struct session_frame *frame)
{
    struct forward *forward = session->part;
    struct channel *channel = find(forward, frame->channel);

    if (frame->type == SESSION_OPEN)
        open_one(forward, frame);
    else if (channel != NULL)
        on_channel(session, channel, frame);
}

static void on_room(struct session *session)
{
    const struct forward *forward = session->part;
    struct channel *channel;

    DL_FOREACH(forward->channels, channel)
    session_outlet_go_on(&channel->out);
}

static bool on_process_end(struct session *session)
{
    (void)session;
    return true;
}

static void hang_up(struct session *session, bool at_once)
{
    (void)at_once;
    session_part_over(session);
}

static void forward_free(struct session *session)
{
    struct forward *forward = session->part;
    struct channel *channel, *next;

    DL_FOREACH_SAFE(forward->channels, channel, next)
    channel_free(channel);
    free(forward);
}

const struct session_kind_ops session_forward_ops = { .start = start,
                                                      .on_frame = on_frame,
                                                      .on_room = on_room,
                                                      .on_process_end = on_process_end,
                                                      .hang_up = hang_up,
                                                      .free = forward_free };
