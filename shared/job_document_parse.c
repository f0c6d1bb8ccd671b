/* SPDX-License-Identifier: Apache-2.0 */
/* job_document_parse.c - text to a document: JSON when it begins with a brace, else YAML */
#include "shared/job_document.h"

#include <errno.h>
#include <string.h>

#include "shared/document_bounds.h"
#include "shared/error.h"
#include "shared/yaml.h"

const struct document_bounds job_document_bounds = { .bytes = JOB_DOCUMENT_MAX_BYTES,
                                                     .values = JOB_DOCUMENT_MAX_VALUES,
                                                     .text_bytes = JOB_DOCUMENT_MAX_TEXT_BYTES };

static int refuse_size(struct edl_error *error, size_t most, const char *what)
{
    (void)edl_error_set(error, -E2BIG, "the document has more than %zu %s", most, what);
    return edl_error_remedy(error, JOB_DOCUMENT_REMEDY);
}

static int parse_json(const char *text, size_t size, const struct document_bounds *bounds,
                      json_t **ret, struct edl_error *error)
{
    json_error_t problem;
    json_t *document;

    if (json_values_at_most(text, size) > bounds->values)
        return refuse_size(error, bounds->values, "values");
    document = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);

    if (document == NULL)
        return edl_error_set(error, EDL_EBADSPEC, "line %d, column %d: %s", problem.line,
                             problem.column, problem.text);
    *ret = document;
    return 0;
}

/* curl -d takes the line ends out of a file, which JSON does not mind. */
static int parse_yaml(const char *text, size_t size, const struct document_bounds *bounds,
                      json_t **ret, struct edl_error *error)
{
    int r = yaml_to_json(text, size, bounds, ret, error);

    if (r < 0 && memchr(text, '\n', size) == NULL)
        (void)edl_error_remedy(error, "it is one line: a file of YAML is sent by"
                                      " curl --data-binary @FILE, not by -d");
    return r;
}

int job_document_parse(const char *text, size_t size, const struct document_bounds *bounds,
                       json_t **ret_document, struct edl_error *error)
{
    size_t start = 0;

    if (size > bounds->bytes)
        return refuse_size(error, bounds->bytes, "bytes");
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* byte order mark */
        text += 3;
        size -= 3;
    }
    while (start < size && strchr(" \t\r\n", text[start]) != NULL && text[start] != '\0')
        start++;
    if (start == size) {
        (void)edl_error_set(error, EDL_EBADSPEC, "the document is empty");
        (void)edl_error_remedy(error, "send a TrainingJob as YAML or JSON");
        return EDL_EBADSPEC;
    }
    if (text[start] == '{')
        return parse_json(text, size, bounds, ret_document, error);
    return parse_yaml(text, size, bounds, ret_document, error);
}
