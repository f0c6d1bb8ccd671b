/* SPDX-License-Identifier: Apache-2.0 */
/* job_notify.c - see job_notify.h */
#include "shared/job_notify.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/account_name.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define LOCAL_PART_MAX 64

static const struct {
    enum notify_event event;
    const char *word;
} events[NOTIFY_EVENTS] = {
    { NOTIFY_BEGIN, "begin" },
    { NOTIFY_END, "end" },
    { NOTIFY_FAIL, "fail" },
    { NOTIFY_REQUEUE, "requeue" },
};

const char *notify_event_to_string(enum notify_event event)
{
    for (size_t i = 0; i < ELEMENTS(events); i++)
        if (events[i].event == event)
            return events[i].word;
    return "?";
}

int notify_event_from_string(const char *word)
{
    for (size_t i = 0; i < ELEMENTS(events); i++)
        if (streq(events[i].word, word))
            return (int)events[i].event;
    return -EINVAL;
}

struct job_notify *job_notify_copy(const struct job_notify *notify)
{
    struct job_notify *copy;
    size_t n = 0;

    if (notify == NULL)
        return NULL;
    copy = xcalloc(1, sizeof *copy);
    *copy = *notify;
    copy->webhook = notify->webhook != NULL ? xstrdup(notify->webhook) : NULL;
    if (notify->mails == NULL)
        return copy;
    while (notify->mails[n] != NULL)
        n++;
    copy->mails = xcalloc(n + 1, sizeof *copy->mails);
    for (size_t i = 0; i < n; i++)
        copy->mails[i] = xstrdup(notify->mails[i]);
    return copy;
}

struct job_notify *job_notify_free(struct job_notify *notify)
{
    if (notify == NULL)
        return NULL;
    for (char **mail = notify->mails; mail != NULL && *mail != NULL; mail++)
        free(*mail);
    free(notify->mails);
    free(notify->webhook);
    free(notify);
    return NULL;
}

static bool same_mails(char *const *a, char *const *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    while (*a != NULL && *b != NULL && streq(*a, *b)) {
        a++;
        b++;
    }
    return *a == NULL && *b == NULL;
}

bool job_notify_equal(const struct job_notify *a, const struct job_notify *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a->on == b->on && a->each == b->each && same_mails(a->mails, b->mails) &&
           streq(a->webhook != NULL ? a->webhook : "", b->webhook != NULL ? b->webhook : "");
}

/* --- addresses --- */

static bool is_ascii_alnum(char c)
{
    return isascii(c) && isalnum((unsigned char)c);
}

/* labels of letters, digits and '-', with dots between */
static bool is_domain(const char *text, size_t n)
{
    size_t label = 0;

    if (n == 0 || n > WEBHOOK_HOST_MAX)
        return false;
    for (size_t i = 0; i <= n; i++) {
        if (i == n || text[i] == '.') {
            if (label == 0 || label > 63 || text[i - 1] == '-')
                return false;
            label = 0;
        } else if (is_ascii_alnum(text[i]) || (text[i] == '-' && label > 0)) {
            label++;
        } else {
            return false;
        }
    }
    return true;
}

/* What other programs read as a route, a pipe, a file or an option is not in it. */
static bool is_local_part(const char *text, size_t n)
{
    if (n == 0 || n > LOCAL_PART_MAX || (!is_ascii_alnum(text[0]) && text[0] != '_'))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_ascii_alnum(text[i]) && strchr("._+-=~'", text[i]) == NULL)
            return false;
    return true;
}

bool mail_address_valid(const char *text)
{
    const char *at = strchr(text, '@');

    if (strlen(text) > MAIL_ADDRESS_MAX)
        return false;
    if (at == NULL)
        return account_name_valid(text) && is_local_part(text, strlen(text));
    return is_local_part(text, (size_t)(at - text)) && is_domain(at + 1, strlen(at + 1));
}

/* --- URLs --- */

static int refuse_url(struct edl_error *error, const char *why)
{
    (void)edl_error_set(error, -EINVAL, "the webhook %s", why);
    return edl_error_remedy(error, "write https://HOST/PATH, or http://HOST:PORT/PATH");
}

/* is_address_v6 - as it may stand in brackets; whether it is one, is seen when it is called */
static bool is_address_v6(const char *text, size_t n)
{
    if (n < 2 || n > 45)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isascii(text[i]) ||
            (!isxdigit((unsigned char)text[i]) && text[i] != ':' && text[i] != '.'))
            return false;
    return memchr(text, ':', n) != NULL;
}

/* read_host - host and port; *ret_n: bytes of the host, with its brackets */
static int read_host(const char *text, size_t n, struct webhook_url *ret, struct edl_error *error)
{
    const char *shut = text[0] == '[' ? memchr(text, ']', n) : NULL;
    size_t size = shut != NULL ? (size_t)(shut - text) + 1 : strcspn(text, ":/?");
    size_t skip = shut != NULL ? 1 : 0;
    uint64_t port = ret->tls ? 443 : 80;
    char digits[6] = "";

    size = MIN_OF(size, n);
    ret->is_v6 = shut != NULL;
    if (shut != NULL ? !is_address_v6(text + 1, size - 2) : !is_domain(text, size))
        return refuse_url(error, "names no host");
    (void)snprintf(ret->host, sizeof ret->host, "%.*s", (int)(size - 2 * skip), text + skip);
    if (size < n) {
        if (text[size] != ':' || n - size - 1 > 5)
            return refuse_url(error, "has no port from 1 to 65535 behind its host");
        (void)snprintf(digits, sizeof digits, "%.*s", (int)(n - size - 1), text + size + 1);
        if (parse_u64(digits, &port) < 0 || port == 0 || port > UINT16_MAX)
            return refuse_url(error, "has no port from 1 to 65535 behind its host");
    }
    ret->port = (uint16_t)port;
    return 0;
}

int webhook_url_read(const char *text, struct webhook_url *ret, struct edl_error *error)
{
    static const char allowed[] = "-._~:/?@!$&'()*+,;=%[]";
    struct webhook_url url = { .tls = strncmp(text, "https://", 8) == 0 };
    const char *host = text + (url.tls ? 8 : 7);
    size_t n;
    int r;

    if (!url.tls && strncmp(text, "http://", 7) != 0)
        return refuse_url(error, "begins with neither https:// nor http://");
    if (strlen(text) > WEBHOOK_URL_MAX)
        return refuse_url(error, "has more than 2000 bytes");
    for (const char *c = text; *c != '\0'; c++)
        if (!is_ascii_alnum(*c) && strchr(allowed, *c) == NULL)
            return refuse_url(error, "has a character that is none of a URL's (%XX says it), or "
                                     "a fragment");
    n = strcspn(host, "/?");
    if (memchr(host, '@', n) != NULL)
        return refuse_url(error, "has a user before its host; a secret goes into the path");
    if (strpbrk(host + n, "[]") != NULL)
        return refuse_url(error, "has brackets in its path: write %5B and %5D");
    r = n > 0 ? read_host(host, n, &url, error) : refuse_url(error, "names no host");
    if (r == 0 && ret != NULL)
        *ret = url;
    return r;
}

const char *webhook_url_shown(const char *text, char ret[WEBHOOK_SHOWN_MAX])
{
    size_t n = strncmp(text, "https://", 8) == 0 ? 8 : strncmp(text, "http://", 7) == 0 ? 7 : 0;

    n += strcspn(text + n, "/?");
    (void)snprintf(ret, WEBHOOK_SHOWN_MAX, "%.*s/...", (int)MIN_OF(n, WEBHOOK_SHOWN_MAX - 6), text);
    return ret;
}
