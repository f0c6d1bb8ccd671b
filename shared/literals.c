/* SPDX-License-Identifier: Apache-2.0 */
/* literals.c - see literals.h
 *
 * One pass by recursive descent, bounded in depth, items and size. */
#include "shared/literals.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define NAME_MAX_BYTES 63
#define NUMBER_MAX_BYTES 63

struct reader {
    const char *file;
    const char *at, *end;
    const char *line_start;
    uint32_t line;
    unsigned int open; /* brackets: line ends are blanks there */
    size_t n_items;
    char *scratch; /* room for the longest string that the file can hold */
    struct edl_error *error;
};

static void literal_clear(struct literal *literal)
{
    for (size_t i = 0; i < literal->n_items; i++)
        literal_clear(&literal->items[i]); /* NOLINT(misc-no-recursion): LITERALS_DEPTH_MAX */
    free(literal->items);
    free(literal->string);
    *literal = (struct literal){ 0 };
}

const char *literal_kind_text(enum literal_kind kind)
{
    static const char *const texts[] = {
#define XX(name, text) text,
        LITERAL_KIND_MAP(XX)
#undef XX
    };

    return texts[kind];
}

int literal_refuse(const struct literal_place *place, struct edl_error *error, const char *format,
                   ...)
{
    char text[sizeof error->text];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return edl_error_set(error, -EINVAL, "%.120s:%u:%u: %.240s", place->file, place->line,
                         place->column, text);
}

static struct literal_place place_of(const struct reader *reader)
{
    return (struct literal_place){ reader->file, reader->line,
                                   (uint32_t)(reader->at - reader->line_start) + 1 };
}

/* The character here, or 0 at the end: a NUL in the file was refused before. */
static char peek(const struct reader *reader)
{
    return reader->at < reader->end ? *reader->at : '\0';
}

static void next(struct reader *reader)
{
    if (*reader->at == '\n') {
        reader->line++;
        reader->line_start = reader->at + 1;
    }
    reader->at++;
}

static bool starts(const struct reader *reader, const char *text)
{
    size_t n = strlen(text);

    return (size_t)(reader->end - reader->at) >= n && memcmp(reader->at, text, n) == 0;
}

static int refuse(struct reader *reader, const char *what, const char *remedy)
{
    struct literal_place place = place_of(reader);

    (void)literal_refuse(&place, reader->error, "%s", what);
    (void)edl_error_remedy(reader->error, "%s", remedy);
    return -EINVAL;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_letter(c) || is_digit(c);
}

/* Over blanks, comments and joined lines; inside brackets over line ends too. */
static void skip_blanks(struct reader *reader)
{
    for (;;) {
        char c = peek(reader);

        if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || (c == '\n' && reader->open > 0))
            next(reader);
        else if (c == '#')
            while (reader->at < reader->end && *reader->at != '\n')
                next(reader);
        else if (starts(reader, "\\\n") || starts(reader, "\\\r\n"))
            while (*reader->at != '\n' || (next(reader), false))
                next(reader);
        else
            return;
    }
}

static bool starts_string(const struct reader *reader)
{
    size_t n = strchr("rRuU", peek(reader)) != NULL && peek(reader) != '\0' ? 1 : 0;
    char c = (size_t)(reader->end - reader->at) > n ? reader->at[n] : '\0';

    return c == '\'' || c == '"';
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void put_utf8(char **out, uint32_t code)
{
    static const struct {
        uint32_t below;
        unsigned int n; /* bytes behind the first */
        uint32_t mark;
    } forms[] = { { 0x80, 0, 0 }, { 0x800, 1, 0xc0 }, { 0x10000, 2, 0xe0 }, { 0x110000, 3, 0xf0 } };
    size_t f = 0;

    while (code >= forms[f].below)
        f++;
    *(*out)++ = (char)(forms[f].mark | code >> 6 * forms[f].n);
    for (unsigned int i = forms[f].n; i-- > 0;)
        *(*out)++ = (char)(0x80 | (code >> 6 * i & 0x3f));
}

/* \xhh, \uhhhh, \Uhhhhhhhh; reader is at the letter. What is put is never longer than what is read.
 */
static int take_coded(struct reader *reader, unsigned int digits, char **out)
{
    uint32_t code = 0;

    next(reader);
    for (unsigned int i = 0; i < digits; i++, next(reader)) {
        int value = hex_value(peek(reader));

        if (value < 0)
            return refuse(reader, "an escape in a string lacks digits",
                          "write \\xhh, \\uhhhh or \\Uhhhhhhhh");
        code = code << 4 | (uint32_t)value;
    }
    if (code == 0 || code >= 0x110000 || (code >= 0xd800 && code < 0xe000))
        return refuse(reader, "no character has the number of this escape", "leave it out");
    put_utf8(out, code);
    return 0;
}

static int take_octal(struct reader *reader, char **out)
{
    uint32_t code = 0;

    for (int i = 0; i < 3 && peek(reader) >= '0' && peek(reader) <= '7'; i++, next(reader))
        code = code << 3 | (uint32_t)(*reader->at - '0');
    if (code == 0)
        return refuse(reader, "a string cannot hold a NUL", "leave it out");
    put_utf8(out, code);
    return 0;
}

/* Behind a backslash. */
static int take_escape(struct reader *reader, char **out)
{
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    char c = peek(reader);
    const char *found = c != '\0' ? strchr(from, c) : NULL;

    if (c == '\n') {
        next(reader);
        return 0;
    }
    if (c == 'x' || c == 'u' || c == 'U')
        return take_coded(reader, c == 'x' ? 2 : c == 'u' ? 4 : 8, out);
    if (c >= '0' && c <= '7')
        return take_octal(reader, out);
    if (found != NULL) {
        *(*out)++ = to[found - from];
        next(reader);
        return 0;
    }
    *(*out)++ = '\\'; /* an unknown escape stays as it is */
    return 0;
}

/* One string token, appended at *out. */
static int take_string(struct reader *reader, char **out)
{
    struct reader start = *reader;
    bool raw = false, triple;
    char quote;

    for (; peek(reader) != '\'' && peek(reader) != '"'; next(reader))
        raw |= (peek(reader) | 0x20) == 'r';
    quote = *reader->at;
    triple = starts(reader, quote == '"' ? "\"\"\"" : "'''");
    for (int i = 0; i < (triple ? 3 : 1); i++)
        next(reader);
    for (;;) {
        char c = peek(reader);

        if (c == '\0' || (c == '\n' && !triple))
            return refuse(&start, "this string has no end",
                          "close it with the quotes it begins with");
        if (c == quote && (!triple || starts(reader, quote == '"' ? "\"\"\"" : "'''")))
            break;
        next(reader);
        if (c != '\\') {
            *(*out)++ = c;
        } else if (raw) {
            *(*out)++ = c;
            if (peek(reader) == quote || peek(reader) == '\\') {
                *(*out)++ = *reader->at;
                next(reader);
            }
        } else if (take_escape(reader, out) < 0) {
            return -EINVAL;
        }
    }
    for (int i = 0; i < (triple ? 3 : 1); i++)
        next(reader);
    return 0;
}

/* Neighbours are one string. */
static int read_string(struct reader *reader, struct literal *ret)
{
    char *out = reader->scratch;

    do {
        if (take_string(reader, &out) < 0)
            return -EINVAL;
        skip_blanks(reader);
    } while (starts_string(reader));
    *out = '\0';
    ret->kind = LITERAL_STRING;
    ret->string = xstrdup(reader->scratch);
    return 0;
}

static int refuse_number(struct reader *reader)
{
    return refuse(reader, "this is no number that can be kept", "write 7164, 0x1bfc, -1 or 0.5");
}

static int read_number(struct reader *reader, struct literal *ret)
{
    struct reader start = *reader;
    char text[NUMBER_MAX_BYTES + 1];
    size_t n = 0;
    bool hex;
    char *rest, *digits;

    while (is_word(peek(reader)) || (peek(reader) != '\0' && strchr("+-.", peek(reader)) != NULL)) {
        if (n >= NUMBER_MAX_BYTES)
            return refuse_number(&start);
        text[n++] = *reader->at;
        next(reader);
    }
    text[n] = '\0';
    digits = text + strspn(text, "+-");
    hex = digits[0] == '0' && (digits[1] | 0x20) == 'x';
    errno = 0;
    if (!hex && strpbrk(text, ".eE") != NULL) {
        ret->kind = LITERAL_FLOAT;
        ret->real = strtod(text, &rest);
    } else {
        ret->kind = LITERAL_INT;
        ret->integer = strtoll(text, &rest, hex ? 16 : 10);
        if (!hex && digits[0] == '0' && digits[1] != '\0') /* 07164 was octal once */
            return refuse_number(&start);
    }
    return errno != 0 || rest == text || *rest != '\0' ? refuse_number(&start) : 0;
}

static int read_word(struct reader *reader, struct literal *ret)
{
    static const struct {
        const char *word;
        enum literal_kind kind;
        bool value;
    } words[] = { { "None", LITERAL_NONE, false },
                  { "True", LITERAL_BOOL, true },
                  { "False", LITERAL_BOOL, false } };
    size_t n = 0;

    while ((size_t)(reader->end - reader->at) > n && is_word(reader->at[n]))
        n++;
    for (size_t i = 0; i < ELEMENTS(words); i++)
        if (n == strlen(words[i].word) && memcmp(reader->at, words[i].word, n) == 0) {
            ret->kind = words[i].kind;
            ret->boolean = words[i].value;
            reader->at += n;
            return 0;
        }
    return refuse(
        reader, "this is code, and only literals are read",
        "write the value itself: a string, a number, True, False, None, or a list of these");
}

static int read_literal(struct reader *reader, struct literal *ret);

static int add_item(struct reader *reader, struct literal *into, struct literal *item)
{
    if ((into->n_items & (into->n_items - 1)) == 0)
        into->items =
            xreallocarray(into->items, MAX_OF((size_t)1, 2 * into->n_items), sizeof *into->items);
    into->items[into->n_items++] = *item;
    if (++reader->n_items > LITERALS_ITEMS_MAX)
        return edl_error_set(reader->error, -E2BIG, "%.120s:%u: more than %d values in one file",
                             reader->file, reader->line, LITERALS_ITEMS_MAX);
    return 0;
}

/* A list, a tuple, or one value in parentheses. NOLINTBEGIN(misc-no-recursion) */
static int read_items(struct reader *reader, struct literal *ret)
{
    struct reader start = *reader;
    char close = *reader->at == '[' ? ']' : ')';
    bool comma = true; /* one may come next */

    ret->kind = close == ']' ? LITERAL_LIST : LITERAL_TUPLE;
    if (reader->open >= LITERALS_DEPTH_MAX)
        return refuse(reader, "lists lie too deep in one another", "16 are the most");
    reader->open++;
    next(reader);
    for (skip_blanks(reader); peek(reader) != close; skip_blanks(reader)) {
        struct literal item = { 0 };
        int r;

        if (reader->at == reader->end)
            return refuse(&start, "this bracket is not closed", close == ']' ? "add ]" : "add )");
        if (!comma)
            return refuse(reader, "a comma is missing before this",
                          "put a comma between two values");
        r = read_literal(reader, &item);
        if (r >= 0)
            r = add_item(reader, ret, &item);
        else
            literal_clear(&item);
        if (r < 0)
            return r;
        skip_blanks(reader);
        comma = peek(reader) == ',';
        if (comma)
            next(reader);
    }
    next(reader);
    reader->open--;
    if (close == ')' && ret->n_items == 1 && !comma) {
        struct literal only = ret->items[0];

        free(ret->items);
        *ret = only;
    }
    return 0;
}

static int read_literal(struct reader *reader, struct literal *ret)
{
    struct literal_place place = place_of(reader);
    char c = peek(reader);
    int r;

    if (starts_string(reader))
        r = read_string(reader, ret);
    else if (c == '[' || c == '(')
        r = read_items(reader, ret);
    else if (is_digit(c) || c == '-' || c == '+' || c == '.')
        r = read_number(reader, ret);
    else
        r = read_word(reader, ret);
    ret->line = place.line;
    ret->column = place.column;
    return r;
}
/* NOLINTEND(misc-no-recursion) */

/* Nothing but a comment may follow on the line. */
static int end_statement(struct reader *reader)
{
    skip_blanks(reader);
    if (peek(reader) == ';') {
        next(reader);
        return 0;
    }
    if (reader->at < reader->end && *reader->at != '\n')
        return refuse(reader, "this is code, and only literals are read",
                      "one assignment a line: NAME = VALUE");
    return 0;
}

static int read_assignment(struct reader *reader, literals_set_fn set, void *userdata)
{
    struct literal_place place = place_of(reader);
    char name[NAME_MAX_BYTES + 1];
    struct literal value = { 0 };
    size_t n = 0;
    int r;

    for (; is_word(peek(reader)) && n < NAME_MAX_BYTES; next(reader))
        name[n++] = *reader->at;
    name[n] = '\0';
    skip_blanks(reader);
    if (n == 0 || peek(reader) != '=' || starts(reader, "==")) {
        (void)literal_refuse(&place, reader->error, "this is no assignment");
        (void)edl_error_remedy(reader->error, "only lines like NAME = VALUE are read, no code");
        return -EINVAL;
    }
    next(reader);
    skip_blanks(reader);
    r = read_literal(reader, &value);
    if (r >= 0)
        r = end_statement(reader);
    if (r >= 0)
        r = set(name, &place, &value, userdata, reader->error);
    literal_clear(&value);
    return r;
}

/* A string that stands alone is how Python files have long comments. */
static int read_comment(struct reader *reader)
{
    struct literal text = { 0 };
    int r = read_string(reader, &text);

    literal_clear(&text);
    return r < 0 ? r : end_statement(reader);
}

/* 1: that was the end of the file */
static int read_statement(struct reader *reader, literals_set_fn set, void *userdata)
{
    bool indented =
        reader->at == reader->line_start && (peek(reader) == ' ' || peek(reader) == '\t');
    int r;

    skip_blanks(reader);
    if (reader->at == reader->end)
        return 1;
    if (*reader->at == '\n') {
        next(reader);
        return 0;
    }
    if (indented)
        return refuse(reader, "this line is indented", "let each assignment begin at the left");
    r = starts_string(reader) ? read_comment(reader) : read_assignment(reader, set, userdata);
    return MIN_OF(r, 0);
}

static int check_bytes(struct reader *reader)
{
    const char *nul = memchr(reader->at, '\0', (size_t)(reader->end - reader->at));

    if (reader->end - reader->at > LITERALS_BYTES_MAX)
        return edl_error_set(reader->error, -E2BIG, "%.120s has more than %d bytes", reader->file,
                             LITERALS_BYTES_MAX);
    if (nul != NULL)
        return edl_error_set(reader->error, -EINVAL, "%.120s is no text: byte %zu is NUL",
                             reader->file, (size_t)(nul - reader->at));
    if (starts(reader, "\xef\xbb\xbf"))
        reader->line_start = reader->at += 3;
    return 0;
}

int literals_read(const char *file, const char *text, size_t size, literals_set_fn set,
                  void *userdata, struct edl_error *error)
{
    struct reader reader = {
        .file = file, .at = text, .end = text + size, .line_start = text, .line = 1, .error = error
    };
    int r = check_bytes(&reader);

    if (r < 0)
        return r;
    reader.scratch = xcalloc(size + 1, 1);
    while (r == 0)
        r = read_statement(&reader, set, userdata);
    free(reader.scratch);
    return r < 0 ? r : 0;
}
