/* SPDX-License-Identifier: Apache-2.0 */
/* http_body.c - what a request's body may hold, and its JSON: read here, or elsewhere beforehand */
#include "shared/http_internal.h"

#include <errno.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

enum { DEFAULT_VALUES = 16384 };

void http_request_bound(struct http_request *request)
{
    const struct http_route *route = request->route;

    request->bounds = (struct document_bounds){
        .bytes =
            route->max_body_bytes > 0 ? route->max_body_bytes : (size_t)HTTP_DEFAULT_BODY_BYTES,
        .values = route->max_values > 0 ? route->max_values : (size_t)DEFAULT_VALUES,
    };
    if (route->narrow != NULL)
        route->narrow(request, request->server->config.userdata, &request->bounds);
}

int http_request_refuse_body(const struct http_request *request, struct edl_error *error)
{
    const struct http_route *route = request->route;

    (void)edl_error_set(error, -E2BIG, "the body is larger than %zu bytes", request->bounds.bytes);
    return edl_error_remedy(error, "%s",
                            route->too_large != NULL ? route->too_large : "send less in one call");
}

const struct document_bounds *http_request_bounds(const struct http_request *request)
{
    return &request->bounds;
}

int http_body_read(const char *body, size_t size, const struct document_bounds *bounds,
                   json_t **ret, struct edl_error *error)
{
    json_error_t where;
    json_t *value;

    if (size == 0)
        return edl_error_set(error, -EINVAL, "the body is empty; JSON is expected");
    if (json_values_at_most(body, size) > bounds->values) {
        (void)edl_error_set(error, -E2BIG, "the body has more than %zu values", bounds->values);
        return edl_error_remedy(error, "send less in one call");
    }
    value = json_loadb(body, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    if (value == NULL)
        return edl_error_set(error, -EINVAL, "the body is not JSON: line %d, column %d: %s",
                             where.line, where.column, where.text);
    *ret = value;
    return 0;
}

/* What was read is told once and not kept: it may take far more memory than its text. */
int http_request_json(struct http_request *request, json_t **ret, struct edl_error *error)
{
    if (request->json != NULL) {
        *ret = TAKE_PTR(request->json);
        return 0;
    }
    if (request->unread == NULL)
        return http_body_read(request->body, request->body_size, &request->bounds, ret, error);
    if (error != NULL)
        *error = *request->unread;
    return request->unread->code;
}

bool http_request_was_read(const struct http_request *request)
{
    return request->read;
}

void http_request_set_read(struct http_request *request, json_t *take_json,
                           const struct edl_error *error)
{
    request->read = true;
    request->json = take_json;
    if (take_json != NULL)
        return;
    request->unread = xcalloc(1, sizeof *request->unread);
    *request->unread = *error;
}

char *http_request_lend_body(struct http_request *request)
{
    return TAKE_PTR(request->body);
}

void http_request_return_body(struct http_request *request, char *take_body)
{
    request->body = take_body;
}
