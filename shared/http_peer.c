/* SPDX-License-Identifier: Apache-2.0 */
/* http_peer.c - who is at the other end of a request's connection */
#include "shared/http_internal.h"

#include "shared/http_guard.h"
#include "shared/http_tls.h"
#include "shared/macro.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static const struct sockaddr *address_of(const struct http_request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

    return info != NULL ? info->client_addr : NULL;
}

int http_request_peer_fd(const struct http_request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info != NULL ? info->connect_fd : -EBADF;
}

bool http_request_leaves(const struct http_request *request)
{
    struct pollfd peer = { .fd = http_request_peer_fd(request), .events = POLLRDHUP };

    return poll(&peer, 1, 0) == 1 && (peer.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool http_request_is_cut_off(const struct http_request *request)
{
    const union MHD_ConnectionInfo *tls =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    int unread = 0;

    return request->body_size < http_request_announced_bytes(request) &&
           http_request_leaves(request) &&
           ioctl(http_request_peer_fd(request), FIONREAD, &unread) == 0 && unread == 0 &&
           (tls == NULL || !http_tls_pending(tls->tls_session));
}

bool http_request_abandoned(const struct http_request *request)
{
    const union MHD_ConnectionInfo *tls =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    int unread = 0;

    return !request->suspended && http_request_leaves(request) &&
           ioctl(http_request_peer_fd(request), FIONREAD, &unread) == 0 && unread == 0 &&
           (tls == NULL || !http_tls_pending(tls->tls_session));
}

void http_request_cut(struct http_request *request)
{
    (void)shutdown(http_request_peer_fd(request), SHUT_RDWR);
    request->left = true;
    if (request->stream != NULL)
        http_stream_break(request->stream);
    else
        http_request_detach(request);
}

void http_request_set_idle(struct http_request *request, unsigned seconds)
{
    (void)MHD_set_connection_option(request->connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}

const char *http_request_peer(const struct http_request *request, char ret[HTTP_PEER_MAX])
{
    const struct sockaddr *address = address_of(request);
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;
    struct ucred peer;
    socklen_t size = sizeof peer;

    (void)snprintf(ret, HTTP_PEER_MAX, "somebody");
    if (address == NULL)
        return ret;
    if (address->sa_family == AF_INET)
        (void)inet_ntop(AF_INET, &v4->sin_addr, ret, HTTP_PEER_MAX);
    else if (address->sa_family == AF_INET6)
        (void)inet_ntop(AF_INET6, &v6->sin6_addr, ret, HTTP_PEER_MAX);
    else if (getsockopt(http_request_peer_fd(request), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
        (void)snprintf(ret, HTTP_PEER_MAX, "uid %u", (unsigned)peer.uid);
    return ret;
}

bool http_request_is_local(const struct http_request *request)
{
    const struct sockaddr *address = address_of(request);
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;

    if (address == NULL)
        return false;
    if (address->sa_family == AF_INET)
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    return address->sa_family == AF_UNIX;
}

/* guarded - NULL: the server has no such limits, or the connection is not counted */
static struct http_guarded *guarded(const struct http_request *request)
{
    const union MHD_ConnectionInfo *info;

    if (request->server->guard == NULL)
        return NULL;
    info = MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

bool http_request_proven(struct http_request *request, const struct http_owner *owner)
{
    struct http_guarded *connection = guarded(request);

    return connection == NULL || http_guard_prove(request->server->guard, connection, owner);
}

bool http_request_hold(struct http_request *request, uint64_t bytes)
{
    struct http_guarded *connection = guarded(request);

    return connection == NULL || http_guard_hold(request->server->guard, connection, bytes);
}

bool http_request_may_hold(const struct http_request *request, uint64_t bytes)
{
    const struct http_guarded *connection = guarded(request);

    return connection == NULL || http_guard_may_hold(request->server->guard, connection, bytes);
}

void http_request_release(struct http_request *request)
{
    struct http_guarded *connection = guarded(request);

    if (connection != NULL)
        http_guard_release(request->server->guard, connection);
}

struct repeats {
    const char *name;
    unsigned n;
};

static enum MHD_Result count(void *userdata, enum MHD_ValueKind kind, const char *name,
                             const char *value)
{
    struct repeats *repeats = userdata;

    (void)kind;
    (void)value;
    repeats->n += strcasecmp(name, repeats->name) == 0;
    return MHD_YES;
}

bool http_request_repeats(const struct http_request *request, const char *name)
{
    struct repeats repeats = { .name = name };

    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count, &repeats);
    return repeats.n > 1;
}
