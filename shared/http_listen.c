/* SPDX-License-Identifier: Apache-2.0 */
/* http_listen.c - listening sockets: TCP on a numeric address, Unix at a path */
#include "shared/http_server.h"

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/socket_address.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { BACKLOG = 1024 };

/* http_listen_tcp - the descriptor, or a negative code */
int http_listen_tcp(const char *address, uint16_t port, uint16_t *ret_port, struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    union socket_address a;
    socklen_t size = socket_address_parse(address, port, &a);
    const int on = 1;

    if (size == 0)
        return edl_error_set(error, -EINVAL, "\"%s\" is not a numeric IPv4 or IPv6 address",
                             address);
    fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot make a TCP socket");
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a.any.sa_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, &a.any, size) == -1 || listen(fd, BACKLOG) == -1)
        return edl_error_errno(error, -errno, "cannot listen on %s port %u", address, port);
    if (getsockname(fd, &a.any, &size) == -1)
        return edl_error_errno(error, -errno, "cannot read the port of %s", address);
    if (ret_port != NULL)
        *ret_port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
    return TAKE_FD(fd);
}

/* Only a socket is removed: a path given by mistake must not cost anybody a file. */
static int remove_stale(const char *path, struct edl_error *error)
{
    struct stat st;

    if (lstat(path, &st) == -1)
        return errno == ENOENT ? 0 : edl_error_errno(error, -errno, "cannot look at %s", path);
    if (!S_ISSOCK(st.st_mode))
        return edl_error_set(error, -EEXIST, "%s is there and is not a socket", path);
    if (unlink(path) == -1)
        return edl_error_errno(error, -errno, "cannot remove %s", path);
    return 0;
}

/* http_listen_unix - the descriptor, or a negative code */
int http_listen_unix(const char *path, unsigned mode, struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int r;

    if (strlen(path) >= sizeof a.sun_path)
        return edl_error_set(error, -EINVAL, "the socket path %s is longer than %zu bytes", path,
                             sizeof a.sun_path - 1);
    memcpy(a.sun_path, path, strlen(path) + 1);
    r = remove_stale(path, error);
    if (r < 0)
        return r;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot make a Unix socket");
    /* Before bind, so that the path is never wider than asked; after it, to undo the umask. */
    if (fchmod(fd, mode) == -1 || bind(fd, (struct sockaddr *)&a, sizeof a) == -1 ||
        chmod(path, mode) == -1 || listen(fd, BACKLOG) == -1)
        return edl_error_errno(error, -errno, "cannot listen on %s", path);
    return TAKE_FD(fd);
}
