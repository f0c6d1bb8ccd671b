/* SPDX-License-Identifier: Apache-2.0 */
/* store_url.c - see store_url.h */
#include "scheduler/leadership/store_url.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "shared/macro.h"

/* Keys of the query whose values are secrets. */
static const char *const secrets[] = { "password", "sslpassword" };

bool store_url_is_known(const char *url)
{
    return strncmp(url, "postgresql://", strlen("postgresql://")) == 0 ||
           strncmp(url, "postgres://", strlen("postgres://")) == 0;
}

/* is_secret - also where letters of the key are written as %70 */
static bool is_secret(const char *key, size_t length)
{
    char plain[16] = "";
    size_t n = 0;

    for (size_t at = 0; at < length && n < sizeof plain - 1; n++) {
        unsigned code;
        bool is_code = key[at] == '%' && at + 2 < length && sscanf(key + at + 1, "%2x", &code) == 1;

        plain[n] = is_code ? (char)code : key[at];
        at += is_code ? 3 : 1;
    }
    for (size_t i = 0; i < ELEMENTS(secrets); i++)
        if (strcasecmp(plain, secrets[i]) == 0)
            return true;
    return false;
}

/* A piece of the text goes over; ret is as long as the text at least. */
static void add(char *ret, size_t *used, const char *text, size_t length)
{
    memcpy(ret + *used, text, length);
    *used += length;
    ret[*used] = '\0';
}

/* add_query - all pairs but the secret ones */
static void add_query(char *ret, size_t *used, const char *query)
{
    char mark = '?';

    while (*query != '\0') {
        size_t length = strcspn(query, "&");

        if (!is_secret(query, MIN_OF(strcspn(query, "="), length))) {
            add(ret, used, &mark, 1);
            add(ret, used, query, length);
            mark = '&';
        }
        query += length + (query[length] == '&');
    }
}

/* find_at - the @ behind the user. A password with a / or a ? in it, which no engine takes, is one
 * for people all the same: no port stands behind its : then. */
static const char *find_at(const char *begin)
{
    const char *at = memrchr(begin, '@', strcspn(begin, "/?"));
    size_t host = strcspn(begin, ":/?,");
    size_t port = begin[host] == ':' ? strspn(begin + host + 1, "0123456789") : 0;

    if (at != NULL || begin[host] != ':' || strcspn(begin + host + 1 + port, "/?,") == 0)
        return at;
    return strrchr(begin, '@');
}

void store_url_without_password(const char *url, char *ret)
{
    const char *end = strstr(url, "://");
    const char *begin = end != NULL ? end + 3 : url;
    const char *at = find_at(begin);
    const char *colon = at != NULL ? memchr(begin, ':', (size_t)(at - begin)) : NULL;
    const char *query = strchr(at != NULL ? at : begin, '?');
    size_t used = 0, whole = strlen(url);

    ret[0] = '\0';
    if (whole >= STORE_URL_MAX)
        return;
    if (colon != NULL) {
        add(ret, &used, url, (size_t)(colon - url));
        url = at;
    }
    add(ret, &used, url, query != NULL ? (size_t)(query - url) : strlen(url));
    if (query != NULL)
        add_query(ret, &used, query + 1);
}

bool store_url_has_password(const char *url)
{
    char bare[STORE_URL_MAX];

    store_url_without_password(url, bare);
    return strlen(bare) != strlen(url);
}
