/* SPDX-License-Identifier: Apache-2.0 */
/* http_plain.c - the common call to a server on this machine, without libcurl */
#include "shared/http_plain.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_parse.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/patience.h"

#define PIECE_BYTES 16384
#define SLICE_US USEC_PER_SEC /* of a wait: patience.h says why */
/* A server may refuse a larger one unread, which only who waits for "100 Continue" gets to know, or
 * who calls over a Unix socket, where what was answered can be read after the end. */
#define BODY_MAX_BYTES 65536

struct target {
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_un un;
    } to;
    socklen_t size;
    const char *host; /* of the header; borrowed */
};

/* ---- where to ---- */

/* host: "NAME" or "NAME:PORT" */
static bool find_tcp(const char *host, struct target *ret)
{
    size_t size = strcspn(host, ":");
    char name[INET_ADDRSTRLEN] = "";
    uint64_t port = 80;

    if (size >= sizeof name || (host[size] == ':' && parse_u64(host + size + 1, &port) < 0) ||
        port == 0 || port > UINT16_MAX)
        return false;
    (void)memcpy(name, host, size);
    *ret = (struct target){ .size = sizeof ret->to.in, .host = host };
    ret->to.in.sin_family = AF_INET;
    ret->to.in.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, streq(name, "localhost") ? "127.0.0.1" : name,
                     &ret->to.in.sin_addr) == 1;
}

/* find_target - false when it is not a server of this machine, or not at a plain address */
static bool find_target(const struct http_base *base, struct target *ret)
{
    if (base->socket_path == NULL)
        return !base->in_clear && strncmp(base->url, "http://", 7) == 0 &&
               find_tcp(base->url + 7, ret);
    *ret = (struct target){ .size = sizeof ret->to.un, .host = "localhost" };
    ret->to.un.sun_family = AF_UNIX;
    (void)memcpy(ret->to.un.sun_path, base->socket_path, strlen(base->socket_path) + 1);
    return true;
}

/* ---- the request ---- */

static void write_request(FILE *out, const struct target *target, const struct http_call *call,
                          const char *body, size_t body_size)
{
    (void)fprintf(out, "%s %s HTTP/1.1\r\nHost: %s\r\nAccept: */*\r\nConnection: close\r\n",
                  call->method, call->path, target->host);
    if (call->bearer_token != NULL)
        (void)fprintf(out, "Authorization: Bearer %s\r\n", call->bearer_token);
    if (body != NULL)
        (void)fprintf(out, "Content-Type: %s\r\n",
                      call->content_type != NULL ? call->content_type : "application/json");
    for (size_t i = 0; i < ELEMENTS(call->headers) && call->headers[i] != NULL; i++)
        (void)fprintf(out, "%s\r\n", call->headers[i]);
    if (http_call_has_body(call))
        (void)fprintf(out, "Content-Length: %zu\r\n", body_size);
    (void)fputs("\r\n", out);
    if (body_size > 0)
        (void)fwrite(body, body_size, 1, out);
}

/* make_request - the whole of it, the caller's to free; NULL when libcurl has to see to it */
static char *make_request(const struct http_base *base, const struct target *target,
                          const struct http_call *call, size_t *ret_size)
{
    _cleanup_free_ char *body = NULL;
    size_t body_size = 0;
    char *request = NULL;
    FILE *out;

    if (call->save != NULL || call->send != NULL || http_call_check(base, call, NULL) < 0 ||
        http_call_body(call, &body, &body_size, NULL) < 0 ||
        (body_size > BODY_MAX_BYTES && base->socket_path == NULL))
        return NULL;
    out = open_memstream(&request, ret_size);
    if (out == NULL)
        abort();
    write_request(out, target, call, body, body_size);
    if (fclose(out) != 0)
        abort();
    return request;
}

/* ---- the wire ---- */

/* await - 0, or -ETIMEDOUT when nothing of the patience is left
 * A wait goes on all the time: each ends here, and the next one begins. */
static int await(int fd, short events, struct patience *patience)
{
    struct pollfd p = { .fd = fd, .events = events };

    for (;;) {
        bool is_last = patience_is_over(patience);
        int n = poll(&p, 1, (int)((patience->planned_us + USEC_PER_MSEC - 1) / USEC_PER_MSEC));
        uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

        patience_spend(patience, now_us);
        (void)patience_plan(patience, SLICE_US, now_us);
        if (n > 0)
            return 0;
        if (n == 0 && is_last)
            return -ETIMEDOUT;
        if (n == -1 && errno != EINTR)
            return -errno;
    }
}

/* connect_to - a descriptor, or negative */
static int connect_to(const struct target *target, struct patience *patience)
{
    _cleanup_close_ int fd =
        socket(target->to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof(int);
    int failure = 0;
    int r;

    if (fd == -1)
        return -errno;
    if (connect(fd, &target->to.any, target->size) == 0)
        return TAKE_FD(fd);
    if (errno != EINPROGRESS) /* also EAGAIN, of a Unix socket whose queue is full */
        return -errno;
    r = await(fd, POLLOUT, patience);
    if (r == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) == -1)
        failure = errno;
    if (r < 0 || failure != 0)
        return r < 0 ? r : -failure;
    return TAKE_FD(fd);
}

/* send_more - a server may answer and close before it has read all: then its answer counts */
static int send_more(struct http_plain *exchange)
{
    while (exchange->n_sent < exchange->size) {
        ssize_t n = send(exchange->fd, exchange->request + exchange->n_sent,
                         exchange->size - exchange->n_sent, MSG_NOSIGNAL);

        if (n >= 0)
            exchange->n_sent += (size_t)n;
        else if (errno == EPIPE || errno == ECONNRESET)
            exchange->n_sent = exchange->size;
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

/* receive_more - 0: the answer is whole */
static int receive_more(struct http_plain *exchange)
{
    char piece[PIECE_BYTES];
    int r = 0;

    while (r == 0) {
        ssize_t n = recv(exchange->fd, piece, sizeof piece, MSG_DONTWAIT);

        if (n > 0)
            r = http_parse_feed(&exchange->parse, piece, (size_t)n);
        else if (n == 0)
            r = http_parse_end(&exchange->parse);
        else if (errno != EINTR)
            r = -errno;
    }
    return r < 0 ? r : 0;
}

/* go_on - 0: the answer is whole; -EAGAIN: wait for exchange->events; else it failed */
static int go_on(struct http_plain *exchange)
{
    int r = send_more(exchange);

    exchange->events = r == 0 ? POLLIN : POLLOUT;
    return r == 0 ? receive_more(exchange) : r;
}

/* ---- a call ---- */

/* describe - what libcurl says of it, where it has words */
static void describe(int code, const struct http_parse *parse, uint64_t timeout_us, char *ret,
                     size_t size)
{
    switch (code) {
    case -ETIMEDOUT:
        (void)snprintf(ret, size,
                       "Operation timed out after %" PRIu64 " milliseconds with %zu bytes received",
                       timeout_us / USEC_PER_MSEC, parse->body_size);
        break;
    case -ENODATA:
        if (parse->state == HTTP_PARSE_LENGTH)
            (void)snprintf(ret, size, "transfer closed with %" PRIu64 " bytes remaining to read",
                           parse->left);
        else
            (void)snprintf(ret, size, "transfer closed with outstanding read data remaining");
        break;
    case -ENOMSG:
        (void)snprintf(ret, size, "Empty reply from server");
        break;
    case -EBADMSG:
        (void)snprintf(ret, size, "the answer was cut off");
        break;
    case -EPROTO:
        (void)snprintf(ret, size, "the answer is no HTTP");
        break;
    case -E2BIG:
        (void)snprintf(ret, size, "the answer is too large");
        break;
    default:
        (void)snprintf(ret, size, "Recv failure: %s", strerror(-code));
    }
}

/* fail - the connection was there */
static void fail(const struct http_base *base, int code, const struct http_parse *parse,
                 uint64_t timeout_us, struct http_answer *ret)
{
    bool spoke = code == -ETIMEDOUT || code == -E2BIG || code == -ENODATA; /* HTTP, or may do so */
    char text[128];

    describe(code, parse, timeout_us, text, sizeof text);
    http_answer_fail(ret, base, code == -ETIMEDOUT || code == -E2BIG ? code : EDL_EUNREACHABLE,
                     text, spoke || base->socket_path != NULL ? "" : HTTP_REMEDY_TLS);
    ret->sent = true;
}

static void finish(struct http_plain *exchange, int r, uint64_t timeout_us, struct http_answer *ret)
{
    struct http_parse *parse = &exchange->parse;

    if (r < 0) {
        fail(exchange->base, r, parse, timeout_us, ret);
        return;
    }
    http_answer_take(ret, parse->status, parse->is_json, TAKE_PTR(parse->body), parse->body_size);
    ret->retry_after_s = parse->retry_after_s;
    memcpy(ret->leader, parse->leader, sizeof ret->leader);
}

static void exchange_all(struct http_plain *exchange, uint64_t timeout_us,
                         struct patience *patience, struct http_answer *ret)
{
    int r;

    do {
        r = go_on(exchange);
        if (r == -EAGAIN) {
            int waited = await(exchange->fd, exchange->events, patience);

            r = waited < 0 ? waited : -EAGAIN;
        }
    } while (r == -EAGAIN);
    finish(exchange, r, timeout_us, ret);
}

/* begin - a connection for the call, or negative; connecting has a limit of its own */
static int begin(const struct target *target, struct patience *patience)
{
    uint64_t most_us = MIN_OF(patience->left_us, HTTP_CONNECT_TIMEOUT_US);
    struct patience connecting = patience_of(most_us);
    int fd;

    (void)patience_plan(&connecting, SLICE_US, clock_read_us(CLOCK_BOOTTIME));
    fd = connect_to(target, &connecting);
    patience_spend(&connecting, clock_read_us(CLOCK_BOOTTIME));
    patience_use(patience, most_us - connecting.left_us);
    return fd;
}

bool http_plain_call(const struct http_base *base, const struct http_call *call,
                     uint64_t *ret_spent_us, struct http_answer *ret)
{
    uint64_t timeout_us = call->timeout_us > 0 ? call->timeout_us : HTTP_TIMEOUT_US;
    struct patience patience = patience_of(timeout_us);
    struct http_plain exchange = { .base = base, .fd = -1 };
    struct target target;
    bool made;

    if (!find_target(base, &target))
        return false;
    exchange.request = make_request(base, &target, call, &exchange.size);
    if (exchange.request == NULL)
        return false;
    exchange.fd = begin(&target, &patience);
    made = exchange.fd >= 0;
    if (made) {
        http_parse_init(&exchange.parse, streq(call->method, "HEAD"));
        (void)patience_plan(&patience, SLICE_US, clock_read_us(CLOCK_BOOTTIME));
        exchange_all(&exchange, timeout_us, &patience, ret);
        patience_spend(&patience, clock_read_us(CLOCK_BOOTTIME));
    }
    http_plain_clear(&exchange);
    if (ret_spent_us != NULL)
        *ret_spent_us = timeout_us - patience.left_us;
    return made;
}

/* ---- a call of a poll loop ---- */

int http_plain_begin(struct http_plain *exchange, const struct http_base *base,
                     const struct http_call *call)
{
    struct target target;
    _cleanup_close_ int fd = -1;

    *exchange = (struct http_plain){ .base = base, .fd = -1, .events = POLLOUT };
    http_parse_init(&exchange->parse, streq(call->method, "HEAD"));
    if (!find_target(base, &target))
        return -EINVAL;
    exchange->request = make_request(base, &target, call, &exchange->size);
    if (exchange->request == NULL)
        return -EINVAL;
    fd = socket(target.to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd == -1 || (connect(fd, &target.to.any, target.size) == -1 && errno != EINPROGRESS))
        return -errno;
    exchange->fd = TAKE_FD(fd);
    return 0;
}

int http_plain_go_on(struct http_plain *exchange, struct http_answer *ret)
{
    int r = go_on(exchange);

    if (r == -EAGAIN)
        return r;
    finish(exchange, r, HTTP_TIMEOUT_US, ret);
    return 0;
}

void http_plain_clear(struct http_plain *exchange)
{
    exchange->fd = safe_close(exchange->fd);
    free(exchange->request);
    exchange->request = NULL;
    http_parse_clear(&exchange->parse);
}
