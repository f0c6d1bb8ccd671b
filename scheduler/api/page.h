/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - lists that come page by page: ?limit=N&cursor=C, and "next" in the answer
 *
 * Things with a name are told in the order of names, and the cursor is the name at the end of the
 * page before: so a page goes on where the last one ended, also when things came or went since. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct http_request;

#define PAGE_MAX 1000 /* items of a page; also when no limit is given */

/* page_limit - ?limit=1..PAGE_MAX; -EINVAL */
int page_limit(const struct http_request *request, uint64_t *ret, struct edl_error *error);

/* page_cursor_error - -EINVAL: the cursor is of no earlier answer */
int page_cursor_error(const char *cursor, struct edl_error *error);

struct page_item {
    const char *name; /* borrowed */
    const void *item; /* borrowed */
};

struct page {
    uint64_t limit;
    const char *after;       /* borrowed from the request; "": from the beginning */
    struct page_item *items; /* owned */
    size_t n, room;
};

/* page_open - of the query; -EINVAL. An open page is closed. */
int page_open(const struct http_request *request, struct page *ret, struct edl_error *error);

/* page_offer - one of all there are, in any order */
void page_offer(struct page *page, const char *name, const void *item);

/* page_fill - sorts them: page->items are the page's, as many as page->n; returns "next" */
json_t *page_fill(struct page *page);

void page_close(struct page *page);
