/* SPDX-License-Identifier: Apache-2.0 */
/* http_call.c - addresses of servers, and the checks of a call before anything is sent */
#include "shared/http_call.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/un.h>

#include "shared/error.h"
#include "shared/json_text.h"
#include "shared/macro.h"

bool http_host_is_this_machine(const char *host)
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
    (void)edl_error_remedy(error, "give https:// instead of http://");
    return -EINVAL;
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
    *ret =
        (struct http_base){ .url = strndup(text, length),
                            .in_clear = scheme == 7 && !http_host_is_this_machine(text + scheme) };
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

static bool has_line_break(const char *text)
{
    return text != NULL && strpbrk(text, "\r\n") != NULL;
}

int http_call_check(const struct http_base *base, const struct http_call *call,
                    struct edl_error *error)
{
    bool broken = has_line_break(call->bearer_token) || has_line_break(call->content_type);

    for (const char *p = call->path; *p != '\0'; p++)
        if ((unsigned char)*p <= ' ' || *p == '#')
            return edl_error_set(error, -EINVAL, "\"%s\" cannot be asked for", call->path);
    if (call->path[0] != '/')
        return edl_error_set(error, -EINVAL, "the path %s does not begin with /", call->path);
    if (call->bearer_token != NULL && base->in_clear)
        return refuse_in_clear(base, error);
    for (size_t i = 0; i < ELEMENTS(call->headers) && call->headers[i] != NULL; i++)
        broken |= has_line_break(call->headers[i]);
    return broken ? edl_error_set(error, -EINVAL, "a header or token has a line break in it") : 0;
}

int http_call_body(const struct http_call *call, char **ret, size_t *ret_size,
                   struct edl_error *error)
{
    if (call->json != NULL) {
        *ret = json_to_text(call->json, NULL);
        if (*ret == NULL)
            return edl_error_set(error, -EINVAL, "the request's JSON cannot be written");
        *ret_size = strlen(*ret);
    } else if (call->body != NULL) {
        *ret = xreallocarray(NULL, call->body_size + 1, 1);
        (void)memcpy(*ret, call->body, call->body_size);
        *ret_size = call->body_size;
    }
    return 0;
}

bool http_call_has_body(const struct http_call *call)
{
    return call->json != NULL || call->body != NULL || streq(call->method, "POST") ||
           streq(call->method, "PUT") || streq(call->method, "PATCH");
}

void http_call_leader(const char *value, size_t size, char ret[HTTP_LEADER_MAX])
{
    ret[0] = '\0';
    while (size > 0 && (*value == ' ' || *value == '\t')) {
        value++;
        size--;
    }
    while (size > 0 && (unsigned char)value[size - 1] <= ' ')
        size--;
    if (size >= HTTP_LEADER_MAX)
        return;
    for (size_t i = 0; i < size; i++)
        if (value[i] <= ' ' || value[i] > '~')
            return;
    memcpy(ret, value, size);
    ret[size] = '\0';
}
