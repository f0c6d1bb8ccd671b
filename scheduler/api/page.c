/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - see page.h */
#include "scheduler/api/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

#define CURSOR_MAX 128 /* longer than any name */

int page_limit(const struct http_request *request, uint64_t *ret, struct edl_error *error)
{
    int r = http_request_query_u64(request, "limit", PAGE_MAX, ret, error);

    if (r < 0 || (*ret >= 1 && *ret <= PAGE_MAX))
        return r;
    (void)edl_error_set(error, -EINVAL, "limit=%" PRIu64 " is not from 1 to %d", *ret, PAGE_MAX);
    return edl_error_remedy(error, "the rest comes page by page");
}

int page_cursor_error(const char *cursor, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "cursor=%.60s is not of an earlier answer", cursor);
    return edl_error_remedy(error, "give what \"next\" says, or leave it out to begin anew");
}

int page_open(const struct http_request *request, struct page *ret, struct edl_error *error)
{
    static const char of_names[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                   "._-";
    const char *cursor = http_request_query(request, "cursor");
    struct page page = { .after = cursor != NULL ? cursor : "" };
    int r = page_limit(request, &page.limit, error);

    if (r < 0)
        return r;
    if (cursor != NULL && (cursor[0] == '\0' || strlen(cursor) > CURSOR_MAX ||
                           strspn(cursor, of_names) != strlen(cursor)))
        return page_cursor_error(cursor, error);
    *ret = page;
    return 0;
}

void page_offer(struct page *page, const char *name, const void *item)
{
    if (strcmp(name, page->after) <= 0)
        return;
    if (page->n == page->room) {
        page->room = MAX_OF(2 * page->room, (size_t)64);
        page->items = xreallocarray(page->items, page->room, sizeof *page->items);
    }
    page->items[page->n++] = (struct page_item){ name, item };
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct page_item *)a)->name, ((const struct page_item *)b)->name);
}

json_t *page_fill(struct page *page)
{
    if (page->n > 0)
        qsort(page->items, page->n, sizeof *page->items, by_name);
    if (page->n <= page->limit)
        return json_null();
    page->n = (size_t)page->limit;
    return json_string(page->items[page->n - 1].name);
}

void page_close(struct page *page)
{
    free(page->items);
    page->items = NULL;
}
