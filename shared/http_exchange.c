/* SPDX-License-Identifier: Apache-2.0 */
/* http_exchange.c - one call through libcurl: options in, an answer or a failure in words out */
#include "shared/http_exchange.h"

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_trust.h"
#include "shared/macro.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

static bool is_success(const struct http_exchange *exchange)
{
    long status = 0;

    (void)curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    return status == 200;
}

size_t http_exchange_take(char *data, size_t one, size_t size, void *userdata)
{
    struct http_exchange *exchange = userdata;

    (void)one;
    if (exchange->save != NULL && is_success(exchange)) {
        if (exchange->saved != NULL)
            *exchange->saved += size;
        return fwrite(data, 1, size, exchange->save);
    }
    if (size > HTTP_ANSWER_MAX_BYTES - exchange->body_size) {
        exchange->too_large = true;
        return 0;
    }
    if (exchange->body_size + size > exchange->body_room) {
        exchange->body_room = MAX_OF(exchange->body_room * 2, exchange->body_size + size);
        exchange->body = xreallocarray(exchange->body, exchange->body_room + 1, 1);
    }
    memcpy(exchange->body + exchange->body_size, data, size);
    exchange->body_size += size;
    exchange->body[exchange->body_size] = '\0';
    return size;
}

static size_t on_read(char *buffer, size_t one, size_t size, void *userdata)
{
    struct http_exchange *exchange = userdata;
    size_t n = fread(buffer, one, size, exchange->send);

    if (exchange->on_sent != NULL)
        exchange->on_sent(exchange->sent_userdata, (uint64_t)ftello(exchange->send));
    return n == 0 && ferror(exchange->send) != 0 ? CURL_READFUNC_ABORT : n;
}

/* on_seek - a kept connection was gone: it begins anew on another one */
static int on_seek(void *userdata, curl_off_t offset, int origin)
{
    return fseeko(userdata, (off_t)offset, origin) == 0 ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

/* libcurl takes an answer that ends within its headers for one without a body. */
static size_t on_header(char *line, size_t one, size_t size, void *userdata)
{
    static const char leader[] = "EDL-Leader:";
    struct http_exchange *exchange = userdata;

    (void)one;
    if (size > 5 && memcmp(line, "HTTP/", 5) == 0) /* what came before was an interim answer */
        exchange->leader[0] = '\0';
    if (size >= sizeof leader && strncasecmp(line, leader, sizeof leader - 1) == 0)
        http_call_leader(line + sizeof leader - 1, size - (sizeof leader - 1), exchange->leader);
    exchange->headers_whole =
        size <= 2 && (line[0] == '\r' || line[0] == '\n'); /* the empty line behind them */
    return size;
}

/* libcurl's own sockets would be inherited by the programs that we start. */
static curl_socket_t on_open_socket(void *userdata, curlsocktype purpose,
                                    struct curl_sockaddr *address)
{
    (void)userdata;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static void add_header(struct http_exchange *exchange, const char *name, const char *value)
{
    _cleanup_free_ char *line = NULL;
    struct curl_slist *list;

    if (asprintf(&line, "%s%s", name, value) == -1)
        abort();
    list = curl_slist_append(exchange->headers, line);
    if (list == NULL)
        abort();
    exchange->headers = list;
}

static void set_headers(struct http_exchange *exchange, const struct http_call *call)
{
    if (call->bearer_token != NULL)
        add_header(exchange, "Authorization: Bearer ", call->bearer_token);
    if (exchange->request_body != NULL || call->send != NULL)
        add_header(exchange, "Content-Type: ",
                   call->content_type != NULL ? call->content_type : "application/json");
    for (size_t i = 0; i < ELEMENTS(call->headers) && call->headers[i] != NULL; i++)
        add_header(exchange, "", call->headers[i]);
    (void)curl_easy_setopt(exchange->easy, CURLOPT_HTTPHEADER, exchange->headers);
}

static void set_method(struct http_exchange *exchange, const struct http_call *call, size_t size)
{
    CURL *easy = exchange->easy;

    if (streq(call->method, "HEAD"))
        (void)curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    if (call->send != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)size);
        (void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
        (void)curl_easy_setopt(easy, CURLOPT_READDATA, exchange);
        (void)curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
        (void)curl_easy_setopt(easy, CURLOPT_SEEKDATA, call->send);
    } else if (http_call_has_body(call)) {
        (void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
                               exchange->request_body != NULL ? exchange->request_body : "");
    }
    if (!streq(call->method, "GET") || exchange->request_body != NULL)
        (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
}

static void set_transport(struct http_exchange *exchange, const struct http_call *call)
{
    CURL *easy = exchange->easy;
    uint64_t timeout_us = call->timeout_us > 0 ? call->timeout_us : HTTP_TIMEOUT_US;
    uint64_t timeout_ms = MIN_OF((timeout_us + USEC_PER_MSEC - 1) / USEC_PER_MSEC, INT32_MAX);

    (void)curl_easy_setopt(easy, CURLOPT_URL, exchange->url);
    (void)curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, exchange->base->socket_path);
    http_trust_set(easy, exchange->base);
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L); /* threads, and our own signal handling */
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                           (long)MIN_OF(timeout_ms, HTTP_CONNECT_TIMEOUT_US / USEC_PER_MSEC));
    if (call->stall_timeout_us > 0) {
        (void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
                               (long)MAX_OF(call->stall_timeout_us / USEC_PER_SEC, 1));
    }
    (void)curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, (long)HTTP_CONNECTION_AGE_S);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, http_exchange_take);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange->text);
}

/* file_size - of a file that is to be sent, from its beginning */
static int file_size(FILE *file, size_t *ret, struct edl_error *error)
{
    off_t size = fseeko(file, 0, SEEK_END) == 0 ? ftello(file) : -1;

    if (size == -1 || fseeko(file, 0, SEEK_SET) == -1)
        return edl_error_errno(error, -errno, "cannot read what is to be sent");
    *ret = (size_t)size;
    return 0;
}

int http_exchange_init(struct http_exchange *exchange, const struct http_base *base, CURL *easy,
                       const struct http_call *call, struct edl_error *error)
{
    size_t size = 0;
    int r = http_call_check(base, call, error);

    *exchange = (struct http_exchange){ .base = base,
                                        .easy = easy,
                                        .send = call->send,
                                        .on_sent = call->on_sent,
                                        .sent_userdata = call->sent_userdata,
                                        .save = call->save,
                                        .saved = call->saved };
    if (r == 0 && call->send != NULL)
        r = file_size(call->send, &size, error);
    else if (r == 0)
        r = http_call_body(call, &exchange->request_body, &size, error);
    if (r < 0)
        return r;
    if (asprintf(&exchange->url, "%s%s", base->url, call->path) == -1)
        abort();
    set_transport(exchange, call);
    set_method(exchange, call, size);
    set_headers(exchange, call);
    return 0;
}

void http_exchange_clear(struct http_exchange *exchange)
{
    curl_slist_free_all(exchange->headers);
    free(exchange->url);
    free(exchange->request_body);
    free(exchange->body);
    *exchange = (struct http_exchange){ 0 };
}

static bool was_connected(const struct http_exchange *exchange)
{
    curl_off_t connected_us = 0;

    (void)curl_easy_getinfo(exchange->easy, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
    return connected_us > 0;
}

static int failure_code(const struct http_exchange *exchange, CURLcode result)
{
    if (exchange->too_large)
        return -E2BIG;
    if (result == CURLE_OUT_OF_MEMORY)
        return -ENOMEM;
    if (result == CURLE_URL_MALFORMAT || result == CURLE_UNSUPPORTED_PROTOCOL)
        return -EINVAL;
    if (result != CURLE_OPERATION_TIMEDOUT)
        return EDL_EUNREACHABLE;
    /* The same result for "no connection in time" and for "no answer in time". */
    return was_connected(exchange) ? -ETIMEDOUT : EDL_EUNREACHABLE;
}

static bool says_json(CURL *easy)
{
    const char *type = NULL;

    return curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type) == CURLE_OK && type != NULL &&
           strcasestr(type, "json") != NULL;
}

static unsigned retry_after_s(CURL *easy)
{
    curl_off_t seconds = 0;

    (void)curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
    return (unsigned)MIN_OF(MAX_OF(seconds, 0), HTTP_RETRY_AFTER_MAX_S);
}

void http_exchange_finish(struct http_exchange *exchange, CURLcode result,
                          struct http_answer *ret_answer)
{
    char remedy[sizeof ret_answer->remedy];
    const char *local = NULL;
    long status = 0;

    if (result == CURLE_OK && !exchange->headers_whole) {
        result = CURLE_RECV_ERROR;
        (void)snprintf(exchange->text, sizeof exchange->text, "the answer was cut off");
    }
    if (result == CURLE_OK) {
        (void)curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
        http_answer_take(ret_answer, (unsigned)status, says_json(exchange->easy),
                         TAKE_PTR(exchange->body), exchange->body_size);
        ret_answer->retry_after_s = retry_after_s(exchange->easy);
        memcpy(ret_answer->leader, exchange->leader, sizeof ret_answer->leader);
        (void)curl_easy_getinfo(exchange->easy, CURLINFO_LOCAL_IP, &local);
        (void)snprintf(ret_answer->local, sizeof ret_answer->local, "%s",
                       local != NULL ? local : "");
        return;
    }
    http_trust_explain(exchange->easy, exchange->base, result, exchange->text,
                       sizeof exchange->text, remedy, sizeof remedy);
    http_answer_fail(ret_answer, exchange->base, failure_code(exchange, result),
                     exchange->too_large         ? "the answer is too large"
                     : exchange->text[0] != '\0' ? exchange->text
                                                 : curl_easy_strerror(result),
                     remedy);
    ret_answer->sent = was_connected(exchange);
}
