/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_job_document.c - any bytes as a job document
 *
 * Beyond not crashing: an accepted document must survive being written and read again unchanged,
 * and a refusal must carry a text. */
#include <stdlib.h>

#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/job_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct job_spec *spec)
{
    json_t *first = job_spec_to_document(spec), *second, *ignored = NULL;
    struct job_spec *back = NULL;

    if (job_spec_from_document(first, &back, &ignored, NULL) < 0 || json_array_size(ignored) != 0)
        abort();
    second = job_spec_to_document(back);
    if (!json_equal(first, second))
        abort();
    json_decref(first);
    json_decref(second);
    json_decref(ignored);
    (void)job_spec_free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *document = NULL, *ignored = NULL;
    struct job_spec *spec = NULL;
    struct edl_error error = { 0 };

    if (job_document_parse((const char *)data, size, &job_document_bounds, &document, &error) < 0) {
        if (error.text[0] == '\0')
            abort();
        return 0;
    }
    if (job_spec_from_document(document, &spec, &ignored, &error) == 0) {
        check_again(spec);
        json_decref(ignored);
        (void)job_spec_free(spec);
    } else if (error.text[0] == '\0') {
        abort();
    }
    json_decref(document);
    return 0;
}
