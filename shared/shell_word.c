/* SPDX-License-Identifier: Apache-2.0 */
/* shell_word.c - see shell_word.h */
#include "shared/shell_word.h"

#include <string.h>

#include "shared/macro.h"

/* What no shell reads as anything else, wherever in a word it stands. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            "@%+_-.,:/";

char *shell_quote(const char *text)
{
    size_t n = 3; /* quotes and NUL */
    char *quoted, *to;

    for (const char *p = text; *p != '\0'; p++)
        n += *p == '\'' ? 4 : 1;
    to = quoted = xcalloc(n, 1);
    *to++ = '\'';
    for (const char *p = text; *p != '\0'; p++)
        if (*p == '\'') {
            memcpy(to, "'\\''", 4);
            to += 4;
        } else {
            *to++ = *p;
        }
    *to = '\'';
    return quoted;
}

char *shell_word(const char *text)
{
    return *text != '\0' && strspn(text, plain) == strlen(text) ? xstrdup(text) : shell_quote(text);
}
