/* SPDX-License-Identifier: Apache-2.0 */
/* openapi.h - the API described to programs, out of the route table */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct http_route;

/* openapi_document - OpenAPI 3.1 of these routes (new reference): the input, output and headers of
 * each call. The schemas that routes name are in schemas.json. */
json_t *openapi_document(const struct http_route *routes, size_t n);
