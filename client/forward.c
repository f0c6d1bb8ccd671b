/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c - see forward.h */
#include "client/forward.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/session.h"
#include "client/session_name.h"
#include "client/session_run.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

enum { PIECE_BYTES = 16 * 1024, BACKLOG = 64, LISTENERS_MAX = 2 * FORWARD_PORTS_MAX };

struct listener {
    struct forward *forward;
    int fd;
    size_t port; /* of config.ports */
    sd_event_source *source;
};

/* A connection, and what came for it and did not go out yet. */
struct peer {
    struct forward *forward;
    int fd;
    uint16_t channel, port;
    sd_event_source *source;
    char *data; /* owned: [from, size) is to be written */
    size_t from, size, room;
    bool read_ended;  /* it sends no more */
    bool write_ended; /* no more comes for it; told once all has gone out */
    struct peer *prev, *next;
};

struct forward {
    struct forward_config config;
    struct forward_port ports[FORWARD_PORTS_MAX];
    struct session *session;
    struct listener listeners[LISTENERS_MAX];
    size_t n_listeners, n_peers;
    struct peer *peers;
    char told[sizeof((struct edl_error *)NULL)->text]; /* of the last refusal */
};

/* --- ports --- */

static int read_one(const char *text, size_t size, uint16_t *ret)
{
    char number[8] = "";
    uint64_t value = 0;

    if (size == 0 || size >= sizeof number)
        return -EINVAL;
    memcpy(number, text, size);
    if (parse_u64(number, &value) < 0 || value > UINT16_MAX)
        return -EINVAL;
    *ret = (uint16_t)value;
    return 0;
}

int forward_port_read(const char *text, struct forward_port *ret, struct edl_error *error)
{
    const char *colon = strchr(text, ':'), *remote = colon != NULL ? colon + 1 : text;
    struct forward_port port = { 0 };
    int r = read_one(remote, strlen(remote), &port.remote);

    port.local = port.remote;
    if (r == 0 && colon == text) /* ":8888": any that is free */
        port.local = 0;
    else if (r == 0 && colon != NULL)
        r = read_one(text, (size_t)(colon - text), &port.local);
    if (r < 0 || port.remote == 0) {
        (void)edl_error_set(error, -EINVAL, "\"%.40s\" names no port", text);
        return edl_error_remedy(error, "8888, or LOCAL:REMOTE as in 8080:80, or :80 for any local "
                                       "port");
    }
    *ret = port;
    return 0;
}

/* --- connections --- */

static void want_connections(struct forward *forward)
{
    bool want = forward->n_peers < FORWARD_CONNECTIONS;

    for (size_t i = 0; i < forward->n_listeners; i++)
        (void)sd_event_source_set_enabled(forward->listeners[i].source,
                                          want ? SD_EVENT_ON : SD_EVENT_OFF);
}

static void peer_free(struct peer *peer)
{
    struct forward *forward = peer->forward;

    DL_DELETE(forward->peers, peer);
    forward->n_peers--;
    session_disconnect(forward->session, peer->channel);
    (void)sd_event_source_disable_unref(peer->source);
    (void)safe_close(peer->fd);
    free(peer->data);
    free(peer);
    want_connections(forward);
}

static struct peer *peer_find(struct forward *forward, uint16_t channel)
{
    struct peer *peer;

    DL_SEARCH_SCALAR(forward->peers, peer, channel, channel);
    return peer;
}

/* peer_watch - sets the events that the peer waits for. false: both directions have ended, and it
 * is freed */
static bool peer_watch(struct peer *peer)
{
    bool writes = peer->from < peer->size;
    bool reads = !peer->read_ended && session_room(peer->forward->session, peer->channel) > 0;
    uint32_t events = (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0);

    if (peer->read_ended && peer->write_ended && !writes) {
        peer_free(peer);
        return false;
    }
    /* EPOLLHUP would come again and again while nothing is waited for */
    (void)sd_event_source_set_enabled(peer->source, events != 0 ? SD_EVENT_ON : SD_EVENT_OFF);
    (void)sd_event_source_set_io_events(peer->source, events);
    return true;
}

/* peer_flush - false: it is freed */
static bool peer_flush(struct peer *peer)
{
    while (peer->from < peer->size) {
        ssize_t n = send(peer->fd, peer->data + peer->from, peer->size - peer->from,
                         MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1 && errno == EAGAIN)
            return peer_watch(peer);
        if (n == -1) {
            peer_free(peer);
            return false;
        }
        peer->from += (size_t)n;
        session_took(peer->forward->session, peer->channel, (size_t)n);
    }
    peer->from = peer->size = 0;
    if (peer->write_ended)
        (void)shutdown(peer->fd, SHUT_WR);
    return peer_watch(peer);
}

static void peer_read(struct peer *peer)
{
    struct session *session = peer->forward->session;
    size_t room = MIN_OF(session_room(session, peer->channel), (size_t)PIECE_BYTES);
    char data[PIECE_BYTES];
    ssize_t n;

    if (peer->read_ended || room == 0) {
        (void)peer_watch(peer);
        return;
    }
    n = recv(peer->fd, data, room, MSG_DONTWAIT);
    if (n > 0) {
        session_send(session, peer->channel, data, (size_t)n);
        (void)peer_watch(peer);
    } else if (n == 0) {
        peer->read_ended = true;
        session_send_eof(session, peer->channel);
        (void)peer_watch(peer);
    } else if (errno != EAGAIN && errno != EINTR) {
        peer_free(peer);
    }
}

static int on_peer(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct peer *peer = userdata;

    (void)source;
    (void)fd;
    if ((events & (EPOLLOUT | EPOLLERR)) != 0 && peer->from < peer->size && !peer_flush(peer))
        return 0;
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
        peer_read(peer);
    return 0;
}

static int on_connection(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct listener *listener = userdata;
    struct forward *forward = listener->forward;
    int peer_fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), yes = 1;
    struct peer *peer;

    (void)source;
    (void)events;
    if (peer_fd == -1)
        return 0;
    (void)setsockopt(peer_fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    peer = xcalloc(1, sizeof *peer);
    peer->forward = forward;
    peer->fd = peer_fd;
    peer->port = forward->ports[listener->port].remote;
    peer->channel = session_connect(forward->session, peer->port);
    DL_APPEND(forward->peers, peer);
    forward->n_peers++;
    if (peer->channel == 0 ||
        sd_event_add_io(forward->config.event, &peer->source, peer_fd, EPOLLIN, on_peer, peer) < 0)
        peer_free(peer);
    else
        want_connections(forward);
    return 0;
}

/* --- from the node --- */

static void on_data(void *userdata, uint16_t channel, const uint8_t *data, size_t size)
{
    struct peer *peer = peer_find(userdata, channel);

    if (peer == NULL)
        return;
    if (peer->from > 0) {
        memmove(peer->data, peer->data + peer->from, peer->size - peer->from);
        peer->size -= peer->from;
        peer->from = 0;
    }
    if (peer->size + size > peer->room) {
        peer->room = MAX_OF(peer->room * 2, peer->size + size);
        peer->data = xreallocarray(peer->data, peer->room, 1);
    }
    memcpy(peer->data + peer->size, data, size);
    peer->size += size;
    (void)peer_flush(peer);
}

static void on_eof(void *userdata, uint16_t channel)
{
    struct peer *peer = peer_find(userdata, channel);

    if (peer == NULL)
        return;
    peer->write_ended = true;
    (void)peer_flush(peer);
}

/* What came before it still goes out. */
static void on_close(void *userdata, uint16_t channel)
{
    struct peer *peer = peer_find(userdata, channel);

    if (peer == NULL)
        return;
    peer->read_ended = peer->write_ended = true;
    (void)peer_flush(peer);
}

/* A browser asks again and again: the same refusal is told once. */
static void on_refused(void *userdata, uint16_t channel, const struct edl_error *error)
{
    struct forward *forward = userdata;

    (void)channel;
    if (streq(forward->told, error->text))
        return;
    (void)snprintf(forward->told, sizeof forward->told, "%s", error->text);
    report_note("%s%s%s", error->text, error->remedy[0] != '\0' ? "; try: " : "", error->remedy);
}

static void on_note(void *userdata, const char *text)
{
    (void)userdata;
    report_note("%s", text);
}

static void on_room(void *userdata)
{
    struct forward *forward = userdata;
    struct peer *peer, *next;

    DL_FOREACH_SAFE(forward->peers, peer, next)
    (void)peer_watch(peer);
}

static void on_ready(void *userdata)
{
    struct forward *forward = userdata;

    if (forward->config.on_ready != NULL)
        forward->config.on_ready(forward->config.userdata);
}

static void on_end(void *userdata, const struct session_end *end)
{
    struct forward *forward = userdata;

    forward->config.on_end(forward->config.userdata, end);
}

/* --- listening --- */

static int listen_at(struct forward *forward, const char *address, size_t port,
                     struct edl_error *error)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV };
    struct listener *listener = &forward->listeners[forward->n_listeners];
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    struct addrinfo *found = NULL;
    char number[8];
    int fd, r = 0, yes = 1;

    (void)snprintf(number, sizeof number, "%u", forward->ports[port].local);
    if (getaddrinfo(address, number, &hints, &found) != 0) {
        (void)edl_error_set(error, -EINVAL, "--address: \"%.80s\" is no address", address);
        return edl_error_remedy(error, "--address 0.0.0.0, or that of one of this machine's "
                                       "networks");
    }
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd != -1)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (fd != -1 && found->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (fd == -1 || bind(fd, found->ai_addr, found->ai_addrlen) == -1 ||
        listen(fd, BACKLOG) == -1 || getsockname(fd, (struct sockaddr *)&own, &size) == -1) {
        r = edl_error_errno(error, -errno, "cannot listen at port %s of %s", number, address);
        (void)edl_error_remedy(error, "another local port: %u:%u",
                               MAX_OF(forward->ports[port].remote + 10000, 1024) % 65536,
                               forward->ports[port].remote);
    }
    freeaddrinfo(found);
    if (r < 0) {
        (void)safe_close(fd);
        return r;
    }
    forward->ports[port].local =
        ntohs(own.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&own)->sin6_port
                                        : ((struct sockaddr_in *)&own)->sin_port);
    *listener = (struct listener){ .forward = forward, .fd = fd, .port = port };
    forward->n_listeners++;
    return 0;
}

static int listen_all(struct forward *forward, struct edl_error *error)
{
    const char *address = forward->config.address;
    int r = 0;

    for (size_t i = 0; i < forward->config.n_ports && r == 0; i++) {
        r = listen_at(forward, address != NULL ? address : "127.0.0.1", i, error);
        if (r == 0 && address == NULL) /* a machine without IPv6 is none the worse */
            (void)listen_at(forward, "::1", i, NULL);
    }
    return r;
}

static int accept_all(struct forward *forward, struct edl_error *error)
{
    for (size_t i = 0; i < forward->n_listeners; i++) {
        struct listener *listener = &forward->listeners[i];
        int r = sd_event_add_io(forward->config.event, &listener->source, listener->fd, EPOLLIN,
                                on_connection, listener);

        if (r < 0)
            return edl_error_errno(error, r, "cannot watch a port");
    }
    return 0;
}

int forward_listen(const struct forward_config *config, struct forward **ret)
{
    struct forward *forward = xcalloc(1, sizeof *forward);
    struct edl_error error = { 0 };

    forward->config = *config;
    memcpy(forward->ports, config->ports, config->n_ports * sizeof *config->ports);
    if (listen_all(forward, &error) < 0) {
        (void)forward_free(forward);
        return report_error(&error);
    }
    *ret = forward;
    return STATUS_OK;
}

int forward_begin(struct forward *forward, const struct session_name *name, uint16_t remote)
{
    const struct session_events events = {
        .on_ready = on_ready,
        .on_data = on_data,
        .on_eof = on_eof,
        .on_close = on_close,
        .on_refused = on_refused,
        .on_note = on_note,
        .on_room = on_room,
        .on_end = on_end,
        .userdata = forward,
    };
    struct edl_error error = { 0 };
    json_t *body = session_body("forward", NULL, 0);
    int status;

    forward->ports[0].remote = remote;
    (void)json_object_set_new(body, "port", json_integer(remote));
    if (name->process != NULL)
        (void)json_object_set_new(body, "process", json_string(name->process));
    status = session_open(forward->config.server, forward->config.event, name->job, body, &events,
                          &forward->session);
    if (status == STATUS_OK && accept_all(forward, &error) < 0)
        status = report_error(&error);
    return status;
}

int forward_open(const struct forward_config *config, struct forward **ret)
{
    struct forward *forward = NULL;
    int status = forward_listen(config, &forward);

    if (status == STATUS_OK)
        status = forward_begin(forward, config->name, config->ports[0].remote);
    if (status != STATUS_OK)
        forward = forward_free(forward);
    else
        *ret = forward;
    return status;
}

struct forward *forward_free(struct forward *forward)
{
    if (forward == NULL)
        return NULL;
    for (size_t i = 0; i < forward->n_listeners; i++) {
        forward->listeners[i].source = sd_event_source_disable_unref(forward->listeners[i].source);
        (void)safe_close(forward->listeners[i].fd);
    }
    forward->n_listeners = 0;
    while (forward->peers != NULL)
        peer_free(forward->peers);
    (void)session_free(forward->session);
    free(forward);
    return NULL;
}

uint16_t forward_local_port(const struct forward *forward, size_t i)
{
    return forward->ports[i].local;
}
