/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - lists that come page by page: ?limit=N&cursor=C, and "next" in the answer */
#pragma once

#include <stdint.h>

struct edl_error;
struct http_request;

#define PAGE_MAX 1000 /* items of a page; also when no limit is given */

/* page_limit - ?limit=1..PAGE_MAX; -EINVAL */
int page_limit(const struct http_request *request, uint64_t *ret, struct edl_error *error);
