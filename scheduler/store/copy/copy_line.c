/* SPDX-License-Identifier: Apache-2.0 */
/* copy_line.c - a row of a table as a line of text, the way from one engine to another */
#include "scheduler/store/copy/copy_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"
#include "shared/printable.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Of COPY: these alone stand behind a backslash. */
static const struct {
    char plain, letter;
} escapes[] = {
    { '\b', 'b' }, { '\f', 'f' }, { '\n', 'n' },  { '\r', 'r' },
    { '\t', 't' }, { '\v', 'v' }, { '\\', '\\' },
};

static char letter_of(char plain)
{
    for (size_t i = 0; i < ELEMENTS(escapes); i++)
        if (escapes[i].plain == plain)
            return escapes[i].letter;
    return '\0';
}

static char plain_of(char letter)
{
    for (size_t i = 0; i < ELEMENTS(escapes); i++)
        if (escapes[i].letter == letter)
            return escapes[i].plain;
    return letter;
}

static void append(struct copy_line *line, const char *bytes, size_t n)
{
    if (line->size + n > line->room) {
        size_t room = MAX_OF(line->room * 2, line->size + n + 256);
        char *text = xcalloc(room, 1);

        if (line->size > 0)
            memcpy(text, line->text, line->size);
        free(line->text);
        line->text = text;
        line->room = room;
    }
    memcpy(line->text + line->size, bytes, n);
    line->size += n;
}

void copy_line_clear(struct copy_line *line)
{
    line->size = line->n_fields = 0;
}

void copy_line_done(struct copy_line *line)
{
    free(line->text);
    line->text = NULL;
    line->size = line->room = line->n_fields = 0;
}

static void begin_field(struct copy_line *line)
{
    if (line->n_fields++ > 0)
        append(line, "\t", 1);
}

/* whole_at - how many bytes the character at text has; 0: it is none */
static size_t whole_at(const char *text)
{
    char character[5] = "";
    size_t n = strlen(text);

    for (size_t size = 1; size <= 4 && size <= n; size++) {
        memcpy(character, text, size);
        character[size] = '\0';
        if (printable_is_utf8(character))
            return size;
    }
    return 0;
}

static void append_escaped(struct copy_line *line, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        size_t plain = strcspn(p, "\b\f\n\r\t\v\\");

        append(line, p, plain);
        p += plain;
        if (*p == '\0')
            return;
        append(line, (const char[]){ '\\', letter_of(*p) }, 2);
    }
}

static void append_mended(struct copy_line *line, const char *text)
{
    line->mended++;
    for (const char *p = text; *p != '\0';) {
        char character[5] = "";
        size_t n = whole_at(p);

        memcpy(character, p, n);
        append_escaped(line, n > 0 ? character : REPLACEMENT);
        p += MAX_OF(n, 1);
    }
}

void copy_line_add(struct copy_line *line, const char *text)
{
    begin_field(line);
    if (text == NULL)
        append(line, "\\N", 2);
    else if (printable_is_utf8(text))
        append_escaped(line, text);
    else
        append_mended(line, text);
}

void copy_line_add_i64(struct copy_line *line, int64_t value)
{
    char text[24];

    begin_field(line);
    append(line, text, (size_t)snprintf(text, sizeof text, "%" PRId64, value));
}

void copy_line_add_real(struct copy_line *line, double value)
{
    char text[40];

    begin_field(line);
    append(line, text, (size_t)snprintf(text, sizeof text, "%.17g", value));
}

void copy_line_end(struct copy_line *line)
{
    append(line, "\n", 1);
}

bool copy_field_next(const char *line, size_t size, size_t *at, char *buffer, const char **ret)
{
    size_t end = size > 0 && line[size - 1] == '\n' ? size - 1 : size;
    size_t n = 0, i = *at;
    bool null = i + 1 < end && line[i] == '\\' && line[i + 1] == 'N';

    if (*at > end)
        return false;
    for (; i < end && line[i] != '\t'; i++) {
        if (line[i] == '\\' && i + 1 < end)
            buffer[n++] = plain_of(line[++i]);
        else
            buffer[n++] = line[i];
    }
    buffer[n] = '\0';
    *at = i + 1;
    *ret = null ? NULL : buffer;
    return true;
}
