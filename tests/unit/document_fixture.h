/* SPDX-License-Identifier: Apache-2.0 */
/* document_fixture.h - a job document, from its text to the parts of a job */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/job_spec.h"

/* read_spec - text to spec; NULL with error set. *ret_ignored: space-separated pointers */
static struct job_spec *read_spec(const char *text, size_t size, char *ignored, size_t ignored_size,
                                  struct edl_error *error)
{
    json_t *document = NULL, *list = NULL, *pointer;
    struct job_spec *spec = NULL;
    size_t i;

    *error = (struct edl_error){ 0 };
    ignored[0] = '\0';
    if (job_document_parse(text, size, &job_document_bounds, &document, error) < 0)
        return NULL;
    if (job_spec_from_document(document, &spec, &list, error) == 0) {
        json_array_foreach(list, i, pointer)
        {
            size_t used = strlen(ignored);

            (void)snprintf(ignored + used, ignored_size - used, "%s%s", i > 0 ? " " : "",
                           json_string_value(pointer));
        }
        json_decref(list);
    }
    json_decref(document);
    return spec;
}
