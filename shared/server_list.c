/* SPDX-License-Identifier: Apache-2.0 */
/* server_list.c - see server_list.h */
#include "shared/server_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_call.h"
#include "shared/macro.h"
#include "shared/text_format.h"

/* canonical - as two spellings of one address are compared; the caller's, NULL: it is none */
static char *canonical(const char *url, struct edl_error *error)
{
    struct http_base base;
    size_t size = strlen(url);

    if (http_base_parse(url, &base, error) < 0)
        return NULL;
    http_base_clear(&base);
    if (strncmp(url, "unix:", 5) != 0)
        while (size > 0 && url[size - 1] == '/')
            size--;
    return text_format("%.*s", (int)size, url);
}

size_t server_list_find(const struct server_list *list, const char *url)
{
    size_t i = 0;

    while (i < list->n && !streq(list->urls[i], url))
        i++;
    return i;
}

int server_list_add(struct server_list *list, const char *url, struct edl_error *error)
{
    _cleanup_free_ char *text = canonical(url, error);

    if (text == NULL)
        return -EINVAL;
    if (server_list_find(list, text) < list->n)
        return -EEXIST;
    if (list->n == SERVERS_MAX) {
        (void)edl_error_set(error, -EINVAL, "more than %d addresses of schedulers", SERVERS_MAX);
        return edl_error_remedy(error, "give those that may lead, with commas between them");
    }
    list->urls[list->n++] = TAKE_PTR(text);
    return 0;
}

static int parse_one(const char *item, struct server_list *list, struct edl_error *error)
{
    int r;

    if (*item == '\0') {
        (void)edl_error_set(error, -EINVAL, "an address of a scheduler is empty");
        return edl_error_remedy(error, "give URL, or URL,URL without blanks");
    }
    r = server_list_add(list, item, error);
    return r == -EEXIST ? 0 : r;
}

int server_list_parse(const char *text, struct server_list *ret, struct edl_error *error)
{
    _cleanup_free_ char *copy = xstrdup(text);
    struct server_list list = { 0 };
    char *rest = copy, *item;
    int r = 0;

    while (r == 0 && (item = strsep(&rest, ",")) != NULL)
        r = parse_one(item, &list, error);
    if (r < 0)
        server_list_clear(&list);
    *ret = list;
    return r;
}

/* No credential goes there (http_call_check). */
static bool is_in_clear(const char *url)
{
    return strncmp(url, "http://", 7) == 0 && !http_host_is_this_machine(url + 7);
}

void server_list_read(const json_t *array, struct server_list *ret)
{
    const json_t *item;
    size_t i;

    *ret = (struct server_list){ 0 };
    json_array_foreach(array, i, item)
    {
        const char *url = json_string_value(item);

        if (url != NULL && !is_in_clear(url))
            (void)server_list_add(ret, url, NULL);
        if (ret->n == SERVERS_MAX)
            return;
    }
}

bool server_list_meets(const struct server_list *a, const struct server_list *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (server_list_find(b, a->urls[i]) < b->n)
            return true;
    return false;
}

bool server_list_equal(const struct server_list *a, const struct server_list *b)
{
    bool same = a->n == b->n;

    for (size_t i = 0; same && i < a->n; i++)
        same = streq(a->urls[i], b->urls[i]);
    return same;
}

char *server_list_text(const struct server_list *list)
{
    char *text = xstrdup(list->n > 0 ? list->urls[0] : "");

    for (size_t i = 1; i < list->n; i++) {
        char *longer = text_format("%s,%s", text, list->urls[i]);

        free(text);
        text = longer;
    }
    return text;
}

char *server_list_told(const json_t *answer)
{
    const char *server = json_string_value(json_object_get(answer, "server"));
    struct server_list servers;
    char *text;

    server_list_read(json_object_get(answer, "servers"), &servers);
    text = servers.n > 0 ? server_list_text(&servers) : xstrdup(server != NULL ? server : "");
    server_list_clear(&servers);
    return text;
}

json_t *server_list_json(const struct server_list *list)
{
    json_t *array = json_array();

    for (size_t i = 0; i < list->n; i++)
        (void)json_array_append_new(array, json_string(list->urls[i]));
    return array;
}

void server_list_clear(struct server_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->urls[i]);
    *list = (struct server_list){ 0 };
}
