/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - the error object that travels beside a negative return value */
#include "shared/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int code;
    int status;
    const char *text;
} codes[] = {
#define XX(name, value, status, text) { name, status, text },
    EDL_ERROR_MAP(XX)
#undef XX
        { -EINVAL, 400, NULL },
    { -ENOENT, 404, NULL },
    { -EEXIST, 409, NULL },
    { -ENOTUNIQ, 409, NULL },
    { -EDQUOT, 409, NULL },
    { -E2BIG, 413, NULL },
    { -EACCES, 403, NULL },
    { -EPERM, 403, NULL },
    { -EAGAIN, 503, NULL },
    { -ENOTCONN, 503, NULL }, /* a database that is away */
    { -ESTALE, 503, NULL },
    { -ETIMEDOUT, 504, NULL },
    { -ENOSPC, 507, NULL },
    { -EROFS, 507, NULL },
    { -EOPNOTSUPP, 405, NULL },
};

static int set_text(struct edl_error *error, int code, const char *pointer, const char *format,
                    va_list ap)
{
    if (error == NULL)
        return code;
    error->code = code;
    error->remedy[0] = '\0';
    (void)snprintf(error->pointer, sizeof error->pointer, "%s", pointer != NULL ? pointer : "");
    (void)vsnprintf(error->text, sizeof error->text, format, ap);
    return code;
}

int edl_error_set(struct edl_error *error, int code, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)set_text(error, code, NULL, format, ap);
    va_end(ap);
    return code;
}

int edl_error_errno(struct edl_error *error, int code, const char *format, ...)
{
    va_list ap;
    size_t used;

    va_start(ap, format);
    (void)set_text(error, code, NULL, format, ap);
    va_end(ap);
    if (error != NULL) {
        used = strlen(error->text);
        (void)snprintf(error->text + used, sizeof error->text - used, ": %s",
                       error_code_text(code));
    }
    return code;
}

int edl_error_at(struct edl_error *error, int code, const char *pointer, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)set_text(error, code, pointer, format, ap);
    va_end(ap);
    return code;
}

int edl_error_remedy(struct edl_error *error, const char *format, ...)
{
    va_list ap;

    if (error == NULL)
        return -EINVAL;
    va_start(ap, format);
    (void)vsnprintf(error->remedy, sizeof error->remedy, format, ap);
    va_end(ap);
    return error->code;
}

int edl_error_at_key(struct edl_error *error, int code, const char *pointer)
{
    if (error != NULL) {
        error->code = code;
        (void)snprintf(error->pointer, sizeof error->pointer, "%s", pointer);
    }
    return code;
}

void edl_error_prefix(struct edl_error *error, const char *format, ...)
{
    char old[sizeof error->text];
    va_list ap;
    size_t used;

    if (error == NULL)
        return;
    (void)snprintf(old, sizeof old, "%s", error->text);
    va_start(ap, format);
    (void)vsnprintf(error->text, sizeof error->text, format, ap);
    va_end(ap);
    used = strlen(error->text);
    (void)snprintf(error->text + used, sizeof error->text - used, "%s", old);
}

const char *error_code_text(int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].code == code && codes[i].text != NULL)
            return codes[i].text;
    return strerror(code < 0 ? -code : code);
}

/* What a lease says of a pass; the texts of these codes are those of upstream's master. */
static const struct {
    int code;
    const char *word;
} words[] = {
    { EDL_EPASSBEFORE, "pass-before" },
    { EDL_EPASSAFTER, "pass-after" },
    { EDL_ENOMORETASK, "no-more-task" },
    { EDL_EALLTASKSFAILED, "all-tasks-failed" },
};

const char *error_code_word(int code)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i].code == code)
            return words[i].word;
    return NULL;
}

int error_code_of_word(const char *word)
{
    for (size_t i = 0; word != NULL && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].code;
    return 0;
}

int error_code_http_status(int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].code == code)
            return codes[i].status;
    return 500;
}
