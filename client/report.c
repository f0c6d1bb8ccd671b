/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - how a failure is told to a person: the error, its place, and the remedy
 *
 * Everything goes to stderr, so that stdout stays what a script asked for. */
#include "client/report.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_client.h"
#include "shared/macro.h"
#include "shared/printable.h"

static int status_of(int code)
{
    static const int bad_input[] = { -EINVAL, -ERANGE, -E2BIG, EDL_EBADSPEC };

    if (code == EDL_EUNREACHABLE || code == -ETIMEDOUT)
        return STATUS_NO_SERVER;
    for (size_t i = 0; i < ELEMENTS(bad_input); i++)
        if (code == bad_input[i])
            return STATUS_BAD_INPUT;
    return STATUS_FAILED;
}

/* A line that may hold words of other people. */
static void tell(const char *before, const char *text)
{
    _cleanup_free_ char *shown = xstrdup(text);

    printable_mask(shown, strlen(shown), "");
    (void)fprintf(stderr, "%s%s\n", before, shown);
}

/* tell_lines - each masked by itself */
static void tell_lines(const char *each)
{
    _cleanup_free_ char *copy = each != NULL ? xstrdup(each) : NULL;
    char *rest = copy, *line;

    while ((line = strsep(&rest, "\n")) != NULL)
        tell("  ", line);
}

int report_error(const struct edl_error *error)
{
    return report_error_each(error, NULL);
}

int report_error_each(const struct edl_error *error, const char *each)
{
    (void)fflush(stdout); /* in the order in which things happened */
    tell("edl: ", error->text);
    tell_lines(each);
    if (error->pointer[0] != '\0')
        tell("  ", error->pointer);
    if (error->remedy[0] != '\0')
        tell("try: ", error->remedy);
    return status_of(error->code);
}

/* The members of a problem document as text; NULL when absent or of another type. */
static const char *member(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

int report_answer(const struct http_answer *answer)
{
    return report_answer_on(answer, NULL);
}

static bool is_bad_input(unsigned status)
{
    return status == 400 || status == 413 || status == 415 || status == 422;
}

/* begin_line - "edl: FILE: ", as the name is written; new string */
static char *begin_line(const struct http_answer *answer, const char *file)
{
    _cleanup_free_ char *shown = NULL;

    if (file == NULL || !is_bad_input(answer->status))
        return xstrdup("edl: ");
    shown = xstrdup(streq(file, "-") ? "standard input" : file);
    printable_mask(shown, strlen(shown), "");
    return text_format("edl: %s: ", shown);
}

int report_answer_on(const struct http_answer *answer, const char *file)
{
    _cleanup_free_ char *before = begin_line(answer, file);
    struct edl_error error = { 0 };

    (void)http_answer_error(answer, &error);
    if (answer->failure != 0) {
        if (error.remedy[0] == '\0')
            (void)edl_error_remedy(&error, "is the server running?");
        (void)report_error_each(&error, answer->each);
        return STATUS_NO_SERVER;
    }

    const json_t *errors = json_object_get(answer->json, "errors");
    const char *detail = member(answer->json, "detail");
    const char *remedy = member(answer->json, "remedy");
    size_t i;
    json_t *entry;

    (void)fflush(stdout);
    tell(before, detail != NULL ? detail : error.text);
    tell_lines(answer->each);
    json_array_foreach(errors, i, entry)
    {
        const char *pointer = member(entry, "pointer");
        const char *text = member(entry, "detail");

        (void)fprintf(stderr, "  %s", pointer != NULL && pointer[0] != '\0' ? pointer : "/");
        if (text == NULL || detail == NULL || !streq(text, detail)) /* nothing is told twice */
            (void)fprintf(stderr, ": %s", text != NULL ? text : "not valid");
        (void)fputc('\n', stderr);
    }
    if (detail == NULL && remedy == NULL && error.remedy[0] != '\0')
        remedy = error.remedy; /* of an answer that is none of a scheduler's */
    if (remedy != NULL && remedy[0] != '\0')
        tell("try: ", remedy);
    else if (answer->status == 401)
        (void)fprintf(stderr, "try: edl login URL, or --token-file FILE\n");

    return is_bad_input(answer->status) ? STATUS_BAD_INPUT : STATUS_FAILED;
}

void report_note(const char *format, ...)
{
    va_list ap;

    (void)fflush(stdout);
    (void)fputs("note: ", stderr);
    va_start(ap, format);
    (void)vfprintf(stderr, format, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
}
