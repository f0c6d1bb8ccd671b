/* SPDX-License-Identifier: Apache-2.0 */
/* document_bounds.h - how much a document that somebody else wrote may hold
 *
 * Its bytes bound what it costs to send; values and texts bound what it costs to read and to keep.
 * Pure. Used by: yaml.c, job_document_parse.c, http_request.c. Tests: test_yaml.c,
 * test_job_document.c, test_http.c. */
#pragma once

#include <stddef.h>

struct document_bounds {
    size_t bytes;      /* of the whole text */
    size_t values;     /* numbers, texts, lists and mappings; a key is none */
    size_t text_bytes; /* of one text */
};

/* json_values_at_most - the values of a JSON text; of one that is no JSON, some number
 * Linear, some 1 ns a byte. What it tells is never too low. */
size_t json_values_at_most(const char *text, size_t size);
