/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_http_server.c - any bytes as a client's requests to a server, several maybe
 *
 * In one piece or cut in two (by the first byte), and then the client is done sending. With any
 * bytes: each request that gets to a handler has the method and the path of its route, and as much
 * of a body as it said. The server is ready for the next client. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/log.h"
#include "shared/macro.h"

#define STEPS_MAX 10000
#define BODY_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sd_event *event;
static struct http_server *server;
static struct sockaddr_un at = { .sun_family = AF_UNIX };
static socklen_t at_size;
static unsigned n_sinks;

/* --- handlers --- */

static void look(struct http_request *request)
{
    const struct http_route *route = http_request_route(request);
    const char *path = http_request_path(request);
    uint64_t announced = http_request_announced_bytes(request);
    size_t size = 0;
    uint64_t n;

    if (strcmp(http_request_method(request), route->method) != 0 || path[0] != '/' ||
        strchr(path, '?') != NULL || strpbrk(path, " \r\n") != NULL)
        abort();
    (void)http_request_body(request, &size);
    if (size > route->max_body_bytes || (route->sink == NULL && announced > 0 && size != announced))
        abort();
    (void)http_request_query_u64(request, "n", 1, &n, NULL);
    (void)http_request_header(request, "Authorization");
}

static void on_item(struct http_request *request, void *userdata)
{
    const char *name = http_request_param(request, "name");

    (void)userdata;
    look(request);
    if (name == NULL || name[0] == '\0')
        abort();
    http_reply_header(request, "X-Name", "item");
    http_reply_json(request, 200, json_pack("{s:s?}", "q", http_request_query(request, "q")));
}

static void on_echo(struct http_request *request, void *userdata)
{
    struct edl_error error = { 0 };
    json_t *value;

    (void)userdata;
    look(request);
    if (http_request_json(request, &value, &error) < 0)
        http_reply_error(request, &error);
    else
        http_reply_json(request, 201, value);
}

static int sink_begin(struct http_request *request, void *userdata, struct edl_error *error)
{
    (void)request;
    (void)userdata;
    (void)error;
    n_sinks++;
    return 0;
}

static int sink_take(struct http_request *request, const void *data, size_t size, void *userdata,
                     struct edl_error *error)
{
    (void)request;
    (void)userdata;
    return memchr(data, '!', size) != NULL ? edl_error_set(error, -EINVAL, "a piece has a !") : 0;
}

static void sink_end(struct http_request *request, void *userdata)
{
    (void)request;
    (void)userdata;
    n_sinks--;
}

static const struct http_sink sink = { sink_begin, sink_take, sink_end };

static void on_sunk(struct http_request *request, void *userdata)
{
    (void)userdata;
    look(request);
    http_reply_text(request, 200, "text/plain", "taken");
}

static const struct http_route table[] = {
    { .method = "GET",
      .path = "/items/{name}",
      .handler = on_item,
      .max_body_bytes = BODY_MAX,
      .query = "n q" },
    { .method = "POST",
      .path = "/echo",
      .handler = on_echo,
      .max_body_bytes = BODY_MAX,
      .query = HTTP_QUERY_ANY },
    { .method = "PUT",
      .path = "/sink",
      .handler = on_sunk,
      .max_body_bytes = BODY_MAX,
      .sink = &sink },
};

static int drop(const struct log_record *record)
{
    (void)record;
    return 0;
}

static void start(void)
{
    struct http_server_config config = {
        .listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
        .routes = table,
        .n_routes = ELEMENTS(table),
    };

    log_to(drop);
    at_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                          (size_t)snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "edl-fuzz-%d",
                                           (int)getpid())); /* no name in the file system */
    if (bind(config.listen_fd, (struct sockaddr *)&at, at_size) == -1 ||
        listen(config.listen_fd, 8) == -1 || sd_event_new(&event) < 0 ||
        http_server_new(event, &config, &server, NULL) < 0)
        abort();
}

/* --- a client --- */

static void send_part(int fd, const uint8_t *data, size_t size)
{
    if (size > 0 && send(fd, data, size, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
        abort(); /* it fits into the socket: inputs are short */
    for (int i = 0; i < STEPS_MAX && sd_event_run(event, 0) > 0; i++)
        ;
}

/* Until the server has closed. */
static void receive(int fd)
{
    char text[65536];

    for (int i = 0; i < STEPS_MAX; i++) {
        ssize_t n = recv(fd, text, sizeof text, MSG_DONTWAIT);

        if (n == 0 || (n == -1 && errno == ECONNRESET))
            return;
        if (n == -1 && sd_event_run(event, 1000) < 0)
            abort();
    }
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t first;

    if (server == NULL)
        start();
    if (size == 0 || size > BODY_MAX * 4)
        return 0;
    first = data[0] * (size - 1) / 255;
    if (connect(fd, (struct sockaddr *)&at, at_size) == -1)
        abort();
    send_part(fd, data + 1, first);
    send_part(fd, data + 1 + first, size - 1 - first);
    (void)shutdown(fd, SHUT_WR);
    receive(fd);
    for (int i = 0; http_server_connections(server) > 0; i++)
        if (i == STEPS_MAX || sd_event_run(event, 1000) < 0)
            abort();
    if (n_sinks != 0)
        abort();
    return 0;
}
