/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - see page.h */
#include "scheduler/page.h"

#include <errno.h>
#include <inttypes.h>

#include "shared/error.h"
#include "shared/http_server.h"

int page_limit(const struct http_request *request, uint64_t *ret, struct edl_error *error)
{
    int r = http_request_query_u64(request, "limit", PAGE_MAX, ret, error);

    if (r < 0 || (*ret >= 1 && *ret <= PAGE_MAX))
        return r;
    (void)edl_error_set(error, -EINVAL, "limit=%" PRIu64 " is not from 1 to %d", *ret, PAGE_MAX);
    return edl_error_remedy(error, "the rest comes page by page");
}
