/* SPDX-License-Identifier: Apache-2.0 */
/* http_route.c - from a request target to a route, its parameters and the query's arguments
 *
 * The target is split first and percent-decoded afterwards, so that an encoded '/' stays inside its
 * segment. %00 is refused: everything behind works with C strings. */
#include "shared/http_internal.h"

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"

#include <errno.h>
#include <stdio.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* In place: the result is never longer. plus: '+' means a blank, as in queries. */
static int percent_decode(char *text, bool plus)
{
    char *out = text;

    for (const char *in = text; *in != '\0'; in++) {
        int high;
        int low;

        if (*in != '%') {
            *out++ = plus && *in == '+' ? ' ' : *in;
            continue;
        }
        high = hex_digit(in[1]);
        low = high < 0 ? -1 : hex_digit(in[2]);
        if (low < 0 || (high == 0 && low == 0))
            return -EINVAL;
        *out++ = (char)(high * 16 + low);
        in += 2;
    }
    *out = '\0';
    return 0;
}

static int parse_query(struct http_request *request)
{
    char *rest = request->query;
    size_t room = 1;

    for (const char *p = rest; *p != '\0'; p++)
        room += *p == '&';
    request->arguments = xcalloc(room, sizeof *request->arguments);
    while (rest != NULL) {
        char *name = strsep(&rest, "&");
        char *value = name;

        if (*name == '\0')
            continue;
        (void)strsep(&value, "=");
        if (value == NULL)
            value = name + strlen(name); /* "x" is "x=" */
        if (percent_decode(name, true) < 0 || percent_decode(value, true) < 0)
            return -EINVAL;
        request->arguments[request->n_arguments++] = (struct http_pair){ name, value };
    }
    return 0;
}

int http_parse_target(struct http_request *request, struct edl_error *error)
{
    const char *mark = strchr(request->target, '?');

    if (mark != NULL) {
        request->path[mark - request->target] = '\0';
        request->query = xstrdup(mark + 1);
        if (parse_query(request) < 0)
            return edl_error_set(error, -EINVAL, "the query has a bad %% sequence");
    }
    if (request->path[0] != '/')
        return edl_error_set(error, -EINVAL, "the path does not begin with /");
    return 0;
}

/* 1: matches, and params are set; 0: does not; -EINVAL: a segment cannot be decoded */
static int match_path(struct http_request *request, const char *pattern)
{
    char *rest;

    free(request->segments);
    request->segments = xstrdup(request->path + 1);
    request->n_params = 0;
    rest = request->segments;
    pattern++; /* both begin with '/' */
    for (;;) {
        size_t length = strcspn(pattern, "/");
        char *segment = strsep(&rest, "/");

        if (percent_decode(segment, false) < 0)
            return -EINVAL;
        if (pattern[0] == '{') {
            if (*segment == '\0' || request->n_params == HTTP_PARAMS_MAX)
                return 0;
            request->params[request->n_params++] = (struct http_pair){ pattern + 1, segment };
        } else if (strncmp(segment, pattern, length) != 0 || segment[length] != '\0') {
            return 0;
        }
        pattern += length;
        if (*pattern == '\0' || rest == NULL)
            return *pattern == '\0' && rest == NULL;
        pattern++;
    }
}

static bool method_matches(const char *asked, const char *offered)
{
    return streq(asked, offered) || (streq(asked, "HEAD") && streq(offered, "GET"));
}

int http_match_route(struct http_request *request, struct edl_error *error)
{
    const struct http_server_config *config = &request->server->config;
    char allow[128] = "";

    for (size_t i = 0; i < config->n_routes; i++) {
        const struct http_route *route = &config->routes[i];
        size_t used = strlen(allow);
        int r = match_path(request, route->path);

        if (r < 0)
            return edl_error_set(error, -EINVAL, "the path has a bad %% sequence");
        if (r == 0)
            continue;
        if (method_matches(request->method, route->method)) {
            request->route = route;
            return 0;
        }
        (void)snprintf(allow + used, sizeof allow - used, "%s%s", used > 0 ? ", " : "",
                       route->method);
    }
    request->n_params = 0;
    if (allow[0] == '\0')
        return edl_error_set(error, -ENOENT, "there is no %s here", request->path);
    http_reply_header(request, "Allow", allow);
    return edl_error_set(error, -EOPNOTSUPP, "%s does not know %s, only %s", request->path,
                         request->method, allow);
}

/* --- query keys --- */

enum {
    QUERY_KEYS_MAX = 8,
    QUERY_TEXT_MAX = 128,
};

/* A route's keys, taken apart. */
struct keys {
    char text[QUERY_TEXT_MAX];
    const char *known[QUERY_KEYS_MAX]; /* point into text */
    size_t n;
};

static void split_keys(const struct http_route *route, struct keys *ret)
{
    char *rest = ret->text;

    ret->n = 0;
    (void)snprintf(ret->text, sizeof ret->text, "%s", route->query != NULL ? route->query : "");
    while (rest != NULL && *rest != '\0' && ret->n < QUERY_KEYS_MAX)
        ret->known[ret->n++] = strsep(&rest, " ");
}

static bool is_known(const struct keys *keys, const char *key)
{
    for (size_t i = 0; i < keys->n; i++)
        if (streq(keys->known[i], key))
            return true;
    return false;
}

static int refuse_key(const struct http_route *route, const struct keys *keys, const char *key,
                      struct edl_error *error)
{
    const char *nearest = *key != '\0' ? nearest_word(key, keys->known, keys->n) : NULL;
    char list[QUERY_TEXT_MAX * 2] = "";

    (void)edl_error_set(error, -EINVAL, "%s %s does not know the query key \"%.60s\"",
                        route->method, route->path, key);
    if (nearest != NULL)
        return edl_error_remedy(error, "did you mean \"%s\"?", nearest);
    if (keys->n == 0)
        return edl_error_remedy(error, "leave it out: this call takes no query");
    for (size_t i = 0; i < keys->n; i++) {
        size_t used = strlen(list);

        (void)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "",
                       keys->known[i]);
    }
    return edl_error_remedy(error, "known here: %s", list);
}

int http_check_query(const struct http_request *request, struct edl_error *error)
{
    const struct http_route *route = request->route;
    struct keys keys;

    if (request->n_arguments == 0 || (route->query != NULL && streq(route->query, HTTP_QUERY_ANY)))
        return 0;
    split_keys(route, &keys);
    /* One argument for each known key gets past, so this is short whatever was sent. */
    for (size_t i = 0; i < request->n_arguments; i++) {
        const char *key = request->arguments[i].name;

        if (!is_known(&keys, key))
            return refuse_key(route, &keys, key, error);
        for (size_t before = 0; before < i; before++)
            if (streq(request->arguments[before].name, key)) {
                (void)edl_error_set(error, -EINVAL, "the query gives %s twice", key);
                return edl_error_remedy(error, "give it once");
            }
    }
    return 0;
}
