/* SPDX-License-Identifier: Apache-2.0 */
/* job_document_array.c - a job among others: as one of an array, and after whom */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/job_draft.h"
#include "shared/macro.h"
#include "shared/parse.h"

int job_draft_refuse(struct document_reader *reader, const struct job_draft *draft, const char *key,
                     const char *text)
{
    (void)snprintf(reader->pointer, sizeof reader->pointer, "%s%s%s", draft->pointer,
                   key[0] != '\0' ? "/" : "", key);
    return document_refuse(reader, "%s", text);
}

/* FIRST-LAST, or FIRST-LAST%MOST; the names that its jobs get have to be names as well. */
static int finish_array_range(struct document_reader *reader, const struct job_draft *draft,
                              struct job_spec *spec)
{
    const char *dash = strchr(draft->array, '-'), *percent = strchr(draft->array, '%');
    char first_text[16] = "", last_text[16] = "";
    uint64_t first = 0, last = 0, most = 0;

    if (dash != NULL && dash - draft->array < (ptrdiff_t)sizeof first_text)
        memcpy(first_text, draft->array, (size_t)(dash - draft->array));
    if (dash != NULL)
        (void)snprintf(last_text, sizeof last_text, "%.*s", (int)strcspn(dash + 1, "%"), dash + 1);
    if (dash == NULL || parse_u64(first_text, &first) < 0 || parse_u64(last_text, &last) < 0 ||
        first > last || last > JOB_ARRAY_INDEX_MAX || last - first >= JOB_ARRAY_MAX ||
        (percent != NULL && (parse_u64(percent + 1, &most) < 0 || most == 0))) {
        (void)job_draft_refuse(reader, draft, "array",
                               "FIRST-LAST is expected, of at most 1000 jobs and "
                               "up to 999999");
        (void)edl_error_remedy(reader->error, "for a hundred jobs write array: 0-99, and 0-99%%4 "
                                              "for four of them at once");
        return EDL_EBADSPEC;
    }
    if (strlen(spec->name) + 1 + strlen(last_text) > JOB_NAME_MAX) {
        (void)job_draft_refuse(reader, draft, "array", "the names of its jobs would be too long");
        (void)edl_error_remedy(reader->error,
                               "shorten the job's name: NAME-INDEX has at most %d "
                               "characters",
                               JOB_NAME_MAX);
        return EDL_EBADSPEC;
    }
    spec->array.first = (uint32_t)first;
    spec->array.n = (uint32_t)(last - first) + 1;
    spec->array.most = most < spec->array.n ? (uint32_t)most : 0;
    return 0;
}

int job_draft_finish_array(struct document_reader *reader, const struct job_draft *draft,
                           struct job_spec *spec)
{
    char name[JOB_NAME_MAX + 16];

    if (draft->array != NULL)
        return finish_array_range(reader, draft, spec);
    if (draft->array_element == NULL)
        return 0;
    (void)snprintf(name, sizeof name, "%s-%" PRId64,
                   draft->array_name != NULL ? draft->array_name : "", draft->array_index);
    if (draft->array_name == NULL || draft->array_index < 0 || draft->array_jobs < 0 ||
        !streq(name, spec->name)) {
        (void)job_draft_refuse(reader, draft, "array", "this is not the array of that job");
        (void)edl_error_remedy(reader->error, "write array: 0-99, or leave it out");
        return EDL_EBADSPEC;
    }
    spec->array.name = xstrdup(draft->array_name);
    spec->array.first = (uint32_t)draft->array_index;
    spec->array.n = (uint32_t)draft->array_jobs;
    spec->array.most = (uint32_t)draft->array_most;
    return 0;
}

/* Names or numbers of jobs; which ones there are the scheduler knows. */
int job_draft_finish_after(struct document_reader *reader, const struct job_draft *draft,
                           struct job_spec *spec)
{
    size_t n = json_array_size(draft->after);

    if (n == 0)
        return 0;
    if (n > JOB_AFTER_MAX)
        return job_draft_refuse(reader, draft, "after", "more than 64 jobs");
    spec->after = xcalloc(n + 1, sizeof *spec->after);
    (void)snprintf(reader->pointer, sizeof reader->pointer, "%s/after", draft->pointer);
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(draft->after, i);
        size_t length = document_enter_index(reader, i);
        char number[24];
        const char *text = number;
        int r = 0;

        if (json_is_integer(value) && json_integer_value(value) > 0)
            (void)snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT,
                           json_integer_value(value));
        else
            r = document_text(reader, value, strlen(JOB_AFTER_ANY) + JOB_NAME_MAX, &text);
        if (r == 0 && *text == '\0')
            r = document_refuse(reader, "the name or number of a job is expected");
        if (r < 0)
            return r;
        spec->after[i] = xstrdup(text);
        document_leave(reader, length);
    }
    return 0;
}
