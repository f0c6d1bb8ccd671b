/* SPDX-License-Identifier: Apache-2.0 */
/* job_document_names.c - what names in a document may look like */
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/job_draft.h"

void document_suggest_name(const char *name, char *text, size_t size)
{
    size_t n = 0;

    for (; *name != '\0' && n + 1 < size; name++) {
        char c = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
        bool letter = c >= 'a' && c <= 'z';

        if (n == 0 && !letter)
            continue;
        text[n++] = letter || (c >= '0' && c <= '9') ? c : '-';
    }
    text[n] = '\0';
}

bool document_env_name_valid(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

    return name[0] != '\0' && (name[0] < '0' || name[0] > '9') &&
           name[strspn(name, first)] == '\0' && strlen(name) <= 255;
}

static bool is_name(const char *text, size_t n)
{
    return n > 0 && n <= JOB_NAME_MAX && text[0] >= 'a' && text[0] <= 'z' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") >= n;
}

bool document_service_name_valid(const char *name)
{
    size_t n = strcspn(name, ".");

    return is_name(name, n) && (name[n] == '\0' || (is_name(name + n + 1, strlen(name + n + 1))));
}

int job_draft_finish_name(struct document_reader *reader, const struct job_draft *draft,
                          struct job_spec *spec)
{
    const char *name = draft->name != NULL ? draft->name : "";
    const char *pointer = draft->pointer[0] != '\0' ? "/metadata/name" : "/name";
    char better[JOB_NAME_MAX + 1];

    if (name[0] == '\0')
        return edl_error_at(reader->error, EDL_EBADSPEC, pointer, "the job's name is missing");
    if (strlen(name) > JOB_NAME_MAX)
        return edl_error_at(reader->error, EDL_EBADSPEC, pointer,
                            "the name has more than %d characters: %zu", JOB_NAME_MAX,
                            strlen(name));
    if (is_name(name, strlen(name))) {
        (void)snprintf(spec->name, sizeof spec->name, "%s", name);
        return 0;
    }
    document_suggest_name(name, better, sizeof better);
    (void)edl_error_at(reader->error, EDL_EBADSPEC, pointer, "\"%s\" cannot name a job", name);
    (void)edl_error_remedy(reader->error,
                           "start with a-z, go on with a-z, 0-9 and '-' ('.' and '_' are not "
                           "allowed)%s%s",
                           better[0] != '\0' ? ": " : "", better);
    return EDL_EBADSPEC;
}
