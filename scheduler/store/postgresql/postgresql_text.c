/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_text.c - statements and values as the server takes them */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/store/postgresql/postgresql_internal.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* write_place - of the parameter whose number text begins with; the end of that number */
static const char *write_place(FILE *out, const char *text,
                               unsigned places[POSTGRESQL_PARAMETERS_MAX], unsigned *n)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (number < 1 || number > POSTGRESQL_PARAMETERS_MAX)
        abort(); /* the texts are the program's own */
    if (places[number - 1] == 0)
        places[number - 1] = ++*n;
    (void)fprintf(out, "$%u", places[number - 1]);
    return end;
}

char *postgresql_statement(const char *text, unsigned places[POSTGRESQL_PARAMETERS_MAX],
                           unsigned *ret_n)
{
    char *ret = NULL;
    size_t size;
    FILE *out = open_memstream(&ret, &size);
    char quote = '\0';

    if (out == NULL)
        abort();
    memset(places, 0, POSTGRESQL_PARAMETERS_MAX * sizeof *places);
    *ret_n = 0;
    while (*text != '\0') {
        if (quote == '\0' && *text == '?') {
            text = write_place(out, text + 1, places, ret_n);
            continue;
        }
        if (quote != '\0')
            quote = *text == quote ? '\0' : quote;
        else if (*text == '\'' || *text == '"')
            quote = *text;
        (void)fputc(*text++, out);
    }
    (void)fclose(out);
    return ret;
}

/* whole_size - bytes of the character that text begins with; 0: it begins with none */
static size_t whole_size(const char *text)
{
    for (size_t n = 1; n <= 4; n++) {
        char piece[5] = "";

        if (strnlen(text, n) < n)
            return 0;
        memcpy(piece, text, n);
        if (printable_is_utf8(piece))
            return n;
    }
    return 0;
}

char *postgresql_whole_text(const char *text)
{
    char *ret = NULL;
    size_t size;
    FILE *out;

    if (printable_is_utf8(text))
        return NULL;
    out = open_memstream(&ret, &size);
    if (out == NULL)
        abort();
    while (*text != '\0') {
        size_t n = whole_size(text);

        (void)fwrite(n > 0 ? text : REPLACEMENT, 1, n > 0 ? n : strlen(REPLACEMENT), out);
        text += MAX_OF(n, (size_t)1);
    }
    (void)fclose(out);
    return ret;
}
