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

#define DEFAULT_TIMEOUT_US (30 * USEC_PER_SEC)
#define CONNECT_TIMEOUT_MS 5000L
#define ANSWER_MAX_BYTES ((size_t)64 * 1024 * 1024)
/* The server closes idle connections after 60 s; an old one is not worth the race. */
#define CONNECTION_AGE_S 30L

/* By its spelling: nobody is asked what a name means. */
static bool is_this_machine(const char *host)
{
    static const char *const names[] = { "localhost", "[::1]" };
    size_t size = strcspn(host, "/");
    unsigned char address[4];
    char text[INET_ADDRSTRLEN] = "";

    if (host[0] != '[')
        size = MIN_OF(size, strcspn(host, ":"));
    else if (strchr(host, ']') != NULL)
        size = (size_t)(strchr(host, ']') - host) + 1;
    for (size_t i = 0; i < ELEMENTS(names); i++)
        if (strlen(names[i]) == size && strncmp(host, names[i], size) == 0)
            return true;
    if (size < sizeof text)
        memcpy(text, host, size);
    return inet_pton(AF_INET, text, address) == 1 && address[0] == 127;
}

static int refuse_in_clear(const struct http_base *base, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL,
                        "%.100s is another machine: a token would be readable on the way there",
                        base->url);
    return edl_error_remedy(error, "give https:// instead of http://");
}

int http_base_parse(const char *text, struct http_base *ret, struct edl_error *error)
{
    size_t scheme = strncmp(text, "http://", 7) == 0    ? 7
                    : strncmp(text, "https://", 8) == 0 ? 8
                                                        : 0;
    size_t length;

    if (strncmp(text, "unix:/", 6) == 0) {
        if (strlen(text + 5) >= sizeof((struct sockaddr_un *)0)->sun_path)
            return edl_error_set(error, -EINVAL, "the socket path %s is too long", text + 5);
        *ret = (struct http_base){ .url = xstrdup("http://localhost"),
                                   .socket_path = xstrdup(text + 5) };
        return 0;
    }
    if (scheme == 0 || text[scheme] == '\0' || strpbrk(text, " \t\r\n?#@") != NULL) {
        (void)edl_error_set(error, -EINVAL, "\"%s\" is not the address of a server", text);
        (void)edl_error_remedy(error, "give https://HOST:PORT, http://HOST:PORT or unix:/PATH");
        return -EINVAL;
    }
    length = strlen(text);
    while (length > scheme + 1 && text[length - 1] == '/')
        length--;
    *ret = (struct http_base){ .url = strndup(text, length),
                               .in_clear = scheme == 7 && !is_this_machine(text + scheme) };
    if (ret->url == NULL)
        abort();
    return 0;
}

void http_base_trust(struct http_base *base, const char *ca_path)
{
    free(base->ca_path);
    base->ca_path = xstrdup(ca_path);
}

void http_base_clear(struct http_base *base)
{
    free(base->url);
    free(base->socket_path);
    free(base->ca_path);
    *base = (struct http_base){ 0 };
}

static bool is_success(const struct http_exchange *exchange)
{
    long status = 0;

    (void)curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    return status == 200;
}

static size_t on_write(char *data, size_t one, size_t size, void *userdata)
{
    struct http_exchange *exchange = userdata;

    (void)one;
    if (exchange->save != NULL && is_success(exchange))
        return fwrite(data, 1, size, exchange->save);
    if (size > ANSWER_MAX_BYTES - exchange->body_size) {
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

/* libcurl takes an answer that ends within its headers for one without a body. */
static size_t on_header(char *line, size_t one, size_t size, void *userdata)
{
    struct http_exchange *exchange = userdata;

    (void)one;
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

static int add_header(struct http_exchange *exchange, const char *name, const char *value,
                      struct edl_error *error)
{
    _cleanup_free_ char *line = NULL;
    struct curl_slist *list;

    if (asprintf(&line, "%s%s", name, value) == -1)
        abort();
    if (strpbrk(line, "\r\n") != NULL)
        return edl_error_set(error, -EINVAL, "a header or token has a line break in it");
    list = curl_slist_append(exchange->headers, line);
    if (list == NULL)
        abort();
    exchange->headers = list;
    return 0;
}

static int set_headers(struct http_exchange *exchange, const struct http_call *call,
                       struct edl_error *error)
{
    int r = 0;

    if (call->bearer_token != NULL && exchange->base->in_clear)
        return refuse_in_clear(exchange->base, error);
    if (call->bearer_token != NULL)
        r = add_header(exchange, "Authorization: Bearer ", call->bearer_token, error);
    if (r >= 0 && exchange->request_body != NULL)
        r = add_header(exchange, "Content-Type: ",
                       call->content_type != NULL ? call->content_type : "application/json", error);
    for (size_t i = 0; r >= 0 && i < ELEMENTS(call->headers) && call->headers[i] != NULL; i++)
        r = add_header(exchange, "", call->headers[i], error);
    (void)curl_easy_setopt(exchange->easy, CURLOPT_HTTPHEADER, exchange->headers);
    return r;
}

static int copy_body(struct http_exchange *exchange, const struct http_call *call, size_t *ret_size,
                     struct edl_error *error)
{
    if (call->json != NULL) {
        exchange->request_body = json_dumps(call->json, JSON_COMPACT | JSON_ENCODE_ANY);
        if (exchange->request_body == NULL)
            return edl_error_set(error, -EINVAL, "the request's JSON cannot be written");
        *ret_size = strlen(exchange->request_body);
    } else if (call->body != NULL) {
        exchange->request_body = xreallocarray(NULL, call->body_size + 1, 1);
        memcpy(exchange->request_body, call->body, call->body_size);
        *ret_size = call->body_size;
    }
    return 0;
}

static int set_method(struct http_exchange *exchange, const struct http_call *call,
                      struct edl_error *error)
{
    CURL *easy = exchange->easy;
    size_t size = 0;
    int r = copy_body(exchange, call, &size, error);

    if (r < 0)
        return r;
    if (streq(call->method, "HEAD"))
        (void)curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    if (exchange->request_body != NULL || streq(call->method, "POST") ||
        streq(call->method, "PUT") || streq(call->method, "PATCH")) {
        (void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
                               exchange->request_body != NULL ? exchange->request_body : "");
    }
    if (!streq(call->method, "GET") || exchange->request_body != NULL)
        (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
    return 0;
}

static void set_transport(struct http_exchange *exchange, const struct http_call *call)
{
    CURL *easy = exchange->easy;
    uint64_t timeout_us = call->timeout_us > 0 ? call->timeout_us : DEFAULT_TIMEOUT_US;
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
                           MIN_OF((long)timeout_ms, CONNECT_TIMEOUT_MS));
    (void)curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, CONNECTION_AGE_S);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_write);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange->text);
}

int http_exchange_init(struct http_exchange *exchange, const struct http_base *base, CURL *easy,
                       const struct http_call *call, struct edl_error *error)
{
    int r;

    *exchange = (struct http_exchange){ .base = base, .easy = easy, .save = call->save };
    for (const char *p = call->path; *p != '\0'; p++)
        if ((unsigned char)*p <= ' ' || *p == '#')
            return edl_error_set(error, -EINVAL, "\"%s\" cannot be asked for", call->path);
    if (call->path[0] != '/')
        return edl_error_set(error, -EINVAL, "the path %s does not begin with /", call->path);
    if (asprintf(&exchange->url, "%s%s", base->url, call->path) == -1)
        abort();
    set_transport(exchange, call);
    r = set_method(exchange, call, error);
    if (r >= 0)
        r = set_headers(exchange, call, error);
    if (r < 0)
        http_exchange_clear(exchange);
    return r;
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

void http_exchange_finish(struct http_exchange *exchange, CURLcode result,
                          struct http_answer *ret_answer)
{
    const struct http_base *base = exchange->base;
    long status = 0;

    *ret_answer = (struct http_answer){ 0 };
    if (result == CURLE_OK && !exchange->headers_whole) {
        result = CURLE_RECV_ERROR;
        (void)snprintf(exchange->text, sizeof exchange->text, "the answer was cut off");
    }
    if (result != CURLE_OK) {
        ret_answer->failure = failure_code(exchange, result);
        ret_answer->sent = was_connected(exchange);
        http_trust_explain(exchange->easy, base, result, exchange->text, sizeof exchange->text,
                           ret_answer->remedy, sizeof ret_answer->remedy);
        (void)snprintf(ret_answer->text, sizeof ret_answer->text, "%s%.100s: %.140s",
                       base->socket_path != NULL ? "unix:" : "",
                       base->socket_path != NULL ? base->socket_path : base->url,
                       exchange->too_large         ? "the answer is too large"
                       : exchange->text[0] != '\0' ? exchange->text
                                                   : curl_easy_strerror(result));
        return;
    }
    (void)curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    ret_answer->status = (unsigned)status;
    if (exchange->body_size > 0 && says_json(exchange->easy))
        ret_answer->json = json_loadb(exchange->body, exchange->body_size, JSON_DECODE_ANY, NULL);
    ret_answer->body_size = exchange->body_size;
    ret_answer->body = exchange->body != NULL ? TAKE_PTR(exchange->body) : xstrdup("");
}
