/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_lines.c - a script's output, from its own first line to its own last one */
#include "client/ssh/ssh_lines.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "shared/cleanup.h"
#include "shared/hex.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/printable.h"

#define BEGIN_WORD "edl-begin "
#define END_WORD "edl-end "
#define STATUS_MAX 255

/* $1 is the script as encode() has it, $2 the mark. The end line has a newline before it: the
 * script's last line may have none. */
static const char wrapper[] =
    "echo \"" BEGIN_WORD "$2\"; echo \"" BEGIN_WORD
    "$2\" >&2; sh -c \"$(printf %b \"$1\")\"; set -- \"$2\" $?; "
    "printf \"\\n" END_WORD "%s %s\\n\" \"$@\"; printf \"\\n" END_WORD "%s %s\\n\" \"$@\" >&2";

void ssh_lines_begin(struct ssh_lines *lines, const char *mark)
{
    *lines = (struct ssh_lines){ 0 };
    (void)snprintf(lines->mark, sizeof lines->mark, "%s", mark);
}

/* after - what follows word and mark in the line; NULL: it is another line */
static const char *after(const struct ssh_lines *lines, const char *word)
{
    size_t word_length = strlen(word), mark_length = strlen(lines->mark);

    if (lines->piece || strncmp(lines->line, word, word_length) != 0 ||
        strncmp(lines->line + word_length, lines->mark, mark_length) != 0)
        return NULL;
    return lines->line + word_length + mark_length;
}

/* is_end - the script's own last line, with its status */
static bool is_end(struct ssh_lines *lines)
{
    const char *rest = after(lines, END_WORD);
    uint64_t status;

    if (rest == NULL || *rest != ' ' || parse_u64(rest + 1, &status) < 0 || status > STATUS_MAX)
        return false;
    lines->ended = true;
    lines->status = (int)status;
    return true;
}

static bool tell(struct ssh_lines *lines, ssh_lines_told *told, void *userdata)
{
    if (lines->blank && !told(userdata, "", !lines->begun))
        return false;
    lines->blank = false;
    printable_mask(lines->line, strlen(lines->line), "\t");
    return told(userdata, lines->line, !lines->begun);
}

/* line_over - a newline came, or there is no room; whole: the former */
static bool line_over(struct ssh_lines *lines, bool whole, ssh_lines_told *told, void *userdata)
{
    bool goes_on = true;
    const char *rest;

    if (whole && lines->used > 0 && lines->line[lines->used - 1] == '\r')
        lines->used--;
    for (size_t i = 0; i < lines->used; i++)
        if (lines->line[i] == '\0')
            lines->line[i] = '?';
    lines->line[lines->used] = '\0';
    if (lines->begun && is_end(lines)) {
        lines->blank = false;
    } else if (!lines->begun && (rest = after(lines, BEGIN_WORD)) != NULL && *rest == '\0') {
        lines->begun = true;
        lines->blank = false;
    } else if (lines->used == 0 && !lines->piece) {
        goes_on = !lines->blank || told(userdata, "", !lines->begun);
        lines->blank = true;
    } else if (lines->used > 0) {
        goes_on = tell(lines, told, userdata);
    }
    lines->used = 0;
    lines->piece = !whole;
    return goes_on;
}

bool ssh_lines_feed(struct ssh_lines *lines, const char *bytes, size_t size, ssh_lines_told *told,
                    void *userdata)
{
    while (size > 0 && !lines->ended) {
        const char *newline = memchr(bytes, '\n', size);
        size_t room = SSH_LINE_MAX - lines->used;
        size_t length = MIN_OF(newline != NULL ? (size_t)(newline - bytes) : size, room);
        bool whole = newline != NULL && bytes + length == newline;

        memcpy(lines->line + lines->used, bytes, length);
        lines->used += length;
        bytes += length + whole;
        size -= length + whole;
        if ((whole || lines->used == SSH_LINE_MAX) && !line_over(lines, whole, told, userdata))
            return false;
    }
    return true;
}

bool ssh_lines_flush(struct ssh_lines *lines, ssh_lines_told *told, void *userdata)
{
    return lines->ended || lines->used == 0 || line_over(lines, true, told, userdata);
}

void ssh_lines_mark(char ret[SSH_MARK_MAX])
{
    uint8_t bytes[(SSH_MARK_MAX - 1) / 2];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        abort(); /* so few bytes come at once, or never */
    hex_encode(bytes, sizeof bytes, ret);
}

/* encode - in quotes, as one word of whatever shell the account has; printf(1) gives it back by %b.
 * csh ends a quoted word at a newline, and replaces "!" in it; fish takes backslashes away. */
static void encode(FILE *out, const char *text)
{
    (void)fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (strchr("'\\!\r\n", *text) != NULL)
            (void)fprintf(out, "\\0%03o", (unsigned)(unsigned char)*text);
        else
            (void)fputc(*text, out);
    }
    (void)fputc('\'', out);
}

char *ssh_lines_wrap(const char *script, const char *mark)
{
    char *command = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&command, &size);

    if (out == NULL)
        abort();
    (void)fprintf(out, "exec env LC_ALL=C sh -c '%s' edl ", wrapper);
    encode(out, script);
    (void)fprintf(out, " %s", mark);
    if (fclose(out) != 0)
        abort();
    if (size <= SSH_SCRIPT_MAX)
        return command;
    free(command);
    return NULL;
}
